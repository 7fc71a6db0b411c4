import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { freePorts, missing, ownSubnet, startCommands } from './compose.ts'

/*
 * Builds the image and runs docker-compose.yml as a stranger would. It needs a container engine, minutes, and on the
 * first run the network for the base images, so it is asked for:
 * TEST_CONTAINERS=1 npx vitest run test/platform/containers.test.ts
 */

const MAX_IMAGE_BYTES = 600e6
const run = promisify(execFile)

const project = `frames-test-${randomBytes(3).toString('hex')}`
let folder: string
let ports: number[]
let subnet: string
let key: string

/** `docker compose` on the project of this run. */
async function compose(...args: string[]): Promise<string> {
  const files = ['docker-compose.yml', join(folder, 'override.yml')].flatMap((file) => ['--file', file])
  const all = ['compose', '--project-name', project, '--env-file', join(folder, '.env'), ...files, ...args]
  const { stdout } = await run('docker', all, { maxBuffer: 100e6 }).catch((error: Error & { stderr?: string }) => {
    throw new Error(`docker ${all.join(' ')}\n${error.stderr}`)
  })
  return stdout
}

/** What a container says of itself. */
async function inspect(service: string, format: string): Promise<string[]> {
  const ids = (await compose('ps', '--all', '--quiet', service)).trim().split('\n')
  const { stdout } = await run('docker', ['inspect', '--format', format, ...ids])
  return stdout.trim().split('\n')
}

function setEnv(settings: Record<string, string>): void {
  const always = { PUBLIC_URL: `http://127.0.0.1:${ports[0]}`, IPV6_SUBNET: subnet, RATE_LIMIT_SCALE: '100' }
  const lines = Object.entries({ ...always, ...settings }).map(([name, value]) => `${name}=${value}\n`)
  writeFileSync(join(folder, '.env'), readFileSync(join(folder, 'passwords'), 'utf8') + lines.join(''))
}

/** Something that the service needs and the test replaces: a bucket, in a container beside it. */
function override(services: Record<string, unknown>): void {
  writeFileSync(join(folder, 'override.yml'), stringify({ services }))
}

const statusOf = (url: string) =>
  fetch(url).then(
    async (answer) => {
      await answer.arrayBuffer()
      return answer.status
    },
    () => 0,
  )

/** Polls an API until `check` holds; outages in between are what the tests cause. */
async function until(path: string, check: (body: string) => boolean, port = ports[0]!): Promise<string> {
  let body = ''
  const holds = async () => {
    body = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { authorization: `Bearer ${key}` } }).then(
      (answer) => answer.text(),
      () => '',
    )
    return check(body)
  }
  await expect.poll(holds, { timeout: 240_000, interval: 500 }).toBe(true)
  return body
}

