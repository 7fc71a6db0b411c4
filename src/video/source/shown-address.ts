/*
 * What of a source's address may be shown. The stored address is for fetching. It may hold a signature, a token or the
 * hash of an unlisted video, and so lets everyone in who reads it.
 */

/** Words of parameter names that belong to a credential: what proves it, what it covers, and whose it is. */
const CREDENTIAL_WORDS = new Set(
  (
    'sig sign signature token tok auth authorization access key apikey policy expires expire expiry exp hmac md5 ' +
    'hash jwt password passwd pwd pass secret code credential credentials session sessionid sid ticket nonce invite ' +
    'email mail user username amz goog oss obs cos acl hdnts hdnea'
  ).split(' '),
)
const CREDENTIAL_END = /(?:key|token|sig|signature|hash|auth|secret|hmac)$/

function isCredential(name: string): boolean {
  const words = name.replace(/([a-z0-9])([A-Z])/g, '$1-$2').toLowerCase()
  return CREDENTIAL_END.test(words) || words.split(/[^a-z0-9]+/).some((word) => CREDENTIAL_WORDS.has(word))
}

/** A long value of letters and digits: an opaque token, whatever its name. */
const TOKEN_LENGTH = 20
const TOKEN = /^(?=[^0-9]*[0-9])(?=[^a-z]*[a-z])[\w.~+/=-]+$/i

const JWT = /^eyJ[\w-]+\.eyJ/

function isSecretQuery(query: URLSearchParams): boolean {
  for (const [name, value] of query)
    if (isCredential(name) || (value.length >= TOKEN_LENGTH && TOKEN.test(value))) return true
  return false
}

/** A part of a path such as `exp=1~hmac=2`, or a JWT. */
function isSecretPart(part: string): boolean {
  if (JWT.test(part)) return true
  return part.includes('=') && part.split(/[~;,&]/).some((pair) => pair.includes('=') && isCredential(pair))
}

const VIMEO = /^(?:www\.|player\.)?vimeo\.com$/
const UNLISTED = /(\/\d{4,12})\/[0-9a-f]{6,16}\/?$/

/** The address without what lets its holder in. A query that holds a credential goes as a whole. */
export function toShownAddress(address: string): string {
  if (!/[?=]|vimeo|\/eyJ/.test(address) || !URL.canParse(address)) return address
  const url = new URL(address)
  const isVimeo = VIMEO.test(url.hostname)
  if (isSecretQuery(url.searchParams) || (isVimeo && url.searchParams.has('h'))) url.search = ''
  if (isVimeo) url.pathname = url.pathname.replace(UNLISTED, '$1')
  if (url.pathname.split('/').some(isSecretPart)) url.pathname = '/'
  return url.href === address ? address : url.href
}

/** A shorter piece of an address may occur in any sentence. */
const PIECE = 6

/** A text about an address, such as another program's message, without what the address hides. */
export function withoutHidden(text: string, address: string): string {
  const shown = toShownAddress(address)
  if (shown === address) return text
  const kept = new Set(piecesOf(shown))
  const hidden = piecesOf(address).filter((piece) => piece.length >= PIECE && !kept.has(piece))
  return hidden.reduce((clean, piece) => clean.replaceAll(piece, '…'), text.replaceAll(address, shown))
}

const piecesOf = (address: string) => address.split(/[/?&=#]/)
