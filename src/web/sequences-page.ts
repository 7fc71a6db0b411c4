import { type readSequences, SEQUENCE_STEPS } from '../views/sequences.ts'
import { hidden as hiddenField } from './actions.ts'
import { exportsPanel } from './film-panels.ts'
import { type Html, html, nextPage, options } from './html.ts'
import { clock, counted, valueLabel } from './words.ts'

type Page = Awaited<ReturnType<typeof readSequences>>
type Found = Page['sequences'][number]
interface SequencesData extends Page {
  /** What is asked for. */
  seq: string
  /** The query of this page, and of the same as a file. */
  where: string
  file: string
  /** The brand and the platform that the films are of. */
  narrowed: URLSearchParams
}

const BETWEEN = [
  ['next', 'Right after it'],
  ['3s', 'Within 3 seconds'],
  ['10s', 'Within 10 seconds'],
  ['any', 'Any time later'],
] as const

/** `/sequences`: one thing after another in a film. It works without script. */
export function sequencesPage(given: SequencesData): Html {
  const { seq, where, file, narrowed, sequences, films, unknown, next } = given
  const [first = '', between = '', second = '', ...more] = seq.split('~')
  const isInForm = isStep(first) && isStep(second) && BETWEEN.some(([value]) => value === between) && more.length === 0
  const hidden = unknown > 0 && ` ${counted(unknown, 'frame')} without a value could hide more.`
  return html`<header class="entity"><h1>Sequences</h1>
<p class="lead">What follows what in a film: ${counted(sequences.length, 'place')} in ${counted(films, 'film')} that
${films === 1 ? 'has' : 'have'} ${isInForm ? 'both' : html`all of <code>${seq}</code>`}.${hidden}</p></header>
${
  narrowed.size > 0 &&
  html`<p>Only ${[...narrowed.values()].join(', ')}. <a href="/sequences?${new URLSearchParams({ seq }).toString()}">All
films</a></p>`
}
<form class="sorting" action="/sequences">${[...narrowed].map(([name, value]) => hiddenField(name, value))}
<label>First <select name="first">${choices(first)}</select></label>
<label>Between <select name="between">${options(BETWEEN, between)}</select></label>
<label>Then <select name="second">${choices(second)}</select></label> <button>Find</button></form>
${sequences.length === 0 && html`<p class="empty">No film has one after the other so. Allow more time between.</p>`}
<ol class="sequences">${sequences.map(found)}</ol>
${nextPage(next && `/sequences?${where}&after=${next}`)}
${sequences.length > 0 && exportsPanel('Take them along', '/api/sequences/timeline', file)}`
}

const isStep = (step: string): boolean =>
  Object.entries(SEQUENCE_STEPS).some(([name, values]) => values.some((value) => step === `${name}.${value}`))

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
