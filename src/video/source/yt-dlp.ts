import { spawn } from 'node:child_process'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { cleanText } from '../../clean-text.ts'
import { MediaError } from '../../errors.ts'
import { killGroup } from '../../processes/child.ts'
import { collectTail, ended } from '../programs.ts'
import { tooLarge } from './fetch-source.ts'
import { withoutHidden } from './shown-address.ts'
import { PAGE_EXTRACTORS } from './source.ts'

export interface YtDlpOptions {
  /** The yt-dlp that the operator installed; undefined without one. */
  ytdlpPath: string | undefined
  scratchDir: string
  signal: AbortSignal
  maxBytes: number
  maxDurationSec: number
  timeoutMs?: number
}

/**
 * Fetches the video of a platform page with the operator's yt-dlp. It does its own networking, so keep it off private
 * networks with a proxy or a network namespace.
 * @throws MediaError `ytdlp_required` `too_long` `too_large` `source_not_found` `timed_out` `fetch_failed`
 */
export async function fetchWithYtDlp(
  url: string,
  options: YtDlpOptions,
): Promise<{ file: string; title: string | null; author: string | null }> {
  const { ytdlpPath, scratchDir, signal } = options
  if (!ytdlpPath) {
    throw new MediaError(
      'ytdlp_required',
      'This platform needs yt-dlp. Install it and set YTDLP_PATH, or upload the file.',
    )
  }
  signal.throwIfAborted()
  const { code, output, errors, timedOut, failed } = await run(ytdlpPath, toArguments(url, options), options)
  signal.throwIfAborted()
  if (timedOut) throw new MediaError('timed_out', 'yt-dlp took too long to fetch the video.', { retryable: true })
  if (failed) throw new MediaError('ytdlp_required', 'yt-dlp cannot be started. Check YTDLP_PATH.', { cause: failed })
  const file = await findFile(scratchDir)
  if (code === 0 && file) {
    if (file.bytes > options.maxBytes) throw tooLarge(options.maxBytes)
    return { file: file.path, ...toFacts(output) }
  }
  throw toError(`${output}\n${errors}`, cleanText(withoutHidden(errors, url)), options)
}

/** The address comes after `--`, and no shell reads the arguments. */
function toArguments(url: string, { scratchDir, maxBytes, maxDurationSec }: YtDlpOptions): string[] {
  const best = 'bv*[height<=1080]+ba/b[height<=1080]/bv*+ba/b'
  return [
    ...['--ignore-config', '--no-playlist', '--no-cache-dir', '--no-progress', '--no-mtime', '--no-exec'],
    ...['--use-extractors', ['youtube', 'vimeo', 'twitter', 'linkedin', ...PAGE_EXTRACTORS].join(',')],
    ...['--max-filesize', String(maxBytes), '--match-filter', `duration<=?${Math.floor(maxDurationSec)} & !is_live`],
    ...['--socket-timeout', '15', '--retries', '2', '-f', best],
    ...['--no-simulate', '--print', '%(.{title,uploader,channel,duration})j'],
    ...['-o', join(scratchDir, 'source.%(ext)s'), '--', url],
  ]
}

async function run(program: string, args: string[], { scratchDir, signal, timeoutMs = 600_000 }: YtDlpOptions) {
  // A process group, because yt-dlp starts ffmpeg to join sound and picture, and both must end together.
  const child = spawn(program, args, {
    cwd: scratchDir,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH ?? '/usr/bin:/bin', HOME: scratchDir, LC_ALL: 'C.UTF-8' },
  })
  const kill = () => killGroup(child)
  const errors = collectTail(child, 20_000)
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    output = (output + chunk).slice(0, 100_000)
  })
  const end = await ended(child, { signal, timeoutMs, kill })
  kill()
  return { ...end, output, errors: errors() }
}

async function findFile(folder: string): Promise<{ path: string; bytes: number } | null> {
  const name = (await readdir(folder)).find((one) => /^source\.[a-z0-9]{2,5}$/.test(one))
  return name ? { path: join(folder, name), bytes: (await stat(join(folder, name))).size } : null
}

function toFacts(output: string): { title: string | null; author: string | null } {
  const line = output.split('\n').find((one) => one.startsWith('{'))
  try {
    const facts = JSON.parse(line ?? '{}') as Record<string, unknown>
    return { title: toText(facts.title), author: toText(facts.channel) ?? toText(facts.uploader) }
  } catch {
    return { title: null, author: null }
  }
}

function toText(value: unknown): string | null {
  if (typeof value !== 'string') return null
  return cleanText(value, 300) || null
}

function toError(text: string, errors: string, { maxBytes, maxDurationSec }: YtDlpOptions): MediaError {
  if (/does not pass filter/i.test(text)) {
    const minutes = Math.round(maxDurationSec / 60)
    return new MediaError('too_long', `The video is a live stream or too long. The limit is ${minutes} minutes.`)
  }
  if (/larger than max-filesize/i.test(text)) return tooLarge(maxBytes)
  if (/unsupported url|no suitable extractor/i.test(text))
    return new MediaError('not_a_video', 'yt-dlp found no video at this address. Check it.')
  // The platform asks a server to sign in, although the video is public.
  if (/not a bot/i.test(errors))
    return new MediaError(
      'fetch_failed',
      'The platform takes this server for a bot and gives it no video. Upload the file.',
      { retryable: true },
    )
  if (
    /private video|video unavailable|has been removed|HTTP Error 404|does not exist|log ?in|sign in|account/i.test(
      errors,
    )
  ) {
    return new MediaError('source_not_found', 'The video is deleted, private or needs an account. Use a public video.')
  }
  const said = /ERROR:\s*(.{1,200})/.exec(errors)?.[1]
  const what = said ? `yt-dlp failed (${said.trimEnd()}).` : 'yt-dlp fetched no file.'
  return new MediaError('fetch_failed', `${what} Update yt-dlp, or upload the file.`, { retryable: true })
}
