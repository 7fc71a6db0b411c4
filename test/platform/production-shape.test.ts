import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { parseConfig } from '../../src/config.ts'
import { firstHour } from './compose.ts'

// What can be read from the files, without a container engine. containers.test.ts runs them where there is one.

interface Service {
  image?: string
  build?: { context: string; target: string }
  tmpfs?: string[]
  pull_policy?: string
  command?: string[]
  ports?: string[]
  environment?: Record<string, string>
  healthcheck?: { test: string[] }
  depends_on?: Record<string, { condition: string }>
  volumes?: string[]
  networks?: string[]
  read_only?: boolean
  cap_drop?: string[]
  profiles?: string[]
  mem_limit?: string
  logging?: { options: Record<string, string> }
}

const compose = parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true }) as {
  services: Record<string, Service>
  volumes: Record<string, unknown>
  networks: Record<string, { internal?: boolean; enable_ipv6?: string } | null>
}
const services = Object.entries(compose.services)
const dockerfile = readFileSync('Dockerfile', 'utf8')
const stages = dockerfile.split(/^FROM /m)
const stageOf = (name: string) => stages.find((stage) => stage.split('\n')[0]!.endsWith(` AS ${name}`))!
const service = stageOf('service')

describe('docker-compose.yml', () => {
  const here = spawnSync('docker-compose', ['version'], { stdio: 'ignore' }).status === 0
  test.skipIf(!here)('docker-compose takes it (skipped where docker-compose is not installed)', () => {
    const read = execFileSync('docker-compose', ['-f', 'docker-compose.yml', 'config', '--services'], {
      encoding: 'utf8',
    })
    expect(read.trim().split('\n').sort()).toEqual(['api', 'meilisearch', 'migrate', 'postgres', 'redis', 'worker'])
  })

  test('only the API is published, and on this machine only unless the operator says otherwise', () => {
    const published = services.flatMap(([name, { ports = [] }]) => ports.map((port) => `${name} ${withDefaults(port)}`))
    expect(published).toEqual(['api 127.0.0.1:3000:3000', 'tls 80:80', 'tls 443:443'])
    expect(compose.services.tls!.profiles).toEqual(['tls'])
    expect(compose.networks.inside?.internal).toBe(true)
    for (const name of ['postgres', 'redis', 'meilisearch'])
      expect(compose.services[name]!.networks, name).toEqual(['inside'])
  })

  test('no container grows without bound, in memory or in its log', () => {
    for (const [name, { mem_limit, logging }] of services) {
      expect([name, withDefaults(mem_limit ?? '')]).toEqual([name, expect.stringMatching(/^\d+[mg]$/)])
      expect([name, logging?.options]).toEqual([name, { 'max-size': '10m', 'max-file': '5' }])
    }
    expect(compose.services.redis!.command).toContain('--maxmemory')
  })

  test('what the page tells to set for others is read by the service and by Caddy', () => {
    const block = firstHour('1. Start')[1]!
    const given = Object.fromEntries([...block.matchAll(/^([A-Z_]+)=(.+)$/gm)].map(([, name, value]) => [name, value]))
    expect(given).toMatchObject({ COMPOSE_PROFILES: 'tls', READS: 'members', TRUST_PROXY: '1' })
    expect(readFileSync('deploy/Caddyfile', 'utf8')).toMatch(/^\{\$SITE:\S+\} \{[\s\S]*reverse_proxy \{\$API:/m)
    const { SITE, API } = compose.services.tls!.environment!
    expect([SITE, API]).toEqual([expect.stringContaining('PUBLIC_URL'), 'api:3000'])
  })

  test('one service builds the image, which no registry has', () => {
    const built = services.filter(([, service]) => service.build)
    expect(built.map(([name, { build }]) => [name, withDefaults(build!.target)])).toEqual([['migrate', 'service']])
    expect(stages.map((stage) => / AS (\S+)/.exec(stage)?.[1])).toEqual(
      expect.arrayContaining(['service', 'with-yt-dlp']),
    )
    for (const role of ['api', 'worker']) expect(compose.services[role]!.pull_policy).toBe('never')
  })

  test('the password of no store has a default, and the check of PostgreSQL needs its database', () => {
    const text = readFileSync('docker-compose.yml', 'utf8')
    for (const name of ['POSTGRES_PASSWORD', 'REDIS_PASSWORD', 'MEILI_MASTER_KEY'])
      expect(text.match(new RegExp(`\\$\\{${name}:(?!\\?)`, 'g')), name).toBeNull()
    expect(compose.services.postgres!.healthcheck!.test.join(' ')).toMatch(/psql .*-d frames .*select 1/)
  })

  test('the line of the page for operators makes passwords once, and keeps them from others', () => {
    const page = readFileSync('docs/production.md', 'utf8')
    const line = /^\(umask 77;[\s\S]+?> \.env\)$/m.exec(page)![0]
    const folder = mkdtempSync(join(tmpdir(), 'frames-env-'))
    try {
      const made = () => spawnSync('sh', ['-c', line], { cwd: folder }).status
      expect(made()).toBe(0)
      const first = readFileSync(join(folder, '.env'), 'utf8')
      expect(first).toMatch(
        /^POSTGRES_PASSWORD=[0-9a-f]{48}\nREDIS_PASSWORD=[0-9a-f]{48}\nMEILI_MASTER_KEY=[0-9a-f]{48}\n$/,
      )
      expect(statSync(join(folder, '.env')).mode & 0o777).toBe(0o600)
      expect(made()).not.toBe(0)
      expect(readFileSync(join(folder, '.env'), 'utf8')).toBe(first)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
    const ignored = spawnSync('git', ['check-ignore', '-q', '.env'])
    expect(ignored.status).toBe(0)
    expect(readFileSync('.dockerignore', 'utf8')).not.toMatch(/^!.*\.env/m)
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
      expect(service.tmpfs).toEqual([expect.stringMatching(/^\/tmp:size=\d+m/)])
      const settings = Object.fromEntries(
        Object.entries(service.environment!).map(([name, value]) => [name, withDefaults(value)]),
      )
      const config = parseConfig(settings)
      expect(config.databaseUrl, role).toBe('postgres://frames:POSTGRES_PASSWORD@postgres:5432/frames')
      expect(config.meili).toEqual({
        url: 'http://meilisearch:7700',
        key: withDefaults(compose.services.meilisearch!.environment!.MEILI_MASTER_KEY!),
      })
      expect(config.redisUrl, role).toBe('redis://:REDIS_PASSWORD@redis:6379')
      const source = readFileSync('src/config.ts', 'utf8')
      for (const name of Object.keys(settings)) expect(source).toMatch(new RegExp(`^  ${name}:`, 'm'))
    }
  })
})

describe('Dockerfile', () => {
  test('one image of Node 24 that runs as an ordinary user with ffmpeg and an init', () => {
    const bases = stages.slice(1).map((stage) => /^\S+/.exec(stage)![0])
    const own = stages.map((stage) => / AS (\S+)/.exec(stage)?.[1])
    for (const base of bases) expect(['node:24-trixie-slim', 'debian:trixie-slim', ...own]).toContain(base)
    // The default target is the last stage.
    expect(stages.at(-1)!.trim()).toBe('service')
    expect(service).toMatch(/^COPY --from=packages \/usr\/local\/bin\/node /m)
    expect(service).toMatch(/^ENTRYPOINT \["tini", "--", "frames"\]$/m)
    expect(service).toMatch(/^HEALTHCHECK .*CMD \["frames", "healthcheck"\]$/m)
    for (const name of ['service', 'with-yt-dlp'])
      expect(
        stageOf(name)
          .match(/^USER .*$/gm)!
          .at(-1),
      ).toBe('USER 10001')
  })

  test('ffmpeg decodes every codec and container that the service takes, and has the filters it uses', () => {
    const flags = (kind: string) =>
      [...stageOf('ffmpeg').matchAll(new RegExp(`--enable-${kind}=(\\S+)`, 'g'))].flatMap(([, list]) =>
        list!.split(','),
      )
    const source = (path: string) => readFileSync(`src/video/extract/${path}`, 'utf8')
    const codecs = [.../^const CODECS = \[(.*)\]/m.exec(source('probe.ts'))![1]!.matchAll(/'(\w+)'/g)].map(
      ([, name]) => name!,
    )
    expect(codecs.length).toBeGreaterThan(5)
    const sound = ['aac', 'ac3', 'flac', 'mp3', 'opus', 'pcm_s16le', 'pcm_s24le', 'vorbis']
    const decoders = [...sound, ...codecs.map((name) => (name === 'av1' ? 'libdav1d' : name))]
    expect(flags('decoder').sort()).toEqual(decoders.sort())
    const demuxers = flags('demuxer')
    const formats = /^const FORMATS = '(.*)'/m.exec(source('../programs.ts'))![1]!.split(',')
    // The others are further names of the first two.
    expect(formats.filter((name) => demuxers.includes(name)).sort()).toEqual(demuxers.sort())
    const graphs = source('decode-arguments.ts') + source('sound.ts')
    // ffmpeg puts these between a decoder and a filter by itself.
    const own = flags('filter').filter((name) => !['aformat', 'aresample'].includes(name))
    const used = own.filter((name) => new RegExp(`\\b${name}=`).test(graphs))
    expect(used.sort()).toEqual(own.sort())
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
  return value.replace(/\$\{\w+:-([^}]*)\}/g, '$1').replace(/\$\{(\w+):\?[^}]*\}/g, '$1')
}
