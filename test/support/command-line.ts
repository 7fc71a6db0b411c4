import { vi } from 'vitest'
import { runCommandLine } from '../../src/cli/program.ts'

export interface Said {
  code: number
  out: string
  err: string
}

const STREAMS = { out: process.stdout, err: process.stderr } as const

/** A command in this process: starting one for each would be most of the test. Its settings are the process’s own. */
export async function runHere(...args: string[]): Promise<Said> {
  const said: Record<keyof typeof STREAMS, Buffer[]> = { out: [], err: [] }
  const restore = (['out', 'err'] as const).map((to) => {
    const listeners = STREAMS[to].listeners('error')
    const spy = vi.spyOn(STREAMS[to], 'write').mockImplementation((piece, ...rest) => {
      said[to].push(Buffer.from(piece as string))
      const written = rest.at(-1) as unknown
      if (typeof written === 'function') process.nextTick(written as () => void)
      return true
    })
    return () => {
      spy.mockRestore()
      for (const one of STREAMS[to].listeners('error'))
        if (!listeners.includes(one)) STREAMS[to].off('error', one as () => void)
    }
  })
  try {
    await runCommandLine(args)
    const [out, err] = [Buffer.concat(said.out).toString(), Buffer.concat(said.err).toString()]
    return { code: Number(process.exitCode ?? 0), out, err }
  } finally {
    process.exitCode = undefined
    for (const one of restore) one()
  }
}
