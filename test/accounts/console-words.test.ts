import { afterAll, beforeAll, expect, test } from 'vitest'
import { ensureAccount } from '../../src/library/accounts/accounts.ts'
import { formToken } from '../../src/library/accounts/sessions.ts'
import { saveFrames } from '../../src/library/collections/saves.ts'
import { form, openPageVisitor, type PageVisitor } from './page-visitor.ts'
import { seedAccount, seedFrames } from './seed-frames.ts'

/** What the operator's console says of one, of some and of none. */

let visitor: PageVisitor
let cookie: string
beforeAll(async () => {
  visitor = await openPageVisitor()
  await ensureAccount(visitor.api.db, { email: 'op@example.org', plan: 'pro', role: 'operator' })
  ;({ cookie } = await visitor.signIn('op@example.org'))
})
afterAll(() => visitor[Symbol.asyncDispose]())

test('a deletion tells how many people lose what, and how many frames go', async () => {
  const { db, call } = visitor.api
  const { videoId, frameIds } = await seedFrames(db, { count: 1 })
  const fields = { form: formToken(cookie.split('=')[1]!), one: `delete:${videoId}` }
  for (const told of ['1 person', '2 people']) {
    await saveFrames(db, { accountId: (await seedAccount(db)).account.id, frameIds })
    const { text } = await call('/web/operator/videos', form(fields, { cookie }))
    expect(text).toContain('1 frame goes with it')
    expect(text).toContain(`<strong>${told}</strong> would lose`)
  }
})
