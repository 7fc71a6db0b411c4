import type { BrandDocument, FramePage, TechniqueDocument, VideoDocument } from '../search/library-search.ts'
import { frameGrid } from './frame-card.ts'
import { type Html, html } from './html.ts'
import { capitalized, clock, counted, percent, thousands, valueLabel } from './words.ts'

/** Brands and techniques: their lists, and a page for each. */

export interface BrandData {
  name: string
  videos: readonly VideoDocument[]
  found: FramePage
  vocabulary: readonly TechniqueDocument[]
}

/** `/brands/{name}` */
export function brandPage({ name, videos, found, vocabulary }: BrandData): Html {
  const wall = `/?author=${encodeURIComponent(name)}`
  return html`<header class="entity"><h1>${name}</h1>
<p class="lead">${counted(found.total ?? 0, 'frame')} · <a href="${wall}">All on the wall</a></p></header>
<section><h2>Best frames</h2>${best(found)}</section>
${shares(
  found,
  [
    ['subject', 'Subjects'],
    ['surface', 'Made with'],
  ],
  wall,
)}
${techniqueShares(found, vocabulary, wall)}
<section><h2>Videos</h2>${tiles(videos.map(videoTile))}</section>`
}

export interface TechniqueData {
  technique: TechniqueDocument
  found: FramePage
}

/** `/techniques/{slug}` */
export function techniquePage({ technique, found }: TechniqueData): Html {
  const { slug, name, description } = technique
  const wall = `/?technique=${slug}`
  const total = found.total ?? 0
  const intros = found.facets?.kind.intro ?? 0
  return html`<header class="entity"><h1>${capitalized(name)}</h1>
<p class="lead">${description}</p>
<p class="hint">${counted(total, 'frame')}${total > 0 && `, ${percent(intros / total)} of them in openings`}
· <a href="${wall}">All on the wall</a></p></header>
<section><h2>Best frames</h2>${best(found)}</section>
${brandShares(found, wall)}
${shares(
  found,
  [
    ['subject', 'Subjects'],
    ['surface', 'Made with'],
    ['platform', 'Platforms'],
  ],
  wall,
)}`
}

function best({ frames }: FramePage): Html {
  if (frames.length === 0) return html`<p class="empty">No frame has it yet.</p>`
  return frameGrid(
    frames.slice(0, 24).map(({ document }) => document),
    { from: 0 },
  )
}

type SharedAttribute = 'subject' | 'surface' | 'platform'

function shares(found: FramePage, attributes: readonly [SharedAttribute, string][], wall: string): Html {
  return html`<div class="shares">${attributes.map(([name, label]) =>
    bars(label, found.facets?.[name] ?? {}, (value) => ({
      href: `${wall}&${name}=${value}`,
      label: valueLabel(value),
    })),
  )}</div>`
}

function brandShares({ facets }: FramePage, wall: string): Html {
  const toEntry = (value: string) => ({ href: `/brands/${encodeURIComponent(value)}`, label: value })
  return html`<div class="shares">${bars('Where it is used', facets?.author ?? {}, toEntry, wall)}</div>`
}

function techniqueShares({ facets }: FramePage, vocabulary: readonly TechniqueDocument[], wall: string): Html {
  const names = new Map(vocabulary.map(({ slug, name }) => [slug, name]))
  const toEntry = (slug: string) => ({
    href: `/techniques/${slug}`,
    label: capitalized(names.get(slug) ?? valueLabel(slug)),
  })
  return html`<div class="shares">${bars('Techniques', facets?.technique ?? {}, toEntry, wall)}</div>`
}

const MOST = 8

