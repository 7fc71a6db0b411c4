import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, inject, test, vi } from 'vitest'
import { DEFAULT_PREFIX } from '../../src/queue/queues.ts'
import { NODE_SETTINGS } from '../support/node-settings.ts'
import type { Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { addVideo, extractFromNumber, FILM_HEAD, openScripted, scriptedAnnotator, startFrames } from './support.ts'

// Every command is a process of its own.
vi.setConfig({ testTimeout: 600_000 })

/** The command uses the default names in Redis. A numbered database keeps them apart from every other test. */
const redisUrl = `${inject('redisUrl').replace(/\/\d*$/, '')}/11`
let service: Service
const run = (...args: string[]) => startFrames(service, redisUrl, args)
beforeAll(async () => {
  const redis = new Redis(redisUrl)
  await redis.flushdb()
  redis.disconnect()
  service = await openScripted(
    scriptedAnnotator('measured@1', () => ({})),
    { workerOptions: { redisUrl, prefix: DEFAULT_PREFIX, extract: extractFromNumber } },
  )
})
afterAll(() => service[Symbol.asyncDispose]())

async function file(name: string, content: string): Promise<string> {
  const path = join(service.config.dataDir, name)
  await writeFile(path, FILM_HEAD + content)
  return path
}

test('a title steers no terminal, in lines nor in JSON', async () => {
  const id = await addVideo(service, 1, { title: 'plain' })
  const title = 'left \u202Egnp.exe \u001B[31mred\u009B2J'
  await service.stores.db.$client.query('update videos set title = $1 where id = $2', [title, id])
  const shown = await run('status', id)
  expect(shown.stdout.split('\n')[0]).toMatch(/ {2}left gnp\.exe \[31mred2J$/)
  const given = await run('status', id, '--json')
  expect(given.stdout).not.toMatch(/[\u001B\u0080-\u009F\u202A-\u202E]/)
  expect(given.json.video.title).toBe(title)
})

test.skipIf(process.platform !== 'linux')(
  'a terminal gets headings, ages and colour, a pipe only columns',
  async () => {
    const id = await addVideo(service, 1, { title: 'seen' })
    await service.drain()
    const onTerminal = async (env: Record<string, string>) => {
      const cli = new URL('../../src/cli.ts', import.meta.url).pathname
      const command = `${process.execPath} ${cli} status ${id}`
      const { DATA_DIR, DATABASE_URL } = { DATA_DIR: service.config.dataDir, DATABASE_URL: service.stores.databaseUrl }
      const { PATH } = process.env
      const given = { PATH, TERM: 'xterm', DATA_DIR, DATABASE_URL, REDIS_URL: redisUrl, ...NODE_SETTINGS, ...env }
      return (await promisify(execFile)('script', ['-qec', command, '/dev/null'], { env: given })).stdout
    }
    const coloured = await onTerminal({})
    expect(coloured).toContain('STATUS')
    expect(coloured).toContain('AGE')
    expect(coloured).toContain('\u001B[32mready\u001B[39m')
    const plain = await onTerminal({ NO_COLOR: '1' })
    expect(plain).toContain('STATUS')
    expect(plain).not.toContain('\u001B[')
    expect((await run('status', id)).stdout.split('\n')[0]).toBe(`${id}  ready  1 frame  seen`)
  },
)

test('add --wait prints a line for each state in a pipe, and Ctrl-C says that the work goes on', async () => {
  const waited = await run('add', await file('waited.mp4', '2\nwaited'), '--wait')
  const lines = waited.stdout.trim().split('\n')
  expect(lines[0]).toMatch(/^\+ /)
  expect(lines.pop()).toMatch(/^http:\S+\/videos\/\w+$/)
  expect(lines.at(-1)).toMatch(/ {2}ready {2}2 frames {2}waited$/)
  expect(new Set(lines.map((line) => line.split('  ')[1])).size).toBe(lines.length)
  await run('pause')
  const stopped = startFrames(service, redisUrl, ['add', await file('later.mp4', '2\nlater'), '--wait'])
  await until(() => stopped.child.stdout !== null && stopped.seen().includes('queued'))
  stopped.child.kill('SIGINT')
  expect(await stopped).toMatchObject({
    code: 130,
    stderr: 'Stopped waiting. The work continues: frames status shows how far it is.\n',
  })
  await run('resume')
})
