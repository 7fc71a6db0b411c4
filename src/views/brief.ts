import { z } from 'zod'
import { clip, clock, percent, plural, quote } from '../clean-text.ts'
import { AppError } from '../errors.ts'
import type { LoadedBoard } from '../library/collections/boards.ts'
import { type MeasureName, measureText, round, shortNumber } from '../library/films/measures.ts'
import { distance } from '../search/color.ts'
import type { FrameDocument } from '../search/library-search.ts'
import { type Oklab, toOklab } from '../vocabulary.ts'
import { type FilmDeps, type PublicFilm, readFilm, toShots, way } from './film.ts'
import { lengthOf, stretchesOf } from './rhythm.ts'

/**
 * A film, or a board as a storyboard, on one page that a person or an agent builds from. It is made of what is known;
 * no model is asked. What is not known is null, and the page says so.
 */

const text = z.string().nullable()
const seconds = z.number().min(0)
const Beat = z.strictObject({
  from_sec: seconds,
  to_sec: seconds,
  shots: z.int(),
  seen: text,
  measured: z.boolean(),
  on_screen_text: text,
  subject: text,
  technique: text,
  steal: text,
  way_in: way.nullable(),
  way_out: way.nullable(),
  held_share: z.number().nullable(),
  motion: z.number().nullable(),
  image_url: text,
  note: text.optional(),
})
type Beat = z.infer<typeof Beat>
export const Brief = z.strictObject({
  title: z.string(),
  author: text,
  source_url: text,
  palette: z.array(z.string()),
  beats: z.array(Beat),
  left: z.int(),
})
type Brief = z.infer<typeof Brief>

interface BriefDeps extends FilmDeps {
  publicUrl: string
}

/** A page has so many: of a film with more shots neighbours are told together. */
const MOST_BEATS = 24
/** The frames of a board that its storyboard shows. */
export const MOST_PANELS = 60
const MOST_WORDS = 300

type Shot = Pick<Beat, 'from_sec' | 'to_sec' | 'way_in' | 'way_out' | 'held_share' | 'motion'> & { frame_ids: string[] }
type Frames = readonly FrameDocument[]

const NO_BUILD = { shots: [] }
const UNKNOWN = { way_in: null, way_out: null, held_share: null, motion: null }

/** @throws AppError not_found, conflict for a film without frames */
export async function filmBrief(deps: BriefDeps, id: string): Promise<{ brief: Brief; page: string }> {
  const { video, frames, build, film } = await readFilm(deps, id)
  if (frames.length === 0) throw new AppError('conflict', 'This film has no frames, so there is nothing to brief.')
  const known = toShots(build, frames).shots
  const shots: readonly Shot[] = known.length > 0 ? known : unmeasured(frames, film.measures.duration_sec)
  const size = Math.ceil(shots.length / MOST_BEATS)
  const groups = shots.flatMap((_, n) => (n % size === 0 ? [shots.slice(n, n + size)] : []))
  const byId = new Map(frames.map((frame) => [frame.id, frame]))
  const beats = groups.map((group) => {
    const own = group.flatMap(({ frame_ids }) => frame_ids.map((id) => byId.get(id)!))
    return toBeat(group, own, deps.publicUrl)
  })
  const { title, author, source_url } = video
  const brief = { title, author, source_url, palette: paletteOf(frames), beats, left: 0 }
  return { brief, page: toPage(brief, filmLines(film)) }
}

/** The frames in their owner's order, each with the shot that it stands for. */
export async function boardBrief(deps: BriefDeps, { board, pins }: Pick<LoadedBoard, 'board' | 'pins'>) {
  const shown = pins.slice(0, MOST_PANELS)
  const frames = await deps.search.framesByIds(shown.map(({ frameId }) => frameId))
  const beatOf = new Map<string, Beat>()
  for (const [id, own] of Map.groupBy(frames, ({ video_id }) => video_id)) {
    const { shots } = toShots((await deps.films.build(id)) ?? NO_BUILD, own)
    for (const frame of own) {
      const [from_sec, to_sec] = frame.shot_sec ?? [frame.t_sec, frame.t_sec]
      const shot = shots.find(({ frame_ids }) => frame_ids.includes(frame.id))
      beatOf.set(frame.id, toBeat([shot ?? { ...UNKNOWN, from_sec, to_sec }], [frame], deps.publicUrl))
    }
  }
  const beats = shown.flatMap(({ frameId, note }) => {
    const beat = beatOf.get(frameId)
    return beat ? [{ ...beat, note }] : []
  })
  const left = board.itemCount - beats.length
  const brief = { title: board.name, author: null, source_url: null, palette: paletteOf(frames), beats, left }
  return { brief, page: toPage(brief, board.description ? [`About: ${inMarkdown(board.description, 600)}`] : []) }
}

