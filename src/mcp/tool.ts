import { z } from 'zod'
import type { Caller, Scope } from '../library/accounts/keys.ts'

/** A tool as the protocol needs it. What it does knows nothing of JSON-RPC, HTTP or revisions: arguments in, an answer out, refusals as `AppError`. */
export interface Tool {
  name: string
  title: string
  description: string
  annotations: Annotations
  input: z.ZodType
  output: z.ZodType
  /** What one call takes from the caller's budget. */
  points: number
  /** Who may see and call it: anybody, or a Pro account's key with this scope. */
  scope: Scope | null
  /** Equal arguments give everybody the same answer until the read model changes. */
  cacheable: boolean
  run(args: unknown, context: ToolContext): Promise<ToolAnswer>
}

export interface Annotations {
  readOnlyHint: boolean
  destructiveHint: boolean
  idempotentHint: boolean
  openWorldHint: boolean
}

export interface ToolContext {
  /** Whose key it is, if one came; plan and scopes are of this moment. */
  caller: Caller | undefined
  /** Aborted when the caller has gone or the deadline has passed. */
  signal: AbortSignal
}

export interface ImageLink {
  uri: string
  name: string
  title: string
}

export interface ToolAnswer<T = unknown> {
  /** First in every result, and enough by itself: many clients show a model nothing else. */
  text: string
  /** The citations: one image URL per frame. */
  links?: ImageLink[]
  /** Inline pictures, only when asked for. */
  images?: { data: string; mimeType: string }[]
  structured: T
}

export const READS: Annotations = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
}
export const ADDS: Annotations = {
  readOnlyHint: false,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
}
export const REMOVES: Annotations = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: true,
  openWorldHint: false,
}

/** Ties a tool's argument and answer types to its schemas. */
export function defineTool<I extends z.ZodType, O extends z.ZodType>(
  tool: Omit<Tool, 'input' | 'output' | 'run'> & {
    input: I
    output: O
    run(args: z.output<I>, context: ToolContext): Promise<ToolAnswer<z.input<O>>>
  },
): Tool {
  return tool as unknown as Tool
}

const MAX_VALUES = 50

/** One or many values (none filters nothing); a single one, or a comma-separated list where values hold no commas, is understood too, because models write those. */
export function oneOrMany<T extends z.ZodType>(item: T, { commas = true } = {}) {
  return z
    .preprocess(
      (value) =>
        atMost(
          MAX_VALUES,
          commas ? splitCommas(value) : typeof value === 'string' ? [value].filter((text) => text !== '') : value,
        ),
      z.array(item),
    )
    .refine((values) => values.length <= MAX_VALUES, `takes at most ${MAX_VALUES} values`)
    .transform((values) => (values.length > 0 ? values : undefined))
}

/** A list that is too long is cut to one more than may be, so that it is refused for its length before every item of it is looked at. */
export function atMost(max: number, value: unknown): unknown {
  return Array.isArray(value) ? value.slice(0, max + 1) : value
}

/** An id of ours. What cannot be one is refused here and never reaches a store, which could not hold every text. */
export const Id = z
  .string()
  .min(1)
  .max(64)
  .refine((value) => /^[\w-]+$/.test(value), 'is no id; ids come from the other tools')

/** `"a, b"` as `["a", "b"]`; anything but a string stays what it is. */
export function splitCommas(value: unknown): unknown {
  if (typeof value !== 'string') return value
  return value
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
}

/** The definition as `tools/list` shows it. */
export function describeTool(tool: Tool, options: { output: boolean } = { output: true }) {
  return {
    name: tool.name,
    title: tool.title,
    description: tool.description,
    inputSchema: toJsonSchema(tool.input, 'input'),
    ...(options.output ? { outputSchema: toJsonSchema(tool.output, 'output') } : {}),
    annotations: { title: tool.title, ...tool.annotations },
  }
}

/** JSON Schema 2020-12, which is the protocol's default: the `$schema` line says nothing new and costs tokens. */
function toJsonSchema(schema: z.ZodType, io: 'input' | 'output'): Record<string, unknown> {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, target: 'draft-2020-12' }) as Record<string, unknown>
  return splitTypes(rest) as Record<string, unknown>
}

/** `type: ["string", "null"]` as `anyOf`: clients that map schemas onto a dialect with one type per schema read that. */
function splitTypes(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(splitTypes)
  if (typeof schema !== 'object' || schema === null) return schema
  const { type, ...rest } = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, splitTypes(value)]))
  if (!Array.isArray(type)) return type === undefined ? rest : { type, ...rest }
  return { ...rest, anyOf: type.map((one) => ({ type: one })) }
}
