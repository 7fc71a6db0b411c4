import express, { type NextFunction, type Request, type RequestHandler, type Response } from 'express'
import type { Db } from '../db/client.ts'
import { AppError } from '../errors.ts'
import { payerOf } from '../http/authenticate.ts'
import { contextOf } from '../http/edge.ts'
import { openRoutes, type Routes } from '../http/routes.ts'
import {
  findSession,
  formToken,
  isFormToken,
  LINK_SEC,
  SESSION_SEC,
  type Session,
} from '../library/accounts/sessions.ts'
import type { ViewerOf } from './layout.ts'

/** The signed-in person who requests a page. */
export interface Visitor extends Session {
  token: string
  /** The token in this session's forms. */
  form: string
}

/** The session cookie. With https it is named `__Host-…`, which no other host and no plain connection can set. */
export function sessionCookie(publicUrl: string) {
  const secure = publicUrl.startsWith('https:')
  const name = secure ? '__Host-session' : 'session'
  const options = { httpOnly: true, sameSite: 'lax', secure, path: '/' } as const
  return {
    read: (req: Request) =>
      new RegExp(`(?:^|; ?)${name}=(fls_[0-9A-Za-z]{43})(?:;|$)`).exec(req.headers.cookie ?? '')?.[1],
    set: (res: Response, token: string) => res.cookie(name, token, { ...options, maxAge: SESSION_SEC * 1000 }),
    clear: (res: Response) => res.clearCookie(name, options),
  }
}
export type SessionCookie = ReturnType<typeof sessionCookie>

const visitors = new WeakMap<Request, Visitor>()

export async function visitorOf(db: Db, cookie: SessionCookie, req: Request): Promise<Visitor | undefined> {
  const token = cookie.read(req)
  const session = token && !visitors.has(req) ? await findSession(db, token) : undefined
  if (token && session) visitors.set(req, { ...session, token, form: formToken(token) })
  return visitors.get(req)
}

/** A valid session pays for itself, whatever others at its address have used up. */
export function sessionPays({ db, publicUrl }: { db: Db; publicUrl: string }): Routes {
  const cookie = sessionCookie(publicUrl)
  const gate = openRoutes()
  gate.use(async (req: Request, _res: Response, next: NextFunction) => {
    const visitor = await visitorOf(db, cookie, req).catch(() => undefined)
    if (visitor) contextOf(req).payer = payerOf(visitor)
    next()
  })
  return gate
}

export function viewerReader(db: Db, publicUrl: string): ViewerOf {
  const cookie = sessionCookie(publicUrl)
  return async (req) => (await visitorOf(db, cookie, req))?.account.role ?? 'anyone'
}

/**
 * Answers a form: JSON for a script that asks for it (`send` in core.js), a page to go to for everyone else. Both name
 * that page. `to`: a path of ours; where the form names one in `back`, that.
 */
export function answerForm(req: Request, res: Response, { json, to }: { json: object; to: string }): void {
  res.set('Cache-Control', 'no-store')
  const next = ownPath(formField(req, 'back')) ?? to
  if (wantsJson(req)) res.json({ ...json, to: next })
  else res.redirect(303, next)
}

export function wantsJson(req: Request): boolean {
  return req.headers.accept?.startsWith('application/json') ?? false
}

/** A path on this site, as a page gives it to find back; undefined for anything that may lead elsewhere. */
export function ownPath(given: unknown): string | undefined {
  if (typeof given !== 'string' || given.length > 4_000 || !/^\/(?![/\\])[\x21-\x7e]*$/.test(given)) return undefined
  return given
}

/** The page that asked for a sign-in waits in a cookie: the link that signs in comes by mail and names no page. */
export const WAY_BACK = { httpOnly: true, sameSite: 'lax', path: '/' } as const

export function setWayBack(res: Response, { publicUrl, to }: { publicUrl: string; to: string | undefined }): void {
  // Browsers keep no larger cookie.
  if (to === undefined || encodeURIComponent(to).length > 4_000) return
  res.cookie('back', to, { ...WAY_BACK, secure: publicUrl.startsWith('https:'), maxAge: LINK_SEC * 1000 })
}

/** @throws AppError unauthenticated */
export async function requireVisitor(db: Db, cookie: SessionCookie, req: Request): Promise<Visitor> {
  const visitor = await visitorOf(db, cookie, req)
  if (!visitor) throw new AppError('unauthenticated', 'You are not signed in. Sign in first.')
  return visitor
}

/**
 * The visitor who sent a form, which must carry the token of the session.
 * @throws AppError unauthenticated | forbidden
 */
export async function requireFormVisitor(db: Db, cookie: SessionCookie, req: Request): Promise<Visitor> {
  const visitor = await requireVisitor(db, cookie, req)
  requireFormToken(visitor, formField(req, 'form'))
  return visitor
}

/** @throws AppError forbidden */
export function requireFormToken({ token }: Visitor, given: unknown): void {
  if (!isFormToken(token, given)) throw new AppError('forbidden', 'This form has expired. Load the page again.')
}

/** What a form sent under a name, if there is a form. */
export function formField(req: Request, name: string): unknown {
  return (req.body as Record<string, unknown> | undefined)?.[name]
}

/** Reads a page's form. */
export const formBody = express.urlencoded({ extended: false, limit: '32kb', parameterLimit: 100 })

/**
 * Refuses forms of other sites. Browsers say where a request comes from (Sec-Fetch-Site, Origin);
 * a client that sends neither header is not steered by a page. SameSite=Lax and the session's form token also guard,
 * but before sign-in this is the only check.
 */
export function fromOurPages(publicUrl: string): RequestHandler {
  const ours = new URL(publicUrl).host
  return (req, _res, next) => {
    const site = req.headers['sec-fetch-site']
    const origin = req.headers.origin
    let foreign = false
    if (site !== undefined) foreign = site !== 'same-origin' && site !== 'none'
    else if (origin !== undefined) {
      const host = URL.canParse(origin) ? new URL(origin).host : undefined
      foreign = host === undefined || (host !== ours && host !== req.headers.host)
    }
    if (foreign) throw new AppError('forbidden', 'This form was sent from another site. Use the form on this site.')
    next()
  }
}
