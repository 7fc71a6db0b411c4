import { type Adapter, type AdapterPayload, errors } from 'oidc-provider'
import type { Db } from '../db/client.ts'
import { AppError } from '../errors.ts'
import { revokeGrant } from '../library/accounts/grants.ts'
import { consumeRecord, deleteRecord, findRecord, putRecord } from '../library/accounts/oauth-records.ts'

/** Where the authorization server keeps its records. */
export function storage(db: Db): (kind: string) => Adapter {
  return (kind) => {
    // Who is signed in is known by our own session alone, so that every request for access asks the person.
    if (kind === 'Session') return FORGETFUL
    return {
      async upsert(id, given, lifetimeSec) {
        const payload = given as Record<string, unknown>
        await orGone(putRecord(db, { kind, id, payload, lifetimeSec }), () => {
          throw new errors.InvalidGrant('the grant has ended')
        })
      },
      find: async (id) => (await findRecord(db, kind, id)) as AdapterPayload | undefined,
      async consume(id) {
        const isFirst = await consumeRecord(db, kind, id)
        if (!isFirst && kind === 'AuthorizationCode') throw new errors.InvalidGrant('authorization code already used')
      },
      destroy: (id) => (kind === 'Grant' ? orGone(revokeGrant(db, { id, by: 'server' })) : deleteRecord(db, kind, id)),
      // The tokens of a grant end with it.
      revokeByGrantId: async () => undefined,
      findByUid: async () => undefined,
      findByUserCode: async () => undefined,
    }
  }
}

/** Grants end at any moment: by their person, or because a token was used twice. */
async function orGone(work: Promise<void>, gone: () => void = () => undefined): Promise<void> {
  try {
    await work
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'not_found') throw error
    gone()
  }
}

const FORGETFUL: Adapter = {
  upsert: async () => undefined,
  find: async () => undefined,
  findByUid: async () => undefined,
  findByUserCode: async () => undefined,
  consume: async () => undefined,
  destroy: async () => undefined,
  revokeByGrantId: async () => undefined,
}
