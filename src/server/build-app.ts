import type { RequestListener } from 'node:http'
import type { App } from '../api/app.ts'
import { openDocuments } from '../api/documents.ts'
import { LIBRARY_ENDPOINTS, OTHER_ENDPOINTS } from '../api/endpoints.ts'
import { VERSION } from '../config.ts'
import { grants } from '../db/schema/accounts.ts'
import { type Authentication, createAuthentication } from '../http/authenticate.ts'
import { openCachedReads, openReadModelVersion, openTurns, openVersionedCache } from '../http/cached-reads.ts'
import type { CountRequest } from '../http/edge.ts'
import { endpointRouter, type Operation } from '../http/endpoint.ts'
import type { EventStreamLimits } from '../http/event-stream.ts'
import { type RateLimits, takeLongTurn } from '../http/rate-limit/rate-limits.ts'
import { openLongAnswers } from '../http/response-body.ts'
import type { Routes } from '../http/routes.ts'
import { type ConnectionLimits, createApp } from '../http/server.ts'
import { openTokenChecks } from '../library/accounts/grants.ts'
import { MEMBER_SCOPES, recordUse } from '../library/accounts/key-checks.ts'
import { type FilmReads, loadBuild, loadFilmRows } from '../library/films/films.ts'
import { openSearchCounts, type SearchCounts } from '../library/search-counts.ts'
import { mcpRouter, TOOL_SERVER } from '../mcp/route.ts'
import { createToolServer, createTools } from '../mcp/server.ts'
import type { Tool } from '../mcp/tool.ts'
import type { Embedder } from '../meaning/embedder.ts'
import { openEmbedder } from '../meaning/open-embedder.ts'
import type { MediaStore } from '../media/media-store.ts'
import { openMediaStore } from '../media/open-store.ts'
import { protectedResource, ROUTES } from '../oauth/routes.ts'
import { openAuthorizationServer } from '../oauth/server.ts'
import type { Wire } from '../outbound/checked-connection.ts'
import type { Mailer } from '../outbound/mailer.ts'
import type { LibrarySearch } from '../search/library-search.ts'
import { openLibrarySearch } from '../search/open-search.ts'
import { docsPageRouter } from '../web/docs-page.ts'
import { openPages, type PagesDeps } from '../web/pages.ts'
import { forMembers, membersOnly, openPictureSigner, withSignedPictures } from './members-only.ts'

/** Every operation that programs can call. Pages for people are not included. */
export const OPERATIONS: readonly Operation[] = [...LIBRARY_ENDPOINTS, ...OTHER_ENDPOINTS, TOOL_SERVER]

/** The parts that an application shares with its process. */
export interface AppDeps extends Pick<App, 'config' | 'logger' | 'db' | 'limits' | 'health' | 'tail' | 'streams'> {
  countRequest: CountRequest
  countJobs: PagesDeps['countJobs']
}

/** The parts that a test may replace. Everything else is wired as in production. */
export interface AppOverrides {
  /** Wraps or replaces the search that production would use. */
  search?: (search: LibrarySearch) => LibrarySearch
  readImage?: MediaStore['get']
  /** Makes the vectors of questions. */
  embedder?: Embedder
  /** Wraps the limits, to see what a request takes. */
  limits?: (limits: RateLimits) => RateLimits
  mailer?: Mailer
  /** Prints sign-in links when there is no mail server. */
  printLink?: (line: string) => void
  /** Lifetime of a looked-up version of the read model. */
  versionTtlMs?: number
  /** How often counts of searches are written. */
  countsEveryMs?: number
  /** Connects to the documents of apps. */
  wire?: Wire
  streams?: EventStreamLimits
  /** Times of connections. */
  connections?: ConnectionLimits
}

export interface BuiltApp {
  listener: RequestListener
  /** The routers in the order in which they are tried, and the listed tools. For tests that walk them. */
  routers: readonly Routes[]
  tools: readonly Tool[]
  close(): Promise<void>
}

/** The most that pages, and what they are made of, may take in memory. */
const PAGE_CACHE_BYTES = 48 * 1024 * 1024

