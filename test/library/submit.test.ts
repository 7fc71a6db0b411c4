import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { recordFailure, retryVideo } from '../../src/library/videos/lifecycle.ts'
import { submitUrl } from '../../src/library/videos/submit.ts'
import { openMediaStore } from '../../src/media/open-store.ts'
import type { Platform } from '../../src/vocabulary.ts'
import { fetchVideo } from '../../src/workers/attempt.ts'
import { useOpened } from '../support/closing.ts'
import { frames, openScripted, scriptedAnnotator } from './support.ts'

const service = useOpened(() =>
  openScripted(
    scriptedAnnotator('scripted@1', () => ({})),
    { worker: false },
  ),
)

test('a file’s name that is not percent-encoded as UTF-8 is its title as it stands', async () => {
  const submit = (url: string) => submitUrl(service.stores.db, url, { ytdlp: false })
  expect(await submit('https://cdn.acme.com/50%-off.mp4')).toMatchObject({ created: true, video: { title: '50% off' } })
  expect(await submit('https://cdn.acme.com/caf%E9.mp4')).toMatchObject({ created: true, video: { title: 'caf%E9' } })
  expect(await submit('https://cdn.acme.com/caf%C3%A9.mp4')).toMatchObject({ created: true, video: { title: 'café' } })

  // A title is cut between two characters, not within one.
  const long = await submit(`https://cdn.acme.com/${'x'.repeat(299)}${encodeURIComponent('😀')}.mp4`)
  expect(long.video.title).toBe('x'.repeat(299))

  const list = join(service.config.dataDir, 'list.json')
  await writeFile(
    list,
    JSON.stringify(['before', '20%-off', 'after'].map((name) => `https://cdn.acme.com/${name}.mp4`)),
  )
  const { code, stderr, json } = await frames(service, service.stores.redisUrl, ['add', '--from', list, '--json'])
  expect([code, stderr]).toEqual([0, ''])
  expect(json.videos.map((outcome: { created?: boolean }) => outcome.created)).toEqual([true, true, true])
})

test('the hash of an unlisted video that is given later is what a retry fetches', async () => {
  const { db } = service.stores
  const submit = (url: string) => submitUrl(db, url, { ytdlp: true })
  const bare = 'https://vimeo.com/44455577'
  const { video } = await submit(bare)
  const { id, revision } = video
  await recordFailure(db, { id, revision, code: 'source_not_found', message: 'The video is private.' })
  const whole = { sourceUrl: `${bare}/abcdef0123` }
  const again = await submit(whole.sourceUrl)
  expect(again).toMatchObject({ created: false, video: { id, status: 'failed' } })
  // Pages show the address without it.
  expect(await submit(bare)).toMatchObject({ created: false, video: whole })
  expect(await retryVideo(db, id)).toMatchObject(whole)
  expect(await submit(bare)).toMatchObject({ video: whole })
})

test('how a video is fetched is told by its address, not by where it is said to have been published', async () => {
  const { db } = service.stores
  const fetch = fetchVideo({
    store: openMediaStore(service.config),
    ytdlpPath: undefined,
    maxBytes: 1_000,
    maxDurationSec: 900,
  })
  const fetched = async (url: string, platform: Platform) => {
    const { video } = await submitUrl(db, url.replace('127.0.0.1', 'cdn.acme.com'), { platform, ytdlp: true })
    expect(video.platform).toBe(platform)
    return fetch(
      { ...video, sourceUrl: url },
      {
        scratchDir: service.config.dataDir,
        signal: new AbortController().signal,
        onProgress: () => undefined,
      },
    )
  }
  // Only the download refuses addresses, and only yt-dlp is missing.
  await expect(fetched('https://127.0.0.1/launch.mp4', 'youtube')).rejects.toMatchObject({ code: 'refused_address' })
  await expect(fetched('https://www.youtube.com/watch?v=dQw4w9WgXcQ', 'web')).rejects.toMatchObject({
    code: 'ytdlp_required',
  })
})
