import { type SQL, sql } from '../../sql/orm.ts'
import { cellOf } from '../color.ts'
import type { FrameDocument, Hit, SimilarQuery } from '../library-search.ts'
import { COMPARED, isAlike, mostAlike, wordsOf } from '../likeness.ts'
import { rounded } from '../text/match.ts'
import { type Background, meaningsBeside, STANDS_OUT } from './close.ts'
import { documentsOf } from './documents.ts'
import { BY_STRENGTH } from './rank.ts'
import { FRAMES, quoted, rowsOf, type Snapshot, whereOf } from './tables.ts'

/** Frames read per kind of candidate: the cost of a query does not grow with the library. */
const MAX_CANDIDATES = 600
const ENOUGH_CANDIDATES = 350
const ALIKE = sql.raw('alike_keys(phash, subject, surface, shot, technique, tone)')

/** The frames most like one, chosen among candidates from indexes. Techniques of the filters are current slugs. */
export async function findSimilar(
  reads: Snapshot,
  id: string,
  { filters, limit, otherVideos = false, texts }: SimilarQuery,
  background: () => Promise<Background>,
): Promise<Hit<FrameDocument>[] | undefined> {
  const me = (await documentsOf(reads, 'frames', [id])).get(id)
  if (!me) return undefined
  const isAskedFor = filters.video?.includes(me.video_id) && !otherVideos
  const isOther = isAskedFor ? sql`true` : sql`video_id <> ${me.video_id}`
  const where = sql`${whereOf(filters)} and id <> ${me.id}`
  const means = texts?.canRead(me.caption ?? '')
    ? await meaningsBeside(reads, await background(), texts.space, id)
    : undefined
  const others = await candidateIds(reads, me, sql`${where} and ${isOther}`, limit)
  others.push(...((await means?.nearest(sql`${where} and ${isOther}`)) ?? []))
  const own = isAskedFor || otherVideos ? [] : await candidateIds(reads, me, sql`${where} and not ${isOther}`, 1)
  const documents = [...(await documentsOf(reads, 'frames', [...others, ...own])).values()]
  const meanings = await means?.scoresOf([...others, ...own])
  const isFar = ({ id }: FrameDocument) => (meanings?.get(id) ?? 1) < (means?.nearer ?? 0)
  const isOwn = ({ video_id }: FrameDocument) => !isAskedFor && video_id === me.video_id
  const [mine, theirs] = [documents.filter(isOwn), documents.filter((one) => !isOwn(one))]
  const hits = [...mostAlike(me, mine, 1, meanings), ...mostAlike(me, theirs, limit, meanings)]
    .filter(({ document, likeness }) => isAlike(me, document, likeness, isFar(document)))
    .map(({ document, likeness }) => ({ document, score: rounded(likeness), ...toMatched(meanings?.get(document.id)) }))
    .sort((a, b) => b.score - a.score || (a.document.id < b.document.id ? -1 : 1))
  const nearest = isAskedFor ? undefined : hits.find(({ document }) => document.video_id === me.video_id)
  return hits.filter((hit) => isAskedFor || hit === nearest || hit.document.video_id !== me.video_id).slice(0, limit)
}

const toMatched = (meaning = 0) => ({ matched: { ...(meaning >= STANDS_OUT && { meaning: meaning.toFixed(2) }) } })

/** Within a transaction, whose planner it sets. */
async function candidateIds(reads: Snapshot, me: FrameDocument, others: SQL, limit: number): Promise<string[]> {
  // Every kind of candidate has its index, but the planner cannot know how few frames share a key.
  await reads.execute(
    sql`select set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true),
               set_config('max_parallel_workers_per_gather', '0', true)`,
  )
  const { narrow, wide } = candidatesLike(me, others, limit)
  const idsOf = async (queries: SQL[]) => {
    if (queries.length === 0) return []
    return (await rowsOf<{ id: string }>(reads, sql.join(queries, sql` union `))).map((row) => row.id)
  }
  const ids = new Set(await idsOf(narrow))
  // In a small library few frames share this much, and a wider search costs little.
  if (ids.size < ENOUGH_CANDIDATES) for (const found of await idsOf(wide)) ids.add(found)
  await reads.execute(sql`set local enable_seqscan to default`)
  if (ids.size < limit) {
    // The filters leave few frames, or this one shares no index: some may be alike all the same.
    const rest = sql`select id from ${FRAMES} where ${others} order by ${BY_STRENGTH} limit ${MAX_CANDIDATES}`
    for (const found of await idsOf([rest])) ids.add(found)
  }
  return [...ids]
}

