import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { parseConfig } from '../../src/config.ts'

// No container engine runs here: these tests hold the files to what can be read from them.

interface Service {
  image?: string
  build?: string
  command?: string[]
  ports?: string[]
  environment?: Record<string, string>
  healthcheck?: { test: string[] }
  depends_on?: Record<string, { condition: string }>
  volumes?: string[]
  networks?: string[]
  read_only?: boolean
  cap_drop?: string[]
}

const compose = parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true }) as {
  services: Record<string, Service>
  volumes: Record<string, unknown>
  networks: Record<string, { internal?: boolean } | null>
}
const services = Object.entries(compose.services)
const dockerfile = readFileSync('Dockerfile', 'utf8')
const stages = dockerfile.split(/^FROM /m)
const final = stages.at(-1)!

describe('docker-compose.yml', () => {
  const here = spawnSync('docker-compose', ['version'], { stdio: 'ignore' }).status === 0
  test.skipIf(!here)('docker-compose takes it (skipped where docker-compose is not installed)', () => {
    const read = execFileSync('docker-compose', ['-f', 'docker-compose.yml', 'config', '--services'], {
      encoding: 'utf8',
    })
    expect(read.trim().split('\n').sort()).toEqual(['api', 'meilisearch', 'migrate', 'postgres', 'redis', 'worker'])
  })

  test('only the API is published', () => {
    expect(services.filter(([, service]) => service.ports).map(([name]) => name)).toEqual(['api'])
    expect(compose.networks.inside?.internal).toBe(true)
    for (const name of ['postgres', 'redis', 'meilisearch'])
      expect(compose.services[name]!.networks, name).toEqual(['inside'])
  })

  test('stores are pinned, checked, kept on declared volumes and waited for', () => {
    for (const name of ['postgres', 'redis', 'meilisearch']) {
      const store = compose.services[name]!
      expect(store.image, name).toMatch(/:v?\d+(\.\d+)*$/)
      expect(store.healthcheck?.test, name).toBeDefined()
      for (const volume of store.volumes!) expect(Object.keys(compose.volumes)).toContain(volume.split(':')[0])
      for (const role of ['api', 'worker'])
        expect(compose.services[role]!.depends_on![name]!.condition).toBe('service_healthy')
    }
    expect(compose.services.postgres!.image).toBe('postgres:18')
    expect(compose.services.postgres!.volumes).toEqual(['postgres:/var/lib/postgresql'])
    expect(compose.services.redis!.command!.join(' ')).toContain('--maxmemory-policy noeviction --appendonly yes')
    const [major, minor] = /:v(\d+)\.(\d+)/.exec(compose.services.meilisearch!.image!)!.slice(1).map(Number)
    expect(major! > 1 || minor! >= 53).toBe(true)
  })

  test('API, worker and migration are one image in three roles, confined, with settings the service takes', () => {
    for (const role of ['api', 'worker'])
      expect(compose.services[role]!.depends_on!.migrate!.condition).toBe('service_completed_successfully')
    for (const role of ['api', 'worker', 'migrate']) {
      const service = compose.services[role]!
      expect(service.command).toEqual([role])
      expect(service.image).toBe('frame-library')
      expect(service.read_only).toBe(true)
      expect(service.cap_drop).toEqual(['ALL'])
      const settings = Object.fromEntries(
        Object.entries(service.environment!).map(([name, value]) => [name, withDefaults(value)]),
      )
      const config = parseConfig(settings)
      expect(config.databaseUrl, role).toBe('postgres://frames:frames-inside-only@postgres:5432/frames')
      expect(config.meili).toEqual({
        url: 'http://meilisearch:7700',
        key: withDefaults(compose.services.meilisearch!.environment!.MEILI_MASTER_KEY!),
      })
      expect(config.redisUrl, role).toBe('redis://:frames-inside-only@redis:6379')
      const source = readFileSync('src/config.ts', 'utf8')
      for (const name of Object.keys(settings)) expect(source).toMatch(new RegExp(`^  ${name}:`, 'm'))
    }
  })
})

test('every setting of .env reaches API and worker', () => {
  // Set by the image, or for one process of a developer's machine.
  const elsewhere = ['PORT', 'HOST', 'DATA_DIR', 'METRICS_PORT', 'NODE_ENV', 'FAULT_AT']
  const names = [...readFileSync('src/config.ts', 'utf8').matchAll(/^ {2}([A-Z][A-Z0-9_]+): /gm)].map(
    ([, name]) => name!,
  )
  expect(names.length).toBeGreaterThan(20)
  for (const role of ['api', 'worker'])
    expect(Object.keys(compose.services[role]!.environment!), role).toEqual(
      expect.arrayContaining(names.filter((name) => !elsewhere.includes(name))),
    )
})

describe('Dockerfile', () => {
  test('one image of Node 24 that runs as an ordinary user with ffmpeg and an init', () => {
    for (const stage of stages.slice(1)) expect(stage).toMatch(/^node:24[\w.-]*-slim/)
    expect(final).toMatch(/apt-get install .*ffmpeg/)
    expect(final).toMatch(/^USER 10001$/m)
    expect(final).toMatch(/^ENTRYPOINT \["tini", "--", "frames"\]$/m)
    expect(final).toContain('/livez')
  })

  test('copies what is there, and everything the code reads at run time', () => {
    const sources = [...dockerfile.matchAll(/^COPY (?!--from)(.+)$/gm)].flatMap(([, paths]) =>
      paths!.split(' ').slice(0, -1),
    )
    const tracked = execFileSync('git', ['ls-files'], { encoding: 'utf8' }).split('\n')
    for (const source of sources)
      expect(
        tracked.some((path) => path === source || path.startsWith(`${source}/`)),
        source,
      ).toBe(true)
    expect(sources).toEqual(expect.arrayContaining(['src', 'drizzle', 'samples', 'package.json', 'package-lock.json']))
    // .dockerignore lets in what is named and nothing else.
    const allowed = readFileSync('.dockerignore', 'utf8').split('\n')
    expect(allowed[0]).toBe('*')
    for (const source of sources) expect(allowed).toContain(`!${source}`)
  })
})

function withDefaults(value: string): string {
  return value.replace(/\$\{\w+:-([^}]*)\}/g, '$1')
}
