import type { Decoding } from './decode.ts'
import { toImageSize } from './decode-arguments.ts'
import { type ExtractedFrame, writeFrame, writeLoop } from './frame-images.ts'
import type { PickedFrame } from './kept-frames.ts'
import type { Loop } from './loops.ts'
import { toRgb, type YuvPicture } from './measure.ts'
import type { Probe } from './probe.ts'

/** Pictures that may wait for their encoding before the decoding is paused. */
const MAX_WAITING = 6

export interface FrameWriter {
  readonly frames: ExtractedFrame[]
  /** Names the decode pass, which is paused while too many pictures wait and stopped when one cannot be written. */
  attach(decoding: Decoding): void
  write(picked: PickedFrame, motion: number): void
  /** Gives a frame its loop, once the frame is written. */
  writeLoop(loop: Loop): void
  /** Waits for all pictures. Throws the first failure to write one. */
  finish(): Promise<void>
  /** Drops the pictures that still wait. Resolves when none is being written. */
  close(): Promise<void>
}

/** Encodes picked frames one after another while decoding goes on. `release` gets each picture's memory back. */
export function createFrameWriter(
  options: { scratchDir: string; signal: AbortSignal },
  probe: Probe,
  { release, onWritten }: { release: (memory: Uint8Array) => void; onWritten: (done: number) => void },
): FrameWriter {
  const { width, height } = toImageSize(probe)
  // Pictures are encoded one after another, so one buffer serves them all.
  const rgb = new Uint8ClampedArray(width * height * 3)
  const frames: ExtractedFrame[] = []
  let decoding: Decoding | null = null
  let last: Promise<void> = Promise.resolve()
  let waiting = 0
  let closed = false
  let failure: unknown = null

  const toPixels = (picture: YuvPicture, into?: Uint8ClampedArray) =>
    toRgb(picture, decoding?.colorSpace ?? null, probe.height, into)

  async function writeOne(picked: PickedFrame, motion: number): Promise<void> {
    const { picture } = picked.candidate
    const pixels = toPixels(picture, rgb)
    frames.push(await writeFrame(options.scratchDir, picked, { rgb: pixels, motion, toPixels }))
    release(picture.data)
    onWritten(frames.length)
  }

  async function writeOneLoop(loop: Loop): Promise<void> {
    const frame = frames.find(({ tMs }) => tMs === loop.tMs)
    if (frame) frame.loop = await writeLoop(options.scratchDir, loop, toPixels)
  }

  function enqueue(write: () => Promise<void>): void {
    waiting++
    if (waiting >= MAX_WAITING) decoding?.hold(true)
    last = last
      .then(() => (closed || options.signal.aborted ? undefined : write()))
      .catch((error) => {
        closed = true
        failure ??= error
        decoding?.stop(error)
      })
      .finally(() => {
        waiting--
        if (waiting < MAX_WAITING) decoding?.hold(false)
      })
  }

  return {
    frames,
    attach(started) {
      decoding = started
    },
    write: (picked, motion) => enqueue(() => writeOne(picked, motion)),
    writeLoop: (loop) => enqueue(() => writeOneLoop(loop)),
    async finish() {
      await last
      if (failure) throw failure
    },
    async close() {
      closed = true
      await last
    },
  }
}
