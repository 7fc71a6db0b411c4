import { openReads } from '../../src/api/reads.ts'
import { startConsumer } from '../../src/events/consume.ts'
import { createAuthentication } from '../../src/http/authenticate.ts'
import { limitOpenReads, openRateLimits } from '../../src/http/rate-limit.ts'
import { createReadCache } from '../../src/http/read-cache.ts'
import { ensureAccount, setPlan } from '../../src/library/accounts/accounts.ts'
import { createKey, type Scope } from '../../src/library/accounts/keys.ts'
import { mcpRoute } from '../../src/mcp/route.ts'
import { createToolServer, createTools } from '../../src/mcp/server.ts'
import type { Tool } from '../../src/mcp/tool.ts'
import { searchProjection } from '../../src/projections/search/project.ts'
import { openPostgresSearch } from '../../src/search/postgres/search.ts'
import type { Subject, Surface } from '../../src/vocabulary.ts'
import { type SeedFrame, seedVideo } from '../support/seed.ts'
import { openStores, type Stores } from '../support/stores.ts'
import { type Listening, listen, silent } from './support.ts'

export interface Service extends Listening {
  stores: Stores
  mcp: string
  /** Every tool of the product, as it is served. */
  tools: Tool[]
  /** Makes the read model current. */
  drain(): Promise<void>
  /** A key of a new account. */
  keyOf(
    plan: 'free' | 'pro',
    scopes?: readonly Scope[],
  ): Promise<{ accountId: string; bearer: { authorization: string } }>
}

const YOUTUBE = /^https:\/\/(?:www\.youtube\.com\/watch\?v=|youtu\.be\/)([\w-]{11})/

/** The application with its routers on real stores: reads, tool server, keys and limits. */
export async function openService({ scale = 1000 }: { scale?: number } = {}): Promise<Service> {
  const stores = await openStores()
  const limits = openRateLimits({
    redisUrl: stores.redisUrl,
    scale,
    logger: silent,
    prefix: stores.prefix,
    patienceMs: 15_000,
  })
  const search = openPostgresSearch(stores.db.$client)
  const cache = createReadCache(() => search.version(), { versionTtlMs: 0 })
  const sourceKeyOf = (term: string) => {
    const id = YOUTUBE.exec(term)?.[1]
    return id && `youtube:${id}`
  }
  let tools: Tool[] = []
  const server = await listen((publicUrl) => {
    tools = createTools({
      db: stores.db,
      search,
      publicUrl,
      sourceKeyOf,
      readImage: async (key) => Buffer.from(`picture ${key}`),
    })
    const mcp = mcpRoute({
      dispatch: createToolServer({
        tools,
        publicUrl,
        version: '1.2.3',
        logger: silent,
        libraryVersion: () => search.version(),
      }),
      publicUrl,
      authentication: createAuthentication({ db: stores.db, limits, logger: silent, publicUrl }),
      limits,
      trustProxy: 0,
    })
    return {
      routers: [openReads({ search, cache, publicUrl, sourceKeyOf, limit: limitOpenReads(limits) }).router, mcp.router],
      first: [mcp.first],
    }
  })
  let accounts = 0
  return {
    stores,
    url: server.url,
    mcp: `${server.url}/api/mcp`,
    tools,
    async drain() {
      const running = startConsumer(
        { db: stores.db, url: stores.databaseUrl, logger: silent, pollMs: 20 },
        searchProjection({ db: stores.db, deepLink: (_platform, url, tSec) => `${url}&t=${Math.floor(tSec)}` }),
      )
      await running.drain()
      await running[Symbol.asyncDispose]()
    },
    async keyOf(plan, scopes) {
      const { account } = await ensureAccount(stores.db, { email: `reader${++accounts}@example.com` })
      await setPlan(stores.db, { accountId: account.id, plan })
      const { key } = await createKey(stores.db, { accountId: account.id, name: 'agent', scopes })
      return { accountId: account.id, bearer: { authorization: `Bearer ${key}` } }
    },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]()
      await limits[Symbol.asyncDispose]()
      await stores[Symbol.asyncDispose]()
    },
  }
}

const OPENINGS: [Subject, Surface, string, string][] = [
  [
    'text-card',
    'motion-graphics',
    'kinetic-type',
    'White serif headline set tight on a black field, one word lit in warm yellow while the rest fades',
  ],
  [
    'ui',
    'screen-recording',
    'zoom-to-detail',
    'Dashboard of a billing product, the camera pushing in on a single table row with a green badge',
  ],
  [
    'presenter',
    'camera',
    'talking-head',
    'Founder at a walnut desk, soft window light from the left, looking just past the lens',
  ],
  [
    'product',
    '3d-render',
    'hero-turntable',
    'Aluminium speaker turning slowly on a dark plinth, rim light drawing its edge',
  ],
  [
    'terminal',
    'screen-recording',
    'typed-command',
    'Dark terminal with a single install command being typed, cursor blinking after it',
  ],
  [
    'chart',
    'motion-graphics',
    'count-up',
    'Line chart rising out of a dark grid, a large percentage counting up beside it',
  ],
  [
    'logo',
    'motion-graphics',
    'logo-reveal',
    'Wordmark assembling from thin dark strokes in the middle of an empty frame',
  ],
  [
    'b-roll',
    'camera',
    'whip-pan',
    'Hands unpacking a shipment at dusk, shallow focus, the street outside dark and wet',
  ],
]

/** A library of launch videos with captions as a vision model writes them: `videos` × 8 frames, and text cards that open in the dark. */
export async function seedLaunches(service: Service, videos = 8): Promise<{ videoIds: string[] }> {
  const brands = [
    'Northwind',
    'Relay & Sons',
    'Café Lumière',
    'Stripe-like, Inc.',
    'Hyperdrive',
    'Ledgerly',
    'Palette',
    'Quiet Machines',
  ]
  const videoIds: string[] = []
  for (let n = 0; n < videos; n++) {
    const frames = OPENINGS.map(
      ([subject, surface, technique, caption], at): SeedFrame => ({
        tSec: at * 3.4 + n / 10,
        kind: at === 0 ? 'intro' : at % 2 ? 'cut' : 'beat',
        subject,
        surface,
        technique,
        shot: subject === 'presenter' ? 'medium-presenter' : 'no-face',
        zone: subject === 'presenter' ? 'middle-center' : 'none',
        tone: at === 1 || at === 2 ? 'bright' : 'dark',
        caption: `${caption} (${brands[n % brands.length]} ${n})`,
        composition: 'Centred, with wide margins; the eye rests on the middle third.',
        steal: 'Hold the last word a beat longer than feels right.',
        onScreenText: at === 0 ? `Ship faster, ${n}` : null,
      }),
    )
    const { id } = await seedVideo(service.stores.db, {
      sourceKey: `youtube:launch000${String(n).padStart(2, '0')}`,
      sourceUrl: `https://www.youtube.com/watch?v=launch000${String(n).padStart(2, '0')}`,
      title: `Introducing ${brands[n % brands.length]} ${n}: the fastest way to close your books`,
      author: brands[n % brands.length]!,
      platform: 'youtube',
      addedAt: new Date(Date.UTC(2026, 0, 1 + n)),
      frames,
    })
    videoIds.push(id)
  }
  await service.drain()
  return { videoIds }
}
