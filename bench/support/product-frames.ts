import { seededRandom } from '../../test/support/seeded-random.ts'
import { keptFrame, type Sample, type Span, toWords } from './labelled-frames.ts'
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
  const { page, subject, or, ground } = drawDesign(design, random)
  const labels = { subject: subject ?? 'none', surface: 'motion-graphics', shot: 'no-face', zone: 'none' }
  const alsoAcceptable = { subject: or, surface: ['slide'] }
  const drawn = {
    words: [...page.matchAll(/<text [^>]*font-size="([\d.]+)"[^>]*>([^<]+)</g)].flatMap(([, size, content]) =>
      toWords(content!).map((word) => ({ word, size: Number(size) })),
    ),
    ground,
  }
  const span: Span = { file: design, fromSec: 0, toSec: 1, labels, alsoAcceptable, words: [], drawn }
  return { span, frame: await keptFrame(Buffer.from(page), `${design}-${seed}`, 1) }
}
