import type { Db } from '../../src/db/client.ts'
import { createSignInCode } from '../../src/library/accounts/sessions.ts'

/** The session's cookie of a person who signs in by a link. The way through the form has its own tests. */
export async function sessionOf(db: Db, url: string, email: string): Promise<{ name: string; value: string }> {
  const made = await createSignInCode(db, { email, newPlan: 'free' })
  const answer = await fetch(`${url}/web/sign-in/confirm`, {
    method: 'POST',
    redirect: 'manual',
    body: new URLSearchParams({ code: made!.code }),
  })
  const [name, value] = answer.headers.get('set-cookie')!.split(';')[0]!.split('=') as [string, string]
  return { name, value }
}
