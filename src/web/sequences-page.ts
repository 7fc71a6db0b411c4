import type { PublicFrame } from '../views/frame.ts'
import { SEQUENCE_STEPS } from '../views/sequences.ts'
import { type Html, html, nextPage, options } from './html.ts'
import { clock, counted, valueLabel } from './words.ts'

interface Found {
  video_id: string
  steps: readonly { frame: PublicFrame; from_sec: number; to_sec: number; gap_sec: number | null }[]
}

export interface SequencesData {
  first: string
  between: string
  second: string
  sequences: readonly Found[]
  films: number
  unknown: number
  next: string | null
}

const BETWEEN = [
  ['next', 'Right after it'],
  ['3s', 'Within 3 seconds'],
  ['10s', 'Within 10 seconds'],
  ['any', 'Any time later'],
] as const

/** `/sequences`: one thing after another in a film. It works without script. */
export function sequencesPage({ first, between, second, sequences, films, unknown, next }: SequencesData): Html {
  const hidden = unknown > 0 && ` ${counted(unknown, 'frame')} without a value could hide more.`
  const where = `first=${first}&between=${between}&second=${second}`
  return html`<header class="entity"><h1>Sequences</h1>
<p class="lead">What follows what in a film: ${counted(sequences.length, 'place')} in ${counted(films, 'film')} that
${films === 1 ? 'has' : 'have'} both.${hidden}</p></header>
<form class="sorting" action="/sequences"><label>First <select name="first">${choices(first)}</select></label>
<label>Between <select name="between">${options(BETWEEN, between)}</select></label>
<label>Then <select name="second">${choices(second)}</select></label> <button>Find</button></form>
${sequences.length === 0 && html`<p class="empty">No film has one after the other so. Allow more time between.</p>`}
<ol class="sequences">${sequences.map(found)}</ol>
${nextPage(next && `/sequences?${where}&after=${next}`)}`
}

function choices(chosen: string): Html[] {
  return Object.entries(SEQUENCE_STEPS).map(
    ([name, values]) =>
      html`<optgroup label="${valueLabel(name)}">${options(
        values.map((value) => [`${name}.${value}`, valueLabel(value)]),
        chosen,
      )}</optgroup>`,
  )
}

function found({ video_id, steps }: Found): Html {
  const [{ frame }] = steps as [Found['steps'][number]]
  const pictures = steps.map(
    ({ frame: shown, from_sec, to_sec }) => html`<li><a href="/frames/${shown.id}"><img src="${shown.thumb_url}"
alt="${shown.caption ?? ''}" width="${shown.width}" height="${shown.height}" loading="lazy" decoding="async"></a>
<span class="hint">${clock(from_sec)} to ${clock(to_sec)}</span></li>`,
  )
  return html`<li><a href="/videos/${video_id}">${frame.video.title}</a><ol>${pictures}</ol></li>`
}
