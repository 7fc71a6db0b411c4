import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { About, Figure, SavedRun } from './bench.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const RESULTS = join(ROOT, 'bench/results')

/** Keeps a run's figures with its date, commit and machine. Returns the file's path. */
export function saveRun(name: string, run: Pick<SavedRun, 'bench' | 'arguments' | 'result'>): string {
  const cores = cpus()
  const { bench, result, ...rest } = run
  const saved: SavedRun = {
    bench,
    ...rest,
    date: new Date().toISOString().slice(0, 10),
    commit: currentCommit(),
    machine: `${cores.length} cores (${cores[0]?.model.trim()}), ${process.platform}, Node ${process.versions.node}`,
    result,
  }
  mkdirSync(RESULTS, { recursive: true })
  const file = join(RESULTS, `${name}.json`)
  writeFileSync(file, `${JSON.stringify(saved, null, 2)}\n`)
  return relative(ROOT, file)
}

function currentCommit(): string {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim()
  try {
    const isChanged = git('status', '--porcelain', '--untracked-files=no', '--', 'src') !== ''
    return `${git('rev-parse', '--short', 'HEAD')}${isChanged ? ' with changes' : ''}`
  } catch {
    return 'unknown'
  }
}

/** Prints each figure with its limit, and whether it holds. */
export function printReport({ measures, against, figures }: About, result: object): void {
  console.log(`${measures}\nMeasured against: ${against}`)
  const rows = figures.flatMap((figure) => {
    const value = figure.at.reduce<unknown>(
      (found, key) => (found as Record<string, unknown> | undefined)?.[key],
      result,
    )
    if (typeof value !== 'number') return []
    const { atLeast = -Infinity, atMost = Infinity } = figure
    const holds = value >= atLeast && value <= atMost
    return [{ figure: figure.what, value: `${value}${unitOf(figure)}`, limit: limitOf(figure), holds }]
  })
  console.table(rows)
}

function limitOf(figure: Figure): string {
  if (figure.atLeast !== undefined) return `≥ ${figure.atLeast}${unitOf(figure)}`
  if (figure.atMost !== undefined) return `≤ ${figure.atMost}${unitOf(figure)}`
  return ''
}

function unitOf({ unit }: Figure): string {
  return unit ? ` ${unit}` : ''
}
