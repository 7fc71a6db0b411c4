import { MediaError } from '../../errors.ts'

/** Allowed containers, for error messages. */
export const CONTAINERS_ALLOWED = 'Allowed: MP4, MOV, WebM, Matroska, AVI, MPEG-TS.'
/** How many of a file's first bytes `checkMagic` needs. */
export const SNIFF_BYTES = 384

/**
 * Checks a file's first bytes against the supported containers. This is only a first filter: the probe decides.
 * @throws MediaError not_a_video
 */
export function checkMagic(head: Uint8Array, contentType?: string): void {
  const text = Buffer.from(head.subarray(0, 16)).toString('latin1')
  const isMp4 = ['ftyp', 'moov', 'mdat', 'wide', 'free', 'skip', 'pnot'].includes(text.slice(4, 8))
  const isMatroska = head[0] === 0x1a && head[1] === 0x45 && head[2] === 0xdf && head[3] === 0xa3
  const isAvi = text.startsWith('RIFF') && text.slice(8, 12) === 'AVI '
  // Packets of 188 bytes, or of 192 with a time code before each.
  const isTs =
    (head[0] === 0x47 && (head.length <= 188 || head[188] === 0x47)) || (head[4] === 0x47 && head[196] === 0x47)
  if (isMp4 || isMatroska || isAvi || isTs) return
  const isPage = /text\/html|xhtml/i.test(contentType ?? '') || /^\s*<(!doctype|html|\?xml)/i.test(text)
  throw new MediaError(
    'not_a_video',
    isPage
      ? 'This is a web page, not a video file. Use the address of the file itself.'
      : `The file is not a video. ${CONTAINERS_ALLOWED}`,
  )
}
