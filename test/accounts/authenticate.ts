import type { Db } from '../../src/db/client.ts'
import { openKeyChecks } from '../../src/library/accounts/key-checks.ts'

/** The owner of a key, as a request finds it in a process that has seen no key before. */
export const authenticate = (db: Db, key: string | undefined) => openKeyChecks(db).check(key)
