import { hash } from 'node:crypto'
import type { Request, Response } from 'express'
import type { App } from '../api/app.ts'
import { keptOrInTurn } from '../http/cached-reads.ts'
import { subjectOf } from '../http/edge.ts'
import type { Price } from '../http/rate-limit/budgets.ts'
import { priced } from '../http/rate-limit/rate-limits.ts'
import { CompressibleBody, isNoneMatchMet, preferredEncoding, sendBody } from '../http/response-body.ts'
import type { Routes } from '../http/routes.ts'
import { canonicalKey, type Parameters, readPageParameters, type Values } from '../parameters.ts'
import { plainName } from '../views/parameters.ts'
import type { Assets } from './assets.ts'
import { formToken, type Html, html, trusted } from './html.ts'

/** Who looks: all that a page which many share may know of its reader. */
export type Viewer = 'anyone' | 'member' | 'operator'
export type ViewerOf = (req: Request) => Promise<Viewer>

export interface Page {
  title: string
  body: Html
  /** The navigation entry of this page. */
  current?: (typeof NAVIGATION)[number]['id'] | 'operator' | 'keys' | 'docs' | 'sign-in'
  /** Names of modules in `assets/`. */
  modules?: readonly string[]
  /** On pages that many share, instead of `person`. */
  viewer?: Viewer
  /** Who is signed in, with the token of the session's forms: only on pages that no cache keeps. */
  person?: { account: { email: string; role: 'member' | 'operator' }; form: string }
  noIndex?: boolean
  /** The whole width, for pictures. */
  wide?: boolean
  /** Needs the first style sheet alone. */
  lean?: boolean
  /** For search engines and for places where links are pasted. */
  description?: string | undefined
  /** Further elements of the head. */
  head?: Html
}

const NAVIGATION = [
  { id: 'wall', href: '/', label: 'Wall' },
  { id: 'films', href: '/films', label: 'Films' },
  { id: 'boards', href: '/boards', label: 'Boards' },
] as const

/** What a program that has only the address of a page reads next, the best first. */
const FOR_PROGRAMS = [
  { rel: 'help', href: '/llms.txt', type: 'text/plain' },
  { rel: 'service-desc', href: '/openapi.json', type: 'application/json' },
  { rel: 'service', href: '/api/mcp', type: 'application/json' },
] as const
const LINK_HEADER = FOR_PROGRAMS.map(({ rel, href, type }) => `<${href}>; rel="${rel}"; type="${type}"`).join(', ')
const LINKS = html`${FOR_PROGRAMS.map(
  ({ rel, href, type }) => html`<link rel="${rel}" href="${href}" type="${type}">\n`,
)}`

