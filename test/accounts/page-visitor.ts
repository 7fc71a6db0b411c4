import { beforeAll, expect } from 'vitest'
import type { Role } from '../../src/db/schema/accounts.ts'
import type { RateLimits } from '../../src/http/rate-limit/rate-limits.ts'
import type { ConnectionLimits } from '../../src/http/server.ts'
import { type Account, ensureAccount, findAccountByEmail } from '../../src/library/accounts/accounts.ts'
import { formToken } from '../../src/library/accounts/sessions.ts'
import type { Mailer } from '../../src/outbound/mailer.ts'
import type { OpenApi } from '../../src/server/main.ts'
import type { Plan } from '../../src/vocabulary.ts'
import { useOpened } from '../support/closing.ts'
import { sessionOf } from '../support/session.ts'
import { openTestApi, type TestApi } from './app.ts'

/** A signed-in person, who sends forms with the token of their session, as pages do. */
export interface Person {
  account: Account
  cookie: string
  token: string
  get(path: string): ReturnType<TestApi['call']>
  post(path: string, fields?: FormFields, headers?: Record<string, string>): ReturnType<TestApi['call']>
}

/** The service as a person without a mail server meets it: links are printed, and kept here. */
export interface PageVisitor {
  api: TestApi
  links: string[]
  routers: OpenApi['app']['routers']
  tools: OpenApi['app']['tools']
  /** The code of the link that was printed for an address. */
  linkFor(email: string): Promise<string>
  /** A person with a session; with `who` their account is made. */
  signIn(email: string, who?: { plan?: Plan; role?: Role }): Promise<Person>
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
    async signIn(email, who) {
      if (who) await ensureAccount(api.db, { email, ...who })
      const { name, value } = await sessionOf(api.db, api.url, email)
      const [cookie, token] = [`${name}=${value}`, formToken(value)]
      return {
        account: (await findAccountByEmail(api.db, email))!,
        cookie,
        token,
        get: (path) => api.call(path, { headers: { cookie } }),
        post: (path, fields = {}, headers = {}) =>
          api.call(path, form({ form: token, ...fields }, { cookie, ...headers })),
      }
    },
    [Symbol.asyncDispose]: () => api[Symbol.asyncDispose](),
  }
}

/** One for all tests of a file. */
export function usePageVisitor(options?: Parameters<typeof openPageVisitor>[0]): PageVisitor {
  const visitor = useOpened(() => openPageVisitor(options))
  const api = {} as TestApi
  beforeAll(() => void Object.assign(api, visitor.api))
  return Object.assign(visitor, { api })
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