/** Where no shots are known: from frame to frame. */
function unmeasured(frames: Frames, durationSec: number | null): Shot[] {
  return stretchesOf(frames, lengthOf(frames, durationSec), ({ id }) => id).map(({ from, to, value }) => {
    return { ...UNKNOWN, from_sec: round(from), to_sec: round(to), frame_ids: [value!] }
  })
}

/** Neighbouring shots as one beat; the first described frame stands for it. */
function toBeat(shots: readonly Omit<Shot, 'frame_ids'>[], frames: Frames, publicUrl: string): Beat {
  const [first, last] = [shots[0]!, shots.at(-1)!]
  const frame = frames.find(({ caption }) => caption !== null) ?? frames[0]
  const words = new Set(frames.flatMap(({ on_screen_text }) => on_screen_text?.trim() || []))
  const told = (text: string | null | undefined) => (text ? clip(text, MOST_WORDS) : null)
  return {
    from_sec: first.from_sec,
    to_sec: last.to_sec,
    shots: shots.length,
    seen: told(frame?.caption),
    measured: frame?.has_measured_caption === true,
    on_screen_text: told([...words].join(' / ')),
    subject: frame?.subject ?? null,
    technique: frame?.technique ?? null,
    steal: told(frames.find(({ steal }) => steal !== null)?.steal),
    way_in: first.way_in,
    way_out: last.way_out,
    held_share: meanOf(shots, 'held_share'),
    motion: meanOf(shots, 'motion'),
    image_url: frame ? publicUrl + frame.image_path : null,
  }
}

/** Over their time; null where one is unknown. */
function meanOf(shots: Parameters<typeof toBeat>[0], name: 'held_share' | 'motion'): number | null {
  if (shots.some((shot) => shot[name] === null)) return null
  const lengths = shots.map(({ from_sec, to_sec }) => to_sec - from_sec || 0.001)
  const sum = (values: number[]) => values.reduce((all, one) => all + one, 0)
  return round(sum(shots.map((shot, n) => shot[name]! * lengths[n]!)) / sum(lengths))
}

const MOST_COLORS = 6
/** In OKLab: nearer colours are shades of one. */
const APART = 0.12

/** The colours of most area, each unlike the others. */
function paletteOf(frames: Frames): string[] {
  const colors = frames.flatMap(({ palette, palette_shares }) =>
    palette.map((hex, n) => ({ hex, area: palette_shares[n] ?? 0 })),
  )
  const kept: { hex: string; color: Oklab }[] = []
  for (const { hex } of colors.sort((a, b) => b.area - a.area)) {
    const color = toOklab(hex)
    if (kept.every((other) => distance(other.color, color) > APART)) kept.push({ hex, color })
    if (kept.length === MOST_COLORS) break
  }
  return kept.map((one) => one.hex)
}

/** How a film is built as a whole, a line for each thing. */
export function filmLines({ measures, transitions, shares, text, unusual, missing, curves }: PublicFilm): string[] {
  const told = (name: MeasureName) => (measures[name] === null ? '?' : measureText(name, measures[name]))
  const reasons = [...new Set(Object.values(missing))]
  const ways = transitions.map(({ kind, count, median_sec }) => plural(count, kind) + ofSeconds(median_sec))
  const isLong = curves.pace && (measures.shots ?? 0) >= 6
  return [
    `Pace: ${told('shots_a_minute')} shots a minute${isLong ? thirds(curves.pace!) : ''}. Shot: median ` +
      `${told('shot_median_sec')}.`,
    `Ways from shot to shot: ${ways.join(', ') || 'none'}.`,
    `Still picture ${told('held_share')} of the time. Movement ${told('motion')} levels a second.`,
    `Light ${told('luma')} of 255, contrast ${told('contrast')}, colour ${told('colour')}.`,
    `Sound ${told('loudness')}, silent ${told('silence_share')} of the time.`,
    `Of the time: ${shares.subject.map(({ value, share }) => `${value} ${percent(share)}`).join(', ') || '?'}.`,
    `Text at least ${percent(text.share)} of the time, ${plural(text.cards, 'card')}.${tooFast(text)}`,
    unusual.length > 0
      ? `Unusual here: ${unusual.join('; ')}.`
      : 'Nothing is unusual here, or too few films are known.',
    ...(reasons.length > 0 ? [`? is unknown: ${reasons.join(' ')}`] : []),
  ]
}

