import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { MediaError } from '../../src/errors.ts'
import { fetchWithYtDlp, type YtDlpOptions } from '../../src/video/source/yt-dlp.ts'

const URL = 'https://www.youtube.com/watch?v=dQw4w9WgXcQ'
let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ytdlp-test-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** A stand-in for the operator's program. */
function program(script: string): string {
  const path = join(folder, 'fake-yt-dlp')
  writeFileSync(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  return path
}

function options(ytdlpPath: string | undefined, more: Partial<YtDlpOptions> = {}): YtDlpOptions {
  const scratchDir = mkdtempSync(join(folder, 'scratch-'))
  return { ytdlpPath, scratchDir, signal: new AbortController().signal, maxBytes: 1000, maxDurationSec: 900, ...more }
}

async function failure(work: Promise<unknown>): Promise<MediaError> {
  const error = await work.then(
    () => null,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(MediaError)
  return error as MediaError
}

test('without the program it says what is needed', async () => {
  const error = await failure(fetchWithYtDlp(URL, options(undefined)))
  expect(error.code).toBe('ytdlp_required')
  expect(error.message).toContain('YTDLP_PATH')
  expect((await failure(fetchWithYtDlp(URL, options(join(folder, 'absent'))))).code).toBe('ytdlp_required')
})

test('brings the file, its title and its channel; the address stands alone at the end, no shell between', async () => {
  const given = options(
    program(`printf '%s\\n' "$@" > args; env > environment
echo '{"title":"A launch","channel":"Acme","uploader":"acme","duration":12}'
printf film > source.mp4`),
  )
  const hostile = `${URL}&x=$(touch%20owned);\`id\``
  const fetched = await fetchWithYtDlp(hostile, given)
  expect(fetched).toMatchObject({ title: 'A launch', author: 'Acme' })
  expect(readFileSync(fetched.file, 'utf8')).toBe('film')
  const args = readFileSync(join(given.scratchDir, 'args'), 'utf8').trim().split('\n')
  expect(args.slice(-2)).toEqual(['--', hostile])
  for (const one of [
    '--ignore-config',
    '--no-playlist',
    '--use-extractors',
    '--max-filesize',
    '--match-filter',
    '--socket-timeout',
  ])
    expect(args).toContain(one)
  expect(readFileSync(join(given.scratchDir, 'environment'), 'utf8')).not.toMatch(/NODE|VITEST/)
})

test.each([
  ['echo "[download] video does not pass filter (duration<=?900), skipping .."', 'too_long'],
  ['echo "[download] File is larger than max-filesize (900000 bytes > 1000 bytes). Aborting."', 'too_large'],
  ['head -c 2000 /dev/zero > source.mp4', 'too_large'],
  [
    'echo "ERROR: [youtube] dQw4w9WgXcQ: Private video. Sign in if you have been granted access" >&2; exit 1',
    'source_not_found',
  ],
  ['echo "ERROR: Unsupported URL: x" >&2; exit 1', 'not_a_video'],
  ['echo "ERROR: [youtube] nsig extraction failed" >&2; exit 1', 'fetch_failed'],
  [`echo "ERROR: [youtube] x: Sign in to confirm you're not a bot" >&2; exit 1`, 'fetch_failed'],
  ['exit 0', 'fetch_failed'],
])('%s', async (script, code) => {
  expect((await failure(fetchWithYtDlp(URL, options(program(script))))).code).toBe(code)
})

test('time-out and abort end the program and what it started', async () => {
  const script = 'sleep 600 & echo $! > child; wait'
  const slow = options(program(script), { timeoutMs: 300 })
  const child = await ranOut(slow)
  await expect.poll(() => isAlive(child)).toBe(false)
  const stop = new AbortController()
  const aborted = fetchWithYtDlp(URL, options(program('echo started; sleep 600'), { signal: stop.signal }))
  stop.abort(new Error('enough'))
  await expect(aborted).rejects.toThrow('enough')
})

/** Lets the time run out once the program has written down its child's process id. Returns that id. */
async function ranOut(slow: YtDlpOptions): Promise<number> {
  const pidFile = join(slow.scratchDir, 'child')
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    const ended = failure(fetchWithYtDlp(URL, slow))
    while (!(existsSync(pidFile) && readFileSync(pidFile, 'utf8').endsWith('\n')))
      await new Promise((resolve) => setImmediate(resolve))
    vi.advanceTimersByTime(slow.timeoutMs!)
    expect((await ended).code).toBe('timed_out')
  } finally {
    vi.useRealTimers()
  }
  return Number(readFileSync(pidFile, 'utf8'))
}

function isAlive(pid: number): boolean {
  try {
    // A zombie still accepts signal 0 until its parent has waited for it.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

test('a title and a channel come without control characters and direction marks', async () => {
  const facts = { title: 'A\u001b[31m\u0000 launch\u202e gnp', channel: '\u2066Acme\u2069\u0007' }
  const given = options(program(`cat <<'END'\n${JSON.stringify(facts)}\nEND\nprintf film > source.mp4`))
  expect(await fetchWithYtDlp(URL, given)).toMatchObject({ title: 'A [31m launch gnp', author: 'Acme' })
})
