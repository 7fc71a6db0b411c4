import { expect, test } from 'vitest'
import { useOpened } from '../support/closing.ts'
import { seededRandom } from '../support/seeded-random.ts'
import { askForAccess, letIn, openSignInService, register } from './support.ts'

/** Absurd and almost valid requests to every address of the sign-in by apps. */

const service = useOpened(() => openSignInService({ RATE_LIMIT_SCALE: '100000' }))

/** Each seed is a test with a limit of its own, which holds on a busy machine too. */
const SEEDS = Array.from({ length: Number(process.env.FUZZ_TIMES ?? 1) }, (_, n) => 30 + n)
const REQUESTS = 1_000
const AT_ONCE = 16

const NASTY = [
  '',
  ' ',
  '\0',
  '%00',
  '../../etc',
  "' or 1=1 --",
  '<script>alert(1)</script>',
  'javascript:alert(1)',
  'https://evil.example.com/back',
  '//evil.example.com',
  'https://app.example.com/back@evil.example.com',
  'https://app.example.com/back/../../evil',
  'https://app.example.com/back#x',
  'http://127.0.0.1:9/',
  'https://[::1]/c',
  'https://169.254.169.254/latest/meta-data',
  '\u202e\ud83d\ude00',
  'é'.repeat(300),
  'x'.repeat(3_000),
  '__proto__',
  'constructor',
  '[]',
  '{"a":1}',
  'null',
  '-1',
  '1e999',
]

test.for(SEEDS)('hostile requests, seed %i: no fault of ours, and no way to an unregistered address', async (seed) => {
  const random = seededRandom(seed)
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
  const person = await service.person('designer@example.com')
  const known = await letIn(service, person)
  const { json } = await register(service, { client_name: 'x', redirect_uris: [known.redirectUri] })
  const valid = new URL(askForAccess(service, { ...known, clientId: json.client_id }).address).searchParams
  const names = [
    ...valid.keys(),
    ...['response_mode', 'prompt', 'max_age', 'request', 'request_uri', 'claims', 'id_token_hint', 'ui_locales'],
    ...['grant_type', 'code', 'code_verifier', 'refresh_token', 'token', 'token_type_hint', 'client_secret'],
  ]
  const words = [
    ...NASTY,
    ...valid.values(),
    ...['authorization_code', 'refresh_token', 'client_credentials', 'query', 'fragment', 'form_post', 'none', 'login'],
    known.tokens.refresh_token,
    known.exchange.code,
  ]

  /** Most of a valid request, with some of its parts replaced, doubled or left out. */
  function fields(): URLSearchParams {
    const sent = new URLSearchParams(random() < 0.7 ? valid : undefined)
    for (let n = Math.floor(random() * 4); n >= 0; n--) {
      const name = pick(names)
      const how = pick(['delete', 'append', 'set', 'set', 'set'] as const)
      if (how === 'delete') sent.delete(name)
      else sent[how](name, pick(words))
    }
    return sent
  }
  const bodyOf = (): [string | undefined, string] =>
    pick<() => [string | undefined, string]>([
      () => [fields().toString(), 'application/x-www-form-urlencoded'],
      () => [JSON.stringify({ client_name: pick(words), redirect_uris: [pick(words)] }), 'application/json'],
      () => [JSON.stringify({ redirect_uris: pick<unknown>([pick(words), 7, null, [{}], [[]]]) }), 'application/json'],
      () => [pick(words), pick(['application/json', 'text/plain', 'application/x-www-form-urlencoded', 'x'])],
      () => [undefined, 'application/json'],
    ])()
  const paths = [
    '/oauth/authorize',
    '/oauth/token',
    '/oauth/revoke',
    '/oauth/register',
    '/oauth/keys',
    '/.well-known/oauth-authorization-server',
    '/.well-known/oauth-protected-resource/mcp',
    '/mcp',
  ]

  async function one(): Promise<string | undefined> {
    const path =
      random() < 0.1 ? `/oauth/${pick(['authorize', 'consent'])}/${encodeURIComponent(pick(words))}` : pick(paths)
    const method = /authorize|consent|well-known|keys/.test(path) && random() < 0.8 ? 'GET' : 'POST'
    const [body, type] = bodyOf()
    const headers: Record<string, string> = { accept: pick(['text/html', '*/*', 'application/json']) }
    if (random() < 0.2)
      headers.authorization = pick(['Bearer x', 'Basic eDp5', `Bearer ${known.tokens.access_token}`, 'x'])
    if (random() < 0.1) headers.cookie = `_interaction=${pick(['x', '%00', 'a.b'])}; _session=x`
    if (random() < 0.1) headers['x-forwarded-host'] = 'evil.example.com'
    const query = random() < 0.8 ? `?${fields()}` : ''
    const answer = await fetch(service.url + path + query, {
      method,
      redirect: 'manual',
      headers: method === 'POST' && body !== undefined ? { ...headers, 'content-type': type } : headers,
      ...(method === 'POST' && body !== undefined ? { body } : {}),
    })
    const text = await answer.text()
    const to = answer.headers.get('location')
    const asked = `${method} ${path}${query} ${type} ${body?.slice(0, 200)}`
    if (answer.status >= 500) return `${answer.status}: ${asked}`
    if (/at .*\.js:\d+|node_modules/.test(text)) return `tells the inside: ${asked}`
    if (to !== null && !isAllowed(to)) return `sent to ${to}: ${asked}`
    return undefined
  }
  const isAllowed = (to: string) => {
    const { origin, href } = new URL(to, service.url)
    return (
      origin === service.url || href.startsWith(`${known.redirectUri}?`) || href.startsWith(`${known.redirectUri}#`)
    )
  }

  const faults: string[] = []
  let left = REQUESTS
  const run = async () => {
    while (left-- > 0) {
      const fault = await one()
      if (fault) faults.push(fault)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, run))
  expect([faults.length, faults.slice(0, 5)]).toEqual([0, []])
  const errors = service.logs.filter((line) => /"level":(?:50|60)/.test(line))
  expect(errors.slice(0, 3)).toEqual([])
})
