import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { appendFileSync, copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { noChromium, openBrowser, type TestBrowser } from '../support/browser.ts'
import { firstHour, freePorts, missing, ownSubnet, startCommands } from './compose.ts'

/*
 * The first hour of a team, with the commands that docs/production.md prints, in a fresh clone of HEAD. It needs root,
 * as the page's folder of backups does. Base images that are on the machine under the names of Dockerfile and
 * docker-compose.yml are used as they are, stand-ins too:
 * TEST_CONTAINERS=1 npx vitest run test/platform/first-hour.test.ts
 * TEST_NEXT_POSTGRES=postgres:19 names an image of a newer major version of PostgreSQL, to move there too.
 */

const nextPostgres = process.env.TEST_NEXT_POSTGRES
const run = promisify(execFile)
const why = missing ?? noChromium
const project = `first-hour-${randomBytes(3).toString('hex')}`

let folder: string
let clone: string
let url: string
let browser: TestBrowser
let ana: Page
let ben: Page
let sharePath: string

/** Runs commands of the page in the clone, and gives what they print. Addresses and folders are those of this run. */
async function sh(commands: string): Promise<string> {
  const { PATH, HOME } = process.env
  const here = commands.replaceAll('http://localhost:3000', url).replaceAll('/mnt/backups', join(folder, 'backups'))
  const options = { cwd: clone, env: { PATH, HOME, COMPOSE_PROJECT_NAME: project }, maxBuffer: 100e6 }
  const { stdout } = await run('sh', ['-ec', here], options).catch((error: Error & { stdout?: string }) => {
    throw new Error(`${commands}\n${error.message.slice(-3_000)}\n${error.stdout?.slice(-1_000)}`)
  })
  return stdout
}

/** Settings, as the page applies them. */
async function set(settings: string): Promise<void> {
  appendFileSync(join(clone, '.env'), settings)
  await sh('docker compose up --detach --wait')
}

/** A person in a browser of their own, by a link that works once. */
async function signedIn(printed: string): Promise<Page> {
  const [link] = /http\S+#\S+/.exec(printed)!
  const page = await browser.open()
  await page.goto(link)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL((at) => !at.pathname.startsWith('/sign-in'))
  return page
}

/** What a stranger is answered, without following. */
const stranger = (path: string, accept = '*/*') =>
  fetch(new URL(path, url), { redirect: 'manual', headers: { accept } })

async function expectBoard(page: Page): Promise<void> {
  await page.goto(url + sharePath)
  await page.getByRole('heading', { name: 'Openings' }).waitFor()
  const pictures = page.locator('.frames img')
  expect(await pictures.count()).toBe(2)
  await pictures.first().evaluate((image: HTMLImageElement) => image.decode())
}

describe.skipIf(why !== undefined)(`the first hour${why ? ` (skipped: ${why})` : ''}`, () => {
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'first-hour-'))
    clone = join(folder, 'frames')
    await run('git', ['clone', '--quiet', resolve('.'), join(folder, 'origin')])
    await run('git', ['clone', '--quiet', join(folder, 'origin'), clone])
    const [port] = await freePorts(1)
    url = `http://localhost:${port}`
    browser = await openBrowser(url)
    // A model beside the service, in the service's own image.
    const program = `const { startFakeVisionEndpoint } = await import('/app/test/support/fake-vision-endpoint.ts')
      await startFakeVisionEndpoint({ host: '0.0.0.0', port: 8080 })`
    const vision = {
      image: 'frame-library',
      pull_policy: 'never',
      entrypoint: ['node', '--input-type=module', '-e', program],
      volumes: [`${resolve('test')}:/app/test:ro`],
      networks: ['inside'],
      healthcheck: { test: ['CMD', 'node', '-e', "fetch('http://127.0.0.1:8080')"], interval: '2s' },
      depends_on: { migrate: { condition: 'service_completed_successfully' } },
    }
    writeFileSync(join(clone, 'docker-compose.override.yml'), stringify({ services: { vision } }))
  })

  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]()
    await sh('docker compose down --volumes --remove-orphans --timeout 5')
    rmSync(folder, { recursive: true, force: true })
  }, 600_000)

  test('starts, and the printed link opens the wall to its operator', async () => {
    const { passwords, start } = startCommands()
    await sh(passwords)
    const { port } = new URL(url)
    appendFileSync(
      join(clone, '.env'),
      `API_PORTS=127.0.0.1:${port}\nPUBLIC_URL=${url}\nIPV6_SUBNET=${ownSubnet()}\nRATE_LIMIT_SCALE=100\n`,
    )
    const operator = await signedIn(await sh(start))
    expect(new URL(operator.url()).pathname).toBe('/')

    await operator.goto(`${url}/operator/accounts`)
    await operator.getByLabel('Invite').fill('ana@example.com')
    await operator.getByRole('button', { name: 'Invite' }).click()
    const invitation = (await operator.locator('.copy-text').textContent())!
    ana = await signedIn(invitation)
    ben = await signedIn(await sh('docker compose exec api frames accounts link ben@example.com'))

    const late = await browser.open()
    await late.goto(invitation)
    await late.getByRole('button', { name: 'Sign in' }).click()
    await late.getByText('This link is used or expired. Ask for a new one.').waitFor()
  }, 3_600_000)

  test('a video of the host is added and found', async () => {
    copyFileSync('samples/relay-launch.mp4', join(clone, 'launch.mp4'))
    expect(await sh(firstHour('6. First videos')[0]!)).toMatch(/<em>launch<\/em>/i)
  }, 600_000)

  test('a model describes what is there and what comes', async () => {
    const settings = firstHour('7. A model')[0]!
    await set(settings.replace('https://models.example.com/v1', 'http://vision:8080/v1'))
    expect(await sh('docker compose exec api frames reannotate --dry-run')).toMatch(/\$/)
    copyFileSync('samples/coffee-pour.mp4', join(clone, 'pour.mp4'))
    await sh('docker compose run --rm -v "$PWD:/in:ro" api add /in/pour.mp4 --wait')
    const { frames } = (await (await stranger('/api/frames?q=members')).json()) as { frames: { steal: string }[] }
    expect(frames[0]!.steal).toBe('Show one list at a time.')
  }, 600_000)

  test('one makes a board of two frames, and the other opens it by its link', async () => {
    await ana.goto(url)
    await ana.locator('#wall .card-link').first().focus()
    for (const key of ['x', 'ArrowRight', 'x', 'b']) await ana.keyboard.press(key)
    await ana.getByLabel('New board').fill('Openings')
    await ana.keyboard.press('Enter')
    await ana.getByRole('link', { name: 'To the board' }).click()
    await ana.locator('summary').getByText('Share').click()
    await ana.getByRole('button', { name: 'Make a link' }).click()
    sharePath = new URL((await ana.locator('#share-link').textContent())!).pathname
    await expectBoard(ben)
  }, 300_000)

  test('READS=members: members read, and others open only the shared board', async () => {
    const address = new URL(
      ((await (await stranger('/api/frames')).json()) as { frames: [{ image_url: string }] }).frames[0].image_url,
    )
    const open = await stranger('/', 'text/html')
    await set('READS=members\n')
    const shut = await stranger('/', 'text/html')
    expect([open.status, shut.status, shut.headers.get('location')]).toEqual([200, 303, '/sign-in'])
    expect((await stranger('/api/frames')).status).toBe(401)
    expect((await stranger(address.pathname)).status).toBe(401)
    const ended = await stranger(`${address.pathname}?until=1&mac=none`)
    expect([ended.status, await ended.text()]).toEqual([403, expect.stringContaining('address has ended')])
    await ben.goto(url)
    await ben.locator('#wall .card-link').first().waitFor()
    await expectBoard(ben)
    await expectBoard(await browser.open())
    expect(browser.faults).toEqual([])
  }, 300_000)

  test('a backup, then an upgrade to the next version', async () => {
    await sh(firstHour('8. A backup every night')[0]!)
    const origin = join(folder, 'origin')
    const manifest = join(origin, 'package.json')
    writeFileSync(manifest, readFileSync(manifest, 'utf8').replace(/"version": ".*"/, '"version": "999.0.0"'))
    await run('git', ['-c', 'user.name=x', '-c', 'user.email=x@example.com', 'commit', '-qam', 'Next'], { cwd: origin })
    await sh(firstHour('10. Upgrade')[0]!)
    expect(await sh('docker compose exec api frames --version')).toContain('999.0.0')
    await expectBoard(ben)
  }, 3_600_000)

  test('the backup is restored into an empty service', async () => {
    await sh('docker compose down --volumes')
    await sh(firstHour('9. Restore')[0]!)
    await expectBoard(ben)
    await ana.goto(`${url}/boards`)
    await ana.getByText('Openings').first().waitFor()
  }, 900_000)

  test.skipIf(!nextPostgres)(
    "PostgreSQL's next major version",
    async () => {
      await sh(firstHour('8. A backup every night')[0]!)
      const [before, after] = firstHour("PostgreSQL's next major version")
      await sh(before!)
      const file = join(clone, 'docker-compose.yml')
      writeFileSync(file, readFileSync(file, 'utf8').replace(/image: postgres:\d+/, `image: ${nextPostgres}`))
      await sh(firstHour('9. Restore')[0]!)
      await expectBoard(ben)
      await sh(after!)
    },
    900_000,
  )

  test('it says that it is well', async () => {
    await sh(`curl -f ${url}/readyz`)
    expect(await sh('docker compose exec api frames queues')).toContain('ingest')
    const asked = 'fetch(process.argv[1]).then(({ ok }) => process.exit(ok ? 0 : 1))'
    for (const place of ['localhost:9464', 'worker:9465'])
      await sh(`docker compose exec api node -e '${asked}' http://${place}/metrics`)
  }, 300_000)
})
