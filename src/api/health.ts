import { z } from 'zod'
import type { Db } from '../db/client.ts'
import { endpoint } from '../http/endpoint.ts'
import { sql } from '../sql/orm.ts'
import { inTime } from '../turns.ts'
import type { App } from './app.ts'

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
    async ({ db, health }: App, { res }) => {
      const isWorking = await answersInTime(db)
      const status = statusOf({ isWorking, isStopping: health.stopping })
      if (status !== 'ok') res.status(503)
      // By name, so that a person sees which store is unavailable.
      return { status, checks: { database: isWorking ? ('ok' as const) : ('away' as const) } }
    },
  ),
]

const answersInTime = (db: Db): Promise<boolean> =>
  inTime(db.execute(sql`select 1`), CHECK_TIMEOUT_MS, () => new Error('too late')).then(
    () => true,
    () => false,
  )

function statusOf({ isWorking, isStopping }: { isWorking: boolean; isStopping: boolean }): Status {
  if (isStopping) return 'stopping'
  return isWorking ? 'ok' : 'unavailable'
}
