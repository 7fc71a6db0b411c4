import { lookup } from 'node:dns/promises'
import { createWriteStream } from 'node:fs'
import { basename, join } from 'node:path'
import type { Duplex } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Agent, buildConnector, errors, request } from 'undici'
import { MediaError } from '../../errors.ts'
import { checkMagic, SNIFF_BYTES } from './magic.ts'
import { isAddressLiteral, isPublicAddress } from './public-address.ts'

export interface Address {
  address: string
  family: number
}

/** The two ends of the wire that a test puts its own in place of. */
export interface Wire {
  /** Every address of a name. */
  resolve?: (hostname: string) => Promise<Address[]>
  /** Opens a TLS connection to an address that has been checked; the name is for SNI and the certificate. */
  dial?: (target: { address: string; port: number; servername: string }) => Promise<Duplex>
}

export interface FetchOptions extends Wire {
  scratchDir: string
  signal: AbortSignal
  maxBytes: number
  connectTimeoutMs?: number
  idleTimeoutMs?: number
  totalTimeoutMs?: number
  onProgress?: (done: number, total: number | null) => void
}

export interface Fetched {
  file: string
  bytes: number
  /** What the address itself says: the file's name, without its ending. */
  title: string | null
}

const MAX_REDIRECTS = 5
/** Names that only mean something inside a network. */
const INNER_NAME =
  /(^|\.)(localhost|local|internal|intranet|lan|home|corp|private|localdomain|home\.arpa|test|invalid|example|onion)$/i

/**
 * Downloads a video file from a direct https address into the scratch folder. Every address of every hop is checked before a connection is made, and the connection
 * goes to the checked address, so neither a redirect nor a name that changes its answer leads inside.
 * @throws MediaError `refused_address` `source_not_found` `not_a_video` `too_large` `timed_out` `fetch_failed` (the last two retryable)
 */
export async function fetchSource(address: string, options: FetchOptions): Promise<Fetched> {
  const total = AbortSignal.timeout(options.totalTimeoutMs ?? 600_000)
  const signal = AbortSignal.any([options.signal, total])
  const agent = openAgent(options)
  try {
    return await follow(checkUrl(address), agent, signal, options)
  } catch (error) {
    if (options.signal.aborted) throw options.signal.reason
    throw total.aborted ? timedOut() : toMediaError(error)
  } finally {
    await agent.destroy()
  }
}

async function follow(first: URL, agent: Agent, signal: AbortSignal, options: FetchOptions): Promise<Fetched> {
  let url = first
  for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
    const response = await request(url, {
      dispatcher: agent,
      signal,
      headers: {
        accept: 'video/*, application/octet-stream;q=0.5',
        'accept-encoding': 'identity',
        'user-agent': 'frame-library/1',
      },
    })
    const { statusCode, headers, body } = response
    if ([301, 302, 303, 307, 308].includes(statusCode)) {
      const location = one(headers.location)
      body.on('error', () => undefined).destroy()
      if (!location || !URL.canParse(location, url))
        throw new MediaError('fetch_failed', 'The server redirects to nowhere.')
      url = checkUrl(new URL(location, url).href)
      continue
    }
    if (statusCode !== 200) {
      body.on('error', () => undefined).destroy()
      throw toStatusError(statusCode)
    }
    const length = Number(one(headers['content-length']) ?? Number.NaN)
    const encoding = one(headers['content-encoding'])
    const refusal =
      length > options.maxBytes
        ? tooLarge(options.maxBytes)
        : encoding && encoding !== 'identity'
          ? new MediaError('fetch_failed', 'The server sends the file compressed.')
          : null
    if (refusal) {
      body.on('error', () => undefined).destroy()
      throw refusal
    }
    return await save(body, url, Number.isFinite(length) ? length : null, one(headers['content-type']), signal, options)
  }
  throw new MediaError('fetch_failed', `The address redirects more than ${MAX_REDIRECTS} times.`)
}

async function save(
  body: AsyncIterable<Buffer>,
  url: URL,
  length: number | null,
  contentType: string | undefined,
  signal: AbortSignal,
  options: FetchOptions,
): Promise<Fetched> {
  const file = join(options.scratchDir, 'source')
  let bytes = 0
  await pipeline(
    async function* () {
      let head: Buffer | null = Buffer.alloc(0)
      for await (const chunk of body) {
        bytes += chunk.length
        if (bytes > options.maxBytes) throw tooLarge(options.maxBytes)
        options.onProgress?.(bytes, length)
        if (head === null) {
          yield chunk
          continue
        }
        head = Buffer.concat([head, chunk])
        if (head.length < SNIFF_BYTES) continue
        checkMagic(head, contentType)
        yield head
        head = null
      }
      if (head !== null) {
        if (bytes === 0) throw new MediaError('empty_file', 'The server sends an empty file.')
        checkMagic(head, contentType)
        yield head
      }
    },
    createWriteStream(file, { flags: 'wx' }),
    { signal },
  )
  if (length !== null && bytes !== length)
    throw new MediaError('fetch_failed', 'The transfer broke off before its end.', { retryable: true })
  return { file, bytes, title: toTitle(url) }
}

/**
 * Refuses what must not be asked for, before any name is looked up.
 * @throws MediaError refused_address
 */
