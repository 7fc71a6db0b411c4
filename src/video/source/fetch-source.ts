import { createWriteStream } from 'node:fs'
import { basename, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { type Agent, type Dispatcher, errors, request } from 'undici'
import { cleanText } from '../../clean-text.ts'
import { MediaError } from '../../errors.ts'
import { type ConnectionOptions, openCheckedAgent } from '../../outbound/checked-connection.ts'
import { checkUrl } from '../../outbound/checked-url.ts'
import { checkMagic, SNIFF_BYTES } from './magic.ts'
import { decodePercent } from './source.ts'

export interface FetchOptions extends ConnectionOptions {
  scratchDir: string
  signal: AbortSignal
  maxBytes: number
  totalTimeoutMs?: number
  onProgress?: (done: number, total: number | null) => void
}

export interface Fetched {
  file: string
  bytes: number
  /** The file's name in the address, without its extension. */
  title: string | null
}

const MAX_REDIRECTS = 5
const TOTAL_TIMEOUT_MS = 600_000

/**
 * Downloads a video file from a direct https address into the scratch folder. Every hop's addresses are checked before
 * a connection is made, and the connection goes to the checked address. So neither a redirect nor a name that changes
 * its answer leads into a private network.
 * @throws MediaError `refused_address` `source_not_found` `source_refused` `not_a_video` `empty_file` `too_large`
 * `timed_out` (retryable) `fetch_failed` (retryable where a retry may help)
 */
export async function fetchSource(address: string, options: FetchOptions): Promise<Fetched> {
  const total = AbortSignal.timeout(options.totalTimeoutMs ?? TOTAL_TIMEOUT_MS)
  const signal = AbortSignal.any([options.signal, total])
  const agent = openCheckedAgent(options)
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
    if ([301, 302, 303, 307, 308].includes(response.statusCode)) {
      const location = one(response.headers.location)
      discard(response)
      if (!location || !URL.canParse(location, url))
        throw new MediaError('fetch_failed', 'The server redirects without a valid address. Use that of the file.')
      url = checkUrl(new URL(location, url).href)
      continue
    }
    const refusal = refusalOf(response, options.maxBytes)
    if (refusal) {
      discard(response)
      throw refusal
    }
    return await save(response, url, signal, options)
  }
  throw new MediaError('fetch_failed', `The address redirects more than ${MAX_REDIRECTS} times. Use that of the file.`)
}

/** Why the body is not worth reading; undefined when it is. */
function refusalOf({ statusCode, headers }: Dispatcher.ResponseData, maxBytes: number): MediaError | undefined {
  if (statusCode !== 200) return toStatusError(statusCode)
  if ((lengthOf(headers) ?? 0) > maxBytes) return tooLarge(maxBytes)
  const encoding = one(headers['content-encoding'])
  if (encoding && encoding !== 'identity')
    return new MediaError('fetch_failed', 'The server compresses the file, which is not supported. Upload it.')
  return undefined
}

async function save(
  { body, headers }: Dispatcher.ResponseData,
  url: URL,
  signal: AbortSignal,
  options: FetchOptions,
): Promise<Fetched> {
  const file = join(options.scratchDir, 'source')
  const length = lengthOf(headers)
  const contentType = one(headers['content-type'])
  let bytes = 0
  await pipeline(
    async function* () {
      // The beginning is held back until it has been checked.
      let head: Buffer | null = Buffer.alloc(0)
      for await (const chunk of body as AsyncIterable<Buffer>) {
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
        if (bytes === 0) throw new MediaError('empty_file', 'The server sends an empty file. Check the address.')
        checkMagic(head, contentType)
        yield head
      }
    },
    createWriteStream(file, { flags: 'wx' }),
    { signal },
  )
  if (length !== null && bytes !== length)
    throw new MediaError('fetch_failed', 'The transfer ended early. Retry the video.', { retryable: true })
  return { file, bytes, title: toTitle(url) }
}

function discard({ body }: Dispatcher.ResponseData): void {
  body.on('error', () => undefined).destroy()
}

function lengthOf(headers: Dispatcher.ResponseData['headers']): number | null {
  const length = Number(one(headers['content-length']) ?? Number.NaN)
  return Number.isFinite(length) ? length : null
}

function toTitle(url: URL): string | null {
  const name = decodePercent(basename(url.pathname))
  return cleanText(name.replace(/\.[a-z0-9]{2,5}$/i, '').replace(/[-_+]+/g, ' '), 300) || null
}

function one(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value
}

export function tooLarge(maxBytes: number): MediaError {
  const maxMb = Math.floor(maxBytes / 1024 / 1024)
  return new MediaError('too_large', `The file is larger than the ${maxMb} MB allowed. Use a smaller one.`)
}

function timedOut(): MediaError {
  return new MediaError('timed_out', 'The server took too long to send the file. Retry the video.', { retryable: true })
}

function toStatusError(status: number): MediaError {
  if (status === 404 || status === 410)
    return new MediaError('source_not_found', `The server has no file at this address (${status}). Check it.`)
  if (status === 401 || status === 403)
    return new MediaError('source_refused', `The server refuses access to the file (${status}). Make it public.`)
  return new MediaError('fetch_failed', `The server answered with status ${status}. Check the address.`, {
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
    return new MediaError('fetch_failed', "The server's name cannot be resolved. Check it.", {
      retryable: true,
      cause: error,
    })
  // The disk failed, not the connection.
  if (['ENOSPC', 'EDQUOT', 'EACCES', 'EROFS', 'EIO', 'EEXIST', 'ENOENT', 'ENOTDIR', 'EMFILE'].includes(code))
    return error as Error
  if (code.startsWith('ERR_TLS') || code.startsWith('CERT_') || /CERT|SELF_SIGNED|UNABLE_TO/.test(code)) {
    return new MediaError('fetch_failed', "The server's certificate is not valid. Upload the file.", { cause: error })
  }
  return new MediaError('fetch_failed', 'The connection to the server failed. Retry the video.', {
    retryable: true,
    cause: error,
  })
}
