import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'

/** Processes whose command line names the file (Linux). */
function usersOf(file: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(file)
      } catch {
        return false
      }
    })
}

test.skipIf(process.platform !== 'linux')('when the parent is killed outright, neither its child nor ffmpeg lives on', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'orphans-test-'))
  const file = join(folder, 'clip.mp4')
  try {
    execFileSync('ffmpeg', [
      '-v',
      'error',
      '-f',
      'lavfi',
      '-i',
      'testsrc2=s=640x360:r=30:d=40',
      '-preset',
      'ultrafast',
      '-pix_fmt',
      'yuv420p',
      file,
    ])
    const script = join(folder, 'parent.mjs')
    const module = join(import.meta.dirname, '../../src/video/extract-in-child.ts')
    writeFileSync(
      script,
      `import { extractInChild } from ${JSON.stringify(module)}
await extractInChild({ file: ${JSON.stringify(file)}, scratchDir: ${JSON.stringify(folder)}, signal: new AbortController().signal, limits: { maxDurationSec: 900 }, onProgress: ({ stage }) => console.log(stage) })`,
    )
    const parent = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'inherit'] })
    await new Promise<void>((begun) => parent.stdout.setEncoding('utf8').on('data', (text: string) => text.includes('shots') && begun()))
    expect(usersOf(file).length).toBeGreaterThan(0)
    parent.kill('SIGKILL')
    await vi.waitFor(() => expect(usersOf(file)).toEqual([]), { timeout: 10_000 })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
