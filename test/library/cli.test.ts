import { execFile } from 'node:child_process'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect, test, vi } from 'vitest'
import { createAccount } from '../../src/library/accounts/accounts.ts'
import { saveFrame } from '../../src/library/collections/saves.ts'
import { openQueues } from '../../src/queue/queues.ts'
import { sql } from '../../src/sql/orm.ts'
import { NODE_SETTINGS } from '../support/node-settings.ts'
import { holdTransaction, untilReadable } from '../support/stores.ts'
import { until } from '../support/until.ts'
import {
  addVideo,
  FILM_HEAD,
  frameRows,
  scriptedAnnotator,
  startFrames,
  useCommands,
  values,
  videoRow,
} from './support.ts'

vi.setConfig({ testTimeout: 600_000 })

const annotator = scriptedAnnotator('measured@1', () => ({ values: values({ subject: 'ui', caption: 'old words' }) }))
const { service, redisUrl, run, withEnv } = useCommands(9, annotator)
let dir: string
beforeAll(async () => {
  dir = join(service.config.dataDir, 'given')
  await mkdir(dir)
})

const file = async (name: string, content: string) => {
  await writeFile(join(dir, name), name.endsWith('.mp4') && content !== '' ? FILM_HEAD + content : content)
  return join(dir, name)
}

test('add, status, explain: a file becomes a ready video whose every frame says why it was kept', async () => {
  const path = await file('my-film_one.mp4', '3\nfirst film')
  const added = await run('add', path, '--author', 'Acme', '--wait', '--json')
  expect(added).toMatchObject({ code: 0, stderr: '' })
  expect(added.json.videos).toEqual([
    {
      source: path,
      video: { id: expect.any(String), status: 'ready', title: 'my film one' },
      created: true,
      unchanged: [],
    },
  ])
  const { id } = added.json.videos[0].video

  const again = await run('add', path)
  expect(again.stdout).toBe(`= ${id}  my film one (already here, ready)\n`)
  const other = await run('add', path, '--title', 'Launch', '--author', 'Acme', '--published-at', '2026-11-20')
  const stays = `(already here, ready; title, published_at unchanged: use frames edit ${id})`
  expect(other.stdout).toBe(`= ${id}  my film one ${stays}\n`)
  const status = await run('status', id, '--explain', '--json')
  expect(status.json.video).toMatchObject({
    id,
    status: 'ready',
    author: 'Acme',
    attempts: 1,
    frame_count: 3,
    reannotating: 0,
    detector: { version: 'counting-1' },
  })
  expect(status.json.video.stages.map((stage: { stage: string }) => stage.stage)).toEqual([
    'fetching',
    'extracting',
    'annotating',
  ])
  expect(status.json.video.stages.at(-1)).toMatchObject({ done: 3, total: 3, finished_at: expect.any(String) })
  expect(status.json.frames.map((frame: { reason: string }) => frame.reason)).toEqual([
    'cut: frame 0',
    'cut: frame 1',
    'cut: frame 2',
  ])
  const shown = await run('status', id, '--explain')
  expect(shown.stdout).toContain('00:02.000  cut')
  expect(shown.stdout).toMatch(/^ {2}annotating 3 of 3 /m)
  expect((await run('status', '--status', 'failed')).stdout).toContain('No videos yet')
})

test('what cannot be added is said in one line each, and the rest goes on', async () => {
  const good = await file('good.mp4', '1\ngood')
  const results = await withEnv(
    { MAX_UPLOAD_MB: '1' },
    'add',
    good,
    dir,
    join(dir, 'absent.mp4'),
    await file('big.mp4', '1'.repeat(1_100_000)),
    await file('empty.mp4', ''),
    await file('README.md', '# No film\n'),
    '--json',
  )
  expect(results.code).toBe(1)
  expect(results.stderr).toBe('')
  expect(results.json.videos.map((outcome: { error?: string }) => outcome.error)).toEqual([
    undefined,
    'This is a folder. Name the files in it.',
    'There is no such file, or it cannot be read.',
    'The file is larger than the 1 MB allowed. Use a smaller one.',
    'The file is empty. Use another one.',
    'The file is not a video. Allowed: MP4, MOV, WebM, Matroska, AVI, MPEG-TS.',
  ])
  const refused = await run('add', 'http://127.0.0.1/film.mp4', 'ftp://example.com/x.mp4', '--json')
  expect(refused.code).toBe(1)
  for (const outcome of refused.json.videos) expect(outcome.error).toMatch(/\w/)
})

