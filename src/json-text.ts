/**
 * The one place that puts JSON text together from parts that are JSON text already.
 * Every text taken and returned here is balanced: one whole JSON value, as `JSON.stringify` writes it. Only `jsonbText`
 * has other white space.
 */

declare const balanced: unique symbol
/** One whole JSON value as text. */
export type JsonText = string & { readonly [balanced]: true }
/** The bytes of one whole JSON value. */
export type JsonBytes = Buffer & { readonly [balanced]: true }

/** Members in the order they are written; an undefined one is left out, as `JSON.stringify` does. */
export type JsonMembers = Readonly<Record<string, JsonText | undefined>>

/** The text of a value. @throws TypeError for a value that JSON cannot hold. */
export function jsonText(value: unknown): JsonText {
  const text = JSON.stringify(value)
  if (text === undefined) throw new TypeError('This value has no JSON text.')
  return text as JsonText
}

/** A text that `JSON.stringify` has made elsewhere, such as a stored document. */
export function storedJson(text: string): JsonText {
  return text as JsonText
}

/** The text of a `jsonb` value from PostgreSQL, with its space behind each comma and colon. Not for `prefixMembers`. */
export function jsonbText(text: string): JsonText {
  return text as JsonText
}

export function jsonArray(items: readonly JsonText[]): JsonText {
  return `[${items.join(',')}]` as JsonText
}

export function jsonObject(members: JsonMembers): JsonText {
  return `{${toMembers(members)}}` as JsonText
}

/** The members of an object, each as text. */
export const jsonMembers = (of: object): Record<string, JsonText> =>
  Object.fromEntries(Object.entries(of).map(([name, value]) => [name, jsonText(value)]))

/**
 * The bytes of an object, of which members may be lists of many texts. Each is written where it belongs: putting all
 * together first makes a text as large as the whole.
 */
export function jsonBytes(members: Readonly<Record<string, JsonText | readonly JsonText[]>>): JsonBytes {
  const pieces: string[] = []
  let open = '{'
  for (const name in members) {
    const value = members[name]!
    const head = `${open}${JSON.stringify(name)}:`
    open = ','
    if (typeof value === 'string') pieces.push(head + value)
    else if (value.length === 0) pieces.push(`${head}[]`)
    else {
      pieces.push(`${head}[${value[0]}`)
      for (let n = 1; n < value.length; n++) pieces.push(`,${value[n]}`)
      pieces.push(']')
    }
  }
  pieces.push(open === '{' ? '{}' : '}')
  return bytesOf(pieces) as JsonBytes
}

/** Longest UTF-8 form of a unit of a string, in bytes. */
const BYTES_PER_UNIT = 3

function bytesOf(pieces: readonly string[]): Buffer {
  // Most texts are ASCII: as many bytes as units. Others make the memory grow.
  let bytes = Buffer.allocUnsafeSlow(pieces.reduce((sum, piece) => sum + piece.length, 0))
  let at = 0
  for (const piece of pieces) {
    const isTight = bytes.length - at < piece.length * BYTES_PER_UNIT
    const needed = at + (isTight ? Buffer.byteLength(piece) : 0)
    if (needed > bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.ceil(needed * 1.5))
      bytes.copy(larger, 0, 0, at)
      bytes = larger
    }
    at += bytes.write(piece, at)
  }
  return at === bytes.length ? bytes : Buffer.from(bytes.subarray(0, at))
}

/** A member that `objectWriter` is given with each object: JSON text, or text in which JSON escapes nothing. */
export const GIVEN = { json: Symbol('json'), plain: Symbol('plain') } as const

/**
 * Writes many objects with the same members. What is the same in all becomes text once. The others are given with each
 * object, in their order; there must be at least one.
 */