/** The shell of every page: one heading bar, one main, no inline script or style. */
export function layout(assets: Assets, page: Page): string {
  const { title, body, modules = [], noIndex, wide, lean, description, head } = page
  const icon = assets.url('icon.svg')
  const described = description !== undefined && html`<meta name="description" content="${description}">\n`
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
${noIndex && trusted('<meta name="robots" content="noindex">\n')}<title>${title} · Frame Library</title>
${described}<link rel="icon" href="${icon}" type="image/svg+xml">
<link rel="preload" href="${assets.url('inter.woff2')}" as="font" type="font/woff2" crossorigin>
<link rel="stylesheet" href="${assets.url('style.css')}">
${!lean && html`<link rel="stylesheet" href="${assets.url('pages.css')}">\n`}${LINKS}${head}</head>
<body data-viewer="${viewerOfPage(page)}">
<a class="skip" href="#main">Skip to content</a>
<header class="bar">
  <a class="brand" href="/"><img src="${icon}" alt="" width="22" height="22"><span>Frame Library</span></a>
  <nav aria-label="Main"><ul>
    ${navigation(page)}
  </ul></nav>
  ${accountCorner(page)}
</header>
<main id="main" tabindex="-1"${wide && trusted(' class="wide"')}>
${body}
</main>
${scriptTags(assets, modules)}</body>
</html>
`.text
}

/** Scripts come last, after the pictures: people look at a page before they use it, and it works without them. */
function scriptTags(assets: Assets, modules: readonly string[]): Html {
  const imported = new Set(modules.flatMap((name) => assets.modules(name).slice(1)))
  const preloads = [...imported].map((url) => html`<link rel="modulepreload" href="${url}" fetchpriority="low">\n`)
  const scripts = modules.map((name) => {
    return html`<script type="module" src="${assets.url(name)}" fetchpriority="low"></script>\n`
  })
  return html`${preloads}${scripts}`
}

function viewerOfPage({ viewer = 'anyone', person }: Page): Viewer {
  return person?.account.role ?? viewer
}

function navigation({ current }: Page): Html[] {
  return NAVIGATION.map(({ id, href, label }) => html`<li>${entry({ href, label, isHere: id === current })}</li>`)
}

function entry({ href, label, isHere }: { href: string; label: string; isHere: boolean }): Html {
  return html`<a href="${href}"${isHere && trusted(' aria-current="page"')}>${label}</a>`
}

/** One menu, on every page, for who is signed in. It opens without a script. */
function accountCorner(page: Page): Html | false {
  const { person, current } = page
  const viewer = viewerOfPage(page)
  const link = (id: Page['current'], href: string, label: string) => entry({ href, label, isHere: id === current })
  if (current === 'sign-in') return false
  if (viewer === 'anyone') return html`<div class="account"><a class="button" href="/sign-in?to=here">Sign in</a></div>`
  const out =
    person &&
    html`<form method="post" action="/web/sign-out">
      ${formToken(person)}
      <button>Sign out</button>
    </form>`
  return html`<div class="account"><details class="fold account-menu">
    <summary>Account</summary>
    <div class="panel items">
      ${person && html`<p class="who" title="Signed in">${person.account.email}</p>`}
      ${viewer === 'operator' && link('operator', '/operator', 'Operator console')}
      ${link('keys', '/keys', 'Keys and apps')}
      <a href="/connect">Connect an assistant</a>
      ${link('docs', '/docs', 'API')}
      <a href="/privacy">Privacy</a>
      ${out ?? html`<a href="/sign-out">Sign out</a>`}
    </div>
  </details></div>`
}

/**
 * Sends a page with its content security policy: it loads and does only what is our own. Not stored by browsers or
 * caches, unless the route has set its own Cache-Control; then it has an ETag. A page of a session is a text and is not
 * compressed, because the length would reveal the secrets in its forms. `viewer` anyone: the window that opened the
 * page keeps its handle of it. A browser that cuts that tie starts a second process for the page before it shows
 * anything. There is no session on such a page to guard.
 */
export function sendPage(
  res: Response,
  options: {
    publicUrl: string
    status?: number
    page: string | CompressibleBody
    viewer?: Viewer
    /** Where the redirects after a form of this page lead, besides our own addresses. */
    formTo?: string | undefined
    /** What else the page may load, as directives of its policy. */
    loads?: readonly string[] | undefined
  },
): void | Promise<void> {
  const { publicUrl, status = 200, page, viewer, formTo, loads = [] } = options
  res.set({
    'Content-Security-Policy': [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "font-src 'self'",
      `img-src 'self' data: ${new URL(publicUrl).origin}`,
      "connect-src 'self'",
      ...loads,
      `form-action 'self'${formTo === undefined ? '' : ` ${formTo}`}`,
      "base-uri 'none'",
      "frame-ancestors 'none'",
    ].join('; '),
    ...(viewer === 'anyone' ? {} : { 'Cross-Origin-Opener-Policy': 'same-origin' }),
    'Permissions-Policy': 'camera=(), geolocation=(), microphone=()',
    Link: LINK_HEADER,
    'Cache-Control': res.get('Cache-Control') ?? 'no-store',
  })
  res.status(status)
  if (typeof page === 'string') {
    res.type('html').send(page)
    return
  }
  res.vary('Accept-Encoding')
  if (res.get('Cache-Control') !== 'no-store') {
    const etag = `W/"${hash('sha256', page.bytes, 'base64url').slice(0, 22)}"`
    res.set('ETag', etag)
    if (isNoneMatchMet(res.req.headers['if-none-match'], etag)) {
      res.status(304).end()
      return
    }
  }
  return sendBody(res.req, res, page, { type: 'text/html; charset=utf-8', encoding: preferredEncoding(res.req) })
}

/** Lets caches share a page among those without a session. Everyone else's browser asks again each time. */
export function setPageCache(res: Response, viewer: Viewer, seconds = 60): void {
  res.vary('Cookie')
  const shared = `public, max-age=${seconds}, stale-while-revalidate=60`
  res.set('Cache-Control', viewer === 'anyone' ? shared : 'private, no-cache')
}

/** `isPassing`: the next reader may get more. */
type SharedContent = Omit<Page, 'viewer' | 'person'> & { isPassing?: boolean }

interface SharedPage {
  /** Names the page and everything that it depends on besides the read model and the viewer. */
  key: string
  /** What else it may load, as directives of its policy. */
  loads?: readonly string[] | undefined
  render(viewer: Viewer): Promise<SharedContent>
}

interface SharedRoute<P extends Parameters> {
  parameters?: P
  /** A search if absent. */
  price?: Price
  /** Throws for a part of the path that names nothing. */
  check?: (name: string) => void
  loads?: readonly string[]
}

/** Pages with lists of frames. */
export const WITH_FRAMES = { wide: true, modules: ['frame-list.js'] } as const

/** Of lists that page by a cursor. */
export const LIST_PARAMETERS = { after: { schema: plainName(4_000), description: 'The cursor of the page before.' } }

export type SharedPages = ReturnType<typeof openSharedPages>

/** Pages that all readers of a kind share. */
export function openSharedPages({
  assets,
  viewerOf,
  kept,
  takeTurn,
  limits,
  publicUrl,
}: Pick<App, 'kept' | 'takeTurn' | 'limits' | 'publicUrl'> & { assets: Assets; viewerOf: ViewerOf }) {
  /** A value from memory, or loaded once for all who wait. It is kept until the read model changes. */
  async function keep<T extends object>(req: Request, key: string, load: () => Promise<T>): Promise<T> {
    return (await keptOrInTurn({ kept, takeTurn }, { key, subject: subjectOf(req) }, load)).value
  }

  async function send(req: Request, res: Response, { key, loads, render }: SharedPage): Promise<void> {
    const viewer = await viewerOf(req)
    const page = await keep(req, `page ${viewer} ${key}`, async () => {
      const { isPassing, ...content } = await render(viewer)
      return new CompressibleBody(layout(assets, { ...content, viewer }), { isPassing })
    })
    if (!page.isPassing) setPageCache(res, viewer)
    await sendPage(res, { publicUrl, page, viewer, loads })
  }

  return {
    keep,
    send,
    /** Adds a page with lists of frames to a router. `name` is the variable part of its path. */
    add<P extends Parameters = Record<never, never>>(
      router: Routes,
      path: string,
      { parameters, price = 'search', check, loads }: SharedRoute<P>,
      render: (asked: { query: Values<P>; name: string; viewer: Viewer }) => Promise<SharedContent>,
    ): void {
      router.get(path, priced(limits, { price }), (req, res) => {
        const query = readPageParameters(req.originalUrl, parameters)
        const name = String(Object.values(req.params)[0] ?? '')
        check?.(name)
        return send(req, res, {
          key: `${path} ${name} ${canonicalKey(query)}`,
          loads,
          render: async (viewer) => ({ ...WITH_FRAMES, ...(await render({ query, name, viewer })) }),
        })
      })
    },
    /** Sends a page that changes only with the service. */
    async sendFixed(req: Request, res: Response, content: SharedContent): Promise<void> {
      readPageParameters(req.originalUrl)
      const viewer = await viewerOf(req)
      setPageCache(res, viewer, 300)
      await sendPage(res, { publicUrl, page: layout(assets, { ...content, viewer }), viewer })
    },
  }
}
