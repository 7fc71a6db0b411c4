import type { Db } from '../db/client.ts'
import type { RateLimits } from '../http/rate-limit/rate-limits.ts'
import type { Routes } from '../http/routes.ts'
import type { TakeTurn } from '../http/turns.ts'
import type { VersionedCache } from '../http/versioned-cache.ts'
import type { Logger } from '../logger.ts'
import { type Mailer, openMailer } from '../outbound/mailer.ts'
import type { LibrarySearch } from '../search/library-search.ts'
import type { CollectionDeps } from '../views/collections.ts'
import type { Plan } from '../vocabulary.ts'
import { type Assets, loadAssets } from './assets.ts'
import type { CollectionPagesDeps } from './collections/collection-deps.ts'
import { collectionRouter } from './collections/collection-pages.ts'
import { crawlersRouter } from './crawlers.ts'
import { entityRouter } from './entity-routes.ts'
import { frameRouter } from './frame-routes.ts'
import { type ViewerOf, viewerReader } from './guard.ts'
import { keysPageRouter } from './keys-page.ts'
import type { OperatorDeps } from './operator/operator-deps.ts'
import { operatorRouter } from './operator/operator-pages.ts'
import { sharedBoardRouter } from './shared-board.ts'
import { openSharedPages } from './shared-pages.ts'
import { signInRouter } from './sign-in.ts'
import { suggestRouter } from './suggest.ts'
import { wallRouter } from './wall-page.ts'

export interface PagesDeps
  extends CollectionDeps,
    Pick<CollectionPagesDeps, 'longAnswers' | 'readImage'>,
    Omit<OperatorDeps, 'assets'> {
  search: LibrarySearch
  takeTurn: TakeTurn
  /** Pages, and what they are made of. */
  kept: VersionedCache<object>
  sourceKeyOf(term: string): string | undefined
  db: Db
  limits: RateLimits
  logger: Logger
  signup: Plan | null
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
  const shared = { ...deps, assets, pages }
  return {
    assets,
    viewerOf,
    routers: [
      assets.router,
      wallRouter(shared),
      frameRouter(shared),
      entityRouter(shared),
      suggestRouter(shared),
      signInRouter({ ...deps, assets, mailer, printLink }),
      collectionRouter({ ...deps, assets }),
      operatorRouter({ ...deps, assets }),
      keysPageRouter({ ...deps, assets }),
      sharedBoardRouter({ ...deps, assets }),
      crawlersRouter(deps),
    ],
    close: () => mailer?.close(),
  }
}
