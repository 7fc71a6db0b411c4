import type { Request } from 'express'
import { z } from 'zod'
import { AppError, invalid } from '../../errors.ts'
import { pointsForBytes, pointsForFrames } from '../../http/rate-limit/budgets.ts'
import { type CheckedAddress, checkAddresses, splitAddresses, submitAddresses } from '../../library/videos/addresses.ts'
import { findKnown, submitUpload } from '../../library/videos/submit.ts'
import {
  cancelUpload,
  findUpload,
  finishUpload,
  inTurnOfUpload,
  listUploads,
  openUpload,
  putPart,
  type Upload,
} from '../../library/videos/uploads.ts'
import { type Actions, type Asked, field } from '../actions.ts'
import type { Visitor } from '../guard.ts'
import { counted, formToken, type Html, hidden, html } from '../html.ts'
import type { PageDeps } from '../page-deps.ts'

/** A point an address, as of everything that is many. */
const some = {
  who: 'operator',
  cost: ({ addresses }: { addresses: string[] }) => pointsForFrames(addresses.length),
} as const
const addresses = field.text.transform(splitAddresses)

/** How operators add videos: by addresses, by a file in parts, and by a file in one form. */
export function addNewVideos(actions: Actions, deps: PageDeps): void {
  addAddressActions(actions, deps)
  addUploadActions(actions, deps)
  addPlainUpload(actions, deps)
}

/** Addresses are told first and queued second. */
function addAddressActions(actions: Actions, { db, addresses: rules }: PageDeps): void {
  const check = { ...some, path: '/web/videos/check', body: z.object({ addresses }) }
  actions.action(check, async ({ visitor, body }) => {
    const checked = await checkAddresses(db, body.addresses, rules)
    return { page: { title: 'Add videos', current: 'operator', body: checkedPage(visitor, checked) } }
  })

  const queue = { ...some, path: '/web/videos', body: z.object({ addresses, backfill: field.flag }) }
  actions.action(queue, async ({ body: { addresses: given, backfill } }) => {
    const queued = await submitAddresses(db, given, { ...rules, backfill })
    return { json: { queued }, to: `/operator?queued=${queued}` }
  })
}

function checkedPage(visitor: Visitor, checked: readonly CheckedAddress[]): Html {
  const fresh = checked.filter(({ outcome }) => outcome === 'new')
  return html`<h1>Add videos</h1>
<p class="lead">${counted(fresh.length, 'address is new', 'addresses are new')}, of ${checked.length}.</p>
${
  fresh.length > 0 &&
  html`<form class="inline" method="post" action="/web/videos">${formToken(visitor)}
  ${hidden('addresses', fresh.map(({ given }) => given).join('\n'))}
  <button class="primary">Queue ${counted(fresh.length, 'video')}</button>
  <label class="box"><input type="checkbox" name="backfill" value="1"> Behind all other work</label>
</form>`
}
<div class="scroll"><table>
<thead><tr><th scope="col">Address</th><th scope="col">What happens</th></tr></thead>
<tbody>${checked.map((one) => html`<tr><td class="address">${one.given}</td><td>${outcomeOf(one)}</td></tr>`)}</tbody>
</table></div>
<p><a href="/operator">Back to the videos</a></p>`
}

function outcomeOf(address: CheckedAddress): Html {
  if (address.outcome === 'new') return html`new`
  if (address.outcome === 'twice') return html`the same video as ${address.first}`
  if (address.outcome === 'refused') return html`refused: ${address.reason}`
  const { id, title, status } = address.video
  return html`in the library already: <a href="/operator/videos/${id}">${title}</a> (${status})`
}

const short = field.filled.pipe(z.string().max(300).optional())
const NewUpload = z.object({
  filename: field.text.pipe(z.string().max(300)),
  bytes: field.text.pipe(z.coerce.number<string>().int().min(0)),
  sha256: field.filled.pipe(
    z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .optional(),
  ),
  title: short,
  author: short,
})

