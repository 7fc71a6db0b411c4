import { MediaError } from '../errors.ts'
import { isAddressLiteral, isPublicAddress } from './public-address.ts'

/** Separate from the connections, whose HTTP client takes 10 MB: the API checks addresses but opens no connection. */

/** Names that have a meaning only inside a network. */
const PRIVATE_NAME =
  /(^|\.)(localhost|local|internal|intranet|lan|home|corp|private|localdomain|home\.arpa|test|invalid|example|onion)$/i

/**
 * Checks an address before any name is looked up.
 * @throws MediaError refused_address
 */
export function checkUrl(address: string): URL {
  if (!URL.canParse(address)) throw refused('The address is not valid. Use one that begins with https://.')
  const url = new URL(address)
  if (url.protocol !== 'https:') throw refused('The address does not use https. Use one that begins with https://.')
  if (url.username !== '' || url.password !== '')
    throw refused('The address contains a name or password. Remove them from the address.')
  if (url.port !== '') throw refused('The address names a port. Only port 443 is allowed.')
  const host = url.hostname.replace(/\.$/, '')
  const isPublic = isAddressLiteral(host) ? isPublicAddress(host) : host.includes('.') && !PRIVATE_NAME.test(host)
  if (!isPublic) throw privateNetwork()
  return url
}

export function refused(message: string): MediaError {
  return new MediaError('refused_address', message)
}

export function privateNetwork(): MediaError {
  return refused('The address belongs to a private network. Use a public address.')
}
