import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { ffmpeg, QUICK } from './ffmpeg.ts'
import { usersOf } from './users-of.ts'

test.skipIf(process.platform !== 'linux')(
  'when the parent is killed outright, neither its child nor ffmpeg lives on',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'orphans-test-'))
    const file = join(folder, 'clip.mp4')
    try {
      ffmpeg('-f', 'lavfi', '-i', 'testsrc2=s=320x180:r=30:d=40', ...QUICK, file)
      const script = join(folder, 'parent.mjs')
      const modules = ['../../src/video/extract/run-extraction.ts', 'users-of.ts'].map((path) =>
        JSON.stringify(join(import.meta.dirname, path)),
      )
      // It counts the working processes and kills itself in the same step, so that the work cannot end earlier.
      writeFileSync(
        script,
        `import { writeSync } from 'node:fs'
import { extractInChild } from ${modules[0]}
import { usersOf } from ${modules[1]}
const file = ${JSON.stringify(file)}
const onProgress = ({ stage }) => {
  if (stage !== 'shots') return
  writeSync(1, String(usersOf(file).length))
  process.kill(process.pid, 'SIGKILL')
}
await extractInChild({
  file,
  scratchDir: ${JSON.stringify(folder)},
  signal: new AbortController().signal,
  limits: { maxDurationSec: 900 },
  onProgress,
})`,
      )
      const parent = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'inherit'] })
      const [[, signal], working] = await Promise.all([once(parent, 'exit'), text(parent.stdout)])
      expect(signal).toBe('SIGKILL')
      expect(Number(working)).toBeGreaterThan(0)
      await expect.poll(() => usersOf(file)).toEqual([])
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
)
