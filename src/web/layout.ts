import type { Response } from 'express'
import type { Assets } from './assets.ts'
import { type Html, html, trusted } from './html.ts'

export interface Page {
  title: string
  body: Html
  /** Which entry of the navigation this is. */
  current?: 'library' | 'boards' | 'keys' | 'docs' | 'console' | 'analytics'
  /** Names of modules in `assets/`. */
  modules?: readonly string[]
  account?: { email: string; role: 'member' | 'operator' } | undefined
  /** Of the signed-in session: the sign-out button needs it. */
  formToken?: string | undefined
  noIndex?: boolean
  /** The whole width, for pictures. */
  wide?: boolean
}

const NAVIGATION = [
  { id: 'library', href: '/', label: 'Library' },
  { id: 'keys', href: '/keys', label: 'API keys' },
  { id: 'docs', href: '/docs', label: 'Reference' },
] as const

/** The shell of every page: one heading bar, one main, no inline script or style. */
export function layout(assets: Assets, page: Page): string {
  const { title, body, current, modules = [], account, formToken, noIndex, wide } = page
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
${noIndex && trusted('<meta name="robots" content="noindex">\n')}<title>${title} · Frame Library</title>
<link rel="icon" href="${assets.url('icon.svg')}" type="image/svg+xml">
<link rel="stylesheet" href="${assets.url('style.css')}">
${modules.map((name) => html`<script type="module" src="${assets.url(name)}"></script>\n`)}</head>
<body>
<a class="skip" href="#main">Skip to content</a>
<header class="bar">
  <a class="brand" href="/"><img src="${assets.url('icon.svg')}" alt="" width="24" height="24"> Frame Library</a>
  <nav aria-label="Main">
    ${NAVIGATION.map(({ id, href, label }) => html`<a href="${href}"${id === current && trusted(' aria-current="page"')}>${label}</a>`)}
  </nav>
  ${
    account && formToken
      ? html`<form class="account" method="post" action="/web/sign-out"><input type="hidden" name="form" value="${formToken}"><span title="Signed in">${account.email}</span><button class="quiet">Sign out</button></form>`
      : current === 'keys'
        ? ''
        : html`<a class="account" href="/keys">Sign in</a>`
  }
</header>
<main id="main" tabindex="-1"${wide && trusted(' class="wide"')}>
${body}
</main>
</body>
</html>
`.text
}

/** What every page may load and do: our own files, pictures of our own, forms to ourselves. Pages of a person are never stored. */
export function sendPage(
  res: Response,
  { publicUrl, status = 200, page }: { publicUrl: string; status?: number; page: string },
): void {
  res.set({
    'Content-Security-Policy': [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      `img-src 'self' data: ${new URL(publicUrl).origin}`,
      "connect-src 'self'",
      "form-action 'self'",
      "base-uri 'none'",
      "frame-ancestors 'none'",
    ].join('; '),
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Permissions-Policy': 'camera=(), geolocation=(), microphone=()',
    'Cache-Control': res.get('Cache-Control') ?? 'no-store',
  })
  res.status(status).type('html').send(page)
}
