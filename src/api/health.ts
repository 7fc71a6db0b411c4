import { Router } from 'express'

export interface Health {
  /** Turned on when a stop begins: the balancer must look elsewhere while requests in flight finish. */
  stopping: boolean
}

/** `/livez`: the process runs. `/readyz`: it should get traffic; each check is named so that a person sees what is away. */
export function healthRouter({
  health,
  checks,
}: {
  health: Health
  checks: Record<string, () => Promise<boolean>>
}): Router {
  const router = Router()
  router.get('/livez', (_req, res) => {
    res.set('Cache-Control', 'no-store').json({ status: 'ok' })
  })
  router.get('/readyz', async (_req, res) => {
    const results = await Promise.all(
      Object.entries(checks).map(async ([name, check]) => {
        const ok = await Promise.race([
          check().catch(() => false),
          new Promise<boolean>((resolve) => setTimeout(resolve, 2_000, false).unref()),
        ])
        return [name, ok ? 'ok' : 'away'] as const
      }),
    )
    const ready = !health.stopping && results.every(([, state]) => state === 'ok')
    res
      .status(ready ? 200 : 503)
      .set('Cache-Control', 'no-store')
      .json({
        status: health.stopping ? 'stopping' : ready ? 'ok' : 'unavailable',
        checks: Object.fromEntries(results),
      })
  })
  return router
}
