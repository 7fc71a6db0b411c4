import { createHmac, timingSafeEqual } from 'node:crypto'
import type { NextFunction, Request, Response } from 'express'
import onHeaders from 'on-headers'
import type { Db } from '../db/client.ts'
import { AppError } from '../errors.ts'
import { type Authentication, payerOf } from '../http/authenticate.ts'
import { contextOf } from '../http/edge.ts'
import type { Operation } from '../http/endpoint.ts'
import { type Charging, chargeOnce } from '../http/rate-limit/rate-limits.ts'
import { openRoutes, type Routes } from '../http/routes.ts'
import { loadPictureKey } from '../library/settings.ts'
import type { LibrarySearch } from '../search/library-search.ts'
import { ownPath, sessionCookie, setWayBack, visitorOf } from '../web/guard.ts'

/*
 * READS=members: reading needs a key or a session. Pictures open by an address of the answers too, for up to an hour,
 * because agents and chats fetch them without a key.
 */

const PERIOD_SEC = 30 * 60

type PictureSigner = ReturnType<typeof openPictureSigner>

/**
 * Signs the addresses of pictures, and knows its own. One lasts until the period after the next one begins: for 30 to
 * 60 minutes.
 */
export function openPictureSigner(db: Db, now: () => number = Date.now) {
  let key: Promise<Buffer> | undefined
  // Looked up at the first use, because the API starts before its database may answer.
  const keyOf = () => {
    key ??= loadPictureKey(db).catch((error: unknown) => {
      key = undefined
      throw error
    })
    return key
  }
  const period = () => Math.floor(now() / 1000 / PERIOD_SEC)
  const macOf = (key: Buffer, path: string, until: string) =>
    createHmac('sha256', key).update(`${path} ${until}`).digest('base64url').slice(0, 22)
  return {
    /** Changes before the addresses of answers end, so that none is kept longer. */
    period,
    async signing() {
      const key = await keyOf()
      const until = String((period() + 2) * PERIOD_SEC)
      return (path: string) => `${path}?until=${until}&mac=${macOf(key, path, until)}`
    },
    /** Undefined: the address is not signed. */
    async check(path: string, query: URLSearchParams) {
      const [until, mac] = [query.get('until'), query.get('mac')]
      if (until === null || mac === null) return undefined
      const [given, right] = [Buffer.from(mac), Buffer.from(macOf(await keyOf(), path, until))]
      return given.length === right.length && timingSafeEqual(given, right) && Number(until) * 1000 > now()
    },
  }
}

const PICTURE_FIELDS = new Set(['image_path', 'thumb_path', 'loop_path'])
const SIGNED = [
  'search',
  'frames',
  'videoFrames',
  'frame',
  'documents',
  'framesByIds',
  'similar',
  'video',
  'videos',
  'brands',
  'techniques',
] as const satisfies (keyof LibrarySearch)[]

/** The same search, whose documents have signed addresses. Its version changes with them, and with it what is kept. */
export function withSignedPictures(search: LibrarySearch, signer: PictureSigner): LibrarySearch {
  const reads = Object.fromEntries(
    SIGNED.map((name) => {
      const read = search[name] as (...given: unknown[]) => Promise<unknown>
      return [name, async (...given: unknown[]) => signPictures(await read(...given), await signer.signing())]
    }),
  )
  const version = async () => `${await search.version()}.${signer.period()}`
  return { ...search, ...reads, version }
}

function signPictures(value: unknown, sign: (path: string) => string): unknown {
  if (Array.isArray(value)) return value.map((one) => signPictures(one, sign))
  if (value instanceof Map) return new Map([...value].map(([key, one]) => [key, signPictures(one, sign)]))
  if (typeof value !== 'object' || value === null) return value
  const fields = Object.entries(value).map(([name, one]) => {
    const isPicture = PICTURE_FIELDS.has(name) && typeof one === 'string'
    return [name, isPicture ? sign(one) : signPictures(one, sign)]
  })
  return Object.fromEntries(fields)
}

/**
 * What answers without a key or a session: health checks, sign-in and its files, sign-in of apps, the privacy page,
 * shared boards, and `/mcp`, which asks for a key itself.
 */
const OPEN = new RegExp(
  `^/(?:${[
    'livez|readyz|robots\\.txt|privacy|web/me|(?:web/)?sign-in|mcp',
    '(?:assets|(?:web/)?sign-in|(?:api/)?shared)/.*',
    'oauth/(?!consent/).*|\\.well-known/(?:oauth|openid)-.*',
  ].join('|')})$`,
)

/** What those operations need that everyone could call. Pictures have their signed addresses beside a key. */
export function forMembers(operation: Operation): Operation {
  const { scope, path, errors = [] } = operation
  if (scope || OPEN.test(path)) return operation
  if (path.startsWith('/media/')) return { ...operation, keyOptional: true, errors: [...errors, 401, 403] }
  return { ...operation, anyKey: true, errors: [...errors, 401] }
}

/** Precedes every route. */
export function membersOnly({
  db,
  authentication,
  limits,
  publicUrl,
  signer,
}: {
  db: Db
  authentication: Pick<Authentication, 'identify'>
  limits: Charging
  publicUrl: string
  signer: PictureSigner
}): Routes {
  const cookie = sessionCookie(publicUrl)
  const gate = openRoutes()
  gate.use(async (req: Request, res: Response, next: NextFunction) => {
    keepPrivate(res)
    const { path } = contextOf(req)
    if (OPEN.test(path)) return next()
    if (path.startsWith('/media/')) {
      const signed = await signer.check(path, new URL(req.url, publicUrl).searchParams)
      if (signed) return next()
      if (signed === false)
        throw new AppError('forbidden', 'This picture’s address has ended. Ask for the frame again, or send a key.')
    }
    const reader = (await authentication.identify(req, res)) ?? (await visitorOf(db, cookie, req))
    if (reader) {
      // Pictures count at the address.
      if (!path.startsWith('/media/')) contextOf(req).payer = payerOf(reader)
      return next()
    }
    const isPage = req.method === 'GET' && !path.startsWith('/api/') && req.accepts(['json', 'html']) === 'html'
    if (!isPage) throw new AppError('unauthenticated', 'This library is for its members. Send a key, or sign in.')
    await chargeOnce(limits, { req, res })
    const to = ownPath(req.originalUrl)
    setWayBack(res, { publicUrl, to })
    res.set('Cache-Control', 'no-store').redirect(303, '/sign-in')
  })
  return gate
}

/** No cache that people share may keep an answer; the routes say how long any other may. */
function keepPrivate(res: Response): void {
  onHeaders(res, () => {
    const given = res.getHeader('Cache-Control')
    if (typeof given === 'string')
      res.setHeader('Cache-Control', given.replace(/^public\b/, 'private').replace(/, s-maxage=\d+/, ''))
    res.vary('Authorization').vary('Cookie')
  })
}
