import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { useFolder } from '../support/folder.ts'
import { NODE_SETTINGS } from '../support/node-settings.ts'

const dataDir = useFolder()

const frames = (...args: string[]) => framesWith({}, ...args)

function framesWith(settings: Record<string, string>, ...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['src/cli.ts', ...args], {
    encoding: 'utf8',
    env: { PATH: process.env.PATH, ...NODE_SETTINGS, DATA_DIR: dataDir, ...settings },
  })
  return { code: status, stdout, stderr }
}

test('a mistyped command is one line with the command that was meant', () => {
  expect(frames('stat')).toEqual({
    code: 2,
    stdout: '',
    stderr: 'There is no command stat. Did you mean status? Run frames --help for the list.\n',
  })
  expect(frames('quues').stderr).toContain('Did you mean queues?')
  expect(frames('accounts', 'lst').stderr).toContain('Did you mean accounts list?')
  expect(frames('xyzzy').stderr).toBe('There is no command xyzzy. Run frames --help for the list.\n')
})

test('a wrong option is one line and the way to the help', () => {
  expect(frames('status', '--bogus')).toEqual({
    code: 2,
    stdout: '',
    stderr: "error: unknown option '--bogus'\nRun frames status --help for what it takes.\n",
  })
  expect(frames('--bogus').stderr).toBe("error: unknown option '--bogus'\nRun frames --help for the list.\n")
})

test('without a service a command is unavailable, which is another exit code than failure', () => {
  expect(frames('status')).toEqual({
    code: 3,
    stdout: '',
    stderr:
      `No running service found on ${dataDir}. Run npm start, set DATA_DIR to the folder of the one that runs, ` +
      'or set DATABASE_URL and REDIS_URL.\n',
  })
})

test('a store that does not answer is told with its address, a wrong setting with what it may be', () => {
  const away = { DATABASE_URL: 'postgres://x:y@127.0.0.1:1/x', REDIS_URL: 'redis://127.0.0.1:1' }
  expect(framesWith(away, 'status')).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('(nothing answers at 127.0.0.1:1)'),
  })
  expect(framesWith({ PORT: 'abc' }, 'status')).toEqual({ code: 2, stdout: '', stderr: 'PORT: must be a number\n' })
})

/** The help of several commands, each as the command line prints it, from one process. */
function helpOf(commands: readonly string[]): Map<string, string> {
  const script = `import { runCommandLine } from './src/cli/program.ts'
    for (const command of ${JSON.stringify(commands)}) {
      process.stdout.write('\\0' + command + '\\0')
      await runCommandLine([...command.split(' '), '--help'])
    }`
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' })
  const [, ...told] = stdout.split('\0')
  return new Map(commands.map((command, n) => [command, told[2 * n] === command ? told[2 * n + 1]! : '']))
}

test('the help of every command tells its exit codes and ends with calls that can be copied', () => {
  const { code, stdout } = frames('--help')
  expect(code).toBe(0)
  const names = [...stdout.matchAll(/^ {2}([a-z]+) {2}/gm)].map(([, name]) => name!)
  expect(names.length).toBeGreaterThan(20)
  expect(stdout).toContain('Exit codes: 0 done, 1 failed')
  const helps = helpOf(names)
  const parts = names.flatMap((name) => {
    const listed = /\nCommands:\n([\s\S]*?)\n\n/.exec(helps.get(name)!)?.[1] ?? ''
    return [...listed.matchAll(/^ {2}([a-z-]+)[ |]/gm)].map(([, part]) => `${name} ${part}`)
  })
  expect(parts.length).toBeGreaterThan(20)
  for (const [command, help] of [...helps, ...helpOf(parts.filter((part) => !part.endsWith(' help')))]) {
    expect(help, command).toMatch(new RegExp(`\nExamples:\n  frames ${command}`))
    expect(help, command).toContain('Exit codes: 0 done, 1 failed')
  }
})

test('a part that is called wrongly points to its own help', () => {
  expect(frames('accounts', 'create').stderr).toContain('Run frames accounts create --help')
  expect(frames('keys', 'create', '--help').stdout).toMatch(/--account <email> .*\(required\)/)
})

test('a reader of messages that has gone changes no exit code', async () => {
  const child = spawn(process.execPath, ['src/cli.ts', 'xyzzy'], { stdio: ['ignore', 'ignore', 'pipe'] })
  child.stderr.destroy()
  expect(await once(child, 'exit')).toEqual([2, null])
})
