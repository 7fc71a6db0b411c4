import type pg from 'pg'
import type { FrameQuery, LibrarySearch } from '../src/search/library-search.ts'
import { openSearch } from '../src/search/open-search.ts'
import { openReadModel } from '../src/search/postgres/search.ts'
import { type About, inTurns, millisecondsOf, optionsOf } from './support/bench.ts'
import { compareWithMeilisearch, KINDS, measureCold } from './support/cold-costs.ts'
import { openMirror } from './support/mirror.ts'
import { openServed, openStores, serveApi } from './support/service.ts'

/** Aim: at most 3 times the bare SQL. With MEILI_URL and MEILI_KEY cold questions go to Meilisearch, too. */
export const about: About = {
  measures:
    'The time of searches and wall pages from the read model in PostgreSQL. The CPU time of cold questions, API and ' +
    'PostgreSQL together: each is asked once, so that nothing comes from memory.',
  against:
    'the SQL that a person would write for the same question on a plain indexed table of the same frames, in turns. ' +
    'Both send the same documents. Ratios of medians. For cold questions a bare `select` of the same frames; on ' +
    'Meilisearch the question that finds the same frames in the same index, asked by the same client.',
  figures: [
    { what: 'filtered page', at: ['cases', 'filtered page', 'ratio'], atMost: 3 },
    { what: 'last page', at: ['cases', 'last page', 'ratio'], atMost: 3 },
    { what: 'two words', at: ['cases', 'two words', 'ratio'], atMost: 3 },
    { what: 'facets', at: ['cases', 'facets', 'ratio'], atMost: 3 },
    { what: 'facets of everything', at: ['cases', 'facets of everything', 'ratio'], atMost: 3 },
    { what: 'one filter, middle page', at: ['cases', 'one filter, middle page', 'ratio'], atMost: 3 },
    { what: '`similar`', at: ['cases', 'similar', 'ours_ms'], unit: 'ms' },
    ...Object.keys(KINDS).map((kind) => ({
      what: `cold ${kind}: CPU ÷ a bare \`select\``,
      at: ['cold', kind, 'ratio'],
    })),
    { what: 'cold words on Meilisearch ÷ asked directly', at: ['meilisearch', 'words', 'ratio'], atMost: 1.8 },
    { what: 'the same with counts', at: ['meilisearch', 'counts', 'ratio'], atMost: 1.8 },
  ],
}

const FACETS = ['subject', 'surface', 'shot', 'technique', 'zone', 'tone', 'kind', 'author', 'platform']
const ORDER = 'order by added_at desc, video_id, t_ms'

export async function run(args: string[]): Promise<object | undefined> {
  if (args[0] === 'serve') return serveApi(args[1])
  const values = optionsOf(args, { frames: 100_000, rounds: 15, questions: 100 })
  const { frames, questions } = values
  await using stores = await openStores('search', { frames })
  const { db, settings } = stores
  const pool = db.$client
  await makePlainTable(pool)
  const figures: Record<string, { ours_ms: number; bare_ms?: number; ratio?: number }> = {}
  for (const one of casesOf(openSearch({ reads: openReadModel(pool) }), Math.ceil(frames / 120)))
    figures[one.name] = await measure(pool, one, values.rounds)
  console.table(figures)
  const cold = await measureCold(await openServed('search', settings, db), db, questions)
  console.table(cold)
  await using mirror = await openMirror(db)
  const meilisearch =
    mirror &&
    (await compareWithMeilisearch(await openServed('search', { ...settings, ...mirror }, db), mirror.meili, questions))
  return {
    bench: 'search',
    frames,
    ratio: Math.max(...Object.values(figures).flatMap((figure) => figure.ratio ?? [])),
    ratio_of: 'slowest case against bare SQL',
    cases: figures,
    cold,
    meilisearch,
  }
}