/**
 * Queries for frames worth comparing, each from an index. A candidate shares one of these with the frame: the picture,
 * colours and attributes, colours and technique, attributes, technique, or two of the rarer words.
 */
function candidatesLike(me: FrameDocument, where: SQL, limit: number): { narrow: SQL[]; wide: SQL[] } {
  const hash = sql`('x' || ${me.phash})::bit(64)`
  const keys = sql`alike_keys(${hash}, ${me.subject}, ${me.surface}, ${me.shot}, ${me.technique}, ${me.tone})`
  const hasKey = (n: number) => sql`${ALIKE} @> (${keys})[${sql.raw(`${n}:${n}`)}]`
  const cells = [...new Set(me.palette.slice(0, 3).map(cellOf))]
  const colors = sql`colors @> ${sql.param(cells)}::smallint[]`
  const byPicture = sql`bit_count(phash # ${hash})`
  const byAttributes = sql`${sharedAttributes(me)} desc, ${byPicture}`
  const some = (condition: SQL, most: number, order: SQL, take: number) => sql`
    (select id from (select id, phash, ${sql.raw(COMPARED.join(', '))} from ${FRAMES}
                      where ${where} and ${condition} limit ${most}) c
      order by ${order}, id limit ${take})`
  const alike = (condition: SQL, take: number) => some(condition, MAX_CANDIDATES, byAttributes, take)

  const narrow = [
    some(sql`${ALIKE} && ${sql.param(hashProbes(me.phash))}::int[]`, 20_000, byPicture, Math.max(100, limit)),
    alike(hasKey(5), 60),
  ]
  if (cells.length > 0) {
    narrow.push(alike(sql`${colors} and ${hasKey(5)}`, 100))
    narrow.push(alike(sql`${colors} and ${hasKey(6)}`, 60))
    if (me.technique !== null) narrow.push(alike(sql`${colors} and ${hasKey(7)}`, 100))
  }
  if (me.technique !== null)
    narrow.push(
      sql`(select id from ${FRAMES} where ${where} and technique = ${me.technique} order by ${BY_STRENGTH} limit 60)`,
    )
  // Two words together, because the index then reads the shorter of two lists. For a choice it would read all.
  const [one, two] = [...wordsOf(me)].sort((a, b) => b.length - a.length || (a < b ? -1 : 1))
  if (one && two) narrow.push(alike(sql`words @@ ${`${quoted(one)} & ${quoted(two)}`}::tsquery`, 60))

  if (cells.length === 0) return { narrow, wide: [] }
  const firstColor = sql`colors @> ${sql.param(cells.slice(0, 1))}::smallint[]`
  return { narrow, wide: [alike(colors, 100), alike(firstColor, 100)] }
}

function sharedAttributes(me: FrameDocument): SQL {
  const shared = COMPARED.flatMap((attribute) => {
    // A document from before the attribute was added lacks it.
    const value = me[attribute] ?? null
    return value === null ? [] : [sql`(${sql.raw(attribute)} is not distinct from ${value})::int`]
  })
  return sql.join(shared, sql` + `)
}

/**
 * The keys of all hashes that differ by at most one bit in one of the four 16-bit bands.
 * By the pigeonhole principle two hashes within seven bits share one of them (Norouzi, Punjani and Fleet 2012,
 * multi-index hashing).
 */
function hashProbes(phash: string): number[] {
  const probes: number[] = []
  for (let band = 0; band < 4; band++) {
    const value = Number.parseInt(phash.slice(band * 4, band * 4 + 4), 16)
    probes.push(band * 65_536 + value)
    for (let bit = 0; bit < 16; bit++) probes.push(band * 65_536 + (value ^ (1 << bit)))
  }
  return probes
}
