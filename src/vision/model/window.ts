import type { TechniqueTerm } from '../annotator.ts'
import { writeSystemPrompt } from './prompt.ts'

/** Tokens for one frame's answer, and for what is around it. */
const TOKENS_PER_FRAME = 600
const TOKENS_BASE = 200

/** Beside the pictures of a call: title, names of frames, marks of the chat. */
const TOKENS_AROUND = 150

/** Pixels of a cell: Qwen's models take 28 or 32. For others it is an estimate. */
const CELL = 28

export function tokensOfPicture(width: number, height: number): number {
  return Math.ceil(width / CELL) * Math.ceil(height / CELL)
}

/** A picture of 16:9 with much text. A few are larger: 4:3 or square. */
export const WIDE_PICTURE = tokensOfPicture(1280, 720)

/** At most: three tokenizers make a token of 4.0 to 4.3 bytes of the instructions. */
export function tokensOfInstructions(techniques: readonly TechniqueTerm[]): number {
  return Math.ceil(Buffer.byteLength(writeSystemPrompt(techniques)) / 4) + TOKENS_AROUND
}

/** The room of an answer about some frames, as a multiple of the usual. */
export const answerRoom = (frames: number, room: number) => (TOKENS_BASE + frames * TOKENS_PER_FRAME) * room

/** Cuts frames into calls that fit the window, one at least in each. */
export function cutToWindow<T extends { tokens: number }>(
  frames: readonly T[],
  { window, instructions, room }: { window: number | undefined; instructions: number; room: number },
): T[][] {
  const calls: T[][] = []
  for (const frame of frames) {
    const call = calls.at(-1)
    const together = [...(call ?? []), frame]
    const needed = instructions + tokensOf(together) + answerRoom(together.length, room)
    if (call && needed <= (window ?? Number.POSITIVE_INFINITY)) call.push(frame)
    else calls.push([frame])
  }
  return calls
}

export const tokensOf = (frames: readonly { tokens: number }[]) => frames.reduce((sum, { tokens }) => sum + tokens, 0)
