import { expect } from 'vitest'
import type { RateLimits } from '../../src/http/rate-limit/rate-limits.ts'
import type { ConnectionLimits } from '../../src/http/server.ts'
import { createSignInCode } from '../../src/library/accounts/sessions.ts'
import type { Mailer } from '../../src/outbound/mailer.ts'
import type { OpenApi } from '../../src/server/main.ts'
import { openTestApi, type TestApi } from './app.ts'

/** The service as a person without a mail server meets it: links are printed, and kept here. */
export interface PageVisitor {
  api: TestApi
  links: string[]
  routers: OpenApi['app']['routers']
  tools: OpenApi['app']['tools']
  /** The code of the link that was printed for an address. */
  linkFor(email: string): Promise<string>
  signIn(email: string): Promise<{ cookie: string }>
  [Symbol.asyncDispose](): Promise<void>
}

export async function openPageVisitor({
  scale = 1_000,
  signup = true,
  mailer,
  env = {},
  connections,
  limits,
}: {
  scale?: number
  env?: Record<string, string>
  signup?: boolean
  mailer?: Mailer
  connections?: ConnectionLimits
  limits?: (limits: RateLimits) => RateLimits
} = {}): Promise<PageVisitor> {
  const links: string[] = []
  const api = await openTestApi({
    scale,
    env: { ...env, ...(signup ? { SIGNUP: 'on', DEFAULT_PLAN: 'free' } : { SIGNUP: 'off' }) },
    overrides: { mailer, connections, limits, printLink: (line) => void links.push(line) },
  })
  return {
    api,
    links,
    ...api.app,
    async linkFor(email) {
      const line = () => links.find((one) => one.includes(`${email}: `))
      await expect.poll(line).toBeDefined()
      return line()!.split('#')[1]!
    },
    async signIn(email) {
      const made = await createSignInCode(api.db, { email, newPlan: 'free' })
      const answer = await api.call('/web/sign-in/confirm', form({ code: made!.code }))
      expect(answer.status).toBe(303)
      return { cookie: answer.headers.get('set-cookie')!.split(';')[0]! }
    },
    [Symbol.asyncDispose]: () => api[Symbol.asyncDispose](),
  }
}

/** What a form sends; a field of several values stands there several times. */
export type FormFields = Record<string, string | readonly string[]>

export const form = (fields: FormFields, headers: Record<string, string> = {}) => ({
  method: 'POST',
  body: new URLSearchParams(
    Object.entries(fields).flatMap(([name, value]) => [value].flat().map((one) => [name, one])),
  ).toString(),
  headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
})
