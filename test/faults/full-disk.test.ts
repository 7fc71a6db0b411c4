import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { retryVideo } from '../../src/library/videos/lifecycle.ts'
import { openScripted, scriptedAnnotator, startFrames } from '../library/support.ts'
import type { Service } from '../support/service.ts'

/** A file system of 64 MB for the library alone. */
const disk = mkdtempSync(join(tmpdir(), 'frames-disk-'))
const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64m', 'tmpfs', disk]).status === 0
if (!mounted) console.log('skipped: this user may not mount a file system to fill')

const filler = join(disk, 'filler')
/** Leaves this much. */
function fill(leave: number) {
  const { bsize, bavail } = statfsSync(disk)
  writeFileSync(filler, Buffer.alloc(bsize * bavail - leave))
}

describe.skipIf(!mounted)('a full disk', () => {
  let service: Service
  beforeAll(async () => {
    service = await openScripted(
      scriptedAnnotator('scripted@1', () => ({})),
      { env: { DATA_DIR: disk } },
    )
  })
  afterAll(async () => {
    await service[Symbol.asyncDispose]()
    execFileSync('umount', [disk])
    rmSync(disk, { recursive: true, force: true })
  })

  test('uploads are refused and work waits, reads and saves go on, and all goes on when there is room', async () => {
    const first = await service.upload(Buffer.from('3\nfirst'))
    await service.drain()
    const status = async () => (await service.call('GET', `/api/videos/${first.id}/status`)).json.video.status
    expect(await status()).toBe('ready')
    const [frame] = (await service.get(`/api/videos/${first.id}/frames`)).json.frames
    const files = () => readdirSync(join(disk, 'store'), { recursive: true }).map(String).sort()
    const before = files()

    // Less than a twentieth of the disk is free, and 2 MB are.
    fill(2 * 1024 * 1024)
    const upload = () =>
      fetch(`${service.url}/api/videos`, {
        method: 'POST',
        headers: { authorization: `Bearer ${service.operatorKey}`, 'content-type': 'video/mp4' },
        body: '3\nsecond',
      })
    const refused = await upload()
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '60'])
    expect(await refused.json()).toEqual({
      code: 'unavailable',
      message: 'The disk of the library is full, so nothing can be added now. Free some space, then try again.',
    })
    const film = join(tmpdir(), `${disk.split('/').at(-1)}.mp4`)
    // Enough of an MP4 to be taken for one.
    writeFileSync(film, Buffer.concat([Buffer.from('\0\0\0\u0018ftypisom'), Buffer.alloc(200)]))
    const added = await startFrames(service, service.stores.redisUrl, ['add', film])
    rmSync(film)
    expect(added).toMatchObject({ code: 1, stdout: expect.stringMatching(/The disk of the library is full/) })
    expect(files()).toEqual(before)

    await retryVideo(service.stores.db, first.id, { again: true })
    await expect.poll(() => service.logs.some((line) => /queue paused.*|the disk is full/.test(line))).toBe(true)
    expect(await status()).toBe('queued')

    const image = await fetch(service.url + new URL(frame.image_url).pathname)
    expect([image.status, image.headers.get('content-type')]).toEqual([200, 'image/webp'])
    expect((await service.get('/api/frames')).json.frames).toHaveLength(3)
    expect((await service.call('POST', '/api/favourites', { frameId: frame.id })).status).toBe(200)

    // Not one byte is left: the sentence is the same.
    rmSync(filler)
    fill(0)
    expect((await upload()).status).toBe(503)

    rmSync(filler)
    await expect.poll(status).toBe('ready')
    const accepted = await upload()
    expect(accepted.status).toBe(202)
    await accepted.arrayBuffer()
    await service.drain()
    expect((await service.get('/api/frames')).json.frames).toHaveLength(6)
  }, 120_000)
})