/** A value's share as a bar and in words. The longest bar is the most frequent value. */
function bars(
  label: string,
  counts: Readonly<Record<string, number>>,
  toEntry: (value: string) => { href: string; label: string },
  more?: string,
): Html | false {
  const sorted = Object.entries(counts)
    .filter(([, count]) => count > 0)
    .sort(([, m], [, n]) => n - m)
  const [first] = sorted
  if (!first) return false
  const most = first[1]
  const row = ([value, count]: [string, number]) => {
    const entry = toEntry(value)
    const width = Math.max(1, Math.round((count / most) * 100))
    return html`<li><a href="${entry.href}">${entry.label}</a> <span class="hint">${counted(count, 'frame')}</span>
<svg viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true"><rect width="${width}" height="4"
fill="currentColor"/></svg></li>`
  }
  const rest = sorted.length - MOST
  return html`<section><h2>${label}</h2><ul class="bars">${sorted.slice(0, MOST).map(row)}</ul>
${rest > 0 && more !== undefined && html`<p class="hint"><a href="${more}">${thousands(rest)} more</a></p>`}</section>`
}

interface Tile {
  href: string
  label: string
  hint: string
  image: string | null
}

function tiles(all: readonly Tile[]): Html {
  return html`<ul class="tiles">${all.map(
    ({ href, label, hint, image }, n) =>
      html`<li><a href="${href}">${
        image === null
          ? html`<span class="no-picture"></span>`
          : html`<img src="${smallPicture(image)}" alt="" width="480" height="270"${
              n > 11 && html` loading="lazy"`
            } decoding="async">`
      }<span class="label">${label}</span><span class="hint">${hint}</span></a></li>`,
  )}</ul>`
}

/** The small form of an image's path. */
/** The thumbnail beside a picture. A signature is of the picture alone, so it is left out: pages have a session. */
export const smallPicture = (path: string): string => path.replace(/\.webp(\?.*)?$/, '-480.webp')

const videoTile = ({ id, title, duration_sec, frame_count, image_path }: VideoDocument): Tile => ({
  href: `/videos/${id}`,
  label: title,
  hint: `${duration_sec === null ? '' : `${clock(duration_sec)} · `}${counted(frame_count, 'frame')}`,
  image: image_path,
})

/** `/brands` */
export function brandsPage(brands: readonly BrandDocument[], next: string | null, after: string | undefined): Html {
  const all = brands.map(
    ({ name, video_count, frame_count, image_path }): Tile => ({
      href: `/brands/${encodeURIComponent(name)}`,
      label: name,
      hint: `${counted(video_count, 'video')} · ${counted(frame_count, 'frame')}`,
      image: image_path,
    }),
  )
  const none = html`<p class="empty">No brand is known yet: a video names its brand or channel.</p>`
  return html`<header class="entity"><h1>Brands</h1></header>
${all.length === 0 ? none : tiles(all)}
<nav class="pager" aria-label="Pages">${after !== undefined && html`<a class="button" href="/brands">First page</a>`}
${next !== null && html`<a class="button" rel="next" href="/brands?after=${next}">Next →</a>`}</nav>`
}

/** `/techniques`: those that frames use first. */
export function techniquesPage(vocabulary: readonly TechniqueDocument[]): Html {
  const used = vocabulary.filter(({ frame_count }) => frame_count > 0)
  const unused = vocabulary.filter(({ frame_count }) => frame_count === 0)
  const toTile = ({ slug, name, frame_count, image_path }: TechniqueDocument): Tile => ({
    href: `/techniques/${slug}`,
    label: capitalized(name),
    hint: counted(frame_count, 'frame'),
    image: image_path,
  })
  const byUse = used.sort((one, other) => other.frame_count - one.frame_count)
  return html`<header class="entity"><h1>Techniques</h1>
<p class="lead">Named moves of launch and product videos, each with its definition and the frames that use it.</p>
</header>
${byUse.length > 0 && tiles(byUse.map(toTile))}
${
  unused.length > 0 &&
  html`<section><h2>Not seen yet</h2><dl class="definitions">${unused.map(
    ({ slug, name, description }) =>
      html`<div><dt><a href="/techniques/${slug}">${capitalized(name)}</a></dt><dd>${description}</dd></div>`,
  )}</dl></section>`
}`
}
