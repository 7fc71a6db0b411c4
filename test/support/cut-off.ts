import type { AddressInfo } from 'node:net'
import { createServer, connect as open, type Socket } from 'node:net'

/** Stands before a server of this machine, and can be away: then connections are dropped and refused. */
export async function startCutOff(url: string) {
  const target = new URL(url)
  const sockets = new Set<Socket>()
  let away = false
  const server = createServer((near) => {
    if (away) return void near.destroy()
    const far = open(Number(target.port), target.hostname)
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one)
      one.on('error', () => undefined)
      one.on('close', () => {
        sockets.delete(one)
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
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
