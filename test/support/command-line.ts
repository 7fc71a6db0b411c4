import { vi } from 'vitest'
import { runCommandLine } from '../../src/cli/program.ts'

export interface Said {
  code: number
  out: string
  err: string
}

/** A command in this process: starting one for each would be most of the test. Its settings are the process’s own. */
export async function runHere(...args: string[]): Promise<Said> {
  const said = { out: '', err: '' }
  const spies = (['out', 'err'] as const).map((to) =>
    vi.spyOn(process[`std${to}`], 'write').mockImplementation((text) => {
      said[to] += text
      return true
    }),
  )
  try {
    await runCommandLine(args)
    return { code: Number(process.exitCode ?? 0), ...said }
  } finally {
    process.exitCode = undefined
    for (const spy of spies) spy.mockRestore()
  }
}