test('what is wrong with the media store is not blamed on the file', async () => {
  const dataDir = join(dir, 'spoilt')
  await mkdir(dataDir)
  await writeFile(join(dataDir, 'store'), 'a file where the folder of the store should be')
  const added = await withEnv({ DATA_DIR: dataDir }, 'add', await file('blameless.mp4', '1\nblameless'))
  expect([added.code, added.stdout + added.stderr]).toEqual([1, expect.stringMatching(/spoilt\/store.* Set DATA_DIR /)])
  expect(added.stdout + added.stderr).not.toContain('cannot be read')
})

test('a list as CSV or JSON is reported line by line; a bad line does not stop the others', async () => {
  const [one, two] = [await file('list one.mp4', '1\nlist one'), await file('two.mp4', '1\nlist two')]
  const csv = await file(
    'list.csv',
    `\ufeffSource, Title ,author,platform,published\n"${one}","A, title",Acme,vimeo,2026-01-02\n${two},,,,\n` +
      `,no source,,,\n${two},x,,tv,\n${join(dir, 'missing.mp4')},,,,\n${two},,,,soon\n`,
  )
  const { code, json } = await run('add', '--from', csv, '--author', 'Everyone', '--json')
  expect(code).toBe(1)
  expect(
    json.videos.map((outcome: { line: number; error?: string; video?: { title: string } }) => [
      outcome.line,
      outcome.error ?? outcome.video?.title,
    ]),
  ).toEqual([
    [2, 'A, title'],
    [3, 'two'],
    [4, 'The entry needs a source: a file or a URL.'],
    [5, 'No platform is called tv. Use one of youtube, x, linkedin, vimeo, web.'],
    [6, 'There is no such file, or it cannot be read.'],
    [7, expect.stringContaining('published_at must be a date')],
  ])
  expect(await videoRow(service, json.videos[0].video.id)).toMatchObject({
    author: 'Acme',
    platform: 'vimeo',
    published_at: '2026-01-02 00:00:00+00',
  })
  expect(await videoRow(service, json.videos[1].video.id)).toMatchObject({ author: 'Everyone', platform: 'web' })
  for (const [header, said] of [
    ['titel,source', 'The list has an unknown column "titel". Did you mean title? Use source, title, '],
    ['file,name', 'list is "file,name". It must name its columns: source,title,author,platform,published.'],
  ] as const) {
    const wrong = await run('add', '--from', await file('wrong.csv', `${header}\n${one},x\n`))
    expect([wrong.code, wrong.stdout, wrong.stderr.includes(said)], wrong.stderr).toEqual([2, '', true])
  }
  const long = await file('long.csv', `source,title\n\n"${one}","a title\nof two lines"\nabsent.mp4,x\n`)
  expect((await run('add', '--from', long)).stdout).toContain('✗ line 5, absent.mp4: There is no such file')
  const list = await file('list.json', JSON.stringify([one, { url: two }, { source: 7 }, 7]))
  const parsed = await run('add', '--from', list, '--json')
  expect(
    parsed.json.videos.map((outcome: { created?: boolean; error?: string }) => outcome.created ?? 'refused'),
  ).toEqual([false, false, 'refused', 'refused'])
  const broken = await run('add', '--from', await file('broken.json', '[1,'))
  expect(broken).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringMatching(/^The list is not a JSON array of sources\. Use a form such as .+\n$/),
  })
})

test('retry, cancel, delete: act on what can be acted on', async () => {
  const id = await addVideo(service, 2)
  await service.drain()
  const { revision } = (await videoRow(service, id)) as { revision: number }
  expect(await run('cancel', id)).toMatchObject({
    code: 1,
    stdout: '',
    stderr: `${id}  Only a video in progress can be cancelled; this one is ready.\n`,
  })
  expect(await run('retry', id)).toMatchObject({ code: 1 })
  expect((await run('retry', id, '--again', '--json')).json).toEqual({ videos: [{ id, status: 'queued' }] })
  await service.drain()
  expect(await videoRow(service, id)).toMatchObject({ status: 'ready', revision: revision + 1 })
  expect(await run('delete', id)).toEqual({
    code: 2,
    json: undefined,
    stdout: '',
    stderr: 'This permanently deletes 1 video with 2 frames, 0 saves and 0 pins. Add --yes to confirm.\n',
  })
  const { db } = service.stores
  const reader = await createAccount(db, { email: 'reader@example.org', plan: 'pro', role: 'member' })
  const [frame] = await frameRows(service, id)
  await saveFrame(db, { accountId: reader.id, frameId: frame!.id })
  expect((await run('delete', id)).stderr).toContain('2 frames, 1 save and 0 pins of 1 account. Add --yes')
  const mixed = await run('delete', '--yes', id, 'nosuchvideo')
  expect(mixed).toMatchObject({
    code: 1,
    stdout: `${id}  deleted\n`,
    stderr: 'Deleting 1 video with 2 frames, 1 save and 0 pins of 1 account.\nnosuchvideo  No such video.\n',
  })
  expect(await videoRow(service, id)).toBeUndefined()
})

