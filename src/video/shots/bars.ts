import { MINI_HEIGHT, MINI_WIDTH } from './features.ts'

/** Black bars around a picture, in cells of the mini image. */
export interface Bars {
  top: number
  bottom: number
  left: number
  right: number
}

/** The black bars that two pictures have in common; null without any. They say nothing of a shot. */
export function commonBars(a: Uint8Array, b: Uint8Array): Bars | null {
  const count = (line: number, side: Side) => {
    let lines = 0
    while (lines < line && isBlack(a, lines, side) && isBlack(b, lines, side)) lines++
    return lines
  }
  const [rows, columns] = [Math.floor(MINI_HEIGHT / 3), Math.floor(MINI_WIDTH * 0.4)]
  const [top, left] = [count(rows, SIDES.top), count(columns, SIDES.left)]
  const [bottom, right] = [count(rows, SIDES.bottom), count(columns, SIDES.right)]
  return top + bottom + left + right === 0 ? null : { top, bottom, left, right }
}

interface Side {
  start: number
  /** From one line to the next one further inside. */
  inward: number
  along: number
  length: number
}

const SIDES: Record<keyof Bars, Side> = {
  top: { start: 0, inward: MINI_WIDTH, along: 1, length: MINI_WIDTH },
  bottom: { start: (MINI_HEIGHT - 1) * MINI_WIDTH, inward: -MINI_WIDTH, along: 1, length: MINI_WIDTH },
  left: { start: 0, inward: 1, along: MINI_WIDTH, length: MINI_HEIGHT },
  right: { start: MINI_WIDTH - 1, inward: -1, along: MINI_WIDTH, length: MINI_HEIGHT },
}

/** Limited range black is 16, and codecs ring around it. */
const BLACK = 22

function isBlack(mini: Uint8Array, line: number, { start, inward, along, length }: Side): boolean {
  for (let k = 0; k < length; k++) if (mini[start + line * inward + k * along]! > BLACK) return false
  return true
}
