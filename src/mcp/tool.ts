import { z } from 'zod'
import type { App } from '../api/app.ts'
import type { Price } from '../http/rate-limit/budgets.ts'
import type { Caller, Scope } from '../library/accounts/key-checks.ts'
import type { TechniqueDocument } from '../search/library-search.ts'

/** The extension of hosts that show pages of servers. */
export const GALLERY = 'io.modelcontextprotocol/ui'
/** The page of the gallery (gallery.ts). */
export const GALLERY_URI = 'ui://frame-library/gallery.html'

export interface ToolApp extends Pick<App, 'db' | 'search' | 'films' | 'publicUrl' | 'readImage' | 'ytdlp'> {
  /** Kept: an empty answer costs hardly more than the search. */
  vocabulary(): Promise<readonly TechniqueDocument[]>
}

/**
 * A tool as the protocol needs it. `run` knows nothing of JSON-RPC, HTTP or revisions:
 * it takes arguments, returns an answer, and refuses with an `AppError`.
 */
export interface Tool {
  name: string
  title: string
  description: string
  annotations: Annotations
  input: z.ZodType
  output: z.ZodType
  price: Price
  /** The price that arguments raise it to: true for that of a write. */
  raises?(args: unknown): Price | boolean
  /**
   * The key scope that it needs, on a Pro account, or one of several; `any` for a key with whatever scopes; null for an
   * open tool.
   */
  scope: Scope | readonly Scope[] | 'any' | null
  /** Which of several scopes these arguments need. */
  needs?(args: unknown): Scope
  /** The scope is enough, on any plan: the tool only takes back. */
  allowLapsedPlan?: boolean
  /** Equal arguments get the same answer for every caller until the read model changes. */
  cacheable: boolean
  /** A host with the gallery shows the frames of its results there. */
  inGallery?: boolean
  /** Whom a host with the gallery offers it to; both, if absent. */
  visibleTo?: readonly ('model' | 'app')[]
  run(args: unknown, context: ToolContext): Promise<ToolAnswer>
  /** For a host that takes tasks: the one that goes on behind this answer; undefined where it is whole. */
  toTask?(answer: ToolAnswer, context: ToolContext): Promise<object | undefined>
}

export interface Annotations {
  readOnlyHint: boolean
  destructiveHint: boolean
  idempotentHint: boolean
  openWorldHint: boolean
}

export interface ToolContext {
  /** The key's account with its current plan and scopes; undefined without a key. */
  caller: Caller | undefined
}

export interface ImageLink {
  uri: string
  name: string
  title?: string
}

export interface ToolAnswer<T = unknown> {
  /** First in every result and complete by itself: many clients show a model only this. */
  text: string
  /** The citations: one image URL per frame. */
  links?: ImageLink[]
  /** Inline images, only where the arguments ask for them. */
  images?: { data: string; mimeType: string }[]
  structured: T
  /**
   * What the text says beyond the data: how a question was read, what to try. Many clients show a model only the
   * structured data where there is some, so it is put there too.
   */
  notes?: readonly string[]
}

const HINTS: Annotations = { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false }
export const READS: Annotations = { ...HINTS, readOnlyHint: true }
export const ADDS: Annotations = HINTS
export const REMOVES: Annotations = { ...HINTS, destructiveHint: true }

/** An open read whose frames a host with the gallery shows there. */
export const SHOWS_FRAMES = { annotations: READS, scope: null, inGallery: true, cacheable: true } as const

/** Ties a tool's argument and answer types to its schemas. Not `cacheable` unless it says so. */
export function defineTool<I extends z.ZodType, O extends z.ZodType>(
  tool: Omit<Tool, 'input' | 'output' | 'run' | 'raises' | 'needs' | 'toTask' | 'cacheable'> & {
    cacheable?: boolean
    input: I
    output: O
    raises?(args: z.output<I>): Price | boolean
    needs?(args: z.output<I>): Scope
    run(args: z.output<I>, context: ToolContext): Promise<ToolAnswer<z.input<O>>>
    toTask?(answer: ToolAnswer<z.input<O>>, context: ToolContext): Promise<object | undefined>
  },
): Tool {
  const output = (tool.output as unknown as z.ZodObject).extend({ notes: z.array(z.string()).optional() })
  return { cacheable: false, ...tool, output } as unknown as Tool
}

/**
 * The definition as `tools/list` shows it. Output schemas were half of the list, and few clients show them to a model:
 * they are described only where they are asked for.
 */
export function describeTool(tool: Tool, options: { output: boolean } = { output: false }) {
  return {
    name: tool.name,
    title: tool.title,
    description: tool.description,
    inputSchema: toJsonSchema(tool.input, 'input'),
    ...(options.output ? { outputSchema: toJsonSchema(tool.output, 'output') } : {}),
    annotations: tool.annotations,
    ...metaOf(tool),
  }
}

/** The page that shows the results, also under the name that it had before the extension was accepted. */
function metaOf({ inGallery, visibleTo }: Tool): object {
  if (visibleTo) return { _meta: { ui: { visibility: visibleTo } } }
  return inGallery ? { _meta: { ui: { resourceUri: GALLERY_URI }, 'ui/resourceUri': GALLERY_URI } } : {}
}

/** JSON Schema 2020-12 is the protocol's default, so the `$schema` line would only cost tokens. */
function toJsonSchema(schema: z.ZodType, io: 'input' | 'output'): Record<string, unknown> {
  const { $schema: _, ...described } = z.toJSONSchema(schema, { io, target: 'draft-2020-12' })
  return splitTypes(described) as Record<string, unknown>
}

/**
 * `type: ["string", "null"]` as `anyOf`: some clients map schemas onto a dialect with one type per schema. Names of
 * members are texts anyway: `propertyNames` would only cost tokens.
 */
function splitTypes(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(splitTypes)
  if (typeof schema !== 'object' || schema === null) return schema
  const {
    type,
    propertyNames: _,
    ...rest
  } = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, splitTypes(value)]))
  if (!Array.isArray(type)) return type === undefined ? rest : { type, ...rest }
  return { ...rest, anyOf: type.map((one) => ({ type: one })) }
}
