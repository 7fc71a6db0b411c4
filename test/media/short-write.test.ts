import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, expect, test } from 'vitest'
import { openDiskStore } from '../../src/media/disk-store.ts'

/** A file system of 64 MB. The system writes a part of a chunk when the rest has no room. */
const disk = mkdtempSync(join(tmpdir(), 'frames-short-'))
const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64m', 'tmpfs', disk]).status === 0
if (!mounted) console.log('skipped: this user may not mount a file system to fill')
afterAll(() => {
  if (mounted) execFileSync('umount', [disk])
  rmSync(disk, { recursive: true, force: true })
})

const KB = 1024
const MB = 1024 * KB

/** A store on a disk that has so much room. */
async function storeWith(roomBytes: number) {
  const store = openDiskStore(join(disk, 'store'))
  await store.put('uploads/first', Buffer.from('first'), 'application/octet-stream')
  const filler = join(disk, 'filler')
  rmSync(filler, { force: true })
  const { bsize, bavail } = statfsSync(disk)
  writeFileSync(filler, Buffer.alloc(bsize * bavail - roomBytes))
  return store
}

function* chunks(bytes: number) {
  for (let sent = 0; sent < bytes; sent += 32 * KB) yield Buffer.alloc(32 * KB, 1)
}

test.skipIf(!mounted)('an upload whose last chunk has half its room is refused, not kept in part', async () => {
  const room = 6 * MB
  const store = await storeWith(room)
  const whole = function* () {
    yield* chunks(room - 32 * KB)
    yield Buffer.alloc(64 * KB, 2)
  }
  const body = Readable.from(whole(), { objectMode: false })
  await expect(store.put('uploads/second', body, 'application/octet-stream')).rejects.toThrow('is full')
  expect(await store.stat('uploads/second')).toBeUndefined()
})

test.skipIf(!mounted)('an upload with room for it ends when it comes to the space that is kept free', async () => {
  // A twentieth of this disk is kept: 3.2 MB.
  const store = await storeWith(10 * MB)
  const body = Readable.from(chunks(9 * MB), { objectMode: false })
  await expect(store.put('uploads/second', body, 'application/octet-stream')).rejects.toThrow('is full')
  expect(readdirSync(join(disk, 'store/uploads'))).toEqual(['first'])
})
