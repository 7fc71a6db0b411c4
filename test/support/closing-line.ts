import type { Reporter, TestModule } from 'vitest/node'

const SLOWEST = 10

/** Ends a run with its ten slowest files and the line that continuous integration reads: `N passed, N failed`. */
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const lines = [...(modules.length > 0 ? slowest(modules) : []), '', totals(modules, errors)]
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
