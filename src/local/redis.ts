import { spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { createConnection } from 'node:net'
import { freePort } from './ports.ts'

export interface LocalRedis {
  url: string
  pid: number
  stop(): Promise<void>
}

/** Starts the machine's redis-server on a free loopback port with an append-only file in `dir`. Resolves when it answers. */
export async function startLocalRedis({ dir, persistent = true }: { dir: string; persistent?: boolean }): Promise<LocalRedis> {
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  const port = await freePort()
  const child = spawn(
    'redis-server',
    [
      '--port',
      String(port),
      '--bind',
      '127.0.0.1',
      '--dir',
      dir,
      '--save',
      '',
      '--appendonly',
      persistent ? 'yes' : 'no',
      '--maxmemory-policy',
      'noeviction',
      '--daemonize',
      'no',
    ],
    { detached: true, stdio: 'ignore' },
  )
  let failure: Error | undefined
  child.once('error', (error) => {
    failure = error
  })
  for (let attempt = 0; ; attempt++) {
    if (failure)
      throw new Error(
        'redis-server is missing: install it (Debian: apt-get install redis-server, macOS: brew install redis) or set REDIS_URL',
      )
    if (child.exitCode !== null || attempt > 400) throw new Error('redis-server did not start')
    if (await answers(port)) break
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  return {
    url: `redis://127.0.0.1:${port}`,
    pid: child.pid!,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const exit = new Promise((resolve) => child.once('exit', resolve))
      child.kill('SIGTERM')
      await exit
    },
  }
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(port, '127.0.0.1')
    socket.once('connect', () => socket.write('PING\r\n'))
    socket.once('data', (data) => {
      socket.destroy()
      resolve(data.toString().startsWith('+PONG'))
    })
    socket.once('error', () => resolve(false))
  })
}
