import { execFileSync } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { type ExtractOptions, extractVideo } from '../../src/video/extract/extract.ts'
import { useFolder } from '../support/folder.ts'

/** Runs ffmpeg. Fails with what it says. */
export function ffmpeg(...args: string[]): void {
  execFileSync('ffmpeg', ['-v', 'error', '-nostdin', '-y', ...args], { stdio: ['ignore', 'ignore', 'pipe'] })
}

/** H.264 that everything reads, made quickly. */
export const QUICK = ['-pix_fmt', 'yuv420p', '-preset', 'ultrafast']

/** A folder of clips for the tests of a file, and the ways to make and to extract them. */
export function useClips() {
  const folder = useFolder()
  const scratch = () => mkdtempSync(join(folder, 'scratch-'))
  return {
    folder,
    scratch,
    /** Runs ffmpeg with these arguments and the file as the last one. */
    make(name: string, ...args: string[]): string {
      const file = join(folder, name)
      ffmpeg(...args, file)
      return file
    },
    extract(file: string, options: Partial<ExtractOptions> = {}) {
      const { signal } = new AbortController()
      return extractVideo({ file, scratchDir: scratch(), signal, limits: { maxDurationSec: 60 }, ...options })
    },
  }
}
