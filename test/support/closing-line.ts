import type { Reporter, TestModule } from 'vitest/node'
import { MEILI_MISSING } from './meilisearch.ts'

const SLOWEST = 10

/**
 * Ends a run with its ten slowest files, what it left out, and the line that continuous integration reads:
 * `N passed, N failed`.
 */
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const lines = [...(modules.length > 0 ? slowest(modules) : []), ...skipped(modules), '', totals(modules, errors)]
    // After the default reporter's summary.
    setImmediate(() => console.log(`\n${lines.join('\n')}`))
  }
}

function slowest(modules: readonly TestModule[]): string[] {
  const files = modules
    .map((module) => ({ name: module.relativeModuleId, seconds: module.diagnostic().duration / 1000 }))
    .sort((a, b) => b.seconds - a.seconds)
    .slice(0, SLOWEST)
  return ['Slowest files', ...files.map(({ name, seconds }) => `${seconds.toFixed(1).padStart(8)} s  ${name}`)]
}

/** What a run without a Meilisearch leaves out, and how to run it. */
function skipped(modules: readonly TestModule[]): string[] {
  const tests = modules.flatMap((module) => [...module.children.allTests('skipped')])
  const hasSome = MEILI_MISSING !== undefined && tests.some(({ fullName }) => fullName.includes(MEILI_MISSING!))
  return hasSome ? ['', 'Skipped: the tests on a real Meilisearch. Run them with: npm run test:meilisearch'] : []
}

function totals(modules: readonly TestModule[], errors: readonly unknown[]): string {
  let passed = 0
  let failed = errors.length
  let skipped = 0
  for (const module of modules) {
    // Errors that belong to no test: a file that cannot be read, a beforeAll or afterAll that fails.
    for (const suite of [module, ...module.children.allSuites()]) failed += suite.errors().length
    for (const test of module.children.allTests()) {
      const { state } = test.result()
      if (state === 'passed') passed++
      else if (state === 'failed') failed++
      else skipped++
    }
  }
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`
}
