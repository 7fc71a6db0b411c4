import { z } from 'zod'
import { cleanText } from '../../clean-text.ts'
import { readGiven } from '../../errors.ts'
import { DetailEdit, editVideo, MAX_NAME, mergeBrands } from '../../library/videos/details.ts'
import type { VideoReport } from '../../library/videos/video-status.ts'
import { PLATFORMS } from '../../vocabulary.ts'
import { type Actions, field } from '../actions.ts'
import type { Visitor } from '../guard.ts'
import { formToken, type Html, hidden, html, options, trusted, valueLabel } from '../html.ts'
import type { PageDeps } from '../page-deps.ts'

/* Title, brand, platform and date of videos: where they are added, and the form that changes them later. */

const { filled } = field
/** As forms send them. */
export const DetailFields = z.object({ title: filled, author: filled, platform: filled, published_at: filled })

/** A video as its form shows it. */
type Shown = Pick<VideoReport, 'id' | 'title' | 'author' | 'platform' | 'published_at'>

const shownOf = ({ title, author, platform, published_at }: Shown) => {
  return { title, author: author ?? '', platform, published_at: published_at?.slice(0, 10) ?? '' }
}

/** The fields, one set on a page. Without a video they are empty. `titled`: they are those of a single video. */
export function detailFields({ video, titled = true }: { video?: Shown; titled?: boolean }): Html {
  const shown = video ? shownOf(video) : { title: '', author: '', platform: '', published_at: '' }
  const input = (name: keyof typeof shown, label: string, more: string) => html`<div class="field">
<label for="${name}">${label}</label><input id="${name}" name="${name}" value="${shown[name]}"
maxlength="${MAX_NAME}" autocomplete="off"${trusted(more)}></div>`
  const platforms = PLATFORMS.map((one) => [one, valueLabel(one)] as const)
  return html`${titled && input('title', 'Title', video ? ' required' : '')}${input('author', 'Brand', '')}
<div class="field"><label for="platform">Platform</label><select id="platform" name="platform">
${options(video ? platforms : [['', 'As it is found'], ...platforms], shown.platform)}</select></div>
${input('published_at', 'Published', ' type="date"')}`
}

/**
 * What is said of a video, to change where the video stands. Without a visitor the page is shared: a script adds the
 * session's token, and without one the person is asked once more. `back`: the page that follows.
 */
export function detailForm(video: Shown, { visitor, back }: { visitor?: Visitor; back: string }): Html {
  return html`<form method="post" action="/web/operator/videos/${video.id}/edit">${visitor && formToken(visitor)}
${hidden('back', back)}${hidden('was', JSON.stringify(shownOf(video)))}${detailFields({ video })}
${
  video.author !== null &&
  html`<label class="box"><input type="checkbox" name="all" value="1"> Change the brand of all other videos by
“${video.author}” too, for example where it is spelt in two ways</label>`
}
<button class="primary">Save</button></form>`
}

export function addDetailActions(actions: Actions, { db }: PageDeps): void {
  const body = DetailFields.extend({ was: field.json, all: field.flag })
  const confirm = () => ({
    title: 'Change the details?',
    body: html`<p>They change for every reader.</p>`,
    button: 'Save',
  })
  const edit = { path: '/web/operator/videos/:id/edit', who: 'operator', price: 'heavy', body, confirm } as const
  actions.action(edit, async ({ visitor, body: { was, all, ...fields }, param }) => {
    // Only what this person changed: what another one changed meanwhile stays.
    const shown = new Map(Object.entries(Object(was)))
    const changed = Object.entries(fields).filter(([name, text = '']) => text !== (shown.get(name) ?? ''))
    const details = readGiven(DetailEdit, Object.fromEntries(changed.map(([name, text]) => [name, text ?? null])))
    const [from, into] = [cleanText(String(shown.get('author'))), details.author]
    const accountId = visitor.account.id
    const { id } = await editVideo(db, { id: param('id'), accountId, details })
    if (all && into) await mergeBrands(db, { from, into, accountId })
    return { json: { id }, to: `/operator/videos/${id}?saved=1` }
  })
}
