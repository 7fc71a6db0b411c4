/** A list in batches: each is some of its items, or the JSON text of one item in pieces. */
type Batches = AsyncIterable<readonly object[] | AsyncIterable<string>>

/**
 * The JSON text of an object in pieces, for answers of any length. Its lists stand behind the other members and are
 * written as their batches come.
 */
export async function* jsonPieces(about: object, lists: Readonly<Record<string, Batches>>): AsyncGenerator<string> {
  const members = Object.entries(about).flatMap(([name, value]) => (value === undefined ? [] : [member(name, value)]))
  /** The text before the next piece. */
  let text = `{${members.join(',')}`
  let separator = members.length > 0 ? ',' : ''
  for (const [name, batches] of Object.entries(lists)) {
    text += `${separator}${JSON.stringify(name)}:[`
    separator = ''
    for await (const batch of batches) {
      if (Array.isArray(batch) && batch.length === 0) continue
      text += separator
      for await (const piece of Array.isArray(batch) ? [batch.map((item) => JSON.stringify(item)).join(',')] : batch) {
        yield text + piece
        text = ''
      }
      separator = ','
    }
    text += ']'
    separator = ','
  }
  yield `${text}}`
}

const member = (name: string, value: unknown): string => `${JSON.stringify(name)}:${JSON.stringify(value)}`
