import { createServer } from 'node:http'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { frames, startFrames } from '../library/support.ts'
import { startS3 } from '../support/bucket.ts'
import { useFolder } from '../support/folder.ts'
import { listenOn } from '../support/listening.ts'
import { MEILI_MISSING, theMeili } from '../support/meilisearch.ts'
import { useStores } from '../support/stores.ts'

const stores = useStores()
const dataDir = useFolder()

const SECRET = 'not-the-password-0123456789'

/** The one line with which a command ends. It names no secret. One that ends its process runs in one of its own. */
async function refusal(command: string, env: Record<string, string>, { status = 1, run = frames } = {}) {
  const given = { PORT: '0', METRICS_PORT: '0', ...env }
  const over = { stores, config: { dataDir } }
  const { code, stdout, stderr } = await run(over, stores.redisUrl, command.split(' '), given)
  const lines = stderr.trim().split('\n')
  expect([command, code, stdout, lines.length], stderr).toEqual([command, status, '', 1])
  expect(stderr).not.toContain(SECRET)
  return lines[0]!
}

type Refused = [command: string, what: string, env: () => Record<string, string>, says: RegExp]

const refused = (commands: string, what: string, env: Refused[2], says: RegExp): Refused[] =>
  commands.split(', ').map((command) => [command, what, env, says])

const wrongPassword = (address: string) => {
  const url = new URL(address)
  url.password = SECRET
  return url.href
}
// Not even root may create something there.
const closed = () => ({ DATA_DIR: '/sys/frames' })
// Node would try for ever.
const never = () => ({ DATA_DIR: '/proc/frames/data' })
const noFolder = () => ({ DATA_DIR: '/dev/null/data' })
const database = () => ({ DATABASE_URL: wrongPassword(stores.databaseUrl) })
const absent = () => ({ DATABASE_URL: stores.databaseUrl.replace(/[^/]+$/, 'never_made') })
const redis = () => ({ REDIS_URL: wrongPassword(stores.redisUrl) })
const impossible = /^No folder can be made at \/\S+\. Set DATA_DIR to another/
const password = /refuses the user or the password of DATABASE_URL.* at the first start of a database only/

test.each<Refused>([
  ...refused('migrate, worker, api', 'a folder of others', closed, /may not write \/sys\/frames.* chown -R \d+/),
  ...refused('start, migrate, worker, api', 'a folder that can never be made', never, impossible),
  ...refused('start, migrate, worker, api', 'a folder in a file', noFolder, impossible),
  ...refused('migrate', 'a wrong password', database, password),
  ...refused(
    'migrate, accounts list',
    'no such database',
    absent,
    /no database of the name in DATABASE_URL. Create it/,
  ),
])('%s with %s ends in one line with the next step', async (command, _, env, says) => {
  expect(await refusal(command, env())).toMatch(says)
})

test.each<Refused>([
  ['worker', 'a password', database, password],
  ['accounts list', 'a password', database, password],
  ['queues', 'a password of Redis', redis, /password of REDIS_URL/],
])('the process of %s ends where %s is refused: one that stayed would never be started again', async (...row) => {
  const [command, _, env, says] = row
  expect(await refusal(command, env(), { run: startFrames })).toMatch(says)
})

test('a host that does not exist is named', async () => {
  const nowhere = { DATABASE_URL: 'postgres://frames:secret@nowhere.invalid/frames' }
  expect(await refusal('accounts list', nowhere, { status: 3 })).toBe(
    'The database, Redis or the media store is unavailable (the host nowhere.invalid is not found). ' +
      'Check its address, and that it runs.',
  )
})

test('a port for metrics that is in use is one clear line', async () => {
  const taken = createServer()
  const { port } = await listenOn(taken)
  for (const command of ['api', 'start'])
    expect(
      await refusal(command, { METRICS_PORT: String(port), DATA_DIR: join(dataDir, command) }, { run: startFrames }),
    ).toBe(
      `METRICS_PORT: port ${port} is in use. ` +
        'Set METRICS_PORT to another port (the worker takes the one above it), or to 0 for none.',
    )
  await new Promise((done) => taken.close(done))
})

test('a bucket that refuses the key or is not there is one line that names the setting', async () => {
  const known = { S3_BUCKET: 'media', S3_ACCESS_KEY: 'S3RVER', S3_SECRET_KEY: 'S3RVER' }
  const refused = /bucket refuses S3_ACCESS_KEY and S3_SECRET_KEY. Correct them/
  for (const [anySignature, wrong, said] of [
    [false, { S3_SECRET_KEY: SECRET }, refused],
    [true, { S3_ACCESS_KEY: 'nobody' }, refused],
    [true, { S3_BUCKET: 'absent' }, /no bucket of the name in S3_BUCKET/],
  ] as const) {
    await using s3 = await startS3({ anySignature })
    expect(await refusal('storage check', { ...known, ...wrong, S3_ENDPOINT: s3.endpoint })).toMatch(said)
  }
})

test.skipIf(MEILI_MISSING)('Meilisearch that refuses the key is one line that names it', async () => {
  expect(await refusal('reindex', { MEILI_URL: theMeili().url, MEILI_KEY: SECRET })).toMatch(
    /Meilisearch refuses MEILI_KEY. Correct it/,
  )
})
