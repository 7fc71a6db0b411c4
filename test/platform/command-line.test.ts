import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { runHere } from '../support/command-line.ts'
import { useFolder } from '../support/folder.ts'

const dataDir = useFolder()
beforeEach(() => void vi.stubEnv('DATA_DIR', dataDir))
afterEach(() => void vi.unstubAllEnvs())

test('a mistyped command is one line with the command that was meant', async () => {
  expect(await runHere('stat')).toEqual({
    code: 2,
    out: '',
    err: 'There is no command stat. Did you mean status? Run frames --help for the list.\n',
  })
  expect((await runHere('quues')).err).toContain('Did you mean queues?')
  expect((await runHere('accounts', 'lst')).err).toContain('Did you mean accounts list?')
  expect((await runHere('xyzzy')).err).toBe('There is no command xyzzy. Run frames --help for the list.\n')
})

test('a wrong option is one line and the way to the help', async () => {
  expect(await runHere('status', '--bogus')).toEqual({
    code: 2,
    out: '',
    err: "error: unknown option '--bogus'\nRun frames status --help for what it takes.\n",
  })
  expect((await runHere('--bogus')).err).toBe("error: unknown option '--bogus'\nRun frames --help for the list.\n")
})

test('without a service a command is unavailable, which is another exit code than failure', async () => {
  expect(await runHere('status')).toEqual({
    code: 3,
    out: '',
    err:
      `No running service found on ${dataDir}. Run npm start, set DATA_DIR to the folder of the one that runs, ` +
      'or set DATABASE_URL and REDIS_URL.\n',
  })
})

test('a store that does not answer is told with its address, a wrong setting with what it may be', async () => {
  vi.stubEnv('DATABASE_URL', 'postgres://x:y@127.0.0.1:1/x')
  vi.stubEnv('REDIS_URL', 'redis://127.0.0.1:1')
  expect(await runHere('status')).toMatchObject({
    code: 3,
    err: expect.stringContaining('(nothing answers at 127.0.0.1:1)'),
  })
  vi.stubEnv('PORT', 'abc')
  expect(await runHere('status')).toEqual({ code: 2, out: '', err: 'PORT: must be a number\n' })
})

async function helpOf(commands: readonly string[]): Promise<Map<string, string>> {
  const helps = new Map<string, string>()
  for (const command of commands) helps.set(command, (await runHere(...command.split(' '), '--help')).out)
  return helps
}

test('the help of every command tells its exit codes and ends with calls that can be copied', async () => {
  const { code, out: stdout } = await runHere('--help')
  expect(code).toBe(0)
  const names = [...stdout.matchAll(/^ {2}([a-z]+) {2}/gm)].map(([, name]) => name!)
  expect(names.length).toBeGreaterThan(20)
  expect(stdout).toContain('Exit codes: 0 done, 1 failed')
  const helps = await helpOf(names)
  const parts = names.flatMap((name) => {
    const listed = /\nCommands:\n([\s\S]*?)\n\n/.exec(helps.get(name)!)?.[1] ?? ''
    return [...listed.matchAll(/^ {2}([a-z-]+)[ |]/gm)].map(([, part]) => `${name} ${part}`)
  })
  expect(parts.length).toBeGreaterThan(20)
  for (const [command, help] of [...helps, ...(await helpOf(parts.filter((part) => !part.endsWith(' help'))))]) {
    expect(help, command).toMatch(new RegExp(`\nExamples:\n  frames ${command}`))
    expect(help, command).toContain('Exit codes: 0 done, 1 failed')
  }
})

test('a part that is called wrongly points to its own help', async () => {
  expect((await runHere('accounts', 'create')).err).toContain('Run frames accounts create --help')
  expect((await runHere('keys', 'create', '--help')).out).toMatch(/--account <email> .*\(required\)/)
})

test('a reader of messages that has gone changes no exit code', async () => {
  const child = spawn(process.execPath, ['src/cli/main.ts', 'xyzzy'], { stdio: ['ignore', 'ignore', 'pipe'] })
  child.stderr.destroy()
  expect(await once(child, 'exit')).toEqual([2, null])
})