function toJson({ id, filename, bytes, partBytes, parts, received, videoId }: Upload): object {
  return { id, filename, bytes, part_bytes: partBytes, parts, received, video_id: videoId }
}

/**
 * Files in parts, for operators' scripts: begin, put each part, finish. An unfinished upload of the same bytes goes on
 * where it stopped, in any process. No request is larger than a part.
 */
function addUploadActions(actions: Actions, deps: PageDeps): void {
  const { db, store, maxUploadBytes: maxBytes } = deps
  const who = 'operator'
  const whose = ({ visitor, param }: Asked) => ({ accountId: visitor.account.id, id: param('id') })

  // The page learns before a byte is sent which files the library has already.
  actions.action({ path: '/web/uploads', who, body: NewUpload }, async ({ visitor, body }) => {
    const { title, author, ...file } = body
    const known = file.sha256 && (await findKnown(db, [`sha256:${file.sha256}`])).get(`sha256:${file.sha256}`)
    if (known) return { json: { known }, to: '/operator' }
    const details = { title, author }
    const upload = await openUpload(db, { accountId: visitor.account.id, maxBytes, details, ...file })
    return { json: { upload: toJson(upload) }, to: '/operator' }
  })

  actions.page('/web/uploads', who, { parameters: {} }, async ({ visitor, res }) => {
    const uploads = await listUploads(db, visitor.account.id)
    res.set('Cache-Control', 'no-store').json({ uploads: uploads.map(toJson), max_bytes: maxBytes })
    return undefined
  })

  actions.page('/web/uploads/:id', who, { parameters: {} }, async (asked) => {
    const upload = await findUpload(db, whose(asked))
    asked.res.set('Cache-Control', 'no-store').json({ upload: toJson(upload) })
    return undefined
  })

  const cost = (req: Request) => pointsForBytes(lengthOf(req))
  actions.put({ path: '/web/uploads/:id/parts/:n', who, cost, holds: 'uploads' }, async (asked) => {
    const n = Number(asked.param('n'))
    await putPart(db, store, { ...whose(asked), n, body: asked.req })
    return { part: n }
  })

  actions.action({ path: '/web/uploads/:id/finish', who, holds: 'uploads' }, async (asked) => {
    // While the parts are joined, this connection is idle.
    asked.req.setTimeout(0)
    const { video, created } = await inTurnOfUpload(db, asked.param('id'), async () => {
      const { bytes, videoId } = await findUpload(db, whose(asked))
      // Joining reads every byte again. A repeated finish only finds the video.
      if (videoId === null) await asked.charge(pointsForBytes(bytes))
      return finishUpload(db, store, { ...whose(asked), maxBytes })
    })
    return { json: { video: { id: video.id, title: video.title, status: video.status }, created }, to: '/operator' }
  })

  actions.action({ path: '/web/uploads/:id/cancel', who }, async (asked) => {
    await cancelUpload(db, store, whose(asked))
    return { json: { ok: true }, to: '/operator' }
  })
}

/** A part announces its length, so that it is paid for before it is read. */
function lengthOf(req: Request): number {
  const length = Number(req.headers['content-length'])
  if (!Number.isInteger(length)) throw invalid('part', 'Content-Length is missing. Send the part with its length.')
  if (length > MAX_PART_BYTES)
    throw new AppError('payload_too_large', `A part has at most ${MAX_PART_BYTES} bytes. Send smaller ones.`)
  return length
}

/** Below what any proxy lets through. */
const MAX_PART_BYTES = 64 * 1024 * 1024

/** A file in one request, for pages without script. */
function addPlainUpload(actions: Actions, { db, store, maxUploadBytes: maxBytes }: PageDeps): void {
  const form = { path: '/web/videos/file', who: 'operator', maxBytes } as const
  actions.file(form, async ({ file, filename, fields }) => {
    const details = async () => {
      const { title, author } = await fields()
      return { title, author }
    }
    const { video, created } = await submitUpload(db, store, file, { filename, maxBytes, details })
    return created ? '/operator?queued=1' : `/operator/videos/${video.id}`
  })
}