test('queues tells what waits for a transaction that stays open', async () => {
  const { db } = service.stores
  {
    await using _older = await holdTransaction(service.stores)
    await db.$client.query(
      `insert into events (type, subject, data, time)
       values ('key.revoked', 'old', '{"key_id":"old"}', now() - interval '1 hour')`,
    )
    expect((await run('queues')).stdout).toMatch(
      /^! \d+ events have waited since \S+ for an open transaction on this PostgreSQL server\. See pg_stat_activity/m,
    )
    expect((await run('queues', '--json')).json.events_held_back.events).toBeGreaterThan(0)
  }
  await untilReadable(db)
  expect((await run('queues')).stdout).not.toContain('! ')
})

test('queues names what a consumer waits for', async () => {
  const { db } = service.stores
  const outage = { of: 'Meilisearch', since: '2026-11-22T10:02:00.000Z', lastAttempt: new Date(), attempts: 12 }
  await db.execute(sql`insert into checkpoints (consumer, outage) values ('elsewhere', ${JSON.stringify(outage)})`)
  expect((await run('queues')).stdout).toMatch(
    /^! Meilisearch unavailable since 2026-11-22T10:02:00\.000Z, 12 attempts, the last \d+ s ago\. elsewhere waits/m,
  )
  expect((await run('queues', '--json')).json.outages).toMatchObject([{ of: 'Meilisearch', attempts: 12 }])
  await db.execute(sql`delete from checkpoints where consumer = 'elsewhere'`)
})

test('pause holds one queue, queues shows it, resume goes on', async () => {
  expect((await run('pause', 'ingest', '--json')).json).toEqual({ queues: ['ingest'], paused: true })
  const id = await addVideo(service, 1)
  await until(async () => {
    const { json } = await run('queues', '--json')
    const ingest = json.queues.find((entry: { queue: string }) => entry.queue === 'ingest')
    return ingest.paused && ingest.waiting === 1 && ingest.active === 0
  })
  expect((await run('queues')).stdout).toMatch(/ingest +1 to do, 0 running, paused/)
  expect((await videoRow(service, id))?.status).toBe('queued')
  expect((await run('resume')).code).toBe(0)
  expect(await run('queues', '--drain')).toMatchObject({ code: 0 })
  await service.drain()
  expect((await videoRow(service, id))?.status).toBe('ready')
})

