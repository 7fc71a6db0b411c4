import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { parseConfig } from '../../src/config.ts'
import { createLogger } from '../../src/logger.ts'
import { concurrencyOf, QUEUES, ROLES, type Role } from '../../src/queue/jobs.ts'
import { DEFAULT_PREFIX, openQueues } from '../../src/queue/queues.ts'
import { openStores } from '../support/stores.ts'

// The example of deploy/kubernetes, held to the code. Its form was validated against the published schemas by hand.

// biome-ignore lint/suspicious/noExplicitAny: manifests are asserted field by field
type Manifest = any

const manifests: Manifest[] = globSync('deploy/kubernetes/*.yaml').flatMap((file) =>
  parseAllDocuments(readFileSync(file, 'utf8')).map((document) => document.toJS() as Manifest),
)
const ofKind = (kind: string) => manifests.filter((manifest) => manifest.kind === kind)
const pods = [...ofKind('Deployment'), ...ofKind('Job')].map(({ metadata, spec }) => ({
  name: metadata.name as string,
  pod: spec.template.spec,
  container: spec.template.spec.containers[0],
}))
const rolesOf = (args: string[]) => args[args.indexOf('--roles') + 1]!.split(',') as Role[]

test('every pod runs a role of the image, confined, with settings that the service takes', () => {
  expect(pods.map(({ container }) => container.args[0]).sort()).toEqual([
    'api',
    'migrate',
    'worker',
    'worker',
    'worker',
  ])
  const settings = [...ofKind('ConfigMap').map(({ data }) => data), secretOf('frames')]
  const config = parseConfig(Object.assign({}, ...settings))
  for (const name of ['s3', 'meili', 'databaseUrl', 'redisUrl'] as const) expect(config[name], name).toBeDefined()
  const known = readFileSync('src/config.ts', 'utf8')
  for (const name of settings.flatMap((data) => Object.keys(data))) expect(known).toContain(`  ${name}: `)
  for (const { name, pod, container } of pods) {
    expect(pod.securityContext, name).toMatchObject({ runAsNonRoot: true, runAsUser: 10001 })
    expect(container.securityContext, name).toMatchObject({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
    const mounts = container.volumeMounts.map(({ mountPath }: Manifest) => mountPath)
    expect(mounts, name).toEqual(name === 'frames-api' ? ['/tmp'] : ['/tmp', '/data'])
  }
})

test('an API is probed over HTTP, a worker by the health check of the image', () => {
  const [api] = pods.filter(({ name }) => name === 'frames-api')
  expect(api!.container.livenessProbe.httpGet.path).toBe('/livez')
  expect(api!.container.readinessProbe.httpGet.path).toBe('/readyz')
  for (const { container } of pods.filter(({ container }) => container.args[0] === 'worker'))
    expect(container.livenessProbe.exec.command).toEqual(['frames', 'healthcheck'])
})

test('the workers have every role once, and what is scaled is scaled by all of its queues', () => {
  const workers = pods.filter(({ container }) => container.args[0] === 'worker')
  expect(workers.flatMap(({ container }) => rolesOf(container.args)).sort()).toEqual([...ROLES].sort())
  for (const { spec } of ofKind('ScaledObject')) {
    const { container } = workers.find(({ name }) => name === spec.scaleTargetRef.name)!
    const queues = [...concurrencyOf(rolesOf(container.args), { cores: 2, modelCalls: undefined }).keys()]
    const lists = queues.flatMap((queue) =>
      ['wait', 'prioritized', 'active'].map((state) => `${DEFAULT_PREFIX}:${queue}:${state}`),
    )
    expect(spec.triggers.map(({ metadata }: Manifest) => metadata.listName).sort()).toEqual(lists.sort())
  }
  expect(ofKind('ScaledObject')).toHaveLength(2)
})

test('the lists that are read are the ones that BullMQ fills', async () => {
  await using stores = await openStores()
  const queues = openQueues({ url: stores.redisUrl, prefix: stores.prefix, logger: createLogger({ level: 'silent' }) })
  try {
    for (const priority of [0, 5])
      await queues.add('ingest-video', { videoId: `v${priority}`, revision: 1 }, { priority, backfill: false })
    expect(QUEUES).toContain('ingest')
    expect(await stores.redis.llen(`${stores.prefix}:ingest:wait`)).toBe(1)
    expect(await stores.redis.zcard(`${stores.prefix}:ingest:prioritized`)).toBe(1)
  } finally {
    await queues[Symbol.asyncDispose]()
  }
})

function secretOf(name: string): Record<string, string> {
  return ofKind('Secret').find(({ metadata }) => metadata.name === name).stringData
}
