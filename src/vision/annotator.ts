import type { Annotated, FrameRest, Source, Tone } from '../vocabulary.ts'

/** One frame to describe. `image` is the kept 1280-wide WebP. */
export interface FrameToAnnotate {
  id: string
  tSec: number
  kind: string
  image: Buffer
  /** SHA-256 (hex) of the image bytes: part of the answer cache's key. */
  imageSha256: string
  width: number
  height: number
  /** Mean BT.709 luma, 0–255, and the tone derived from it. */
  luma: number
  tone: Tone
  /** Mean absolute luma difference to the neighbouring frames of the film, 0–255; 0 for a still. */
  motion: number
  /** Why this frame was picked (`extract` writes it, e.g. `cut: fade through black`). */
  reason: string
  /** The rest that it was taken from; absent or null where none is known. */
  rest?: FrameRest | null
}

export interface VideoContext {
  id: string
  title: string
  author: string | null
  durationSec: number
}

/**
 * One attribute's value. A null value carries the reason why nothing is known. Text is plain text, never markup.
 */
export interface AnnotatedValue {
  value: string | null
  source: Source
  /** 0–1; null where the source has none. */
  confidence: number | null
  reason?: string
}

export interface AnnotationIssue {
  attribute?: Annotated
  /** Stable: `out_of_list`, `too_long`, `repaired`, `missing`, `truncated`, … */
  code: string
  message: string
}

/** How the reason begins where nobody knows what a frame says: reading took too long, or its model cannot run. */
export const NOT_READ = 'not read'

export const wasNotRead = (reason: string | undefined): boolean => reason?.startsWith(NOT_READ) ?? false

/** Facts of a picture beside its attributes, for filters. Null where one was not measured or does not apply. */
export interface FrameMeasures {
  /** Human faces. */
  faces: number | null
  /** Share of a drawn picture that is bare ground, 0–1. */
  emptyShare: number | null
  /** The colours of letters and ground of a text card, `#rrggbb`. */
  ink: string | null
  ground: string | null
}

export interface FrameAnnotation {
  frameId: string
  /**
   * `refused`: the model declined to describe the frame. `failed`: no attempt gave anything usable. Both count as done
   * and carry the reason.
   */
  status: 'annotated' | 'refused' | 'failed'
  reason?: string
  values: Partial<Record<Annotated, AnnotatedValue>>
  /** From the measuring annotator alone. */
  measures?: FrameMeasures
  issues: AnnotationIssue[]
  /** A technique proposed outside the vocabulary: kept for review, never indexed. */
  suggestedTechnique?: { slug: string; reason?: string }
}

/** One call to a paid endpoint, for recording its cost. Costs in US dollars; null where no price is known. */
export interface AnnotatorCall {
  model: string
  frameIds: string[]
  inputTokens: number | null
  cachedTokens: number | null
  outputTokens: number | null
  costUsd: number | null
  durationMs: number
  outcome: 'ok' | 'repaired' | 'refused' | 'failed'
  /** The model reasoned before it answered. */
  thought?: boolean
}

/** The ledger of paid calls. Every call is reserved before it is sent, so that all processes count it. */
export interface Ledger {
  /**
   * Reserves a call at its expected cost.
   * @throws AnnotatorUnavailable while no call may be paid for, VideoBudgetSpent when none may for this video
   */
  reserve(frameCount: number): Promise<ReservedCall>
}

/** A call in the ledger. Neither settled nor released, it stays there at its expected cost. */
export interface ReservedCall {
  /** Replaces the expected cost by the real one. */
  settle(call: AnnotatorCall): Promise<void>
  /** Takes the call out of the ledger: the endpoint has done nothing for it. */
  release(): Promise<void>
}

export interface AnnotationRun {
  annotations: FrameAnnotation[]
  calls: AnnotatorCall[]
}

export interface TechniqueTerm {
  slug: string
  name: string
  description: string
  /** How to recognise it in a single frame. */
  recognise: string
  aliases: string[]
}

export interface AnnotateOptions {
  /** Ends the run: no further call starts. */
  signal: AbortSignal
  /**
   * Aborts calls in flight (default: `signal`). Their answers are lost, and they stay in the ledger at their expected
   * cost.
   */
  abortCalls?: AbortSignal
  techniques: readonly TechniqueTerm[]
  /** Gets each annotation as soon as it is known, so that a paid answer is stored before the next call starts. */
  onAnnotated?: (annotation: FrameAnnotation) => Promise<void>
  /** Without them calls are not reserved. */
  ledger?: Ledger | undefined
}

/**
 * Describes frames. A bad frame never throws: its annotation says `failed` with the reason. Throws
 * `AnnotatorUnavailable` while no frame can be described, with the delay before a retry.
 */
export interface Annotator {
  /** Name, model and prompt version. Changes whenever the same picture may get another answer. */
  readonly version: string
  /** Public name: the model's, or `measured`. */
  readonly model: string
  /** The most frames that one call describes well. */
  readonly batchSize: number
  annotate(video: VideoContext, frames: readonly FrameToAnnotate[], options: AnnotateOptions): Promise<AnnotationRun>
  /** What its server tells, which costs nothing. Absent without a model. */
  inspect?(techniques: readonly TechniqueTerm[]): Promise<Finding[]>
  [Symbol.asyncDispose](): Promise<void>
}

/** One thing that describing frames relies on. `fault` says what is wrong and what to do; null: it works. */
export interface Finding {
  what: string
  told: string
  fault: string | null
}

export function toFinding(what: string, told: string | false, fault: string | false = false): Finding {
  return { what, told: fault ? '' : told || 'the server does not say', fault: fault || null }
}

export const faultOf = (findings: readonly Finding[]) => findings.find(({ fault }) => fault)?.fault ?? undefined

/** The video has cost its own budget: its other frames keep what can be measured. */
export class VideoBudgetSpent extends Error {
  constructor() {
    super('The budget of this video is spent.')
    this.name = 'VideoBudgetSpent'
  }
}

export class AnnotatorUnavailable extends Error {
  /** Stable: `rate_limited`, `breaker_open`, `unreachable`, `misconfigured`, `budget_spent`, `cannot_start`. */
  readonly code: string
  readonly retryAfterMs: number

  constructor(code: string, message: string, retryAfterMs: number) {
    super(message)
    this.name = 'AnnotatorUnavailable'
    this.code = code
    this.retryAfterMs = retryAfterMs
  }
}
