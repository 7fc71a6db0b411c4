import { parseArgs } from 'node:util'
import type pg from 'pg'
import { parseConfig } from '../src/config.ts'
import { openDb } from '../src/db/client.ts'
import type { FrameDocument, FrameQuery, LibrarySearch } from '../src/search/library-search.ts'
import { frameLikeness } from '../src/search/likeness.ts'
import { openPostgresSearch } from '../src/search/postgres/search.ts'
import { round, seedLibrary } from './seed.ts'
import { openTemporaryDatabase } from './support/postgres.ts'

/**
 * The read model against the SQL that a person would write for the same question on a plain indexed table of the same frames, in turns in one run. Ratios of
 * medians; both send the same documents. With `--seeded` on the library in DATABASE_URL, which `npm run bench -- seed` has filled.
 */
export async function run(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      frames: { type: 'string', default: '100000' },
      rounds: { type: 'string', default: '15' },
      seeded: { type: 'boolean', default: false },
      json: { type: 'boolean' },
    },
  })
  const vector = `to_tsvector('simple', coalesce(caption, '') || ' ' || coalesce(steal, '') || ' ' || coalesce(on_screen_text, '') || ' ' || coalesce(composition, ''))`
  const { databaseUrl } = parseConfig(process.env)
  if (values.seeded && !databaseUrl) throw new Error('search: --seeded needs DATABASE_URL')
  await using database = values.seeded ? undefined : await openTemporaryDatabase()
  const db = database?.db ?? openDb({ url: databaseUrl!, statementTimeoutMs: 0 })
  const pool = db.$client
  const started = performance.now()
  const frames = values.seeded
    ? Number((await pool.query('select count(*) from library_search.frames')).rows[0].count)
    : (await seedLibrary(db, { frames: Number(values.frames) })).frames
  const seedSeconds = round((performance.now() - started) / 1000)
  await makePlainTable(pool)
  const search = openPostgresSearch(pool)
  const ask = (query: Partial<FrameQuery>) =>
    search.frames({
      filters: {},
      q: '',
      sort: query.q ? 'relevance' : 'newest',
      page: 1,
      pageSize: 120,
      facets: false,
      variety: false,
      ...query,
    })
  const lastPage = Math.ceil(frames / 120)
  const order = 'order by added_at desc, video_id, t_ms'

  const cases: Case[] = [
    {
      name: 'filtered page',
      ours: () => ask({ filters: { subject: ['ui', 'terminal'], tone: ['dark'], platform: ['youtube'] } }),
      bare: [
        `select doc from plain where subject in ('ui', 'terminal') and tone = 'dark' and platform = 'youtube' ${order} limit 120`,
      ],
    },
    {
      name: 'last page',
      ours: () => ask({ page: lastPage }),
      bare: [
        `select doc from plain join (select id from plain ${order} limit 120 offset ${(lastPage - 1) * 120}) page using (id) ${order}`,
      ],
    },
    {
      name: 'two words',
      ours: () => ask({ q: 'dark terminal' }),
      bare: [
        `select doc, ts_rank(words, query) as rank from plain, to_tsquery('simple', 'dark & terminal') query where words @@ query order by rank desc, id limit 120`,
      ],
    },
    {
      name: 'facets',
      ours: () => ask({ facets: true, filters: { subject: ['ui'] } }),
      bare: [
        `select doc from plain where subject = 'ui' ${order} limit 120`,
        `select count(*) from plain where subject = 'ui'`,
        'select subject, count(*) from plain group by 1',
        ...['surface', 'shot', 'technique', 'zone', 'tone', 'kind', 'author', 'platform'].map(
          (column) => `select ${column}, count(*) from plain where subject = 'ui' group by 1`,
        ),
      ],
    },
    {
      name: 'facets of everything',
      ours: () => ask({ facets: true }),
      bare: [
        `select doc from plain ${order} limit 120`,
        'select count(*) from plain',
        ...['subject', 'surface', 'shot', 'technique', 'zone', 'tone', 'kind', 'author', 'platform'].map(
          (column) => `select ${column}, count(*) from plain group by 1`,
        ),
      ],
    },
    {
      name: 'one filter, middle page',
      ours: () => ask({ filters: { technique: ['cursor-zoom'] }, page: 3 }),
      bare: [`select doc from plain where technique = 'cursor-zoom' ${order} limit 120 offset 240`],
    },
  ]
  const alone: Case[] = [
    { name: 'search, two words', ours: () => search.search({ q: 'dark terminal', limit: 6 }), bare: [] },
    { name: 'search, mistyped', ours: () => search.search({ q: 'presnter stduio', limit: 6 }), bare: [] },
    { name: 'middle page', ours: () => ask({ page: Math.ceil(lastPage / 2) }), bare: [] },
    { name: 'page past the end', ours: () => ask({ page: lastPage + 10 }), bare: [] },
    { name: 'search, blank', ours: () => search.search({ q: '', limit: 20 }), bare: [] },
    { name: 'part of a word', ours: () => ask({ q: 'perdri' }), bare: [] },
    { name: 'frequent word, page 10', ours: () => ask({ q: 'scene', page: 10 }), bare: [] },
    { name: 'color', ours: () => ask({ filters: { color: ['#1a73e8'] } }), bare: [] },
    { name: 'variety', ours: () => ask({ variety: true }), bare: [] },
    {
      name: 'similar',
      ours: async () => search.similar((await ask({})).frames[7]!.document.id, { filters: {}, limit: 24 }),
      bare: [],
    },
  ]

  const figures: Record<string, { ours_ms: number; bare_ms?: number; ratio?: number }> = {}
  for (const one of [...cases, ...alone]) figures[one.name] = await measure(pool, one, Number(values.rounds))
  // Comparing ten frames with every frame of a million takes longer than all the rest.
  const likeness = frames <= 200_000 ? await likenessShare(pool, search) : undefined
  if (!values.json) {
    console.log(`${frames} frames, seeded in ${seedSeconds} s`)
    console.table(figures)
    if (likeness)
      console.log(`similar: ${likeness.share} of the likeness of the 24 most alike, ${likeness.found} of them found`)
  }
  const ratio = Math.max(...Object.values(figures).flatMap((figure) => figure.ratio ?? []))
  console.log(
    JSON.stringify({
      bench: 'search',
      frames,
      seed_seconds: seedSeconds,
      ratio,
      ratio_of: 'slowest case against bare SQL',
      cases: figures,
      similar: likeness,
    }),
  )
  if (values.seeded) {
    await pool.query('drop table plain')
    await pool.end()
  }

  /** What a person would have: one table, an index per column that is asked for, the text search vector kept. */
  async function makePlainTable(on: pg.Pool): Promise<void> {
    await on.query('drop table if exists plain')
    await on.query(`
      create table plain as
        select f.id, f.video_id, f.t_ms, v.added_at, f.subject, f.surface, f.shot, f.technique, f.zone, f.tone, f.kind, v.author, v.platform,
               ${vector} as words, d.doc::jsonb as doc
          from frames f join videos v on v.id = f.video_id join library_search.documents d on d.kind = 'frames' and d.id = f.id`)
    await on.query('alter table plain add primary key (id)')
    await on.query('create index on plain (added_at desc, video_id, t_ms) include (id)')
    await on.query('create index on plain using gin (words)')
    for (const column of ['subject', 'surface', 'shot', 'technique', 'zone', 'tone', 'kind', 'author', 'platform'])
      await on.query(`create index on plain (${column})`)
    await on.query('vacuum analyze plain')
    await on.query('vacuum analyze library_search.frames')
    await on.query('vacuum analyze library_search.documents')
  }
}

