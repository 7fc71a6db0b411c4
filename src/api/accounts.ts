import { Router } from 'express'
import { z } from 'zod'
import type { Db } from '../db/client.ts'
import { PLANS } from '../db/schema/accounts.ts'
import type { Authentication } from '../http/authenticate.ts'
import { jsonBody } from '../http/idempotent-write.ts'
import { setPlan } from '../library/accounts/accounts.ts'
import { toPublicAccount } from '../views/collections.ts'

export const AccountBody = z.strictObject({ plan: z.enum(PLANS) })

/** For whoever bills: a plan changed here holds from the account's next request on. */
export function accountsRouter({
  db,
  authentication: { requireScope },
}: {
  db: Db
  authentication: Authentication
}): Router {
  const router = Router()

  router.patch('/api/accounts/:id', requireScope('accounts:write'), jsonBody, async (req, res) => {
    const { plan } = AccountBody.parse(req.body)
    res.json({ account: toPublicAccount(await setPlan(db, { accountId: String(req.params.id), plan })) })
  })

  return router
}
