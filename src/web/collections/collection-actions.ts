import { z } from 'zod'
import { POINTS, pointsForFrames, pointsForItems } from '../../http/rate-limit/budgets.ts'
import { setCover, shareBoard, unshareBoard } from '../../library/collections/board-settings.ts'
import { createBoard, ensureBoard, findBoard, listBoardChoices, updateBoard } from '../../library/collections/boards.ts'
import { pinFrame, pinFrames, requirePin } from '../../library/collections/pins.ts'
import {
  putBack,
  removalSize,
  removeBoardWithUndo,
  removePinsWithUndo,
  removeSavesWithUndo,
} from '../../library/collections/removals.ts'
import { savedAmong, saveFrames } from '../../library/collections/saves.ts'
import { type ActionOptions, type Actions, type Asked, field, frameFields, frameForm } from '../actions.ts'
import { counted, html } from '../html.ts'
import type { PageDeps } from '../page-deps.ts'
import { boardPath, chooseBoard } from './board-view.ts'

/** What people do with saves. */
export function addSaveActions(actions: Actions, { db }: PageDeps): void {
  const confirm = ({ frame }: { frame: string[] }) => ({
    title: `Save ${counted(frame.length, 'frame')}?`,
    body: html`<p>They go to the top of your saves.</p>`,
    button: 'Save',
  })
  actions.action({ path: '/web/saves', who: 'pro', ...frameForm, confirm }, async ({ visitor, body }) => {
    const saved = await saveFrames(db, { accountId: visitor.account.id, frameIds: body.frame })
    return { json: saved, to: '/saves' }
  })

  actions.action({ path: '/web/unsaves', who: 'person', ...frameForm }, async ({ visitor, body }) => {
    const at = { accountId: visitor.account.id, frameIds: body.frame }
    const { frameIds, undo } = await removeSavesWithUndo(db, at)
    return { json: { removed: frameIds, undo }, to: undoPath('/saves', undo) }
  })

  // Which of the frames on a page are saved: the page itself is the same for everyone.
  const cost = ({ frame }: { frame: string[] }) => pointsForItems(frame.length)
  actions.action({ path: '/web/saved', who: 'person', ...frameForm, cost }, async ({ visitor, body }) => {
    const saved = await savedAmong(db, { accountId: visitor.account.id, frameIds: body.frame })
    return { json: { saved }, to: '/saves' }
  })

  const body = z.object({ removal: field.text })
  actions.action({ path: '/web/undo', who: 'person', body }, async ({ visitor, body, charge }) => {
    const removal = { accountId: visitor.account.id, id: body.removal }
    await charge(pointsForFrames(await removalSize(db, removal)) - POINTS.write)
    const { kind, boardId, frames, lost } = await putBack(db, removal)
    const to = kind === 'saves' ? '/saves' : `/boards/${boardId}`
    return { json: { kind, board: boardId, frames, lost }, to: lost > 0 ? `${to}?lost=${lost}` : to }
  })
}

const undoPath = (path: string, undo: string | null) => (undo === null ? path : `${path}?undo=${undo}`)

/** The board that a path names, as the visitor's. */
const boardOf = ({ visitor, param }: Pick<Asked, 'visitor' | 'param'>) => ({
  accountId: visitor.account.id,
  boardId: param('id'),
})

/** The part of a board that its owner sees. */
const seenPart = { page: field.filled, arrange: field.flag }

const NewBoard = z.object({ name: field.text, frame: frameFields.maybe })
const Rename = z.object({ name: field.text, description: field.maybe })

