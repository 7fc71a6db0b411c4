import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import autocannon from 'autocannon'
import type { Express } from 'express'
import { inTurns, type Turns } from './bench.ts'
import type { Served } from './service.ts'
import { median, round } from './stats.ts'

export interface Request {
  method?: 'POST'
  path: string
  headers?: Record<string, string>
  body?: string
}

/** One side of a comparison: a server, and what is asked of it, the same or another each time. */
export interface Side {
  url: string
  ask: Request | (() => Request)
}

/** Requests per second, and the same ratio by CPU time: what a busy machine does not blur. */
export interface Loads extends Turns {
  cpu_ratio: number
}

/** Loads two servers of one process in turns. The load generator is this process. */
export async function compareLoads(
  served: Pick<Served<unknown>, 'spent'>,
  sides: { ours: Side; bare: Side },
  { rounds, seconds, connections }: { rounds: number; seconds: number; connections: number },
): Promise<Loads> {
  const cpu = { ours: [] as number[], bare: [] as number[] }
  const load = (name: 'ours' | 'bare') => async () => {
    const { url, ask } = sides[name]
    const before = await served.spent()
    const started = performance.now()
    const setup = typeof ask === 'function' ? { setupRequest: (given: object) => ({ ...given, ...ask() }) } : ask
    const {
      requests: sent,
      errors,
      non2xx,
      ...counts
    } = await autocannon({
      url,
      connections,
      duration: seconds,
      requests: [setup],
    })
    const perSecond = sent.total / ((performance.now() - started) / 1_000)
    if (errors > 0 || counts['4xx'] + counts['5xx'] > 0) throw new Error(`${url}: ${errors} failed, ${non2xx} refused`)
    cpu[name].push(((await served.spent()).apiMs - before.apiMs) / sent.total)
    return perSecond
  }
  const turns = await inTurns({ ours: load('ours'), bare: load('bare') }, { rounds, warmUp: 2 })
  const ratios = cpu.ours.map((ours, n) => cpu.bare[n]! / ours).slice(-rounds)
  return { ...turns, ours: Math.round(turns.ours), bare: Math.round(turns.bare), cpu_ratio: round(median(ratios)) }
}

/** The limit: a server with as little as can be between the socket and the bytes. */
export async function openBare(app: Express): Promise<{ url: string; close(): void }> {
  const server = createServer(app).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}
