import { createHash } from 'node:crypto'
import type { Db } from '../../src/db/client.ts'
import { frameIdOf, videoIdOf } from '../../src/library/ids.ts'
import { imageKeysOf } from '../../src/media/image-name.ts'
import { rebuildSearch } from '../../src/projections/search/rebuild.ts'
import { sql } from '../../src/sql/orm.ts'
import { KINDS, PLATFORMS, SHOTS, SUBJECTS, SURFACES, ZONES } from '../../src/vocabulary.ts'
import { seededRandom } from '../../test/support/seeded-random.ts'

/** The same seed makes the same library of invented videos. */
export interface SeedOptions {
  frames: number
  seed?: number
  framesPerVideo?: number
}

const words = (text: string) => text.trim().split(/\s+/)
const phrases = (text: string) => text.trim().split(/,\s+/)

const MOVES = words(`
  logo-reveal text-card split-screen slow-push whip-pan match-cut speed-ramp cursor-zoom device-mockup
  kinetic-type before-after screen-tour talking-head product-spin macro-detail timeline-scrub stat-counter
  chart-build feature-grid light-sweep glitch-cut mask-reveal parallax-scroll typewriter code-walkthrough
  terminal-demo drone-reveal top-down hand-held silhouette neon-glow isometric-scene exploded-view hero-shot
  end-card quote-card social-proof call-to-action day-to-night loop-back freeze-frame picture-in-picture
  corner-inset crowd-roar confetti countdown
`)
const BRANDS = words(`
  Northwind Lumen Acorn Parcel Relay Meridian Juniper Cobalt Tandem Harbor Quill Ember Saffron Orbit Lattice
  Pivot Cascade Willow Magnet Drift
`)
const SUFFIXES = ['', ' Labs', ' Studio', ' & Co', ' TV', ', Inc.', ' Design', ' Cloud', ' Audio', ' "Live"']
const ADJECTIVES = words(`
  dark bright quiet crowded minimal playful glossy matte warm cold saturated muted soft sharp vintage
  futuristic handmade geometric
`)
const THINGS = words(`
  presenter terminal dashboard phone laptop keyboard kite bicycle coffee headset chart timeline map globe
  server robot notebook whiteboard stage crowd window skyline forest ocean desert kitchen workshop studio logo
  wordmark cursor menu button calendar inbox pipeline graph rocket camera drone speaker watch sneaker chair
  lamp bottle
`)
const PLACES = phrases(`
  on a desk, in a studio, against a gradient, under neon light, on a stage, in an open office, over a city,
  beside a window, in the corner, at the center
`)
const LAYOUTS = phrases(`
  rule of thirds, centered subject, wide negative space, strong diagonal, symmetrical framing, layered depth,
  tight crop, low horizon
`)
const STEALS = phrases(`
  hold the silence before the, let the type follow the, match the cut to the, use one color for the,
  reveal the price after the, zoom with the
`)
const SCREEN = words(`
  install deploy launch now available sign up free trial hyperdrive changelog realtime analytics workspace
  collaborate version preview waitlist pricing
`)
const PALETTES = words(`
  #101820 #f2aa4c #ffffff #1a73e8 #d93025 #188038 #f9ab00 #5f6368 #202124 #e8eaed #7b1fa2 #00897b #ff7043
  #3e2723 #90caf9
`)

/** The words that captions are made of. */
export const SEED_WORDS = { adjectives: ADJECTIVES, things: THINGS, screen: SCREEN }

type Choose = <T>(list: readonly T[]) => T

/** Fills the domain tables and builds the read model. The same seed adds the same rows once. */
export async function seedLibrary(
  db: Db,
  { frames: wanted, seed = 1, framesPerVideo = 125 }: SeedOptions,
): Promise<{ videos: number; frames: number }> {
  const random = seededRandom(seed)
  const pick: Choose = (list) => list[Math.floor(random() ** 1.3 * list.length)]!
  await insert(
    db,
    'techniques',
    MOVES.map((slug) => {
      const name = slug.replaceAll('-', ' ')
      return {
        slug,
        name,
        description: `A ${name}, used where attention must move.`,
        recognise: `Shows a ${name}.`,
        aliases: [],
        created_at: START,
        updated_at: START,
      }
    }),
  )
  let made = 0
  let videos = 0
  while (made < wanted) {
    const batchVideos: Row[] = []
    const batchFrames: Row[] = []
    while (made < wanted && batchFrames.length < 4_000) {
      const video = makeVideo(seed, videos++, pick, random)
      batchVideos.push(video)
      for (let n = 0; n < framesPerVideo && made < wanted; n++, made++)
        batchFrames.push(makeFrame(video, n, pick, random))
    }
    await db.transaction(async (tx) => {
      await insert(tx, 'videos', batchVideos)
      for (let from = 0; from < batchFrames.length; from += 2_000)
        await insert(tx, 'frames', batchFrames.slice(from, from + 2_000))
    })
  }
  await rebuildSearch({ db, deepLink: (_platform, url, tSec) => `${url}#t=${Math.floor(tSec)}` })
  return { videos, frames: made }
}

