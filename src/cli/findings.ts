import { CliError } from './failure.ts'
import { type Column, print, table } from './terminal.ts'

/** One thing that was checked. `fault` says what is wrong and what to do; null: it works. */
export interface Checked {
  what: string
  told?: string
  fault: string | null
}

const COLUMNS: Column<Checked>[] = [
  {
    heading: 'STATE',
    cell: ({ fault }) => ({ text: fault === null ? 'ok' : 'failed', style: fault ? 'red' : 'green' }),
  },
  { heading: 'WHAT', cell: ({ what }) => what },
  { heading: 'FOUND', cell: ({ told, fault }) => fault ?? told ?? '' },
]

/** @throws CliError when a check failed. `about`: at or of what. */
export function printFindings(json: boolean | undefined, about: Record<string, string>, findings: readonly Checked[]) {
  print(json, { ...about, findings }, () => table(findings, COLUMNS))
  const faults = findings.filter(({ fault }) => fault !== null).length
  if (faults > 0) throw new CliError(`${faults} of ${findings.length} checks failed: ${Object.values(about)}.`)
}
