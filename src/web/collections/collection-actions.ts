import { z } from 'zod'
import { operationOf } from '../../api/endpoints.ts'
import { MOST_ITEMS } from '../../http/rate-limit/budgets.ts'
import { setCover } from '../../library/collections/board-settings.ts'
import { copySharedBoard, ensureBoard, restoreBoard } from '../../library/collections/boards.ts'
import { MAX_PINS, pinFrame, pinFrames, repinFrames, requirePin, unpinFrames } from '../../library/collections/pins.ts'
import { resaveFrames, savedAmong, saveFrames, unsaveFrames } from '../../library/collections/saves.ts'
import { type ActionOptions, type Actions, type Asked, field, frameFields, frameForm } from '../actions.ts'
import { counted, html } from '../html.ts'
import type { PageDeps } from '../page-deps.ts'
import { boardPath } from './board-view.ts'
import { boardChoices } from './collection-pages.ts'
import { removal } from './parts.ts'

/** What people do with saves. */
export function addSaveActions(actions: Actions, { db }: PageDeps): void {
  const confirm = ({ frame }: { frame: string[] }) => ({
    title: `Save ${counted(frame.length, 'frame')}?`,
    body: html`<p>They go to the top of your saves.</p>`,
    button: 'Save',
  })
  actions.action({ path: '/web/saves', who: 'pro', body: frameForm, confirm }, async ({ visitor, body }) => {
    const saved = await saveFrames(db, { accountId: visitor.account.id, frameIds: body.frame })
    return { json: saved, to: '/saves' }
  })

  actions.action({ path: '/web/unsaves', who: 'person', body: frameForm }, async ({ visitor, body }) => {
    const at = { accountId: visitor.account.id, frameIds: body.frame }
    const { removed } = await unsaveFrames(db, at)
    return removal(visitor, {
      removed,
      undo: { action: '/web/unsaves/undo', fields: { frame: removed } },
      to: '/saves',
    })
  })

  actions.action({ path: '/web/unsaves/undo', who: 'person', body: frameForm }, async ({ visitor, body }) => {
    const { saved } = await resaveFrames(db, { accountId: visitor.account.id, frameIds: body.frame })
    return { json: { back: saved }, to: '/saves' }
  })

  // Which of the frames on a page are saved: the page itself is the same for everyone.
  const saved = { path: '/web/saved', who: 'person', price: 'read', body: frameForm } as const
  actions.action(saved, async ({ visitor, body }) => {
    const saved = await savedAmong(db, { accountId: visitor.account.id, frameIds: body.frame })
    return { json: { saved }, to: '/saves' }
  })
}

/** The board that a path names, as the visitor's. */
const boardOf = ({ visitor, param }: Pick<Asked, 'visitor' | 'param'>) => ({
  accountId: visitor.account.id,
  boardId: param('id'),
})

/** The part of a board that its owner sees. */
const seenPart = { page: field.filled, arrange: field.flag }

const Rename = z.object({ name: field.text, description: field.maybe })

/** What people do with a board as a whole. */
export function addBoardActions(actions: Actions, { db }: PageDeps): void {
  const created = { path: '/web/boards', of: operationOf('createBoard'), body: z.object({ name: field.text }) }
  actions.operation(created, (_, { board }: { board: { id: string } }) => `/boards/${board.id}`)
  const toBoard = ({ param }: Asked) => `/boards/${param('id')}`
  actions.operation({ path: '/web/boards/:id/rename', of: operationOf('renameBoard'), body: Rename }, toBoard)
  actions.operation(
    { path: '/web/boards/:id/share', of: operationOf('shareBoard') },
    (asked) => `${toBoard(asked)}?shared=1`,
  )
  actions.operation({ path: '/web/boards/:id/unshare', of: operationOf('unshareBoard') }, toBoard)
  const deleted = { path: '/web/boards/:id/delete', of: operationOf('deleteBoard') }
  actions.operation(deleted, ({ param }) => `/boards?deleted=${param('id')}`)

  const copied = {
    path: '/web/boards/copy',
    who: 'pro',
    price: 'heavy',
    body: z.object({ shared: field.text }),
    confirm: () => ({
      title: 'Save this board to yours?',
      body: html`<p>You get a board of your own, with the frames and notes as they are now.</p>`,
      button: 'Save',
    }),
  } as const
  actions.action(copied, async ({ visitor, body }) => {
    const board = await copySharedBoard(db, { accountId: visitor.account.id, token: body.shared })
    return { json: { board: board.id }, to: `/boards/${board.id}` }
  })

  const body = z.object({ cover: field.filled, ...seenPart })
  actions.action({ path: '/web/boards/:id/cover', who: 'pro', body }, async (asked) => {
    const { cover = null, ...seen } = asked.body
    await setCover(db, { ...boardOf(asked), frameId: cover })
    return { json: { cover }, to: boardPath(asked.param('id'), { ...seen, ...(cover === null ? {} : { pin: cover }) }) }
  })

  const undo = { path: '/web/boards/:id/delete/undo', who: 'person', price: 'heavy' } as const
  actions.action(undo, async (asked) => {
    await restoreBoard(db, boardOf(asked))
    return { json: { ok: true }, to: toBoard(asked) }
  })
}

