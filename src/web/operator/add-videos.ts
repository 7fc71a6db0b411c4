import { z } from 'zod'
import { readGiven } from '../../errors.ts'
import { type CheckedAddress, checkAddresses, splitAddresses, submitAddresses } from '../../library/videos/addresses.ts'
import { NewDetails } from '../../library/videos/details.ts'
import { submitUpload } from '../../library/videos/submit.ts'
import { type Actions, field } from '../actions.ts'
import type { Visitor } from '../guard.ts'
import { counted, formToken, type Html, hidden, html, table } from '../html.ts'
import type { PageDeps } from '../page-deps.ts'
import { DetailFields, detailFields } from './video-details.ts'

const some = { who: 'operator', price: 'heavy' } as const
const addresses = field.text.transform(splitAddresses)

/** How operators add videos: by addresses, and by a file. */
export function addNewVideos(actions: Actions, deps: PageDeps): void {
  addAddressActions(actions, deps)
  addUpload(actions, deps)
}

/** Addresses are told first and queued second. */
function addAddressActions(actions: Actions, { db, ytdlp }: PageDeps): void {
  const check = { ...some, path: '/web/videos/check', body: z.object({ addresses }) }
  actions.action(check, async ({ visitor, body }) => {
    const checked = await checkAddresses(db, body.addresses, ytdlp)
    return { page: { title: 'Add videos', current: 'operator', body: checkedPage(visitor, checked) } }
  })

  const queue = { ...some, path: '/web/videos', body: DetailFields.extend({ addresses, backfill: field.flag }) }
  actions.action(queue, async ({ body: { addresses: given, backfill, ...details } }) => {
    const queued = await submitAddresses(db, given, { ytdlp, backfill, ...readGiven(NewDetails, details) })
    return { json: { queued }, to: `/operator?queued=${queued}` }
  })
}

function checkedPage(visitor: Visitor, checked: readonly CheckedAddress[]): Html {
  const fresh = checked.filter(({ outcome }) => outcome === 'new')
  return html`<header class="entity"><h1>Add videos</h1>
<p class="lead">${counted(fresh.length, 'link is new', 'links are new')}, of ${checked.length}.</p></header>
${
  fresh.length > 0 &&
  html`<form method="post" action="/web/videos">${formToken(visitor)}
  ${hidden('addresses', fresh.map(({ given }) => given).join('\n'))}
  <details><summary>Add ${fresh.length === 1 && 'title, '}brand, platform and date</summary>
  ${detailFields({ titled: fresh.length === 1 })}</details>
  <label class="box"><input type="checkbox" name="backfill" value="1"> Behind all other work</label>
  <button class="primary">Queue ${counted(fresh.length, 'video')}</button>
</form>`
}
${table(
  ['Link', 'What happens'],
  checked.map((one) => html`<tr><td class="address">${one.given}</td><td>${outcomeOf(one)}</td></tr>`),
)}
<p><a href="/operator">Back to the videos</a></p>`
}

function outcomeOf(address: CheckedAddress): Html {
  if (address.outcome === 'new') return html`new`
  if (address.outcome === 'twice') return html`the same video as ${address.first}`
  if (address.outcome === 'refused') return html`refused: ${address.reason}`
  const { id, title, status } = address.video
  return html`in the library already: <a href="/operator/videos/${id}">${title}</a> (${status})`
}

/** A file. A script sends the same form, and tells how far it is. */
function addUpload(actions: Actions, { db, store, config: { maxUploadBytes: maxBytes } }: PageDeps): void {
  const form = { path: '/web/videos/file', who: 'operator' } as const
  actions.file(form, async ({ file, filename, fields, proven }) => {
    const details = async () => {
      await proven()
      return readGiven(NewDetails, await fields)
    }
    const { video, ...outcome } = await submitUpload(db, store, file, { filename, maxBytes, details })
    const json = { video: { id: video.id, title: video.title }, ...outcome }
    return { json, to: outcome.created ? '/operator?queued=1' : `/operator/videos/${video.id}?known=1` }
  })
}
