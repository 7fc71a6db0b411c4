import { type Command, Option } from 'commander'
import { z } from 'zod'
import type { App } from '../api/app.ts'
import { AppError, readGiven } from '../errors.ts'
import { type Endpoint, operationNamed } from '../http/endpoint.ts'
import { PATH_VALUES } from '../http/path-values.ts'
import { readParameters } from '../parameters.ts'
import { answers } from './context.ts'
import { usage } from './failure.ts'
import { type ColumnOf, linesOf } from './lines.ts'
import { requireConsent } from './terminal.ts'

/*
 * Commands of operations: what an operation declares is what its command takes, checks and asks for. Parts of the path
 * and `args` become arguments, the query and the fields of the body options. The answer is a table, or a line a field.
 */

/** What a command says beyond its operation. */
interface Part {
  /** The operation's id. */
  of: string
  /** Instead of the operation's summary. */
  description?: string
  /** Fields of the body that are arguments. */
  args?: readonly string[]
  /** The fields that are options; without it all others. */
  options?: readonly string[]
  /** Fields of the body that always have this value. */
  fixed?: Readonly<Record<string, unknown>>
  columns?: readonly ColumnOf[]
  /** Told with the first argument instead of an answer that only says ok: `deleted`. */
  said?: string
  /** Looks at the answer, or waits for what it began and returns the last one. */
  wait?: (answer: unknown, call: Call, params: Params) => Promise<unknown>
}

/** Another one of the same operations. */
export type Call = (id: string, given: { params: Params }) => Promise<unknown>
type Params = Readonly<Record<string, string>>
type Operations = readonly Endpoint<App>[]

/** Gives a group of commands its parts, by their names. `list` runs without its name too. */
export function defineOperations(group: Command, operations: Operations, parts: Readonly<Record<string, Part>>): void {
  for (const [name, part] of Object.entries(parts)) {
    const command = group.command(name, { isDefault: name === 'list' })
    const { summary } = operationNamed(operations, part.of)
    defineOperation(command.description(part.description ?? asHelp(summary)), operations, part)
  }
}

type Taken = ReturnType<typeof toTaken>

/** What a command takes, in its order. */
function toTaken(operation: Endpoint<App>, part: Part) {
  const { args = [], fixed = {} } = part
  const { body } = operation
  const fields = body instanceof z.ZodObject ? (body.shape as Record<string, z.ZodType>) : {}
  const others = Object.keys(fields).filter((name) => !args.includes(name) && !Object.hasOwn(fixed, name))
  const places = [...operation.path.matchAll(/:(\w+)/g)].map(([, name]) => name!)
  return { operation, part, fields, places, args, fixed, options: part.options ?? others }
}

/** Gives one command what its operation takes and does. */
export function defineOperation(command: Command, operations: Operations, part: Part): void {
  const taken = toTaken(operationNamed(operations, part.of), part)
  const { operation, fields, places, args, options } = taken
  const { parameters = {}, loses } = operation
  for (const name of places) command.argument(`<${dashed(name)}>`, asHelp(PATH_VALUES[name]!.description))
  for (const name of args)
    command.argument(`<${places.includes(name) ? 'new-' : ''}${dashed(name)}>`, asHelp(describe(name, fields[name]!)))
  for (const [name, { schema, description }] of Object.entries(parameters))
    command.addOption(toOption(name, schema, description))
  for (const name of options) {
    const schema = fields[name]!
    const isRequired = !schema.safeParse(undefined).success
    command.addOption(toOption(name, schema, describe(name, schema)).makeOptionMandatory(isRequired))
  }
  if (loses) command.option('-y, --yes', 'do not ask')

  answers(command, async (context, ...given: unknown[]) => {
    const words = given.slice(0, places.length + args.length) as string[]
    const told = command.opts<Record<string, string> & { yes?: boolean }>()
    const input = asFlags(args, () => readInput(taken, words, told))
    const own: Partial<App> = { ...context, publicUrl: context.config.publicUrl }
    // No operation that a command names takes more.
    const deps = own as App
    if (loses) await requireConsent(await loses(deps, input as never), told.yes)
    const call: Call = (id, other) => operationNamed(operations, id).act(deps, other as never)
    const first = await operation.act(deps, input as never)
    const answer = part.wait ? await part.wait(first, call, input.params) : first
    if (part.said !== undefined) return [answer, () => `${part.said} ${words[0]}`]
    const kept = operation.secret ? ['The secret is not shown again.'] : []
    return [answer, () => [...linesOf(answer, part.columns), ...kept]]
  })
}