async function upload(file: string): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${ports[0]}/api/videos`, {
    method: 'POST',
    headers: { 'content-type': 'application/octet-stream', authorization: `Bearer ${key}` },
    body: readFileSync(file),
  })
  const { video } = (await answer.json()) as { video: { id: string } }
  return video.id
}

/** The images of a video that is ready, as the service publishes them. */
async function imagesOf(id: string): Promise<string[]> {
  await until(`/api/videos/${id}/status`, (body) => body.includes('"status":"ready"'))
  const body = await until(`/api/frames?video=${id}`, (text) => text.includes('"image_url"'))
  return (JSON.parse(body) as { frames: { image_url: string }[] }).frames.map(({ image_url }) => image_url)
}

describe.skipIf(missing !== undefined)(`docker compose${missing ? ` (skipped: ${missing})` : ''}`, () => {
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'containers-'))
    await run('sh', ['-c', startCommands().passwords.replace('> .env', '> passwords')], { cwd: folder })
    ports = await freePorts(2)
    subnet = ownSubnet()
    setEnv({ API_PORTS: `${ports[0]}-${ports[1]}` })
    override({})
    await compose('build')
  }, 3_600_000)

  afterAll(async () => {
    await compose('down', '--volumes', '--remove-orphans', '--timeout', '5')
    rmSync(folder, { recursive: true, force: true })
  }, 600_000)

  test('the image has at most 600 MB', async () => {
    const { stdout } = await run('docker', ['image', 'inspect', '--format', '{{.Size}}', 'frame-library'])
    expect(Number(stdout)).toBeLessThan(MAX_IMAGE_BYTES)
  })

  test('all parts become healthy, in order, two of each role', async () => {
    await compose('up', '--detach', '--wait', '--scale', 'api=2', '--scale', 'worker=2')
    for (const role of ['api', 'worker'])
      expect(await inspect(role, '{{.State.Health.Status}}'), role).toEqual(['healthy', 'healthy'])
    const [migrated] = await inspect('migrate', '{{.State.ExitCode}} {{.State.FinishedAt}}')
    expect(migrated).toMatch(/^0 /)
    for (const started of await inspect('api', '{{.State.StartedAt}}'))
      expect(Date.parse(started)).toBeGreaterThan(Date.parse(migrated!.slice(2)))
    key = (await compose('exec', '-T', 'api', 'cat', '/data/operator-key')).trim()
    for (const role of ['api', 'worker']) await compose('exec', '-T', role, 'frames', 'healthcheck')
  }, 600_000)

  test('a clip is uploaded, becomes frames and is found, through either API', async () => {
    const [image] = await imagesOf(await upload('samples/relay-launch.mp4'))
    expect(await statusOf(image!)).toBe(200)
    for (const port of ports) await until('/api/search?q=relay', (body) => body.includes('<em>Relay</em>'), port)
  }, 600_000)

  test('it comes back after a restart of each part', async () => {
    for (const part of ['postgres', 'redis', 'meilisearch', 'worker', 'api']) {
      await compose('restart', part)
      for (const port of ports) {
        await until('/readyz', (body) => body.includes('"status":"ok"'), port)
        await until('/api/search?q=relay', (body) => body.includes('<em>Relay</em>'), port)
      }
    }
    await compose('up', '--detach', '--wait', '--no-recreate', '--scale', 'api=2', '--scale', 'worker=2')
  }, 900_000)

  test('it answers over IPv6, and its containers have IPv6 addresses', async () => {
    expect(await statusOf(`http://[::1]:${ports[0]}/livez`)).toBe(200)
    const addresses = await inspect('api', '{{range .NetworkSettings.Networks}}{{.GlobalIPv6Address}}{{end}}')
    for (const address of addresses) expect(address).toMatch(/^fd/)
  })

  test('with a bucket, images are in it and are served from it', async () => {
    setEnv({
      API_PORTS: String(ports[0]),
      S3_ENDPOINT: 'http://s3:4568',
      S3_BUCKET: 'frames',
      S3_ACCESS_KEY: 'S3RVER',
      S3_SECRET_KEY: 'S3RVER',
    })
    const program = `import S3rver from '/repo/node_modules/@20minutes/s3rver/lib/s3rver.js'
      const configureBuckets = [{ name: 'frames', configs: [] }]
      const place = { address: '0.0.0.0', port: 4568, directory: '/tmp/s3', configureBuckets }
      const lenient = { vhostBuckets: false, allowMismatchedSignatures: true }
      await new S3rver({ ...place, ...lenient, silent: true }).run()`
    override({
      s3: {
        image: 'frame-library',
        pull_policy: 'never',
        entrypoint: ['node', '--input-type=module', '-e', program],
        volumes: [`${resolve('node_modules')}:/repo/node_modules:ro`],
        networks: ['inside'],
        healthcheck: { test: ['CMD', 'node', '-e', "fetch('http://127.0.0.1:4568')"], interval: '2s' },
      },
    })
    await compose('up', '--detach', '--wait', '--scale', 'api=1', '--scale', 'worker=1')
    const [image] = await imagesOf(await upload('samples/tears-of-steel.mp4'))
    expect(await statusOf(image!)).toBe(200)
    expect(await compose('exec', '-T', 's3', 'find', '/tmp/s3/frames', '-name', '*.webp*')).toContain('.webp')
  }, 900_000)

  test('the target with yt-dlp starts it as the user of the service', async () => {
    await run('docker', ['build', '--quiet', '--target', 'with-yt-dlp', '--tag', `${project}-yt-dlp`, '.'])
    const args = ['run', '--rm', '--read-only', '--tmpfs', '/tmp', '--entrypoint', 'yt-dlp', `${project}-yt-dlp`]
    const { stdout } = await run('docker', [
      ...args,
      '--verbose',
      '--simulate',
      'https://www.youtube.com/watch?v=none',
    ]).catch((error: { stdout: string; stderr: string }) => ({ stdout: `${error.stdout}${error.stderr}` }))
    expect(stdout).toMatch(/JS runtimes: node-24/)
    await run('docker', ['image', 'rm', `${project}-yt-dlp`])
  }, 3_600_000)
})
