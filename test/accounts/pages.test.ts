import { createServer, type Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import { ensureAccount, findAccountByEmail } from '../../src/library/accounts/accounts.ts'
import { createKey, listKeys } from '../../src/library/accounts/keys.ts'
import { createSignInCode, redeemSignInCode } from '../../src/library/accounts/sessions.ts'
import { openMailer } from '../../src/outbound/mailer.ts'
import { listenOn } from '../support/listening.ts'
import { authenticate } from './authenticate.ts'
import { form, openPageVisitor, usePageVisitor } from './page-visitor.ts'

const visitor = usePageVisitor()
const { api } = visitor

const formOf = (page: string) => /name="form" value="([^"]+)"/.exec(page)![1]!

describe('sign-in', () => {
  test('a mailed link signs in once, and the address becomes a free member', async () => {
    const asked = await api.call('/web/sign-in', form({ email: 'New@Example.org' }))
    expect(asked.status).toBe(200)
    const code = await visitor.linkFor('new@example.org')
    expect(await findAccountByEmail(api.db, 'new@example.org')).toBeUndefined()
    const answers = await Promise.all(Array.from({ length: 5 }, () => api.call('/web/sign-in/confirm', form({ code }))))
    expect(answers.map((answer) => answer.status).sort()).toEqual([303, 400, 400, 400, 400])
    const cookie = answers.find((answer) => answer.status === 303)!.headers.get('set-cookie')!
    expect(cookie).toMatch(
      /^session=fls_[0-9A-Za-z]{43}; Max-Age=2592000; Path=\/; Expires=.*; HttpOnly; SameSite=Lax$/,
    )
    expect(await findAccountByEmail(api.db, 'new@example.org')).toMatchObject({ plan: 'free', role: 'member' })
    expect((await api.call('/keys', { headers: { cookie: cookie.split(';')[0]! } })).text).toContain('new@example.org')
  })

  test('with sign-up off a stranger gets the same answer and no link; an old or foreign code is refused', async () => {
    await using closedVisitor = await openPageVisitor({ signup: false })
    const { api: closed, links } = closedVisitor
    await ensureAccount(closed.db, { email: 'known@example.org' })
    const [stranger, known] = [
      await closed.call('/web/sign-in', form({ email: 'stranger@example.org' })),
      await closed.call('/web/sign-in', form({ email: 'known@example.org' })),
    ]
    expect(stranger.status).toBe(200)
    expect(stranger.text.replaceAll('stranger', 'known')).toBe(known.text)
    await closedVisitor.linkFor('known@example.org')
    expect(links.some((line) => line.includes('stranger'))).toBe(false)
    const made = await createSignInCode(api.db, { email: 'late@example.org', newPlan: 'free', lifetimeSec: 0 })
    for (const code of [made!.code, 'fll_nope', ''])
      expect((await api.call('/web/sign-in/confirm', form({ code }))).status).toBe(400)
    expect(await findAccountByEmail(api.db, 'late@example.org')).toBeUndefined()
  })

  test('keys that have ended are shown in pages of fifty', async () => {
    const { cookie } = await visitor.signIn('many@example.org')
    const account = (await findAccountByEmail(api.db, 'many@example.org'))!
    await api.db.$client.query(
      `insert into api_keys (id, account_id, name, hash, hint, scopes, created_at, revoked_at)
       select 'ended' || n, $1, 'ended ' || n, 'paged' || n, '0000', '{}', now(), now() - make_interval(mins => n)
         from generate_series(1, 60) n`,
      [account.id],
    )
    const first = await api.call('/keys', { headers: { cookie } })
    const next = /rel="next" href="(\/keys\?ended=\w+)#ended"/.exec(first.text)![1]!
    const second = await api.call(next, { headers: { cookie } })
    const names = [first, second].map(({ text }) => [...text.matchAll(/>ended (\d+)</g)].map(([, n]) => Number(n)))
    expect(names).toEqual([Array.from({ length: 50 }, (_, n) => n + 1), Array.from({ length: 10 }, (_, n) => n + 51)])
    expect(second.text).not.toContain('rel="next"')
  })

  test('a form with more fields than any page has is refused as too large', async () => {
    const many = Object.fromEntries(Array.from({ length: 1_100 }, (_, n) => [`field-${n}`, 'x']))
    const answer = await api.call('/web/sign-in', form(many))
    expect([answer.status, answer.text]).toEqual([413, expect.stringContaining('too many fields')])
  })

  test('forms of other sites and forms without the session’s token do nothing', async () => {
    const { cookie } = await visitor.signIn('forms@example.org')
    const page = await api.call('/keys', { headers: { cookie } })
    const token = formOf(page.text)
    const fields = { form: token, name: 'x', scope: 'saves:read', expires: '0' }
    const refused = [
      form(fields, { cookie, 'sec-fetch-site': 'cross-site' }),
      form(fields, { cookie, 'sec-fetch-site': 'same-site' }),
      form(fields, { cookie, origin: 'https://evil.example' }),
      form(fields, { cookie, origin: 'null' }),
      form({ ...fields, form: 'wrong' }, { cookie }),
      form({ ...fields, form: '' }, { cookie }),
    ]
    for (const attempt of refused) expect((await api.call('/web/keys', attempt)).status).toBe(403)
    const other = await visitor.signIn('other@example.org')
    expect((await api.call('/web/keys', form(fields, { cookie: other.cookie }))).status).toBe(403)
    expect((await api.call('/web/keys', form(fields))).headers.get('location')).toBe('/sign-in')
    const account = (await findAccountByEmail(api.db, 'forms@example.org'))!
    expect(await listKeys(api.db, account.id)).toEqual([])
    expect((await api.call('/web/keys', form(fields, { cookie, 'sec-fetch-site': 'same-origin' }))).status).toBe(201)
    for (const path of ['/web/sign-in', '/web/sign-in/confirm'])
      expect(
        (await api.call(path, form({ email: 'a@b.c', code: 'x' }, { 'sec-fetch-site': 'cross-site' }))).status,
      ).toBe(403)
    // A session is no credential for the API.
    expect((await api.call('/api/favourites', { headers: { cookie } })).status).toBe(401)
  })

  test('signing out ends this session, signing out everywhere ends all and the links under way', async () => {
    const [one, two] = [await visitor.signIn('many@example.org'), await visitor.signIn('many@example.org')]
    const page = (cookie: string) => api.call('/keys', { headers: { cookie } })
    await api.call('/web/sign-out', form({ form: formOf((await page(one.cookie)).text) }, { cookie: one.cookie }))
    expect((await page(one.cookie)).status).toBe(303)
    const three = await visitor.signIn('many@example.org')
    const pending = await createSignInCode(api.db, { email: 'many@example.org', newPlan: 'free' })
    await api.call(
      '/web/sign-out-everywhere',
      form({ form: formOf((await page(two.cookie)).text) }, { cookie: two.cookie }),
    )
    for (const { cookie } of [two, three]) expect((await page(cookie)).status).toBe(303)
    expect(await redeemSignInCode(api.db, { code: pending!.code })).toBeUndefined()
  })

  test('deleting the account needs its address, and ends everything', async () => {
    const { cookie } = await visitor.signIn('leaving@example.org')
    const account = (await findAccountByEmail(api.db, 'leaving@example.org'))!
    const { key } = await createKey(api.db, { accountId: account.id, name: 'k' })
    const token = formOf((await api.call('/keys', { headers: { cookie } })).text)
    expect(
      (await api.call('/web/account/delete', form({ form: token, email: 'wrong@example.org' }, { cookie }))).status,
    ).toBe(400)
    expect(await authenticate(api.db, key)).toBeDefined()
    expect(
      (await api.call('/web/account/delete', form({ form: token, email: 'Leaving@example.org' }, { cookie }))).status,
    ).toBe(200)
    expect(await findAccountByEmail(api.db, 'leaving@example.org')).toBeUndefined()
    expect(await authenticate(api.db, key)).toBeUndefined()
    expect((await api.call('/keys', { headers: { cookie } })).headers.get('location')).toBe('/sign-in')
  })

  test('whoever opens a private page comes back to it after the sign-in, and never to another site', async () => {
    const back = async (path: string, headers: Record<string, string> = {}) => {
      const asked = await api.call(path, { headers })
      const kept = asked.headers.get('set-cookie')?.split(';')[0]
      const { code } = (await createSignInCode(api.db, { email: 'back@example.org', newPlan: 'free' }))!
      const cookie: Record<string, string> = kept === undefined ? {} : { cookie: kept }
      return (await api.call('/web/sign-in/confirm', form({ code }, cookie))).headers.get('location')
    }
    expect(await back('/boards?after=x')).toBe('/boards?after=x')
    expect(await back(`/sign-in?to=${encodeURIComponent('/frames/abc-1')}`)).toBe('/frames/abc-1')
    // The button of a page leads back to that page, wherever else it was followed from to the wall.
    const own = api.url
    for (const [referer, to] of [
      [`${own}/frames/abc-1?x=y`, '/frames/abc-1?x=y'],
      [`${own}/web/sign-in`, '/'],
      [`${own}/sign-in/confirm`, '/'],
      [`${own}/sign-out`, '/'],
      [`${own}/films?author=${'%C3%A9'.repeat(600)}`, '/'],
      [`${own}//evil.example`, '/'],
      [`${own}.evil.example/boards`, '/'],
      ['https://evil.example/boards', '/'],
    ] as const)
      expect([referer, await back('/sign-in?to=here', { referer })]).toEqual([referer, to])
    for (const to of [
      '//evil.example',
      '/\\evil.example',
      'https://evil.example',
      '/a\nb',
      '/%0d%0aSet-Cookie:x=y\r\n',
    ])
      expect([to, await back(`/sign-in?to=${encodeURIComponent(to)}`)]).toEqual([to, '/'])
    const forged = { cookie: 'back=%2F%2Fevil.example' }
    const { code } = (await createSignInCode(api.db, { email: 'back@example.org', newPlan: 'free' }))!
    expect((await api.call('/web/sign-in/confirm', form({ code }, forged))).headers.get('location')).toBe('/')
  })

  test('shared pages tell nothing of their reader but the kind, and nobody else’s cache keeps a reader’s', async () => {
    const { cookie } = await visitor.signIn('reader@example.org')
    const [anyone, member] = [await api.call('/'), await api.call('/', { headers: { cookie } })]
    expect(anyone.headers.get('cache-control')).toContain('public')
    expect(member.headers.get('cache-control')).toBe('private, no-cache')
    for (const { headers } of [anyone, member]) expect(headers.get('vary')).toContain('Cookie')
    expect(member.text).toContain('/sign-out')
    expect(member.text).not.toMatch(/reader@example|name="form"/)
    const me = await api.call('/web/me', { headers: { cookie } })
    expect(me.json).toMatchObject({ email: 'reader@example.org', role: 'member', plan: 'free' })
    expect((await api.call('/web/me')).text).toBe('null')
    const form = formOf((await api.call('/sign-out', { headers: { cookie } })).text)
    expect(form).toBe(me.json.form)
  })

  test('links are not sent without end', async () => {
    await using flooded = await openPageVisitor({ scale: 0.5 })
    const statuses = []
    for (let n = 0; n < 4; n++)
      statuses.push(
        (
          await flooded.api.call(
            '/web/sign-in',
            form({ email: 'flood@example.org' }, { 'x-forwarded-for': `198.51.100.${n}` }),
          )
        ).status,
      )
    expect(statuses).toEqual([200, 200, 200, 429])
  })

  test('mail goes out through SMTP with the link in it', async () => {
    const received: string[] = []
    const signIns: string[] = []
    const smtp = createServer((socket: Socket) => {
      let inData = false
      let message = ''
      socket.write('220 test ESMTP\r\n')
      socket.on('data', (chunk) => {
        for (const line of chunk.toString().split('\r\n').slice(0, -1)) {
          if (inData) {
            if (line === '.') {
              inData = false
              received.push(message)
              socket.write('250 taken\r\n')
            } else message += `${line}\n`
          } else if (/^EHLO/i.test(line)) socket.write('250-test\r\n250-AUTH PLAIN\r\n250 8BITMIME\r\n')
          else if (/^AUTH/i.test(line)) {
            signIns.push(Buffer.from(line.split(' ')[2]!, 'base64').toString())
            socket.write('235 ok\r\n')
          } else if (/^DATA/i.test(line)) {
            inData = true
            socket.write('354 go on\r\n')
          } else if (/^QUIT/i.test(line)) socket.end('221 bye\r\n')
          else socket.write('250 ok\r\n')
        }
      })
    })
    const { port } = await listenOn(smtp)
    const mailer = openMailer({ smtpUrl: `smtp://127.0.0.1:${port}`, publicUrl: 'http://frames.example' })
    await using mailing = await openPageVisitor({ mailer })
    await mailing.api.call('/web/sign-in', form({ email: 'post@example.org' }))
    await expect.poll(() => received.length).toBeGreaterThan(0)
    const text = received[0]!.replace(/=\n/g, '')
    expect(text).toMatch(/^To: post@example\.org$/m)
    expect(text).toMatch(/^From: Frame Library <no-reply@frames\.example>$/m)
    const code = /#(fll_[0-9A-Za-z]{32})/.exec(text)![1]!
    expect((await mailing.api.call('/web/sign-in/confirm', form({ code }))).status).toBe(303)
    expect(mailing.links).toEqual([])

    // A server that asks who sends is told, and its user is the sender.
    const known = openMailer({
      smtpUrl: `smtp://frames%40example.org:p%40ss@127.0.0.1:${port}`,
      publicUrl: 'http://x.example',
    })
    await known.send({ to: 'post@example.org', subject: 'Hello', text: 'Hello' })
    known.close()
    expect(signIns).toEqual(['\0frames@example.org\0p@ss'])
    expect(received[1]).toMatch(/^From: Frame Library <frames@example\.org>$/m)
    smtp.close()
  })

  test('a page with a session or a form of one has no tie to the window that opened it', async () => {
    const { cookie } = await visitor.signIn('opened@example.org')
    const tieOf = async (path: string, headers: Record<string, string> = {}) =>
      (await api.call(path, { headers })).headers.get('cross-origin-opener-policy')
    for (const path of ['/', '/docs', '/techniques', '/keys']) expect(await tieOf(path, { cookie })).toBe('same-origin')
    expect(await tieOf('/sign-in')).toBe('same-origin')
    // Cutting the tie costs a second process before anything is painted: pages for anyone, without forms, keep it.
    for (const path of ['/', '/docs', '/techniques']) expect(await tieOf(path)).toBeNull()
  })

  test('pages run no inline code and are never stored; assets may be kept for ever', async () => {
    const page = await api.call('/sign-in')
    expect(page.headers.get('content-security-policy')).toContain(
      "default-src 'none'; script-src 'self'; style-src 'self'",
    )
    expect(page.headers.get('cache-control')).toBe('no-store')
    expect(page.text).not.toMatch(/<script(?![^>]*src=)|<style| style=| on\w+=/)
    const asset = /href="(\/assets\/style-[0-9a-f]{8}\.css)"/.exec(page.text)![1]!
    expect((await api.call(asset)).headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    expect((await api.call('/assets/..%2flayout.ts')).status).toBe(404)
  })
})