/**
 * How good `similar` is: the likeness of what it finds as a share of that of the 24 frames that comparing with every frame there is would find, and how many of
 * those it finds. Over ten frames.
 */
async function likenessShare(pool: pg.Pool, search: LibrarySearch): Promise<{ share: number; found: number }> {
  const { rows } = await pool.query<{ doc: FrameDocument }>(
    `select doc from library_search.documents where kind = 'frames' and doc is not null order by md5(id) limit 10`,
  )
  const asked = rows.map(({ doc }) => ({ me: doc, best: [] as { id: string; score: number }[] }))
  for (let after = ''; ; ) {
    const page = await pool.query<{ id: string; doc: FrameDocument }>(
      `select id, doc from library_search.documents where kind = 'frames' and doc is not null and id > $1 order by id limit 5000`,
      [after],
    )
    if (page.rows.length === 0) break
    after = page.rows.at(-1)!.id
    for (const one of asked) {
      const scored = page.rows
        .filter(({ id }) => id !== one.me.id)
        .map(({ id, doc }) => ({ id, score: frameLikeness(one.me, doc) }))
      one.best = [...one.best, ...scored].sort((a, b) => b.score - a.score).slice(0, 24)
    }
  }
  const sum = (scores: { score: number }[]) => scores.reduce((total, { score }) => total + score, 0)
  let share = 0
  let found = 0
  for (const { me, best } of asked) {
    const hits = (await search.similar(me.id, { filters: {}, limit: 24 }))!
    share += sum(hits) / sum(best) / asked.length
    found +=
      hits.filter(({ document }) => best.some(({ id }) => id === document.id)).length / best.length / asked.length
  }
  return { share: round(share), found: round(found) }
}

interface Case {
  name: string
  ours: () => Promise<unknown>
  /** Sent together, as a person would. */
  bare: string[]
}

async function measure(pool: pg.Pool, { ours, bare }: Case, rounds: number) {
  const times = { ours: [] as number[], bare: [] as number[] }
  for (let n = 0; n < rounds + 2; n++) {
    const a = performance.now()
    await ours()
    const b = performance.now()
    if (bare.length > 0) await Promise.all(bare.map((text) => pool.query(text)))
    const c = performance.now()
    if (n < 2) continue
    times.ours.push(b - a)
    times.bare.push(c - b)
  }
  const oursMs = median(times.ours)
  if (bare.length === 0) return { ours_ms: round(oursMs) }
  return { ours_ms: round(oursMs), bare_ms: round(median(times.bare)), ratio: round(oursMs / median(times.bare)) }
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}
