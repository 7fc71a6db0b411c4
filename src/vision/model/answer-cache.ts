import type { FrameAnnotation } from '../annotator.ts'

/** What is kept of an answer: everything but the frame it was given for. */
export type CachedAnswer = Omit<FrameAnnotation, 'frameId' | 'copiedFrom'>

/** Answers by picture, model and prompt version, which includes the vocabulary. A failing cache costs only a call. */
export interface AnswerCache {
  get(key: AnswerKey): Promise<CachedAnswer | null>
  set(key: AnswerKey, answer: CachedAnswer): Promise<void>
}

export interface AnswerKey {
  imageSha256: string
  model: string
  promptVersion: string
}
