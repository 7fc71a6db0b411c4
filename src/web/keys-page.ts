import type { Request, Response } from 'express'
import type { Db } from '../db/client.ts'
import { AppError } from '../errors.ts'
import { payerOf } from '../http/authenticate.ts'
import { POINTS } from '../http/rate-limit/budgets.ts'
import type { RateLimits } from '../http/rate-limit/rate-limits.ts'
import { limitOpenReads } from '../http/rate-limit/spend.ts'
import { openRoutes, type Routes } from '../http/routes.ts'
import { markAccountDeleted } from '../library/accounts/accounts.ts'
import { createKey, listDeadKeys, listKeys, listLiveKeys, revokeKey, rotateKey } from '../library/accounts/keys.ts'
import { formBody, fromOurPages, requireFormVisitor, requireVisitor, sessionCookie, type Visitor } from './guard.ts'
import { html } from './html.ts'
import { CreateForm, givenKey, RotateForm } from './key-forms.ts'
import { type KeysView, keysPage } from './keys-view.ts'
import { layout, sendPage } from './layout.ts'
import type { PageDeps } from './page-deps.ts'
import { pageErrors } from './page-errors.ts'

/** `/keys`: create, see, rotate and revoke API keys. */
export function keysPageRouter(deps: PageDeps): Routes {
  const { db, assets, limits, logger, publicUrl } = deps
  const router = openRoutes()
  const cookie = sessionCookie(publicUrl)
  const ours = fromOurPages(publicUrl)
  const paid = limitOpenReads(limits)
  const show = (res: Response, view: KeysView, status?: number) => showKeys(deps, res, view, status)

  /** The visitor who sent a form, after it is checked and paid for. */
  async function formVisitor(req: Request): Promise<Visitor> {
    const visitor = await requireFormVisitor(db, cookie, req)
    await takePoints(limits, visitor, POINTS.write)
    return visitor
  }

  router.get('/keys', paid, async (req, res) => {
    const visitor = await requireVisitor(db, cookie, req)
    await takePoints(limits, visitor, POINTS.read)
    const notice = req.query.done === 'revoked' ? 'The key is revoked. Its next request will be refused.' : undefined
    const { ended } = req.query
    await show(res, { visitor, notice, ended: typeof ended === 'string' ? ended : undefined })
  })

  router.post('/web/keys', paid, ours, formBody, async (req, res) => {
    const visitor = await formVisitor(req)
    const { status, ...view } = await tryCreateKey(db, visitor, req.body)
    await show(res, { visitor, ...view }, status)
  })

  router.post('/web/keys/:id/rotate', paid, ours, formBody, async (req, res) => {
    const visitor = await formVisitor(req)
    const { grace } = RotateForm.parse(req.body)
    const at = { accountId: visitor.account.id, keyId: String(req.params.id) }
    const made = await rotateKey(db, { ...at, graceSec: grace * 3600 })
    const replaced = (await listKeys(db, visitor.account.id)).find((key) => key.id === at.keyId)
    await show(res, { visitor, made: { ...made, replaced } }, 201)
  })

  router.post('/web/keys/:id/revoke', paid, ours, formBody, async (req, res) => {
    const visitor = await formVisitor(req)
    await revokeKey(db, { accountId: visitor.account.id, keyId: String(req.params.id) })
    res.set('Cache-Control', 'no-store').redirect(303, '/keys?done=revoked')
  })

  router.post('/web/account/delete', paid, ours, formBody, async (req, res) => {
    const visitor = await formVisitor(req)
    const typed = String(req.body?.email ?? '')
    if (typed.trim().toLowerCase() !== visitor.account.email) {
      const error = { field: 'delete', message: 'Type your e-mail address to confirm.' }
      await show(res, { visitor, error }, 400)
      return
    }
    await markAccountDeleted(db, visitor.account.id)
    cookie.clear(res)
    sendPage(res, { publicUrl, page: layout(assets, { title: 'Account deleted', body: ACCOUNT_DELETED }) })
  })

  // A reader may reload or bookmark the address of a form.
  router.get('/web/*rest', paid, (_req, res) => res.set('Cache-Control', 'no-store').redirect(303, '/keys'))

  router.use(pageErrors({ assets, publicUrl, logger }))
  return router
}

/** From the budget that the account's keys use too. */
async function takePoints(limits: RateLimits, visitor: Visitor, points: number): Promise<void> {
  const { budget, subject } = payerOf(visitor)
  await limits.consume(budget, subject, points)
}

const ACCOUNT_DELETED = html`<section class="narrow card">
<h1>Your account is deleted</h1>
<p>Keys, saves and boards are gone.</p>
<p><a href="/">To the library</a></p>
</section>`

async function showKeys(
  { db, assets, limits, publicUrl }: PageDeps,
  res: Response,
  view: KeysView,
  status = 200,
): Promise<void> {
  const { account, form } = view.visitor
  const live = await listLiveKeys(db, account.id)
  const dead = await listDeadKeys(db, account.id, { after: view.ended })
  const { budget, subject } = payerOf(view.visitor)
  const usage = await limits.peek(budget, subject)
  const page = layout(assets, {
    title: 'API keys',
    current: 'keys',
    modules: ['keys.js'],
    account,
    formToken: form,
    noIndex: true,
    body: keysPage({ ...view, live, dead, usage, publicUrl, pointsOf: limits.pointsOf }),
  })
  sendPage(res, { publicUrl, status, page })
}

/** The new key, or what is wrong with the form. */
async function tryCreateKey(
  db: Db,
  visitor: Visitor,
  body: Record<string, unknown> = {},
): Promise<Pick<KeysView, 'made' | 'given' | 'error'> & { status: number }> {
  const given = givenKey(body)
  const parsed = CreateForm.safeParse(body)
  if (!parsed.success) {
    const issue = parsed.error.issues[0]!
    return { status: 400, given, error: { field: String(issue.path[0]), message: issue.message } }
  }
  const { name, scope: scopes, expires } = parsed.data
  const expiresAt = expires > 0 ? new Date(Date.now() + expires * 86_400_000) : undefined
  try {
    return { status: 201, made: await createKey(db, { accountId: visitor.account.id, name, scopes, expiresAt }) }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const field = error.details?.[0]?.path ?? 'name'
    if (error.code === 'conflict') return { status: 409, given, error: { field, message: error.message } }
    if (error.code === 'invalid_request') return { status: 400, given, error: { field, message: error.message } }
    throw error
  }
}
