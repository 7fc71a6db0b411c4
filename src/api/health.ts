import { z } from 'zod'
import { endpoint } from '../http/endpoint.ts'

export interface HealthDeps {
  health: {
    /** True once a stop has begun: the load balancer must send new requests elsewhere while those in flight finish. */
    stopping: boolean
  }
  /** By name, so that a person sees which store is unavailable. */
  checks: Record<string, () => Promise<boolean>>
}

const CHECK_TIMEOUT_MS = 2_000

const Readiness = z
  .strictObject({
    status: z.enum(['ok', 'unavailable', 'stopping']),
    checks: z.record(z.string(), z.enum(['ok', 'away'])),
  })
  .meta({ id: 'Readiness' })

type Status = z.infer<typeof Readiness>['status']

export const healthEndpoints = [
  endpoint(
    {
      id: 'checkLiveness',
      method: 'get',
      path: '/livez',
      tag: 'Service',
      summary: 'The process runs',
      answer: z.strictObject({ status: z.literal('ok') }),
      plain: true,
      free: true,
      headers: { 'Cache-Control': 'no-store' },
    },
    () => ({ status: 'ok' as const }),
  ),

  endpoint(
    {
      id: 'checkReadiness',
      method: 'get',
      path: '/readyz',
      tag: 'Service',
      summary: 'This instance should get traffic; 503 with the same shape when it should not',
      answer: Readiness,
      problem: Readiness,
      errors: [503],
      plain: true,
      budget: 'probes',
      headers: { 'Cache-Control': 'no-store' },
    },
    async ({ health, checks }: HealthDeps, { res }) => {
      const results = await Promise.all(
        Object.entries(checks).map(async ([name, check]) => [name, (await passes(check)) ? 'ok' : 'away'] as const),
      )
      const isWorking = results.every(([, state]) => state === 'ok')
      const status = statusOf({ isWorking, isStopping: health.stopping })
      if (status !== 'ok') res.status(503)
      return { status, checks: Object.fromEntries(results) }
    },
  ),
]

async function passes(check: () => Promise<boolean>): Promise<boolean> {
  const late = new Promise<boolean>((resolve) => setTimeout(resolve, CHECK_TIMEOUT_MS, false).unref())
  return Promise.race([check().catch(() => false), late])
}

function statusOf({ isWorking, isStopping }: { isWorking: boolean; isStopping: boolean }): Status {
  if (isStopping) return 'stopping'
  return isWorking ? 'ok' : 'unavailable'
}
