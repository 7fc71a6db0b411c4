import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const MODULE = new URL('./idle-memory.ts', import.meta.url).href

test('a process that has done its work gives its memory back while it waits', async () => {
  const script = `
    const { returnMemoryWhenIdle } = await import('${MODULE}')
    const work = Array.from({ length: 300_000 }, (_, n) => ({ n, text: 'text ' + n }))
    const full = process.memoryUsage().heapTotal
    work.length = 0
    returnMemoryWhenIdle({ idleMs: 200 })
    const timer = setInterval(() => {
      if (process.memoryUsage().heapTotal > full / 3) return
      clearInterval(timer)
      console.log('returned')
    }, 50)`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script])
  expect(stdout).toBe('returned\n')
})
