import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
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
const ROOM = 6 * 1024 * KB

test.skipIf(!mounted)('an upload whose last chunk has half its room is refused, not kept in part', async () => {
  const store = openDiskStore(join(disk, 'store'))
  await store.put('uploads/first', Buffer.from('first'), 'application/octet-stream')
  const { bsize, bavail } = statfsSync(disk)
  writeFileSync(join(disk, 'filler'), Buffer.alloc(bsize * bavail - ROOM))
  const chunks = function* () {
    for (let sent = 0; sent < ROOM - 32 * KB; sent += 32 * KB) yield Buffer.alloc(32 * KB, 1)
    yield Buffer.alloc(64 * KB, 2)
  }
  const body = Readable.from(chunks(), { objectMode: false })
  await expect(store.put('uploads/second', body, 'application/octet-stream')).rejects.toThrow('is full')
  expect(await store.stat('uploads/second')).toBeUndefined()
})