/** What people do with a board as a whole. */
export function addBoardActions(actions: Actions, { db, publicUrl }: PageDeps): void {
  actions.action(
    { path: '/web/boards', who: 'pro', body: NewBoard, cost: frameForm.cost },
    async ({ visitor, body }) => {
      const accountId = visitor.account.id
      const frameIds = body.frame
      const { id, name } = await db.transactionOf(accountId, async (tx) => {
        const made = await createBoard(tx, { accountId, name: body.name })
        if (frameIds.length > 0) await pinFrames(tx, { accountId, boardId: made.id, frameIds })
        return made
      })
      return { json: { board: { id, name }, pinned: frameIds }, to: `/boards/${id}` }
    },
  )

  actions.action({ path: '/web/boards/:id/rename', who: 'pro', body: Rename }, async (asked) => {
    const { board } = await updateBoard(db, { ...boardOf(asked), ...asked.body })
    const { id, name } = board
    return { json: { board: { id, name } }, to: `/boards/${id}` }
  })

  const body = z.object({ cover: field.filled, ...seenPart })
  actions.action({ path: '/web/boards/:id/cover', who: 'pro', body }, async (asked) => {
    const { cover = null, ...seen } = asked.body
    await setCover(db, { ...boardOf(asked), frameId: cover })
    return { json: { cover }, to: boardPath(asked.param('id'), { ...seen, ...(cover === null ? {} : { pin: cover }) }) }
  })

  actions.action({ path: '/web/boards/:id/delete', who: 'person' }, async (asked) => {
    await asked.charge(pointsForFrames((await findBoard(db, boardOf(asked))).itemCount) - POINTS.write)
    const { name, undo } = await removeBoardWithUndo(db, boardOf(asked))
    return { json: { name, undo }, to: `/boards?undo=${undo}` }
  })

  actions.action({ path: '/web/boards/:id/share', who: 'pro' }, async (asked) => {
    const { token } = await shareBoard(db, boardOf(asked))
    return { json: { url: `${publicUrl}/shared/${token}` }, to: `/boards/${asked.param('id')}?shared=1` }
  })

  actions.action({ path: '/web/boards/:id/unshare', who: 'person' }, async (asked) => {
    await unshareBoard(db, boardOf(asked))
    return { json: { ok: true }, to: `/boards/${asked.param('id')}` }
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
const Note = z.object({ frame: field.text, note: field.text, page: field.filled })

/** What people do with the frames of a board. */
export function addPinActions(actions: Actions, deps: PageDeps): void {
  const { db } = deps

  const pins: ActionOptions<typeof Pins> = {
    path: '/web/pins',
    who: 'pro',
    body: Pins,
    cost: (body) => (asksWhere(body) ? POINTS.read : frameForm.cost(body)),
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
      // Frames of a board are not offered that board again.
      const boards = (await listBoardChoices(db, accountId)).filter(({ id }) => id !== board)
      return { page: { title: 'Pin', current: 'boards', body: chooseBoard(visitor, boards, frameIds) } }
    }
    const pinned = await db.transactionOf(accountId, async (tx) => {
      const boardId = board || (await ensureBoard(tx, { accountId, name })).board.id
      return { board: boardId, ...(await pinFrames(tx, { accountId, boardId, frameIds, note })) }
    })
    return { json: pinned, to: `/boards/${pinned.board}` }
  })

  actions.action(
    { path: '/web/unpins', who: 'person', body: Unpins, cost: frameForm.cost },
    async ({ visitor, body }) => {
      const { board: boardId, frame: frameIds, ...seen } = body
      const at = { accountId: visitor.account.id, boardId, frameIds }
      const { frameIds: unpinned, undo } = await removePinsWithUndo(db, at)
      return { json: { unpinned, undo }, to: boardPath(boardId, { ...seen, ...(undo === null ? {} : { undo }) }) }
    },
  )

  actions.action({ path: '/web/boards/:id/note', who: 'pro', body: Note }, async (asked) => {
    const { frame: frameId, note, page } = asked.body
    await requirePinned(deps, asked, frameId)
    await pinFrame(db, { ...boardOf(asked), frameId, note })
    return { json: { ok: true }, to: boardPath(asked.param('id'), { page, pin: frameId }) }
  })

  // The place counts in the order as it is now, which may be another than the page shows: the last move wins.
  actions.action({ path: '/web/boards/:id/move', who: 'pro', body: Move }, async (asked) => {
    const { frameId, position: wished, ...seen } = asked.body
    await requirePinned(deps, asked, frameId)
    const { position } = await pinFrame(db, { ...boardOf(asked), frameId, position: wished })
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

/** Moves and notes need an existing pin, so they never restore a removed one. @throws AppError not_found */
async function requirePinned({ db }: PageDeps, asked: Asked, frameId: string): Promise<void> {
  await requirePin(db, { ...boardOf(asked), frameId })
}