export function checkUrl(address: string): URL {
  if (!URL.canParse(address)) throw refused('The address cannot be understood.')
  const url = new URL(address)
  if (url.protocol !== 'https:') throw refused('Only https:// addresses are fetched.')
  if (url.username !== '' || url.password !== '') throw refused('An address with a name and password is not fetched.')
  if (url.port !== '') throw refused('Only port 443 is fetched from.')
  const host = url.hostname.replace(/\.$/, '')
  if (isAddressLiteral(host)) {
    if (!isPublicAddress(host)) throw refused('The address lies inside a private network.')
  } else if (!host.includes('.') || INNER_NAME.test(host))
    throw refused('The name of the server is one of a private network.')
  return url
}

function openAgent(options: FetchOptions): Agent {
  const resolve = options.resolve ?? ((hostname: string) => lookup(hostname, { all: true, verbatim: true }))
  const dial = options.dial ?? dialTls(options.connectTimeoutMs ?? 10_000)
  return new Agent({
    connections: 1,
    pipelining: 1,
    headersTimeout: options.idleTimeoutMs ?? 30_000,
    bodyTimeout: options.idleTimeoutMs ?? 30_000,
    maxHeaderSize: 32_768,
    // Not `connect.lookup`: it is not asked for IP literals, and it would not see a second answer.
    connect: (target, callback) => {
      connectChecked(target.hostname, target.port, resolve, dial).then(
        (socket) => callback(null, socket as never),
        (error) => callback(error as Error, null),
      )
    },
  })
}

async function connectChecked(
  hostname: string,
  port: string,
  resolve: NonNullable<Wire['resolve']>,
  dial: NonNullable<Wire['dial']>,
): Promise<Duplex> {
  if (port !== '' && port !== '443') throw refused('Only port 443 is fetched from.')
  const host = hostname.replace(/^\[|\]$/g, '')
  const addresses = isAddressLiteral(host)
    ? [{ address: host, family: host.includes(':') ? 6 : 4 }]
    : await resolve(host)
  // One inner address among outer ones is a rebinding attempt or a mistake: either way not ours to fetch.
  if (addresses.length === 0 || !addresses.every(({ address }) => isPublicAddress(address)))
    throw refused('The address lies inside a private network.')
  let failure: unknown
  for (const { address } of addresses.slice(0, 4)) {
    try {
      return await dial({ address, port: 443, servername: host })
    } catch (error) {
      failure = error
    }
  }
  throw failure
}

function dialTls(timeout: number): NonNullable<Wire['dial']> {
  const connect = buildConnector({ timeout, allowH2: false })
  return ({ address, port, servername }) =>
    new Promise((done, fail) => {
      connect(
        {
          hostname: address,
          host: servername,
          protocol: 'https:',
          port: String(port),
          servername: isAddressLiteral(servername) ? '' : servername,
        },
        (error, socket) => (error ? fail(error) : done(socket!)),
      )
    })
}

function toTitle(url: URL): string | null {
  let name = basename(url.pathname)
  try {
    name = decodeURIComponent(name)
  } catch {
    // A name that is not UTF-8 stays as it is written.
  }
  const title = name
    .replace(/\.[a-z0-9]{2,5}$/i, '')
    .replace(/[\u0000-\u001f\u007f]+/g, '')
    .replace(/[-_+]+/g, ' ')
    .trim()
  return title === '' ? null : title.slice(0, 300)
}

function one(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value
}

function refused(message: string): MediaError {
  return new MediaError('refused_address', message)
}

function tooLarge(maxBytes: number): MediaError {
  return new MediaError('too_large', `The file is larger than the ${Math.floor(maxBytes / 1024 / 1024)} MB allowed.`)
}

function timedOut(): MediaError {
  return new MediaError('timed_out', 'The server took too long.', { retryable: true })
}

function toStatusError(status: number): MediaError {
  if (status === 404 || status === 410)
    return new MediaError('source_not_found', `There is no file at this address (${status}).`)
  if (status === 401 || status === 403)
    return new MediaError('source_refused', `The server does not give the file to everyone (${status}).`)
  return new MediaError('fetch_failed', `The server answered ${status}.`, {
    retryable: status === 408 || status === 429 || status >= 500,
  })
}

function toMediaError(error: unknown): Error {
  if (error instanceof MediaError) return error
  if (
    error instanceof errors.HeadersTimeoutError ||
    error instanceof errors.BodyTimeoutError ||
    error instanceof errors.ConnectTimeoutError
  )
    return timedOut()
  const code = (error as NodeJS.ErrnoException).code ?? ''
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return new MediaError('fetch_failed', 'The name of the server is not known.', { retryable: true, cause: error })
  // The disk, not the wire.
  if (['ENOSPC', 'EDQUOT', 'EACCES', 'EROFS', 'EIO', 'EEXIST', 'ENOENT', 'ENOTDIR', 'EMFILE'].includes(code))
    return error as Error
  if (code.startsWith('ERR_TLS') || code.startsWith('CERT_') || /CERT|SELF_SIGNED|UNABLE_TO/.test(code)) {
    return new MediaError('fetch_failed', 'The certificate of the server is not valid.', { cause: error })
  }
  return new MediaError('fetch_failed', 'The connection to the server failed.', { retryable: true, cause: error })
}
