import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { About, Bench, Figure, SavedRun } from './bench.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const RESULTS = join(ROOT, 'bench/results')
const PAGE = join(ROOT, 'docs/benchmarks.md')
const COLUMNS = 115

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

/** Writes docs/benchmarks.md from the saved runs. */
export async function writeReport(benches: Record<string, () => Promise<Bench>>): Promise<void> {
  const saved = readdirSync(RESULTS)
    .filter((file) => file.endsWith('.json'))
    .sort()
    .map((file): SavedRun => JSON.parse(readFileSync(join(RESULTS, file), 'utf8')))
  const sections: string[] = []
  for (const [name, load] of Object.entries(benches)) {
    const { about } = await load()
    const runs = saved.filter(({ bench }) => bench === name)
    sections.push(section(name, about, runs))
  }
  writeFileSync(PAGE, `${[INTRODUCTION, ...sections].join('\n\n')}\n`)
  console.log(`Wrote ${relative(ROOT, PAGE)} from ${saved.length} saved runs.`)
}

const INTRODUCTION = `# Benchmarks

This page is for everyone who asks how fast the service is. \`npm run bench -- report\` writes it from
\`bench/results/*.json\`. Do not edit it by hand.

\`npm run bench -- <name>\` runs one benchmark and prints its figures as JSON in the last line. With \`--save\` it keeps
them for this page. Each ratio is against a limit that is measured in the same run, so that other load on the machine
weighs on both sides. A value in **bold** misses its aim, in at least one run where a range is given. Figures of one
benchmark can only be compared when one machine measured them in one hour.`

function section(name: string, about: About, runs: readonly SavedRun[]): string {
  const parts = [`## ${name}`, wrap(`${about.measures} Measured against: ${about.against}`)]
  if (runs.length === 0) parts.push('No figures are saved.')
  for (const run of runs) parts.push(wrap(origin(name, run)), table(about.figures, run.result))
  for (const note of about.notes ?? []) parts.push(wrap(note))
  return parts.join('\n\n')
}

function origin(name: string, { arguments: given, date, commit, machine }: SavedRun): string {
  const command = ['npm run bench --', name, ...given].join(' ')
  return `\`${command}\`, ${date}, commit ${commit}, ${machine}.`
}

function table(figures: readonly Figure[], result: object): string {
  const rows = figures.flatMap((figure) => {
    const value = valueAt(result, figure.at)
    return value === undefined ? [] : [`| ${figure.what} | ${display(figure, value)} | ${aimOf(figure)} |`]
  })
  return ['| figure | value | aim |', '|---|---|---|', ...rows].join('\n')
}

/** A number, or the least and the most of several runs. */
type Value = number | [number, number]

function valueAt(result: object, at: readonly string[]): Value | undefined {
  let found: unknown = result
  for (const key of at) found = (found as Record<string, unknown> | undefined)?.[key]
  return typeof found === 'number' || Array.isArray(found) ? (found as Value) : undefined
}

function display(figure: Figure, value: Value): string {
  const ends = [value].flat()
  const text = `${ends.join(' to ')}${unitOf(figure)}`
  const { atLeast = -Infinity, atMost = Infinity } = figure
  return ends.every((end) => end >= atLeast && end <= atMost) ? text : `**${text}**`
}

function aimOf(figure: Figure): string {
  if (figure.atLeast !== undefined) return `≥ ${figure.atLeast}${unitOf(figure)}`
  if (figure.atMost !== undefined) return `≤ ${figure.atMost}${unitOf(figure)}`
  return ''
}

function unitOf({ unit }: Figure): string {
  return unit ? ` ${unit}` : ''
}

function wrap(text: string): string {
  const lines = ['']
  for (const word of text.split(' ')) {
    const line = `${lines.at(-1)} ${word}`.trimStart()
    if (line.length > COLUMNS) lines.push(word)
    else lines[lines.length - 1] = line
  }
  return lines.join('\n')
}
