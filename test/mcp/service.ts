import { startConsumer } from '../../src/events/consume.ts'
import { ensureAccount, setPlan } from '../../src/library/accounts/accounts.ts'
import type { Scope } from '../../src/library/accounts/key-checks.ts'
import { createKey } from '../../src/library/accounts/keys.ts'
import type { Tool } from '../../src/mcp/tool.ts'
import { searchProjection } from '../../src/projections/search/project.ts'
import type { Subject, Surface } from '../../src/vocabulary.ts'
import { type SeedFrame, seedVideo } from '../support/seed.ts'
import { openService, type Service } from '../support/service.ts'
import { silent } from './support.ts'

export interface ToolService extends Pick<Service, 'url' | 'stores'> {
  mcp: string
  /** Every tool of the product, as it is served. */
  tools: readonly Tool[]
  /** Makes the read model current. */
  drain(): Promise<void>
  /** A key of a new account. */
  keyOf(
    plan: 'free' | 'pro',
    scopes?: readonly Scope[],
  ): Promise<{ accountId: string; bearer: { authorization: string } }>
  [Symbol.asyncDispose](): Promise<void>
}

export interface ServiceOptions {
  scale?: number
  countsEveryMs?: number | undefined
  readImage?: (key: string) => Promise<Buffer>
}

/** The application as production wires it, on real stores, with pictures made up from their keys. */
export async function openToolService({
  scale = 1000,
  countsEveryMs,
  readImage = async (key) => Buffer.from(`picture ${key}`),
}: ServiceOptions = {}): Promise<ToolService> {
  const service = await openService({
    pages: true,
    worker: false,
    patienceMs: 15_000,
    env: { RATE_LIMIT_SCALE: String(scale) },
    overrides: { countsEveryMs, readImage },
  })
  const { stores, url, api } = service
  let accounts = 0
  return {
    stores,
    url,
    mcp: `${url}/api/mcp`,
    tools: api.app.tools,
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
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
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

const LATER_KINDS = ['beat', 'cut'] as const

/**
 * Launch videos with captions as a vision model writes them: `videos` × 8 frames, and text cards that open in the
 * dark.
 */
export async function seedLaunches(service: ToolService, videos = 8): Promise<{ videoIds: string[] }> {
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
        kind: at === 0 ? 'intro' : LATER_KINDS[at % 2]!,
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
