import { vi } from 'vitest'
import { runCommandLine } from '../../src/cli/program.ts'
import { SETTINGS } from '../../src/config.ts'

export interface Said {
  code: number
  out: string
  err: string
}

const STREAMS = { out: process.stdout, err: process.stderr } as const

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'].map((name) => [process as NodeJS.EventEmitter, name] as const)

let isRunning = false

/** A command in this process: starting one for each would be most of the test. Its settings are the process’s own. */
export async function runHere(...args: string[]): Promise<Said> {
  if (isRunning) throw new Error('Another command runs in this process: both would say the same. Await it first.')
  isRunning = true
  const said: Record<keyof typeof STREAMS, Buffer[]> = { out: [], err: [] }
  const restore = (['out', 'err'] as const).map((to) => {
    const spy = vi.spyOn(STREAMS[to], 'write').mockImplementation((piece, ...rest) => {
      said[to].push(Buffer.from(piece as string))
      const written = rest.at(-1) as unknown
      if (typeof written === 'function') process.nextTick(written as () => void)
      return true
    })
    return () => spy.mockRestore()
  })
  // A command counts on the end of its process.
  const heard = [...Object.values(STREAMS).map((stream) => [stream, 'error'] as const), ...SIGNALS].map(
    ([on, name]) => [on, name, on.listeners(name)] as const,
  )
  try {
    await runCommandLine(args)
    const [out, err] = [Buffer.concat(said.out).toString(), Buffer.concat(said.err).toString()]
    return { code: Number(process.exitCode ?? 0), out, err }
  } finally {
    isRunning = false
    process.exitCode = undefined
    for (const one of restore) one()
    for (const [on, name, before] of heard)
      for (const one of on.listeners(name)) if (!before.includes(one)) on.off(name, one as () => void)
  }
}

/** The same with these settings and no other. */
export async function runWith(settings: Record<string, string>, ...args: string[]): Promise<Said> {
  const before = { ...process.env }
  const set = (values: NodeJS.ProcessEnv) => {
    for (const name of [...SETTINGS, ...Object.keys(settings)]) delete process.env[name]
    Object.assign(process.env, values)
  }
  set(settings)
  try {
    return await runHere(...args)
  } finally {
    set(before)
  }
}
