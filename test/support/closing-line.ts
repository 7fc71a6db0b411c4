import type { Reporter, TestModule } from 'vitest/node'

/** Ends the run with the line that continuous integration reads: `N passed, N failed`. */
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    let passed = 0
    let failed = errors.length
    let skipped = 0
    for (const module of modules) {
      // A file that cannot be read, a beforeAll or afterAll that fails: no test's own.
      for (const suite of [module, ...module.children.allSuites()]) failed += suite.errors().length
      for (const test of module.children.allTests()) {
        const { state } = test.result()
        if (state === 'passed') passed++
        else if (state === 'failed') failed++
        else skipped++
      }
    }
    // After the default reporter's summary.
    setImmediate(() => console.log(`\n${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`))
  }
}
