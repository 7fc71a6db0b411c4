import type { SearchResponse } from 'meilisearch'

/** Reads answers of the engine. Pure, apart from memory that is used again. */

/** Smaller answers are parsed as they are. */
const SPLIT_FROM_BYTES = 16 * 1024
/** What is kept between answers. A larger answer takes memory of its own. */
const KEPT_BYTES = 512 * 1024

/**
 * Reads the bytes of an answer, as `JSON.parse` does. The hits of a large one are parsed one by one: a text of the
 * whole answer would be garbage that V8 keeps outside its young generation, as would a new buffer for each answer.
 */
export function openAnswerReader(): (chunks: readonly Buffer[]) => unknown {
  let kept: Buffer | undefined
  return (chunks) => {
    if (chunks.length === 1) return parseAnswer(chunks[0]!)
    const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0)
    if (length > KEPT_BYTES) return parseAnswer(Buffer.concat(chunks))
    kept ??= Buffer.allocUnsafeSlow(KEPT_BYTES)
    let at = 0
    for (const chunk of chunks) at += chunk.copy(kept, at)
    return parseAnswer(kept.subarray(0, length))
  }
}

/** @throws SyntaxError for bytes that are no JSON. */
export function parseAnswer(bytes: Buffer): unknown {
  return (bytes.length < SPLIT_FROM_BYTES ? undefined : splitAnswer(bytes)) ?? JSON.parse(bytes.toString())
}

// A quote within a JSON string is escaped, and one that ends a string is never followed by a name. So each of these can
// only be what it looks like, whatever a document holds.
const HITS = Buffer.from('"hits":[{"')
const HITS_END = Buffer.from('}],"query":')

/** Undefined where the hits do not stand as the engine writes them: strings and numbers first by the same name. */
function splitAnswer(bytes: Buffer): { results: SearchResponse[] } | undefined {
  const lists: unknown[][] = []
  let outside = ''
  let from = 0
  for (;;) {
    const found = bytes.indexOf(HITS, from)
    if (found < 0) break
    const start = found + HITS.length - 2
    const end = bytes.indexOf(HITS_END, start)
    if (end < 0) return undefined
    outside += `${bytes.toString('utf8', from, start)}${lists.length}`
    lists.push(parseHits(bytes, start, end + 1))
    from = end + 1
  }
  if (lists.length === 0) return undefined
  const answer = JSON.parse(outside + bytes.toString('utf8', from)) as { results?: SearchResponse[] }
  if (!Array.isArray(answer.results)) return undefined
  for (const result of answer.results)
    if (typeof result.hits?.[0] === 'number') result.hits = lists[result.hits[0]] as SearchResponse['hits']
  return answer as { results: SearchResponse[] }
}

/** The objects from `start` to `end`, which begin with a member of the same name. */
function parseHits(bytes: Buffer, start: number, end: number): unknown[] {
  const name = bytes.subarray(start, bytes.indexOf('":', start + 2) + 2)
  const between = Buffer.concat([Buffer.from('},'), name])
  const hits: unknown[] = []
  for (let at = start; at < end; ) {
    const next = bytes.indexOf(between, at)
    const to = next < 0 || next >= end ? end : next + 1
    hits.push(JSON.parse(bytes.toString('utf8', at, to)))
    at = to + 1
  }
  return hits
}