/** `board` is an id, or `name` a board to find or make. Without either the answer asks which. */
const Pins = z.object({
  frame: frameFields.some,
  board: field.maybe,
  name: field.maybe,
  note: field.filled,
  elsewhere: field.flag,
})
const asksWhere = ({ board, name, elsewhere }: z.output<typeof Pins>) =>
  elsewhere || (board === undefined && name === undefined)

/** `only` is the frame of a pin's own button; else `frame` names the selected ones. */
const Unpins = z
  .object({ only: field.filled, frame: frameFields.maybe, board: field.text, ...seenPart })
  .transform(({ only, frame, ...rest }) => ({ ...rest, frame: only === undefined ? frame : [only] }))
  .refine(({ frame }) => frame.length > 0, 'No frame is selected. Select one or more first.')

const Unpinned = z.object({ frameId: z.string(), note: z.string().nullable(), position: z.int().min(0).max(MAX_PINS) })
/** `pins`: what `/web/unpins` removed. */
const Repins = z.object({ board: field.text, pins: field.json.pipe(z.array(Unpinned).max(MOST_ITEMS)) })
const Note = z.object({ frame: field.text, note: field.text, page: field.filled })

/** What people do with the frames of a board. */
export function addPinActions(actions: Actions, deps: PageDeps): void {
  const { db } = deps
  const pins: ActionOptions<typeof Pins> = {
    path: '/web/pins',
    who: 'pro',
    body: Pins,
    confirm: (body) => ({
      title: `Pin ${counted(body.frame.length, 'frame')}?`,
      body: html`<p>${asksWhere(body) && 'The next page asks for the board.'}</p>`,
      button: 'Pin',
    }),
  }
  actions.action(pins, async ({ visitor, body }) => {
    const accountId = visitor.account.id
    const { frame: frameIds, board, name = '', note } = body
    if (asksWhere(body)) {
      const choices = await boardChoices(deps, visitor, frameIds)
      return { page: { title: 'Put on a board', current: 'boards', body: choices } }
    }
    const pinned = await db.transactionOf(accountId, async (tx) => {
      const boardId = board || (await ensureBoard(tx, { accountId, name })).board.id
      return { board: boardId, ...(await pinFrames(tx, { accountId, boardId, frameIds, note })) }
    })
    return { json: pinned, to: `/boards/${pinned.board}` }
  })

  actions.action({ path: '/web/unpins', who: 'person', body: Unpins }, async ({ visitor, body }) => {
    const { board: boardId, frame: frameIds, ...seen } = body
    const at = { accountId: visitor.account.id, boardId, frameIds }
    const { unpinned } = await unpinFrames(db, at)
    // On another plan nothing is pinned, so that does not come back either.
    const isPro = visitor.account.plan === 'pro'
    const fields = { board: boardId, pins: JSON.stringify(unpinned) }
    return removal(visitor, {
      removed: unpinned.map((pin) => pin.frameId),
      undo: isPro ? { action: '/web/unpins/undo', fields } : null,
      to: boardPath(boardId, seen),
    })
  })

  actions.action({ path: '/web/unpins/undo', who: 'pro', body: Repins }, async ({ visitor, body }) => {
    const { board: boardId, pins } = body
    const { pinned } = await repinFrames(db, { accountId: visitor.account.id, boardId, pins })
    return { json: { back: pinned }, to: `/boards/${boardId}` }
  })

  actions.action({ path: '/web/boards/:id/note', who: 'pro', body: Note }, async (asked) => {
    const { frame: frameId, note, page } = asked.body
    const pin = { ...boardOf(asked), frameId }
    await requirePin(db, pin)
    await pinFrame(db, { ...pin, note })
    return { json: { ok: true }, to: boardPath(asked.param('id'), { page, pin: frameId }) }
  })

  // Moves and notes need a pin, so they never restore a removed one. The last move wins: its place counts in the order
  // as it is now.
  actions.action({ path: '/web/boards/:id/move', who: 'pro', body: Move }, async (asked) => {
    const { frameId, position: wished, ...seen } = asked.body
    const pin = { ...boardOf(asked), frameId }
    await requirePin(db, pin)
    const { position } = await pinFrame(db, { ...pin, position: wished })
    return { json: { position }, to: boardPath(asked.param('id'), { ...seen, pin: frameId }) }
  })
}

/** `move` is `<frame>:<place from 0>`, as the buttons have it. */
const Move = z
  .object({ move: field.text, ...seenPart })
  .transform(({ move, ...seen }) => {
    const [frameId = '', at] = move.split(':')
    return { ...seen, frameId, position: Math.max(0, Number(at)) }
  })
  .refine(({ position }) => Number.isInteger(position), 'The place is a whole number, from 0 for the first.')
