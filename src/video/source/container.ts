/** What a file must be: the containers that ffmpeg may open (src/video/extract/ffmpeg.ts), by their usual names. */
export const CONTAINERS = ['MP4', 'MOV', 'WebM', 'MKV', 'AVI', 'MPEG-TS'] as const

/** Enough of a file's beginning to tell what it is. */
export const HEAD_BYTES = 1024

const BOXES = ['ftyp', 'moov', 'mdat', 'free', 'skip', 'wide', 'pnot']
/** Packets of MPEG-TS: plain, with a time code before each, with a check sum behind each. */
const PACKETS = [188, 192, 204]
const SYNC = 0x47

/**
 * True when a file's beginning is that of one of `CONTAINERS`. A look, not a promise: the decoder says whether the rest
 * is whole.
 */
export function looksLikeVideo(head: Uint8Array): boolean {
  const text = (from: number, to: number) => Buffer.from(head.subarray(from, to)).toString('latin1')
  if (BOXES.includes(text(4, 8))) return true
  if (text(0, 4) === '\x1A\x45\xDF\xA3') return true
  if (text(0, 4) === 'RIFF' && text(8, 12) === 'AVI ') return true
  return PACKETS.some((length) => isPackets(head, length))
}

/** Three packets in a row begin with the sync byte, wherever the first of them begins. */
function isPackets(head: Uint8Array, length: number): boolean {
  for (let first = 0; first < length && first + 2 * length < head.length; first++)
    if ([0, 1, 2].every((n) => head[first + n * length] === SYNC)) return true
  return false
}
