import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'

/** A folder for the tests of a file, removed after the last one. */
export function useFolder(place = tmpdir()): string {
  const folder = mkdtempSync(join(place, 'frames-tests-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
