import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { createOutage, createPoller } from './waiting.ts'

test('pauses grow to five seconds, and the log has the first failure, one a minute and the end', () => {
  let clock = 0
  const outage = createOutage(() => clock)
  expect(outage.over()).toBeUndefined()
  const pauses: number[] = []
  const logged: number[] = []
  // Ten minutes of failures.
  while (clock < 600_000) {
    const { pauseMs, log } = outage.failed()
    pauses.push(pauseMs)
    if (log) logged.push(log.outageSec)
    clock += pauseMs
  }
  expect(pauses.slice(0, 7)).toEqual([100, 200, 400, 800, 1_600, 3_200, 5_000])
  expect(new Set(pauses.slice(6))).toEqual(new Set([5_000]))
  expect(pauses.length).toBeLessThan(130)
  expect(logged.length).toBeLessThanOrEqual(10)
  expect(logged[0]).toBe(0)
  for (const [at, sec] of logged.entries()) if (at > 0) expect(sec - logged[at - 1]!).toBeGreaterThanOrEqual(60)

  expect(outage.over()).toEqual({ attempts: pauses.length, outageSec: Math.round(clock / 1_000) })
  expect(outage.over()).toBeUndefined()
  const first = { attempts: 1, outageSec: 0 }
  expect(outage.failed()).toEqual({ pauseMs: 100, soFar: first, log: first })
})

test('new events do not shorten the pause between two attempts; hurry and the stop do', async () => {
  for (const how of ['hurry', 'stop'] as const) {
    const stop = new AbortController()
    const poller = createPoller(stop.signal)
    let ended = false
    const pause = poller.pause(2 ** 30).then(() => {
      ended = true
    })
    poller.wake()
    await new Promise(setImmediate)
    expect(ended).toBe(false)
    if (how === 'hurry') poller.hurry()
    else stop.abort()
    await pause
    await poller.pause(how === 'stop' ? 2 ** 30 : 0)
    expect(getEventListeners(stop.signal, 'abort')).toEqual([])
  }
})
