import { execFile, spawnSync } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'
import { useFolder } from '../support/folder.ts'
import { seedVideo } from '../support/seed.ts'
import { useService } from '../support/service.ts'

const hasCurl = spawnSync('curl', ['--version']).status === 0

const service = useService()
const folder = useFolder()
let frameIds: string[]

beforeAll(async () => {
  const seeded = await seedVideo(service.stores.db, {
    frames: [{ subject: 'presenter', tone: 'dark', caption: 'A presenter on a dark stage' }],
  })
  frameIds = seeded.frameIds
  await service.drain()
  await mkdir(join(folder, '.data'))
  await writeFile(join(folder, '.data/operator-key'), `${service.operatorKey}\n`)
})

/** The commands under “Try it”, as printed, each with its number. */
async function readTour(): Promise<string[]> {
  const readme = await readFile(new URL('../../README.md', import.meta.url), 'utf8')
  const block = /## Try it.*?```sh\n(.*?)```/s.exec(readme)![1]!
  return block.split(/^# \d\. .*\n/m).slice(1)
}

test.skipIf(!hasCurl)('the five curls of the README work as printed', async () => {
  const tour = await readTour()
  expect(tour).toHaveLength(5)
  // One shell, as at a terminal: the fourth uses what the third has taken.
  const script = tour.map((command) => `${command}\necho; echo ==`).join('\n')
  const { stdout } = await promisify(execFile)(
    'sh',
    ['-c', script.replaceAll('localhost:3000', `127.0.0.1:${service.api.port}`)],
    { cwd: folder },
  )
  const [search, wall, taken, saved, called] = stdout.split('==\n')
  expect(JSON.parse(search!).frames.map((frame: { id: string }) => frame.id)).toEqual(frameIds)
  expect(JSON.parse(wall!)).toMatchObject({ page: 1, frames: [], total: 0 })
  expect(taken!.trim()).toBe('')
  expect(JSON.parse(saved!)).toEqual({ ok: true })
  expect(JSON.parse(called!).result.structuredContent.frames).toHaveLength(1)
  const { json } = await service.call('GET', '/api/favourites')
  expect(json.frames.map((frame: { id: string }) => frame.id)).toEqual(frameIds)
})
