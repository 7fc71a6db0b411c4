import { type ChildProcess, type IOType, spawn } from 'node:child_process'
import { resolve } from 'node:path'

/** Containers that may be opened. HLS, DASH, concat and image lists, which name other files, are not among them. */
const FORMATS = 'mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpegts'

/** Input options that keep ffmpeg and ffprobe to this one local file, whatever the file says. */
export function inputOptions(file: string): string[] {
  return ['-protocol_whitelist', 'file,pipe', '-format_whitelist', FORMATS, '-i', `file:${resolve(file)}`]
}

export interface MediaTools {
  /** Program names or paths; `ffmpeg` and `ffprobe` of PATH when left out. */
  ffmpegPath?: string
  ffprobePath?: string
}

/** Starts a media program with a limit on its address space and CPU seconds, and an environment that holds nothing. */
export function startLimited(
  program: string,
  args: readonly string[],
  options: { stdio: Array<IOType | number>; memoryKb: number; cpuSec: number },
): ChildProcess {
  // macOS has no limit on address space; there the time limit alone remains.
  const script = `ulimit -c 0 2>/dev/null; ulimit -v ${Math.round(options.memoryKb)} 2>/dev/null; ulimit -t ${Math.ceil(options.cpuSec)} 2>/dev/null; exec "$0" "$@"`
  return spawn('/bin/sh', ['-c', script, program, ...args], {
    stdio: options.stdio,
    env: { PATH: process.env.PATH ?? '/usr/bin:/bin', LC_ALL: 'C' },
  })
}

/** The last lines a program wrote to stderr, bounded. */
export function collectTail(child: ChildProcess, maxChars = 4000): () => string {
  let text = ''
  child.stderr?.setEncoding('utf8')
  child.stderr?.on('data', (chunk: string) => {
    text = (text + chunk).slice(-maxChars)
  })
  return () => text
}

/** Resolves once the process has ended and its pipes are closed; never rejects for a bad exit. `failed` is set when it could not be started. */
export function ended(
  child: ChildProcess,
): Promise<{ code: number | null; signal: NodeJS.Signals | null; failed: Error | null }> {
  return new Promise((done) => {
    child.once('error', (failed) => done({ code: null, signal: null, failed }))
    child.once('close', (code, signal) => done({ code, signal, failed: null }))
  })
}