const ofSeconds = (length: number) => (length > 0 ? ` of ${shortNumber(length)} s` : '')

function thirds(pace: readonly number[]): string {
  const third = (n: number) => pace.slice(Math.round((n * pace.length) / 3), Math.round(((n + 1) * pace.length) / 3))
  const aMinute = (part: readonly number[]) => shortNumber((60 * part.reduce((sum, one) => sum + one, 0)) / part.length)
  return ` (its thirds ${[0, 1, 2].map((n) => aMinute(third(n))).join(', ')})`
}

function tooFast({ too_fast }: PublicFilm['text']): string {
  if (too_fast.length === 0) return ''
  const cards = too_fast
    .slice(0, 4)
    .map(({ t_sec, per_second, frame_id }) => `${clock(t_sec)} ${shortNumber(per_second)}/s ${frame_id}`)
  return ` Too fast to read: ${cards.join(', ')}${too_fast.length > 4 ? `, and ${too_fast.length - 4} more` : ''}.`
}

/** Text of videos, models and people, in double quotes on one line, where it makes no Markdown of its own. */
const inMarkdown = (text: string, max: number) => quote(text, max).replace(/[\\`*_<>[\]!]/g, '\\$&')

function toPage({ title, author, source_url, palette, beats, left }: Brief, about: string[]): string {
  const sum = beats.reduce((all, { from_sec, to_sec }) => all + to_sec - from_sec, 0)
  const more = left > 0 ? `; ${plural(left, 'more frame')} left out` : ''
  const source = source_url && /^[^\s<>]{1,300}$/.test(source_url) ? `, <${source_url}>` : ''
  const techniques = [...new Set(beats.flatMap(({ technique }) => technique ?? []))]
  return [
    `# ${inMarkdown(title, 160)}${author ? ` by ${inMarkdown(author, 80)}` : ''}`,
    '',
    `${plural(beats.length, 'beat')}, ${shortNumber(sum)} s${more}${source}`,
    '',
    ...about.map((line) => `- ${line}`),
    `- Palette: ${palette.join(' ') || 'unknown'}.`,
    `- Techniques: ${techniques.join(', ') || 'unknown'}.`,
    ...beats.flatMap((beat, n) => ['', ...beatLines(beat, n + 1)]),
    '',
  ].join('\n')
}

function beatLines(beat: Beat, n: number): string[] {
  const { from_sec, to_sec, shots, subject, technique, measured, image_url } = beat
  const told = (name: 'held_share' | 'motion') => (beat[name] === null ? 'unknown' : measureText(name, beat[name]))
  const said = (what: string, text: string | null | undefined) =>
    text ? [`- ${what}: ${inMarkdown(text, MOST_WORDS)}`] : []
  const traits = [subject, technique, shots > 1 ? plural(shots, 'shot') : null].filter((one) => one !== null)
  return [
    `## ${n}. ${from_sec}–${to_sec} s${traits.length > 0 ? `: ${traits.join(', ')}` : ''}`,
    '',
    `- Seen: ${beat.seen === null ? 'unknown' : inMarkdown(beat.seen, MOST_WORDS)}${measured ? ' (measured)' : ''}`,
    ...said('Words', beat.on_screen_text),
    `- In: ${wayText(beat.way_in)}. Out: ${wayText(beat.way_out)}.`,
    `- Still picture: ${told('held_share')}. Movement: ${told('motion')}.`,
    ...said('Take', beat.steal),
    ...said('Note', beat.note),
    ...(image_url === null ? [] : [`- ![${clock(from_sec)}](${image_url})`]),
  ]
}

function wayText(given: Beat['way_in']): string {
  if (given === null) return 'unknown'
  return given.kind + ofSeconds(given.length_sec) + (given.through ? ` through ${given.through}` : '')
}
