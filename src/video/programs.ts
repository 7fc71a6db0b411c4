import { type ChildProcess, execFile, type IOType, spawn } from 'node:child_process'
import { constants, openSync, unlinkSync } from 'node:fs'
import { Socket } from 'node:net'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'

/** Containers that may be opened. HLS, DASH, concat and image lists are excluded because they name other files. */
const FORMATS = 'mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpegts'

/** Input options that restrict ffmpeg and ffprobe to this one local file, even if the file names others. */
export function inputOptions(file: string): string[] {
  return ['-protocol_whitelist', 'file,pipe', '-format_whitelist', FORMATS, '-i', `file:${resolve(file)}`]
}

export interface MediaTools {
  /** Program names or paths. Default: `ffmpeg` and `ffprobe` in PATH. */
  ffmpegPath?: string
  ffprobePath?: string
}

/** Starts a media program with limits on its address space and CPU seconds, and with an almost empty environment. */
export function startLimited(
  program: string,
  args: readonly string[],
  options: { stdio: Array<IOType | number>; memoryKb: number; cpuSec: number },
): ChildProcess {
  // macOS has no limit on address space, so only the time limit applies there.
  // At the soft limit the kernel sends SIGXCPU, at the hard one SIGKILL.
  const cpuSec = Math.ceil(options.cpuSec)
  const limits = ['-c 0', `-v ${Math.round(options.memoryKb)}`, `-H -t ${cpuSec + 10}`, `-S -t ${cpuSec}`]
  const script = [...limits.map((limit) => `ulimit ${limit} 2>/dev/null`), 'exec "$0" "$@"'].join('; ')
  return spawn('/bin/sh', ['-c', script, program, ...args], {
    stdio: options.stdio,
    env: { PATH: process.env.PATH ?? '/usr/bin:/bin', LC_ALL: 'C' },
  })
}

/** The end of what a program wrote to stderr. */
export function collectTail(child: ChildProcess, maxChars = 4000): () => string {
  let text = ''
  child.stderr?.setEncoding('utf8')
  child.stderr?.on('data', (chunk: string) => {
    text = (text + chunk).slice(-maxChars)
  })
  return () => text
}

interface End {
  code: number | null
  signal: NodeJS.Signals | null
  /** Why the process could not be started. */
  failed: Error | null
  timedOut: boolean
}

/** Resolves once the process has ended and its pipes are closed. Never rejects. An abort and the time-out kill it. */
export function ended(
  child: ChildProcess,
  {
    signal,
    timeoutMs,
    kill = () => child.kill('SIGKILL'),
  }: { signal?: AbortSignal | undefined; timeoutMs?: number; kill?: () => void },
): Promise<End> {
  return new Promise((done) => {
    let timedOut = false
    const onTimeout = () => {
      timedOut = true
      kill()
    }
    const timer = timeoutMs === undefined ? undefined : setTimeout(onTimeout, timeoutMs)
    signal?.addEventListener('abort', kill, { once: true })
    if (signal?.aborted) kill()
    const finish = (end: Omit<End, 'timedOut'>) => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', kill)
      done({ ...end, timedOut })
    }
    child.once('error', (failed) => finish({ code: null, signal: null, failed }))
    child.once('close', (code, by) => finish({ code, signal: by, failed: null }))
  })
}

const run = promisify(execFile)

interface PipeEnds {
  readFd: number
  writeFd: number
}

/**
 * Opens named pipes and unlinks them at once. Node's own pipes to a child allocate new memory for every 64 KiB, and
 * collecting that costs as much as measuring the frames. A socket made from a descriptor reads into memory of ours.
 */
export async function openPipes(folder: string, names: readonly string[]): Promise<PipeEnds[]> {
  const paths = names.map((name) => join(folder, `${name}.pipe`))
  await run('mkfifo', ['-m', '600', ...paths]).catch((cause: Error) => {
    throw Object.assign(
      new Error('Cannot create named pipes in DATA_DIR/scratch.', { cause }),
      /No space/.test(cause.message) ? { code: 'ENOSPC' } : {},
    )
  })
  return paths.map((path) => {
    // The reader opens first and without blocking, so that neither end waits for the other.
    const readFd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const writeFd = openSync(path, constants.O_WRONLY)
    unlinkSync(path)
    return { readFd, writeFd }
  })
}

/** Cuts the bytes of a pipe into pieces of one length, each read straight into memory from `allocate`. */
export function readPieces(
  fd: number,
  bytes: number,
  allocate: () => Uint8Array,
  take: (piece: Uint8Array) => void,
): { socket: Socket; ended: Promise<void> } {
  let piece = allocate()
  let filled = 0
  const socket = new Socket({
    fd,
    readable: true,
    writable: false,
    onread: {
      buffer: () => (filled === 0 ? piece : piece.subarray(filled)),
      callback(length) {
        filled += length
        if (filled === bytes) {
          take(piece)
          piece = allocate()
          filled = 0
        }
        return true
      },
    },
  })
  const ended = new Promise<void>((done) => socket.once('close', () => done()))
  socket.on('error', () => {})
  socket.resume()
  return { socket, ended }
}
