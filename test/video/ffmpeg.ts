import { execFileSync } from 'node:child_process'

/** Runs ffmpeg. Fails with what it says. */
export function ffmpeg(...args: string[]): void {
  execFileSync('ffmpeg', ['-v', 'error', '-nostdin', '-y', ...args], { stdio: ['ignore', 'ignore', 'pipe'] })
}

/** H.264 that everything reads, made quickly. */
export const QUICK = ['-pix_fmt', 'yuv420p', '-preset', 'ultrafast']
