import type { ErrorRequestHandler } from 'express'
import type { Routes } from '../http/routes.ts'
import { type Mailer, openMailer } from '../outbound/mailer.ts'
import { type Assets, loadAssets } from './assets.ts'
import { collectionRouter } from './collections/collection-pages.ts'
import { connectRouter } from './connect-page.ts'
import { consentRouter } from './consent.ts'
import { crawlersRouter } from './crawlers.ts'
import { draftsRouter } from './drafts-pages.ts'
import { entityRouter } from './entity-routes.ts'
import { frameRouter } from './frame-routes.ts'
import { type ViewerOf, viewerReader } from './guard.ts'
import { keysPageRouter } from './keys-page.ts'
import { operatorRouter } from './operator/operator-pages.ts'
import type { PageDeps } from './page-deps.ts'
import { pageErrors } from './page-errors.ts'
import { privacyRouter } from './privacy-page.ts'
import { sharedBoardRouter } from './shared-board.ts'
import { openSharedPages } from './shared-pages.ts'
import { signInRouter } from './sign-in.ts'
import { suggestRouter } from './suggest.ts'
import { wallRouter } from './wall-page.ts'

export interface PagesDeps extends Omit<PageDeps, 'assets' | 'pages' | 'viewerOf' | 'mailer' | 'printLink'> {
  smtpUrl: string | undefined
  /** Without a mail server, sign-in links are printed only outside production. */
  production: boolean
  /** Tests replace these: the mail server, and where links are printed. */
  mailer?: Mailer | undefined
  printLink?: ((line: string) => void) | undefined
}

export interface Pages {
  /** The files of the shell, for other pages. */
  assets: Assets
  viewerOf: ViewerOf
  /** What a browser gets for an error outside these pages. */
  errors: ErrorRequestHandler
  routers: Routes[]
  close(): void
}

/** The wall, sign-in, keys and shared boards. */
export function openPages(deps: PagesDeps): Pages {
  const assets = loadAssets(deps.limits)
  const { smtpUrl, publicUrl } = deps
  const mailer = deps.mailer ?? (smtpUrl ? openMailer({ smtpUrl, publicUrl }) : undefined)
  // Not through the logger, which would remove the code.
  const print = deps.printLink ?? ((line: string) => void process.stdout.write(`${line}\n`))
  const printLink = mailer || deps.production ? undefined : print
  const viewerOf = viewerReader(deps.db, publicUrl)
  const pages = openSharedPages({ ...deps, assets, viewerOf })
  const shared = { ...deps, assets, pages, viewerOf, mailer, printLink }
  return {
    assets,
    viewerOf,
    errors: pageErrors(shared),
    routers: [
      assets.router,
      wallRouter(shared),
      frameRouter(shared),
      entityRouter(shared),
      suggestRouter(shared),
      signInRouter(shared),
      ...(deps.oauth ? [consentRouter({ ...shared, oauth: deps.oauth })] : []),
      collectionRouter(shared),
      operatorRouter(shared),
      draftsRouter(shared),
      keysPageRouter(shared),
      connectRouter(shared),
      sharedBoardRouter(shared),
      crawlersRouter(shared),
      privacyRouter(shared),
    ],
    close: () => mailer?.close(),
  }
}