function readInput({ operation, fields, places, args, fixed, options }: Taken, words: string[], told: Params) {
  const { parameters = {}, body } = operation
  const toldOf = (names: readonly string[]) =>
    names.flatMap((name): [string, string][] => (told[camel(name)] === undefined ? [] : [[name, told[camel(name)]!]]))
  const written = [...args.map((name, n): [string, string] => [name, words[places.length + n]!]), ...toldOf(options)]
  const values = {
    ...Object.fromEntries(written.map(([name, text]) => [name, toValue(fields[name]!, text)])),
    ...fixed,
  }
  if (body && Object.keys(values).length === 0 && !body.safeParse(values).success)
    throw usage(`Name at least one of ${options.map(flag).join(', ')}.`)
  return {
    params: Object.fromEntries(places.map((name, n) => [name, words[n]!])),
    query: readParameters(`?${new URLSearchParams(toldOf(Object.keys(parameters)))}`, parameters),
    body: body && readGiven(body, values),
  }
}

/** A value that a schema refuses is told by the name of its argument or option. */
function asFlags<T>(args: readonly string[], read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const [{ path, message } = { path: '', message: error.message }] = error.details ?? []
    const [name = ''] = path.split('.')
    throw usage(`${args.includes(name) ? `<${dashed(name)}>` : flag(name)}: ${message.replace(`${path} `, '')}`)
  }
}

function toOption(name: string, schema: z.ZodType, description: string): Option {
  const kind = within(schema)
  const isList = kind instanceof z.ZodArray
  const one = isList ? (kind.element as z.ZodType) : kind
  const choices = one instanceof z.ZodEnum ? (one.options as string[]) : undefined
  const listed = isList && choices ? `: ${choices.join(', ')}` : ''
  const option = new Option(`${flag(name)} <${isList ? 'list' : 'value'}>`, asHelp(description) + listed)
  if (schema instanceof z.ZodDefault) option.default(String(schema.def.defaultValue))
  return choices && !isList ? option.choices(choices) : option
}

const isOuter = (schema: z.ZodType) =>
  schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault
    ? (schema.unwrap() as z.ZodType)
    : undefined

/** The schema without what makes it optional, empty or given. */
function within(schema: z.ZodType): z.ZodType {
  const inner = isOuter(schema)
  return inner ? within(inner) : schema
}

/** The outermost description, else the name in words. */
function describe(name: string, schema: z.ZodType): string {
  const inner = isOuter(schema)
  return schema.description ?? (inner ? describe(name, inner) : name.replaceAll('_', ' '))
}

/** A text as the schema wants it. Null is `all` for a list, else an empty text. */
function toValue(schema: z.ZodType, text: string): unknown {
  const kind = within(schema)
  const isNone = text === (kind instanceof z.ZodArray ? 'all' : '')
  if (isNone && schema.safeParse(null).success) return null
  if (kind instanceof z.ZodArray) return text.split(',').map((part) => part.trim())
  return kind instanceof z.ZodNumber && /^-?\d+$/.test(text) ? Number(text) : text
}

/** As helps are written: no capital, no full stop, no marks of code. */
function asHelp(text: string): string {
  const plain = text.replaceAll('`', '').replace(/\.$/, '')
  return plain.charAt(0).toLowerCase() + plain.slice(1)
}

const dashed = (name: string) => name.replaceAll('_', '-').replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
const flag = (name: string) => `--${dashed(name)}`
const camel = (name: string) => dashed(name).replace(/-(.)/g, (_, letter: string) => letter.toUpperCase())