export function objectWriter(
  members: Readonly<Record<string, JsonText | symbol>>,
): (values: readonly string[]) => JsonText {
  const parts: string[] = []
  let text = '{'
  for (const [at, [name, value]] of Object.entries(members).entries()) {
    text += `${at === 0 ? '' : ','}${JSON.stringify(name)}:`
    if (typeof value === 'string') text += value
    else {
      const quote = value === GIVEN.plain ? '"' : ''
      parts.push(text + quote)
      text = quote
    }
  }
  const end = `${text}}`
  return (values) => {
    let object = ''
    for (let at = 0; at < parts.length; at++) object += parts[at]! + values[at]!
    return (object + end) as JsonText
  }
}

/**
 * As `jsonObject`, in pieces: bytes that are one whole JSON value are passed on without being copied.
 */
export function jsonObjectPieces(members: Readonly<Record<string, JsonText | Buffer>>): (string | Buffer)[] {
  const pieces: (string | Buffer)[] = []
  let text = '{'
  let separator = ''
  for (const [name, value] of Object.entries(members)) {
    text += `${separator}${JSON.stringify(name)}:`
    separator = ','
    if (typeof value === 'string') {
      text += value
      continue
    }
    pieces.push(text, value)
    text = ''
  }
  pieces.push(`${text}}`)
  return pieces
}

/** As `jsonObject` in pieces, with arrays at its end whose items come in batches. */
export async function* jsonObjectWithLists(
  members: JsonMembers,
  lists: Readonly<Record<string, AsyncIterable<readonly JsonText[]>>>,
): AsyncGenerator<string> {
  const head = toMembers(members)
  /** The text before the next piece. */
  let text = `{${head}`
  let separator = head === '' ? '' : ','
  for (const [name, batches] of Object.entries(lists)) {
    text += `${separator}${JSON.stringify(name)}:[`
    separator = ''
    for await (const items of batches) {
      if (items.length === 0) continue
      yield `${text}${separator}${items.join(',')}`
      text = ''
      separator = ','
    }
    text += ']'
    separator = ','
  }
  yield `${text}}`
}

/** As `jsonObject` in pieces, with an array at its end whose items come in pieces too. */
export async function* jsonObjectWithPieces(
  members: JsonMembers,
  name: string,
  items: AsyncIterable<AsyncIterable<string>>,
): AsyncGenerator<string> {
  const head = toMembers(members)
  let text = `{${head}${head === '' ? '' : ','}${JSON.stringify(name)}:[`
  let separator = ''
  for await (const pieces of items) {
    text += separator
    separator = ','
    for await (const piece of pieces) {
      yield text + piece
      text = ''
    }
  }
  yield `${text}]}`
}

/**
 * Renames members whose values are strings and puts `prefix` before those values, without parsing the object. `added`
 * are put at its end.
 * A quote within a JSON string is always escaped, so `,"name":"` can only be the member itself.
 * The members must not come first, and must follow each other as `renamed` names them. No object nested before one may
 * have a string member of that name.
 * @returns undefined when the object lacks one of the members.
 */
export function prefixMembers(
  object: JsonText,
  { renamed, prefix, added = {} }: { renamed: Readonly<Record<string, string>>; prefix: string; added?: JsonMembers },
): JsonText | undefined {
  const start = JSON.stringify(prefix).slice(0, -1)
  let text = ''
  let from = 0
  for (const name in renamed) {
    const member = `,"${name}":"`
    const at = object.indexOf(member, from)
    if (at < 0) return undefined
    text += `${object.slice(from, at)},"${renamed[name]}":${start}`
    from = at + member.length
  }
  const more = toMembers(added)
  // The parts are put together once, with those of all other objects: cutting a text made of parts would copy it.
  return (more === '' ? text + object.slice(from) : `${text}${object.slice(from, -1)},${more}}`) as JsonText
}

function toMembers(members: JsonMembers): string {
  let text = ''
  for (const name in members) {
    const value = members[name]
    if (value !== undefined) text += `${text === '' ? '' : ','}${JSON.stringify(name)}:${value}`
  }
  return text
}