/** One table, an index for each column that is asked for, the text search vector stored. */
async function makePlainTable(on: pg.Pool): Promise<void> {
  await on.query('drop table if exists plain')
  await on.query(`
    create table plain as
      select f.id, f.video_id, f.t_ms, v.added_at, f.subject, f.surface, f.shot, f.technique, f.zone, f.tone, f.kind,
             v.author, v.platform,
             to_tsvector('simple', coalesce(caption, '') || ' ' || coalesce(steal, '') || ' ' ||
               coalesce(on_screen_text, '') || ' ' || coalesce(composition, '')) as words,
             d.doc::jsonb as doc
        from frames f
        join videos v on v.id = f.video_id
        join library_search.documents d on d.kind = 'frames' and d.id = f.id`)
  await on.query('alter table plain add primary key (id)')
  await on.query('create index on plain (added_at desc, video_id, t_ms) include (id)')
  await on.query('create index on plain using gin (words)')
  for (const column of FACETS) await on.query(`create index on plain (${column})`)
  for (const table of ['plain', 'library_search.frames', 'library_search.documents'])
    await on.query(`vacuum analyze ${table}`)
}

interface Case {
  name: string
  ours: () => Promise<unknown>
  /** Sent together. Without any the case has a time and no ratio. */
  bare: string[]
}

function casesOf(search: LibrarySearch, lastPage: number): Case[] {
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
  return [
    ...comparedCases(ask, lastPage),
    { name: 'search, mistyped', ours: () => search.search({ q: 'presnter stduio', limit: 6 }), bare: [] },
    {
      name: 'similar',
      ours: async () => search.similar((await ask({})).frames[7]!.document.id, { filters: {}, limit: 24 }),
      bare: [],
    },
  ]
}

function comparedCases(
  ask: (query: Partial<FrameQuery>) => ReturnType<LibrarySearch['frames']>,
  lastPage: number,
): Case[] {
  return [
    {
      name: 'filtered page',
      ours: () => ask({ filters: { subject: ['ui', 'terminal'], tone: ['dark'], platform: ['youtube'] } }),
      bare: [
        `select doc from plain where subject in ('ui', 'terminal') and tone = 'dark' and platform = 'youtube'
          ${ORDER} limit 120`,
      ],
    },
    {
      name: 'last page',
      ours: () => ask({ page: lastPage }),
      bare: [
        `select doc from plain
          join (select id from plain ${ORDER} limit 120 offset ${(lastPage - 1) * 120}) page using (id) ${ORDER}`,
      ],
    },
    {
      name: 'two words',
      ours: () => ask({ q: 'dark terminal' }),
      bare: [
        `select doc from plain, to_tsquery('simple', 'dark') dark, to_tsquery('simple', 'terminal') terminal
          where (words @@ dark or tone = 'dark') and (words @@ terminal or subject = 'terminal')
          order by ts_rank(words, dark && terminal) desc, id limit 120`,
      ],
    },
    {
      name: 'facets',
      ours: () => ask({ facets: true, filters: { subject: ['ui'] } }),
      bare: [
        `select doc from plain where subject = 'ui' ${ORDER} limit 120`,
        `select count(*) from plain where subject = 'ui'`,
        'select subject, count(*) from plain group by 1',
        ...FACETS.slice(1).map((column) => `select ${column}, count(*) from plain where subject = 'ui' group by 1`),
      ],
    },
    {
      name: 'facets of everything',
      ours: () => ask({ facets: true }),
      bare: [
        `select doc from plain ${ORDER} limit 120`,
        'select count(*) from plain',
        ...FACETS.map((column) => `select ${column}, count(*) from plain group by 1`),
      ],
    },
    {
      name: 'one filter, middle page',
      ours: () => ask({ filters: { technique: ['cursor-zoom'] }, page: 3 }),
      bare: [`select doc from plain where technique = 'cursor-zoom' ${ORDER} limit 120 offset 240`],
    },
  ]
}

async function measure(pool: pg.Pool, { ours, bare }: Case, rounds: number) {
  const times = await inTurns(
    {
      ours: () => millisecondsOf(ours),
      bare: () => millisecondsOf(() => Promise.all(bare.map((text) => pool.query(text)))),
    },
    { rounds, warmUp: 2 },
  )
  if (bare.length === 0) return { ours_ms: times.ours }
  return { ours_ms: times.ours, bare_ms: times.bare, ratio: times.ratio }
}