test('a queue that rests says so, with one line of why', async () => {
  const { db } = service.stores
  const problem = '{"code":"misconfigured","message":"The key was refused."}'
  await db.execute(sql`insert into settings (name, value) values ('vision-status', ${problem})
    on conflict (name) do update set value = excluded.value`)
  const queues = openQueues({ url: redisUrl, logger: service.logger })
  await queues.ready()
  await queues.get('annotate-backfill').rateLimit(600_000)
  const shown = await run('queues')
  expect(shown.stdout).toMatch(/annotate-backfill +0 to do, 0 running, waits \d+ s/)
  expect(shown.stdout.split('\n').filter((line) => line.startsWith('!'))).toEqual([
    expect.stringMatching(/^! misconfigured: The key was refused\. \(since /),
  ])
  expect((await run('status')).stdout).toMatch(/^! misconfigured: /)
  await run('resume', 'annotate-backfill')
  expect((await run('queues', '--json')).json.queues.every((entry: { rests_ms: number }) => entry.rests_ms === 0)).toBe(
    true,
  )
  await db.execute(sql`delete from settings where name = 'vision-status'`)
  await queues[Symbol.asyncDispose]()
})

test('every part of techniques changes the vocabulary, and tells how many frames follow', async () => {
  annotator.answer = ({ tSec }) => ({
    values: values({ technique: tSec === 0 ? 'cli-move' : null }),
    ...(tSec === 1 ? { suggestedTechnique: { slug: 'cli-idea' } } : {}),
  })
  const techniques = async (...args: string[]) => (await run('techniques', ...args, '--json')).json
  const described = { name: 'CLI move', description: 'From a shell.', aliases: ['shell-move'] }
  const given = ['--name', described.name, '--description', described.description, '--aliases', 'Shell Move']
  expect(await techniques('add', 'cli-move', ...given)).toMatchObject({ technique: described, adopted_frames: 0 })
  const id = await addVideo(service, 2)
  await service.drain()
  const { suggestions } = await techniques('suggestions')
  expect(suggestions).toEqual([{ slug: 'cli-idea', count: 1, frame_ids: [(await frameRows(service, id))[1]!.id] }])
  expect(await techniques('edit', 'cli-move', '--name', 'Other')).toMatchObject({ technique: { name: 'Other' } })
  expect(await techniques('rename', 'cli-move', 'cli-turn')).toMatchObject({ technique: { slug: 'cli-turn' } })
  expect(await techniques('add', 'cli-idea')).toMatchObject({ adopted_frames: 1 })
  expect((await run('techniques', 'merge', 'cli-turn', 'cli-idea')).code).toBe(0)
  expect((await frameRows(service, id)).map((row) => row.technique)).toEqual(['cli-idea', 'cli-idea'])
  expect((await run('techniques', 'retire', 'cli-idea')).stdout).toContain('retired: yes')
  expect(await techniques('restore', 'cli-idea')).toMatchObject({ technique: { retired: false } })
  expect((await run('techniques', 'dismiss', 'cli-other')).stdout).toBe('dismissed cli-other\n')
  expect((await run('techniques', 'suggestions')).stdout).toBe('no suggestions\n')
  expect((await run('techniques')).stdout).toContain('title-card')
})

test('storage check counts, names what is missing, and removes only what it is told to', async () => {
  const id = await addVideo(service, 2)
  await service.drain()
  const whole = await run('storage', 'check', '--json')
  expect(whole).toMatchObject({ code: 0, json: { missing_count: 0, orphans: 0 } })
  const [frame] = await frameRows(service, id)
  await rm(join(service.config.dataDir, 'store', String(frame!.image_key)))
  expect(await run('storage', 'check', '--remove', '--json')).toMatchObject({
    code: 1,
    json: { missing_count: 1, missing: [frame!.image_key], removed: 0 },
  })
})

test('help shows nothing of the inside', async () => {
  expect((await run('events', '--help')).stdout).toMatch(
    /--after <cursor> +only events after this cursor \(default: the\s+beginning\)/,
  )
  // A command in a help can be copied: no line breaks within it.
  expect((await run('--help')).stdout).toContain('\nIn a checkout run: npm run -s frames -- <command>\n')
})

/** A process of its own, which knows what it writes to. */
const apart = (...args: string[]) => startFrames(service, redisUrl, args)

test('a title steers no terminal, in lines nor in JSON', async () => {
  const id = await addVideo(service, 1, { title: 'plain' })
  const title = 'left \u202Egnp.exe \u001B[31mred\u009B2J'
  await service.stores.db.$client.query('update videos set title = $1 where id = $2', [title, id])
  const shown = await apart('status', id)
  expect(shown.stdout.split('\n')[0]).toMatch(/ {2}left gnp\.exe \[31mred2J$/)
  const given = await apart('status', id, '--json')
  expect(given.stdout).not.toMatch(/[\u001B\u0080-\u009F\u202A-\u202E]/)
  expect(given.json.video.title).toBe(title)
})

test.skipIf(process.platform !== 'linux')(
  'a terminal gets headings, ages and colour, a pipe only columns',
  async () => {
    const id = await addVideo(service, 1, { title: 'seen' })
    await service.drain()
    const { dataDir: DATA_DIR } = service.config
    const { databaseUrl: DATABASE_URL } = service.stores
    const onTerminal = async (env: Record<string, string>) => {
      const command = `${process.execPath} src/cli/main.ts status ${id}`
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
    expect((await apart('status', id)).stdout.split('\n')[0]).toBe(`${id}  ready  1 frame  seen`)
  },
)

test('add --wait prints a line for each state in a pipe, and Ctrl-C says that the work goes on', async () => {
  const waited = await apart('add', await file('waited.mp4', '2\nwaited'), '--wait')
  const lines = waited.stdout.trim().split('\n')
  expect(lines[0]).toMatch(/^\+ /)
  expect(lines.pop()).toMatch(/^http:\S+\/videos\/\w+$/)
  expect(lines.at(-1)).toMatch(/ {2}ready {2}2 frames {2}waited$/)
  expect(new Set(lines.map((line) => line.split('  ')[1])).size).toBe(lines.length)
  await apart('pause')
  const stopped = startFrames(service, redisUrl, ['add', await file('later.mp4', '2\nlater'), '--wait'])
  await until(() => stopped.child.stdout !== null && stopped.seen().includes('queued'))
  stopped.child.kill('SIGINT')
  expect(await stopped).toMatchObject({
    code: 130,
    stderr: 'Stopped waiting. The work continues: frames status shows how far it is.\n',
  })
  await apart('resume')
})
