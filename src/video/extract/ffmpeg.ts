import { type ChildProcess, type IOType, spawn } from 'node:child_process'
import { resolve } from 'node:path'

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

/**
 * Resolves once the process has ended and its pipes are closed. Never rejects for a bad exit. `failed` is set when the
 * process could not be started.
 */
export function ended(
  child: ChildProcess,
): Promise<{ code: number | null; signal: NodeJS.Signals | null; failed: Error | null }> {
  return new Promise((done) => {
    child.once('error', (failed) => done({ code: null, signal: null, failed }))
    child.once('close', (code, signal) => done({ code, signal, failed: null }))
  })
}