/** Gives every frame a vector by chance, and makes them searchable: their bits cost as much as others. */
export async function giveVectors(db: Db, space: string): Promise<void> {
  await db.execute(sql`
    insert into frame_vectors (frame_id, space, source_hash, q8)
    select id, ${space}, '', (select string_agg(sha512((id || n)::bytea), '') from generate_series(1, 8) n)
      from frames`)
  await rebuildSearch({ db, deepLink: () => null, space })
  await db.execute(sql`vacuum analyze`)
}

type Row = Record<string, unknown>
const START = new Date(Date.UTC(2025, 0, 1)).toISOString()

async function insert(
  db: Pick<Db, 'execute'>,
  table: 'videos' | 'frames' | 'techniques',
  rows: readonly Row[],
): Promise<void> {
  const name = sql.raw(table)
  const columns = sql.raw(Object.keys(rows[0]!).join(', '))
  await db.execute(
    sql`insert into ${name} (${columns})
      select ${columns} from json_populate_recordset(null::${name}, ${JSON.stringify(rows)}::json)
      on conflict do nothing`,
  )
}

function makeVideo(seed: number, n: number, pick: Choose, random: () => number): Row {
  const platform = pick(PLATFORMS)
  const sourceKey = `url:https://example.com/seed-${seed}/${n}`
  const addedAt = new Date(Date.UTC(2025, 0, 1) + n * 37 * 60_000 + Math.floor(random() * 60_000)).toISOString()
  return {
    id: videoIdOf(sourceKey),
    source_key: sourceKey,
    source_url: `https://example.com/seed-${seed}/${n}`,
    title: `${capital(pick(ADJECTIVES))} ${pick(THINGS)} launch: the ${pick(THINGS)} story`,
    author: random() < 0.05 ? null : `${pick(BRANDS)}${pick(SUFFIXES)}`,
    platform,
    title_given: false,
    author_given: false,
    duration_sec: 60 + Math.floor(random() * 240),
    width: 1280,
    height: 720,
    fps: 30,
    added_at: addedAt,
    status: 'ready',
    stages: [],
    attempts: 1,
    revision: 1,
    backfill: false,
    priority: 0,
    annotator: 'seed-1',
    first_ready_at: addedAt,
    ready_at: addedAt,
    updated_at: addedAt,
  }
}

function makeFrame(video: Row, n: number, pick: Choose, random: () => number): Row {
  const tMs = n * 1_000 + Math.floor(random() * 900)
  const id = frameIdOf(String(video.id), tMs)
  const hash = createHash('sha256').update(id).digest('hex')
  const keys = imageKeysOf(id, hash)
  const at = String(video.added_at)
  const luma = Math.floor(random() * 256)
  const tone = luma < 115 ? 'dark' : 'bright'
  const stamp = (source: string, confidence: number | null) => ({ source, confidence, by: 'seed-1', at })
  const model = () => stamp('model', Math.round((0.5 + random() / 2) * 100) / 100)
  const adjective = pick(ADJECTIVES)
  const thing = pick(THINGS)
  const subject = pick(SUBJECTS)
  const technique = random() < 0.2 ? null : pick(MOVES)
  const maybe = <T>(value: T, share: number) => (random() < share ? value : null)
  const values = {
    subject: maybe(subject, 0.97),
    surface: maybe(pick(SURFACES), 0.95),
    shot: maybe(pick(SHOTS), 0.95),
    technique,
    zone: maybe(pick(ZONES), 0.9),
    caption: `A ${adjective} ${thing} ${pick(PLACES)}, ${pick(ADJECTIVES)} ${tone} scene with a ${pick(THINGS)}`,
    composition: maybe(`${capital(pick(LAYOUTS))} with ${pick(ADJECTIVES)} edges`, 0.8),
    steal: maybe(`${capital(pick(STEALS))} ${thing}`, 0.7),
    on_screen_text: maybe(`${pick(SCREEN)} ${pick(SCREEN)} ${video.author ?? ''} ${(n * 7919) % 5000}`, 0.5),
  }
  const first = Math.floor(random() * PALETTES.length)
  const row: Row = {
    id,
    video_id: video.id,
    t_ms: tMs,
    kind: n < 3 ? 'intro' : pick(KINDS),
    reason: 'seeded',
    width: 1280,
    height: 720,
    image_key: keys.image,
    thumb_key: keys.thumb,
    image_bytes: 40_000,
    image_sha256: hash,
    placeholder: 'YTkGJwaRhWUIt4lbgnhZl3ath2BUBGYA',
    luma,
    dark_share: 1 - luma / 255,
    palette: Array.from({ length: 5 }, (_, k) => PALETTES[(first + k * 3) % PALETTES.length]),
    palette_shares: [0.45, 0.25, 0.15, 0.1, 0.05],
    colored_share: 0.5,
    sharpness: random() * 400,
    motion: random() * 20,
    // One in thirty looks like a frame of another video.
    phash: random() < 0.03 ? 'f0f0a5a55a5a0f0f' : hash.slice(0, 16),
    tone,
    tone_provenance: stamp('measured', null),
    kind_provenance: stamp('measured', null),
    annotation_model: 'seed',
    save_count: 0,
    save_strength: null,
    created_at: at,
    updated_at: at,
  }
  for (const [attribute, value] of Object.entries(values)) {
    row[attribute] = value
    row[`${attribute}_provenance`] = value === null ? null : model()
  }
  return row
}

const capital = (text: string) => text.slice(0, 1).toUpperCase() + text.slice(1)
