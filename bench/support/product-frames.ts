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

/** Words of each language with its marks, and some without. */
const LANGUAGES = {
  German: 'Für größere Teams|Änderungen öffnen, prüfen und zurück|Heiße Grüße, schöne Straße|Täglich läuft mehr',
  French: 'Créez votre équipe dès la première journée|Le reçu, où est le vôtre|Un hôtel à côté|Même à Noël, le cœur',
  Spanish: 'Diseño rápido para cada niño|Mañana también habrá más páginas|¿Cómo se llama?|Aquí está la acción del año',
}

/** Lines of each language in two typefaces and sizes, dark on bright and bright on dark. */
export async function makeLanguageFrames(): Promise<Sample[]> {
  const samples: Sample[] = []
  for (const [language, text] of Object.entries(LANGUAGES))
    for (const [n, [font, size, ground, ink]] of [
      ['DejaVu Sans', 22, '#ffffff', '#111827'],
      ['DejaVu Serif', 38, '#101935', '#f1e9da'],
    ].entries()) {
      const rows = text.split('|').map((line, row) => `<text x="90" y="${160 + row * 130}">${line}</text>`)
      const page = `<svg xmlns="http://www.w3.org/2000/svg" width="1280" height="720"><rect width="1280" height="720"
        fill="${ground}"/><g font-family="${font}" font-size="${size}" fill="${ink}">${rows.join('')}</g></svg>`
      const span = { file: language, fromSec: 0, toSec: 1, labels: {}, alsoAcceptable: {}, words: toWords(text) }
      samples.push({ span, frame: await keptFrame(Buffer.from(page), `${language}-${n}`, 1) })
    }
  return samples
}
