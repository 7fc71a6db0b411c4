import { SQL, StringChunk, sql as written } from 'drizzle-orm'

/** The texts of a template, made once for all statements that it is part of. */
const KNOWN = new WeakMap<TemplateStringsArray, readonly StringChunk[]>()

function textsOf(strings: TemplateStringsArray): readonly StringChunk[] {
  let texts = KNOWN.get(strings)
  if (!texts) {
    texts = strings.map((text) => new StringChunk(text))
    KNOWN.set(strings, texts)
  }
  return texts
}

function partOf(chunks: SQL['queryChunks']): SQL {
  const part = new SQL([]) as { queryChunks: SQL['queryChunks'] } & SQL
  part.queryChunks = chunks
  return part
}

/**
 * As drizzle's `sql`, for the statements of a search: they have hundreds of parts and are put together for each
 * question. Drizzle looks for tables in every part, which takes most of that time. No part here is a table.
 */
export function sql(strings: TemplateStringsArray, ...values: unknown[]): SQL {
  const texts = textsOf(strings)
  const chunks = [texts[0]!] as SQL['queryChunks']
  for (let n = 0; n < values.length; n++) chunks.push(values[n] as SQL, texts[n + 1]!)
  return partOf(chunks)
}

sql.raw = written.raw
sql.param = written.param
sql.join = (parts: readonly SQL[], separator?: SQL): SQL => {
  const chunks: SQL[] = []
  for (const part of parts) {
    if (separator && chunks.length > 0) chunks.push(separator)
    chunks.push(part)
  }
  return partOf(chunks)
}
