import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { beforeAll, expect, test } from 'vitest'
import { createKey } from '../../src/library/accounts/keys.ts'
import { freePort } from '../../src/local/processes.ts'
import { NODE_SETTINGS } from '../support/node-settings.ts'
import { seedVideo } from '../support/seed.ts'
import { useService } from '../support/service.ts'

/**
 * How many source files one request of each kind runs through, in an API that `frames api` has started. A limit
 * (`most`) only falls.
 */

const service = useService()
let frameIds: string[]
let key: string
beforeAll(async () => {
  const captions = ['a dark terminal', 'a bright editor', 'a slide with a chart', 'a phone in a hand']
  ;({ frameIds } = await seedVideo(service.stores.db, { frames: captions.map((caption) => ({ caption })) }))
  await service.drain()
  const { rows } = await service.stores.db.$client.query<{ id: string }>('select id from accounts limit 1')
  ;({ key } = await createKey(service.stores.db, { accountId: rows[0]!.id, name: 'files' }))
})

interface Coverage {
  result: { url: string; functions: { ranges: { count: number }[] }[] }[]
}

/** Asks V8 in another process, over the protocol of `--inspect`. */
async function openInspector(url: string) {
  const socket = new WebSocket(url)
  await once(socket, 'open')
  const answers = new Map<number, (result: unknown) => void>()
  socket.addEventListener('message', ({ data }) => {
    const { id, result } = JSON.parse(String(data)) as { id?: number; result?: unknown }
    if (id !== undefined) answers.get(id)?.(result)
  })
  let asked = 0
  return {
    ask: <T>(method: string, params: object = {}) =>
      new Promise<T>((resolve) => {
        answers.set(++asked, resolve as (result: unknown) => void)
        socket.send(JSON.stringify({ id: asked, method, params }))
      }),
    close: () => socket.close(),
  }
}

async function startInspectedApi() {
  const port = await freePort()
  const { stores, config } = service
  const child = spawn(process.execPath, ['--inspect=127.0.0.1:0', 'src/cli/main.ts', 'api'], {
    env: {
      PATH: process.env.PATH,
      ...NODE_SETTINGS,
      DATABASE_URL: stores.databaseUrl,
      REDIS_URL: stores.redisUrl,
      DATA_DIR: config.dataDir,
      PORT: String(port),
      METRICS_PORT: '0',
      RATE_LIMIT_SCALE: '1000',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const inspected = Promise.withResolvers<string>()
  const listening = Promise.withResolvers<void>()
  for (const stream of [child.stdout!, child.stderr!])
    createInterface(stream).on('line', (line) => {
      const address = /ws:\/\/\S+/.exec(line)
      if (address) inspected.resolve(address[0])
      if (line.includes('API listening')) listening.resolve()
    })
  await listening.promise
  const ended = once(child, 'exit')
  return {
    url: `http://127.0.0.1:${port}`,
    inspector: await openInspector(await inspected.promise),
    async stop() {
      child.kill('SIGTERM')
      await ended
    },
  }
}

const KINDS: Record<string, { most: number; ask: (n: number) => { path: string; body?: object } }> = {
  'a cold search': {
    most: 25,
    ask: (n) => ({ path: `/api/search?q=${['terminal', 'editor', 'slide'][n]}` }),
  },
  'a cold page of frames': {
    most: 16,
    ask: (n) => ({ path: `/api/frames?subject=${['terminal', 'ui', 'chart'][n]}` }),
  },
  'the wall in a browser': { most: 26, ask: (n) => ({ path: `/?subject=${['terminal', 'ui', 'chart'][n]}` }) },
  'a save': { most: 14, ask: (n) => ({ path: '/api/favourites', body: { frameId: frameIds[n] } }) },
  'a cold search_frames': {
    most: 31,
    ask: (n) => ({
      path: '/api/mcp',
      body: {
        ...{ jsonrpc: '2.0', id: n, method: 'tools/call' },
        params: { name: 'search_frames', arguments: { query: ['bright', 'hand', 'slide'][n] } },
      },
    }),
  },
}

test('a request runs through few source files', async () => {
  const { url, inspector, stop } = await startInspectedApi()
  const run = async (path: string, body?: object) => {
    const answer = await fetch(url + path, {
      headers: {
        'content-type': 'application/json',
        ...(path === '/api/favourites' && { authorization: `Bearer ${key}` }),
      },
      ...(body ? { method: 'POST', body: JSON.stringify(body) } : {}),
    })
    expect([path, answer.status]).toEqual([path, 200])
    await answer.text()
  }
  await inspector.ask('Profiler.enable')
  await inspector.ask('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  /** The source files of which a function ran since the last look. */
  const look = async () => {
    const { result } = await inspector.ask<Coverage>('Profiler.takePreciseCoverage')
    const ran = result.filter(({ functions }) => functions.some(({ ranges }) => ranges[0]!.count > 0))
    return ran.flatMap(({ url: file }) => /\/src\/(.*)$/.exec(file)?.[1] ?? []).filter((file) => file.endsWith('.ts'))
  }
  const ranThrough: Record<string, string[]> = {}
  for (const [kind, { ask }] of Object.entries(KINDS)) {
    // The first of a kind loads modules and sees the version of the library. What is kept for seconds may end before
    // any later one, so the fewest count.
    const seen: string[][] = []
    for (const n of [0, 1, 2]) {
      const { path, body } = ask(n)
      await run(path, body)
      seen.push(await look())
    }
    ranThrough[kind] = seen
      .slice(1)
      .toSorted((a, b) => a.length - b.length)[0]!
      .sort()
  }
  inspector.close()
  await stop()
  const over = Object.entries(ranThrough).filter(([kind, files]) => files.length > KINDS[kind]!.most)
  for (const [kind, files] of Object.entries(ranThrough)) console.log(`${kind}: ${files.length} source files`)
  expect(over).toEqual([])
})