/** Wires the whole HTTP application: API, tool server and pages over one edge, one search and one set of budgets. */
export function buildApp(deps: AppDeps, overrides: AppOverrides = {}): BuiltApp {
  const { countJobs, countRequest, ...given } = deps
  const { config, logger, db } = given
  const limits = overrides.limits?.(deps.limits) ?? deps.limits
  const { publicUrl, trustProxy, reads } = config
  const store = openMediaStore(config)
  const counts = openSearchCounts({ db, logger, everyMs: overrides.countsEveryMs })
  const { signer, model, ...library } = openLibrary(deps, overrides, counts)
  const { readModel, takeTurn } = library
  const authentication = createAuthentication({ db, limits, logger, publicUrl })
  const { oauth, signIn } = openSignedInDoor({ deps, authentication, limits, overrides })
  const sendPieces = openLongAnswers((exchange) => takeLongTurn(limits, exchange))
  const parts: Omit<App, 'documents'> = {
    ...given,
    ...library,
    publicUrl,
    limits,
    store,
    readImage: overrides.readImage ?? ((key) => store.get(key)),
    cache: openCachedReads(readModel, takeTurn),
    sendPieces,
    ytdlp: config.ytdlpPath !== undefined,
  }
  const tools = createTools(parts)
  const documents = openDocuments({
    operations: signer ? OPERATIONS.map(forMembers) : OPERATIONS,
    tools: namesOf(tools),
    publicUrl,
    reads,
    version: VERSION,
  })
  const app: App = { ...parts, documents }
  const pages = openPages({ ...app, oauth, countJobs, mailer: overrides.mailer, printLink: overrides.printLink })
  // A person's browser comes here; the other addresses of the sign-in answer programs.
  oauth?.routes.use(ROUTES.authorization, pages.errors)
  const dispatch = createToolServer(app, tools)
  const routerTools = { db, authentication, limits, sendPieces }
  const routers = [
    ...(signer ? [membersOnly({ db, authentication, limits, publicUrl, signer })] : []),
    // The library comes first, because finding the route is most of the cost of a warm read. The tools come next.
    endpointRouter(LIBRARY_ENDPOINTS, app, routerTools),
    mcpRouter({ dispatch, publicUrl, authentication, signIn, limits, takeTurn }),
    endpointRouter(OTHER_ENDPOINTS, app, routerTools),
    ...(oauth ? [oauth.routes] : []),
    ...pages.routers,
    docsPageRouter({ ...pages, documents, limits, publicUrl }),
  ]
  const listener = createApp({ logger, trustProxy, countRequest, limits, routers, pageErrors: pages.errors })
  const close = async () => {
    pages.close()
    await model?.[Symbol.asyncDispose]()
    await counts[Symbol.asyncDispose]()
  }
  return { listener, routers, tools, close }
}

/** What every surface reads: the search, the films, and what is kept of them. */
function openLibrary({ config, db, logger }: AppDeps, overrides: AppOverrides, { count }: Pick<SearchCounts, 'count'>) {
  const model = overrides.embedder ?? (config.embed && openEmbedder(config.embed))
  const plain = openLibrarySearch({ pool: db.$client, meili: config.meili, logger, count, model })
  const signer = config.reads === 'members' ? openPictureSigner(db) : undefined
  const production = signer ? withSignedPictures(plain, signer) : plain
  const search = overrides.search?.(production) ?? production
  const readModel = openReadModelVersion(search, { ttlMs: overrides.versionTtlMs })
  const kept = openVersionedCache<object>({ readModel, maxBytes: PAGE_CACHE_BYTES })
  const films: FilmReads = {
    build: (id) => loadBuild(db, id),
    all: async () => (await kept.getOrLoad('films', () => loadFilmRows(db))).value,
  }
  return { model, search, signer, films, takeTurn: openTurns(), readModel, kept }
}

/** The tool server's signed-in door, and the server that issues its tokens where sign-in by apps is on. */
function openSignedInDoor({
  deps: { config, db, logger },
  authentication,
  limits,
  overrides,
}: {
  deps: AppDeps
  authentication: Authentication
  limits: RateLimits
  overrides: AppOverrides
}) {
  if (!config.oauth) return { signIn: authentication.openSignIn() }
  const { publicUrl } = config
  const { resource, metadataUrl } = protectedResource(publicUrl)
  const { check } = openTokenChecks(db, resource, (grant) => {
    recordUse(db, grants, grant).catch((error: unknown) =>
      logger.warn({ err: error }, 'last use of an app not recorded'),
    )
  })
  const oauth = openAuthorizationServer({ db, publicUrl, limits, logger, wire: overrides.wire })
  return { oauth, signIn: authentication.openSignIn({ metadataUrl, scopes: MEMBER_SCOPES, check }) }
}

function namesOf(tools: readonly Tool[]) {
  const kindOf = ({ scope, visibleTo }: Tool) => {
    if (visibleTo) return undefined
    if (scope === null) return 'open'
    if (scope === 'any') return 'key'
    return [scope].flat().some((one) => (MEMBER_SCOPES as readonly string[]).includes(one)) ? 'pro' : 'operator'
  }
  const names = (kind: string) => tools.filter((tool) => kindOf(tool) === kind).map(({ name }) => name)
  return { open: names('open'), key: names('key'), pro: names('pro'), operator: names('operator') }
}
