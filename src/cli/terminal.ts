import { once } from 'node:events'
import { styleText } from 'node:util'
import type { Command } from 'commander'
import stringWidth from 'string-width'
import { span } from '../clean-text.ts'
import { CliError, usage } from './failure.ts'

// The only file that writes to the terminal, so that no foreign text can control it.

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan'
/** A part of a line: a text, or one with its colour. */
type Piece = string | { text: string; style: Style | undefined }
export type Line = string | readonly Piece[]

/** Characters that control a terminal: C0 except tab and line end, DEL, C1, and direction marks. */
const CONTROLS = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/g
/** The same in JSON, where C0 is escaped already. */
const UNESCAPED = /[\u007F-\u009F\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/g

export const isTerminal = (): boolean => process.stdout.isTTY === true

export function say(...lines: readonly Line[]): void {
  for (const line of lines) process.stdout.write(`${toText(line, process.stdout)}\n`)
}

/** To standard error: standard output holds the command's answer. */
export function complain(...lines: readonly Line[]): void {
  for (const line of lines) process.stderr.write(`${toText(line, process.stderr)}\n`)
}

/** Prints one JSON object for programs, or lines for people. */
export function print(json: boolean | undefined, value: unknown, lines: () => Line | readonly Line[]): void {
  if (json) {
    process.stdout.write(`${escaped(JSON.stringify(value))}\n`)
    return
  }
  const given = lines()
  if (typeof given === 'string') say(given)
  else say(...(given as readonly Line[]))
}

/** Prints one JSON object that comes in pieces, no faster than it is read. */
export async function printPieces(pieces: AsyncIterable<string>): Promise<void> {
  for await (const piece of pieces) if (!process.stdout.write(escaped(piece))) await once(process.stdout, 'drain')
  process.stdout.write('\n')
}

/** Writes lines for programs, compressed where asked, no faster than they are read. */
export async function printLines(
  lines: AsyncIterable<string>,
  { gzip }: { gzip?: boolean | undefined },
): Promise<void> {
  const { createGzip } = await import('node:zlib')
  const { pipeline } = await import('node:stream/promises')
  const { Readable } = await import('node:stream')
  const clean = Readable.from(escapedLines(lines), { objectMode: false })
  const end = { end: false }
  await (gzip ? pipeline(clean, createGzip(), process.stdout, end) : pipeline(clean, process.stdout, end))
}

async function* escapedLines(lines: AsyncIterable<string>): AsyncGenerator<Buffer> {
  for await (const line of lines) yield Buffer.from(escaped(line))
}

/** A line without characters that steer a terminal, in colour where `stream` shows it (NO_COLOR turns it off). */
function toText(line: Line, stream: NodeJS.WriteStream): string {
  if (typeof line === 'string') return visible(line)
  return line.map((piece) => toStyled(piece, stream)).join('')
}

function toStyled(piece: Piece, stream: NodeJS.WriteStream): string {
  if (typeof piece === 'string') return visible(piece)
  const text = visible(piece.text)
  return piece.style === undefined ? text : styleText(piece.style, text, { stream })
}

function visible(text: string): string {
  return text.replace(CONTROLS, '')
}

function escaped(json: string): string {
  return json.replace(UNESCAPED, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Lines on the terminal that are drawn again and again in one place. */
export async function openRedraw() {
  const { createLogUpdate } = await import('log-update')
  const screen = createLogUpdate(process.stdout)
  return {
    /** Takes the place of what was drawn before. */
    draw: (lines: readonly Line[]) => screen(lines.map((line) => toText(line, process.stdout)).join('\n')),
    /** Leaves the last drawing where it is. */
    end: () => screen.done(),
  }
}

/** Asks a person. Only `y` or `yes` means yes. */
async function agreed(question: string): Promise<boolean> {
  const { createInterface } = await import('node:readline/promises')
  const asking = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return /^y(es)?$/i.test((await asking.question(`${toText(question, process.stderr)} [y/N] `)).trim())
  } finally {
    asking.close()
  }
}

export interface Column<Row> {
  heading: string
  cell(row: Row): Piece
  align?: 'right'
  /** For people only: left out where a program reads. */
  terminalOnly?: true
}

/**
 * A line for each row. On a terminal there is a heading above them, and long cells are cut where lines would not fit
 * into its `width`. The last column is neither padded nor cut.
 */
export function table<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  terminal: boolean = isTerminal(),
  width: number = process.stdout.columns || Number.POSITIVE_INFINITY,
): Line[] {
  const shown = columns.filter((column) => terminal || !column.terminalOnly)
  const cells = rows.map((row) => shown.map((column) => oneLine(column.cell(row))))
  const heading = shown.map(({ heading }): Piece => ({ text: heading, style: 'dim' }))
  const lines = terminal && rows.length > 0 ? [heading, ...cells] : cells
  const widths = shown.map((_, at) => Math.max(0, ...lines.map((line) => widthOf(line[at]!))))
  if (terminal) narrow(widths, width)
  return lines.map((line) =>
    line.flatMap((piece, at) => {
      const last = at === shown.length - 1
      return padded(last ? piece : cut(piece, widths[at]!), widths[at]!, shown, at)
    }),
  )
}

const LEAST = 24

/** Takes from the widest column but the last, until the lines fit or it has its least width. */
function narrow(widths: number[], width: number): void {
  const own = widths.slice(0, -1)
  const widest = own.indexOf(Math.max(...own))
  const over = widths.reduce((sum, one) => sum + one + 2, -2) - width
  if (over > 0 && widest >= 0) widths[widest] = Math.min(own[widest]!, Math.max(LEAST, own[widest]! - over))
}

function cut(piece: Piece, width: number): Piece {
  if (widthOf(piece) <= width) return piece
  let text = ''
  for (const sign of typeof piece === 'string' ? piece : piece.text) {
    if (stringWidth(text + sign) > width - 1) break
    text += sign
  }
  return typeof piece === 'string' ? `${text.trimEnd()}…` : { ...piece, text: `${text.trimEnd()}…` }
}

function padded(piece: Piece, width: number, columns: readonly Pick<Column<never>, 'align'>[], at: number): Piece[] {
  const last = at === columns.length - 1
  const blanks = ' '.repeat(width - widthOf(piece))
  if (columns[at]!.align === 'right') return [blanks, piece, ...(last ? [] : ['  '])]
  return last ? [piece] : [piece, `${blanks}  `]
}

function oneLine(piece: Piece): Piece {
  const clean = (text: string) => visible(text).replace(/\s+/g, ' ')
  return typeof piece === 'string' ? clean(piece) : { ...piece, text: clean(piece.text) }
}

function widthOf(piece: Piece): number {
  return stringWidth(typeof piece === 'string' ? piece : piece.text)
}

/** How long ago: `3 min`. */
export const ageOf = (time: Date | string): string => span((Date.now() - new Date(time).getTime()) / 1_000)

/**
 * Says what is about to be deleted, and asks on a terminal.
 * @throws CliError without consent; where nobody can be asked, `--yes` is the consent
 */
export async function requireConsent(what: string, yes: boolean | undefined): Promise<void> {
  if (yes) complain(`Deleting ${what}.`)
  else if (!process.stdin.isTTY) throw usage(`This permanently deletes ${what}. Add --yes to confirm.`)
  else if (!(await agreed(`Permanently delete ${what}?`))) throw new CliError('Nothing was deleted.')
}

/**
 * Ends a command's help with calls that work as they stand. Parts that the command has by then end theirs with the
 * calls that name them.
 */
export function addExamples(command: Command, ...calls: readonly string[]): Command {
  for (const part of command.commands) {
    const own = calls.filter((call) => `${call} `.includes(`${command.name()} ${part.name()} `))
    if (own.length > 0) addExamples(part, ...own)
  }
  return command.addHelpText('after', `\nExamples:\n${calls.map((call) => `  frames ${call}`).join('\n')}`)
}
