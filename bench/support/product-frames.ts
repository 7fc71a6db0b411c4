import { createHash } from 'node:crypto'
import sharp from 'sharp'
import { encodeImages } from '../../src/video/extract/frame-images.ts'
import { differenceHash, measureLuma } from '../../src/video/extract/measure.ts'
import { seededRandom } from '../../test/support/seeded-random.ts'
import type { Sample, Span } from './labelled-frames.ts'
import { DESIGNS, type Design, drawDesign } from './product-drawings.ts'

/** Seeds below this were looked at while the rules were made. */
const FIRST_HELD_APART = 1000

/** Frames of every design, all of seeds held out. */
export async function makeProductFrames(ofEach: number): Promise<Sample[]> {
  const samples: Sample[] = []
  for (const design of DESIGNS)
    for (let n = 0; n < ofEach; n++) samples.push(await makeProductFrame(design, FIRST_HELD_APART + n))
  return samples
}

/** One frame of a design as the pipeline keeps it, with its labels. */
async function makeProductFrame(design: Design, seed: number): Promise<Sample> {
  const random = seededRandom(seed * 7919 + DESIGNS.indexOf(design) * 104_729)
  const { page, subject, or } = drawDesign(design, random)
  const data = await sharp(Buffer.from(page)).removeAlpha().raw().toBuffer()
  const { image } = await encodeImages(data, 1280, 720)
  const grey = await sharp(image).resize(160, 90, { fit: 'fill' }).removeAlpha().grayscale().raw().toBuffer()
  const labels = { subject: subject ?? 'none', surface: 'motion-graphics', shot: 'no-face', zone: 'none' }
  const span: Span = {
    file: design,
    fromSec: 0,
    toSec: 1,
    labels,
    alsoAcceptable: { subject: or, surface: ['slide'] },
    words: [],
  }
  return {
    span,
    frame: {
      id: `${design}-${seed}`,
      tSec: 1,
      kind: 'beat',
      image,
      imageSha256: createHash('sha256').update(image).digest('hex'),
      width: 1280,
      height: 720,
      ...measureLuma(data),
      motion: 0,
      phash: differenceHash(grey),
      reason: 'drawn',
    },
  }
}
