import type { AddressInfo } from 'node:net'
import { createServer, connect as open, type Socket } from 'node:net'

/**
 * Stands before a server of this machine. It can be away: then connections are dropped and refused. It can also hold
 * back what the server answers, and reset connections on which something is asked.
 */
export async function startCutOff(url: string) {
  const target = new URL(url)
  const sockets = new Set<Socket>()
  const held = new Set<Socket>()
  let away = false
  let holding: 'none' | 'next' | 'all' = 'none'
  let resetting: 'none' | 'next' | 'all' = 'none'
  const server = createServer((near) => {
    if (away) return void near.destroy()
    const far = open(Number(target.port), target.hostname)
    near.on('data', () => {
      if (resetting !== 'none') {
        if (resetting === 'next') resetting = 'none'
        return void near.resetAndDestroy()
      }
      if (holding === 'none') return
      if (holding === 'next') holding = 'none'
      far.pause()
      held.add(far)
    })
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one)
      one.on('error', () => undefined)
      one.on('close', () => {
        sockets.delete(one)
        held.delete(one)
        other.destroy()
      })
      one.pipe(other)
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const own = new URL(url)
  own.hostname = '127.0.0.1'
  own.port = String((server.address() as AddressInfo).port)
  return {
    url: own.href,
    cut() {
      away = true
      for (const socket of sockets) socket.destroy()
    },
    restore() {
      away = false
    },
    /** Holds back the answer to the next request, or all answers, until `release`. */
    hold(what: 'next' | 'all') {
      holding = what
    },
    /** Answers that are held back. */
    held: () => held.size,
    /** Resets the connection of the next request, or of all requests, instead of an answer. */
    reset(what: 'next' | 'all') {
      resetting = what
    },
    release() {
      holding = 'none'
      for (const socket of held) socket.resume()
      held.clear()
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
