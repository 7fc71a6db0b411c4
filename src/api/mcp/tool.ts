import { z } from 'zod'
import type { Plan } from '../../db/schema.ts'

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
  scope: string | null
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

/** Whose key it is; the plan is the account's of this moment. */
export interface McpCaller {
  accountId: string
  plan: Plan
  scopes: readonly string[]
}

export interface ToolContext {
  caller: McpCaller | undefined
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

export const READS: Annotations = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false }
export const ADDS: Annotations = { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false }
export const REMOVES: Annotations = { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false }

export const POINTS = { read: 1, search: 2, write: 5 } as const

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
    .preprocess((value) => {
      if (typeof value !== 'string') return value
      const parts = commas ? value.split(',') : [value]
      return parts.map((part) => part.trim()).filter((part) => part !== '')
    }, z.array(item))
    .refine((values) => values.length <= MAX_VALUES, `takes at most ${MAX_VALUES} values`)
    .transform((values) => (values.length > 0 ? values : undefined))
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
  return rest
}
