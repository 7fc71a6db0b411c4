import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { useOpened } from '../support/closing.ts'
import { useFolder } from '../support/folder.ts'
import { openToolService, seedLaunches } from './service.ts'
import { LISTED } from './tool-library.ts'

/** The protocol's own conformance suite and inspector, as a stranger would run them against the service. */

const bin = resolve(import.meta.dirname, '../../node_modules/.bin')
const service = useOpened(() => openToolService())
const home = useFolder()
beforeAll(async () => {
  await seedLaunches(service)
})

function run(program: string, args: string[]): Promise<{ code: number | null; out: string; errors: string }> {
  return new Promise((done, fail) => {
    const child = spawn(join(bin, program), args, {
      env: { HOME: home, PATH: `${bin}${delimiter}${process.env.PATH}` },
      cwd: home,
    })
    const [out, errors]: [string[], string[]] = [[], []]
    child.stdout.on('data', (chunk) => out.push(String(chunk)))
    child.stderr.on('data', (chunk) => errors.push(String(chunk)))
    child.on('error', fail)
    child.on('close', (code) => done({ code, out: out.join(''), errors: errors.join('') }))
  })
}

describe('the conformance suite', () => {
  test.each([
    ['2026-07-28', 'baseline-2026.yml'],
    ['2025-11-25', 'baseline-2025.yml'],
  ])('revision %s: nothing fails but what needs a fixture', async (revision, baseline) => {
    const results = join(home, revision)
    const { code, out, errors } = await run('conformance', [
      'server',
      ...['--url', service.mcp, '--requirements', revision, '-o', results],
      ...['--expected-failures', join(import.meta.dirname, baseline)],
    ])
    expect(code, `${out.slice(-3_000)}\n${errors.slice(-1_000)}`).toBe(0)
    // A scenario in the baseline may still check us: within it, too, only what asks for a fixture fails.
    const failed = readdirSync(results).flatMap((scenario) =>
      (JSON.parse(readFileSync(join(results, scenario, 'checks.json'), 'utf8')) as Check[])
        .filter((check) => check.status === 'FAILURE' || check.status === 'WARNING')
        .map((check) => `${nameOf(scenario)}: ${check.errorMessage ?? check.details?.message}`),
    )
    expect(failed.length).toBeGreaterThan(0)
    const needsFixture = [
      // It waits half a second to one and a half for an answer, which a busy machine can miss.
      NOT_IN_TIME,
      /^(tasks|http-custom-header|json-schema-2020-12|input-required-result)/,
      /Not testable|Unknown tool: test_|Resource not found: test:\/\//,
      /Method not found: (resources|prompts|completion|logging)\//,
      /did not provide session ID/,
    ]
    expect(failed.filter((failure) => !needsFixture.some((reason) => reason.test(failure)))).toEqual([])
  })
})

test.each(['enumeration', 'manifest'])('the conformance suite finds nothing to say about skills: %s', async (part) => {
  const results = join(home, `skills-${part}`)
  const { code, out } = await run('conformance', [
    'server',
    ...['--url', service.mcp, '--spec-version', '2026-07-28', '--scenario', `sep-2640-skills-${part}`, '-o', results],
    // It is an extension, which the suite leaves out unless told.
    '--force',
  ])
  expect(code, out.slice(-3_000)).toBe(0)
  const checks = readdirSync(results).flatMap(
    (scenario) => JSON.parse(readFileSync(join(results, scenario, 'checks.json'), 'utf8')) as Check[],
  )
  expect(checks.filter(({ status }) => status === 'SUCCESS').length).toBeGreaterThan(3)
  expect(checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING')).toEqual([])
})

/** Without the side and the time in the name of its folder. */
const nameOf = (scenario: string) => scenario.replace(/^server-|-\d{4}-\d{2}-\d{2}T.*$/g, '')

const NOT_IN_TIME = new RegExp(
  [
    'Failed to (receive progressive|open or receive frames|open stream line)',
    'context dropped or failed to yield',
    'filtering line failed to return',
  ].join('|'),
)

interface Check {
  status: string
  errorMessage?: string
  details?: { message?: string }
}

describe('the inspector', () => {
  const cli = (...args: string[]) =>
    run('mcp-inspector', ['--cli', service.mcp, '--transport', 'http', '-q', '--format', 'json', ...args])

  test.each([
    ['legacy', 6],
    ['modern', 6],
    ['account', LISTED.length],
  ])('finds nothing to say about the tools: %s', async (era, tools) => {
    const { bearer } = await service.keyOf('pro')
    const key = ['--header', `Authorization: ${bearer.authorization}`, '--stored-auth-only']
    const how = era === 'account' ? key : ['--protocol-era', era]
    const { code, out, errors } = await cli(...how, '--method', 'tools/list', '--strict')
    expect({ code, errors }).toEqual({ code: 0, errors: '' })
    expect(JSON.parse(out).result.tools).toHaveLength(tools)
  })
  test('verifies the skills', async () => {
    const { code, out, errors } = await cli('--protocol-era', 'modern', '--method', 'skills/list', '--verify')
    expect({ code, errors }).toEqual({ code: 0, errors: '' })
    const skills = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    const faults = skills.flatMap(({ conformance, frontmatter }) => [...conformance, ...frontmatter])
    const files = skills.flatMap((skill) => skill.files.map(({ status }: { status: string }) => status))
    expect({ faults, files }).toEqual({ faults: [], files: Array(4).fill('verified') })
  })
  test('calls a tool, and tells a bad key from a bad tool', async () => {
    const call = ['--protocol-era', 'modern', '--method', 'tools/call', '--tool-name']
    const found = await cli(...call, 'search_frames', '--tool-arg', 'query=headline')
    expect(found.code).toBe(0)
    expect(JSON.parse(found.out).result.structuredContent.frames.length).toBeGreaterThan(0)
    expect((await cli(...call, 'no_such_tool')).code).toBe(5)
    expect(
      (await cli('--header', 'Authorization: Bearer nope', '--stored-auth-only', '--method', 'tools/list')).code,
    ).toBe(3)
  })
})
