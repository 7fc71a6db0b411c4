import { LRUCache } from 'lru-cache'
import { ANNOTATED, SOURCES } from '../vocabulary.ts'
import type {
  AnnotatedValue,
  AnnotateOptions,
  AnnotationRun,
  Annotator,
  FrameAnnotation,
  FrameToAnnotate,
  VideoContext,
} from './annotator.ts'

/** Measured frames kept for the retry after the model was unavailable. */
const MAX_KEPT = 500

/**
 * Measures first, then asks the model, and joins the two. Where both know a value, the better source wins (`SOURCES`).
 * A frame that the model refused or failed keeps its measured facts under the model's status. Owns both annotators and
 * closes them.
 */
export function composeAnnotators(measured: Annotator, model: Annotator): Annotator {
  const kept = new LRUCache<string, FrameAnnotation>({ max: MAX_KEPT })

  async function measure(
    video: VideoContext,
    frames: readonly FrameToAnnotate[],
    options: AnnotateOptions,
  ): Promise<Map<string, FrameAnnotation>> {
    const known = new Map<string, FrameAnnotation>()
    for (const frame of frames) {
      const earlier = kept.get(keyOf(frame))
      if (earlier) known.set(frame.id, earlier)
    }
    const missing = frames.filter((frame) => !known.has(frame.id))
    const { annotations } = await measured.annotate(video, missing, {
      signal: options.signal,
      techniques: options.techniques,
    })
    for (const annotation of annotations) known.set(annotation.frameId, annotation)
    for (const frame of missing) kept.set(keyOf(frame), known.get(frame.id)!)
    return known
  }

  return {
    version: `${measured.version}+${model.version}`,
    model: model.model,
    batchSize: model.batchSize,
    ...(model.inspect ? { inspect: model.inspect } : {}),
    async annotate(video, frames, options): Promise<AnnotationRun> {
      const known = await measure(video, frames, options)
      const { annotations, calls } = await model.annotate(video, frames, {
        ...options,
        onAnnotated: async (annotation) =>
          options.onAnnotated?.(joinAnnotations(known.get(annotation.frameId), annotation)),
      })
      for (const frame of frames) kept.delete(keyOf(frame))
      return {
        annotations: annotations.map((annotation) => joinAnnotations(known.get(annotation.frameId), annotation)),
        calls,
      }
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([measured[Symbol.asyncDispose](), model[Symbol.asyncDispose]()])
    },
  }
}

function keyOf(frame: FrameToAnnotate): string {
  return `${frame.id} ${frame.imageSha256}`
}

/** The model's annotation with every value that the measuring annotator knows better. */
export function joinAnnotations(measured: FrameAnnotation | undefined, model: FrameAnnotation): FrameAnnotation {
  if (!measured) return model
  const values: FrameAnnotation['values'] = {}
  for (const attribute of ANNOTATED) {
    const value = betterValue(measured.values[attribute], model.values[attribute])
    if (value) values[attribute] = value
  }
  const { measures } = measured
  return { ...model, values, ...(measures ? { measures } : {}), issues: [...measured.issues, ...model.issues] }
}

function betterValue(a: AnnotatedValue | undefined, b: AnnotatedValue | undefined): AnnotatedValue | undefined {
  if (!a || !b) return a ?? b
  if ((a.value === null) !== (b.value === null)) return a.value === null ? b : a
  return SOURCES.indexOf(b.source) >= SOURCES.indexOf(a.source) ? b : a
}
