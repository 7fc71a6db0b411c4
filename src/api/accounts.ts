import { z } from 'zod'
import type { Db } from '../db/client.ts'
import { endpoint } from '../http/endpoint.ts'
import { type Account, setPlan } from '../library/accounts/accounts.ts'
import { PLANS } from '../vocabulary.ts'

const PublicAccount = z
  .strictObject({
    id: z.string(),
    email: z.string().nullable(),
    role: z.enum(['member', 'operator']),
    plan: z.enum(['free', 'pro']),
    created_at: z.iso.datetime(),
  })
  .meta({ id: 'Account' })

function toPublicAccount({ id, email, role, plan, createdAt }: Account): z.infer<typeof PublicAccount> {
  return { id, email, role, plan, created_at: createdAt.toISOString() }
}

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
      answer: z.strictObject({ account: PublicAccount }),
      scope: 'accounts:write',
      errors: [404],
    },
    async ({ db }: { db: Db }, { params, body }) => ({
      account: toPublicAccount(await setPlan(db, { accountId: params.id, plan: body.plan })),
    }),
  ),
]
