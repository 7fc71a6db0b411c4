import express, { type Request, type RequestHandler, type Response } from 'express'
import type { Db } from '../db/client.ts'
import { AppError } from '../errors.ts'
import { findSession, formToken, isFormToken, SESSION_SEC, type Session } from '../library/accounts/sessions.ts'

/** The signed-in person of a request to the pages. */
export interface Visitor extends Session {
  token: string
  /** What this session's forms carry. */
  form: string
}

/** The cookie of a session. With https it carries the `__Host-` prefix: no other host and no plain connection can set it. */
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

export async function visitorOf(db: Db, cookie: SessionCookie, req: Request): Promise<Visitor | undefined> {
  const token = cookie.read(req)
  const session = token ? await findSession(db, token) : undefined
  return token && session ? { ...session, token, form: formToken(token) } : undefined
}

/** Reads a page's form. */
export const formBody = express.urlencoded({ extended: false, limit: '32kb', parameterLimit: 100 })

/**
 * Refuses forms of other sites: browsers say where a request comes from (Sec-Fetch-Site, Origin), and what sends neither cannot be steered by a page.
 * Together with SameSite=Lax and the session's form token; the only guard where there is no session yet.
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
    if (foreign) throw new AppError('forbidden', 'This form was not sent from our own page.')
    next()
  }
}

/** @throws AppError forbidden when the form is not of this session. */
export function requireForm(visitor: Visitor, body: unknown): void {
  if (!isFormToken(visitor.token, (body as { form?: unknown } | undefined)?.form))
    throw new AppError('forbidden', 'This form has expired. Load the page again.')
}
