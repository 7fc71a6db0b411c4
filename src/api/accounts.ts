import { z } from 'zod'
import type { Db } from '../db/client.ts'
import { ROLES } from '../db/schema/accounts.ts'
import { endpoint } from '../http/endpoint.ts'
import { describeAccount, setPlan } from '../library/accounts/accounts.ts'
import { PLANS } from '../vocabulary.ts'

const Account = z
  .strictObject({
    id: z.string(),
    email: z.string(),
    role: z.enum(ROLES),
    plan: z.enum(PLANS),
    created_at: z.iso.datetime(),
    disabled_at: z.iso.datetime().nullable().describe('Since when its keys and sessions are refused.'),
  })
  .meta({ id: 'Account' })

/** For billing systems. */
export const accountEndpoints = [
  endpoint(
    {
      id: 'setAccountPlan',
      method: 'patch',
      path: '/api/accounts/:id',
      tag: 'Operators',
      summary: 'Change an account’s plan; it holds from the next request on',
      body: z.strictObject({ plan: z.enum(PLANS) }),
      example: { plan: 'pro' },
      answer: z.strictObject({ account: Account }),
      scope: 'accounts:write',
      errors: [404],
    },
    async ({ db }: { db: Db }, { params, body }) => ({
      account: describeAccount(await setPlan(db, { accountId: params.id, plan: body.plan })),
    }),
  ),
]
