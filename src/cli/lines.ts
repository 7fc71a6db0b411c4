import { ageOf, type Column, isTerminal, type Line, table } from './terminal.ts'

/** A column by the name of a field, `event.id` of one within it, or one that a command makes itself. */
export type ColumnOf = string | Column<never>

type Fields = Readonly<Record<string, unknown>>

/** An answer for people: where `columns` are given a table, else a line for each field. */
export function linesOf(answer: unknown, columns?: readonly ColumnOf[]): Line[] {
  return Object.entries(answer as Fields).flatMap(([name, value]): Line[] => {
    const said = name.replaceAll('_', ' ')
    if (name === 'next') return value !== null && isTerminal() ? [`More: --after ${value}`] : []
    if (value === null || value === '') return []
    if (!Array.isArray(value))
      return typeof value === 'object' ? ofOne(value as Fields, columns) : [`${said}: ${text(value)}`]
    if (value.length === 0) return [`no ${said}`]
    return columns ? listed(value, columns) : value.flatMap((one: Fields) => ofOne(one))
  })
}

function ofOne(one: Fields, columns?: readonly ColumnOf[]): Line[] {
  if (columns) return listed([one], columns)
  const told = Object.entries(one).filter(([, value]) => value !== null && value !== '')
  return told.map(([name, value]) => `${name.replaceAll('_', ' ')}: ${text(value)}`)
}

function listed(rows: readonly unknown[], columns: readonly ColumnOf[]): Line[] {
  return table(
    rows,
    columns.map((column) => (typeof column === 'string' ? named(column, rows) : (column as Column<unknown>))),
  )
}

function named(path: string, rows: readonly unknown[]): Column<unknown> {
  const valueIn = (row: unknown) => path.split('.').reduce((at, key) => (at as Fields)[key], row)
  const isTime = path.endsWith('_at') || path === 'at'
  return {
    heading: path.replaceAll(/[_.]/g, ' ').toUpperCase(),
    cell: (row) => (isTime ? age(valueIn(row)) : { text: text(valueIn(row)), style: styleOf(path, valueIn(row)) }),
    ...(typeof valueIn(rows[0]) === 'number' ? { align: 'right' } : {}),
    ...(isTime ? { terminalOnly: true } : {}),
  }
}

const age = (time: unknown) => (time === null ? 'never' : `${ageOf(time as string)} ago`)

const GOOD = ['active', 'delivered']
const BAD = ['paused', 'gone', 'failed']

function styleOf(path: string, value: unknown) {
  if (path !== 'state') return undefined
  if (GOOD.includes(String(value))) return 'green'
  return BAD.includes(String(value)) ? 'red' : undefined
}

function text(value: unknown): string {
  if (value === null || value === undefined) return '-'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (Array.isArray(value)) return value.map(text).join(' ')
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
