import { invalid } from '../../errors.ts'
import { pointsForFrames } from '../../http/rate-limit/budgets.ts'
import { setCover, shareBoard, unshareBoard } from '../../library/collections/board-settings.ts'
import {
  boardSize,
  createBoard,
  ensureBoard,
  findBoard,
  listBoardChoices,
  loadBoard,
  updateBoard,
} from '../../library/collections/boards.ts'
import { BoardChanged, pinFrame, pinFrames, requirePin } from '../../library/collections/pins.ts'
import {
  putBack,
  removalSize,
  removeBoardWithUndo,
  removePinsWithUndo,
  removeSavesWithUndo,
} from '../../library/collections/removals.ts'
import { savedAmong, saveFrames } from '../../library/collections/saves.ts'
import { type Actions, type Asked, counted, type Fields, framesOf } from '../actions.ts'
import { wantsJson } from '../guard.ts'
import { html } from '../html.ts'
import type { PageDeps } from '../page-deps.ts'
import { chooseBoard, conflictPage, sharedNote } from './board-forms.ts'

const pointsOf = (fields: Fields) => pointsForFrames(fields.many('frame').length)

/** What people do with saves: the form's `frame` fields name up to 500 frames. */
export function addSaveActions(actions: Actions, { db }: PageDeps): void {
  actions.action(
    '/web/saves',
    'pro',
    async ({ visitor, fields }) => {
      const frameIds = framesOf(fields)
      return { json: await saveFrames(db, { accountId: visitor.account.id, frameIds }), to: '/saves' }
    },
    {
      points: pointsOf,
      confirm: async ({ fields }) => ({
        title: `Save ${counted(framesOf(fields).length, 'frame')}?`,
        body: html`<p>They go to the top of your saves.</p>`,
        button: 'Save',
      }),
    },
  )

  actions.action(
    '/web/unsaves',
    'person',
    async ({ visitor, fields }) => {
      const { frameIds, undo } = await removeSavesWithUndo(db, {
        accountId: visitor.account.id,
        frameIds: framesOf(fields),
      })
      return { json: { removed: frameIds, undo }, to: undoPath('/saves', undo) }
    },
    { points: pointsOf },
  )

  // Which of the frames on a page are saved: the page itself is the same for everyone.
  actions.action('/web/saved', 'person', async ({ visitor, fields }) => {
    const saved = await savedAmong(db, { accountId: visitor.account.id, frameIds: framesOf(fields) })
    return { json: { saved }, to: '/saves' }
  })

  const removalOf = ({ visitor, fields }: Asked) => ({ accountId: visitor.account.id, id: fields.one('removal') })
  actions.action(
    '/web/undo',
    'person',
    async (asked) => {
      const { kind, boardId, frames, lost } = await putBack(db, removalOf(asked))
      const to = kind === 'saves' ? '/saves' : `/boards/${boardId}`
      return { json: { kind, board: boardId, frames, lost }, to: lost > 0 ? `${to}?lost=${lost}` : to }
    },
    { pointsOf: async (asked) => pointsForFrames(await removalSize(db, removalOf(asked))) },
  )
}

const undoPath = (path: string, undo: string | null) => (undo === null ? path : `${path}?undo=${undo}`)

/** The board that a path names, as the visitor's. */
const boardOf = ({ visitor, param }: Pick<Asked, 'visitor' | 'param'>) => ({
  accountId: visitor.account.id,
  boardId: param('id'),
})

/** What people do with a board as a whole. */
export function addBoardActions(actions: Actions, { db, publicUrl }: PageDeps): void {
  actions.action(
    '/web/boards',
    'pro',
    async ({ visitor, fields }) => {
      const accountId = visitor.account.id
      const frameIds = fields.has('frame') ? framesOf(fields) : []
      const board = await db.transactionOf(accountId, async (tx) => {
        const made = await createBoard(tx, { accountId, name: fields.one('name') })
        if (frameIds.length > 0) await pinFrames(tx, { accountId, boardId: made.id, frameIds })
        return made
      })
      const { id, name } = board
      return { json: { board: { id, name }, pinned: frameIds }, to: `/boards/${id}` }
    },
    { points: pointsOf },
  )

  actions.action('/web/boards/:id/rename', 'pro', async (asked) => {
    const { fields } = asked
    const description = fields.has('description') ? fields.one('description') : undefined
    const { board } = await updateBoard(db, { ...boardOf(asked), name: fields.one('name'), description })
    const { id, name } = board
    return { json: { board: { id, name } }, to: `/boards/${id}` }
  })

  actions.action('/web/boards/:id/cover', 'pro', async (asked) => {
    const frameId = asked.fields.one('cover') || null
    await setCover(db, { ...boardOf(asked), frameId })
    return { json: { cover: frameId }, to: `/boards/${asked.param('id')}` }
  })

  actions.action(
    '/web/boards/:id/delete',
    'person',
    async (asked) => {
      const { name, undo } = await removeBoardWithUndo(db, boardOf(asked))
      return { json: { name, undo }, to: `/boards?undo=${undo}` }
    },
    { pointsOf: async (asked) => pointsForFrames(await boardSize(db, boardOf(asked))) },
  )

  // The link is shown once, on the page that answers: only its hash is stored.
  actions.action('/web/boards/:id/share', 'pro', async (asked) => {
    const { token } = await shareBoard(db, boardOf(asked))
    const url = `${publicUrl}/shared/${token}`
    if (wantsJson(asked.req)) return { json: { url }, to: '/' }
    const { board } = await loadBoard(db, boardOf(asked), { limit: 0 })
    const page = {
      title: 'Share link',
      current: 'boards',
      modules: ['collections.js'],
      body: sharedNote(board, url),
    } as const
    return { page, status: 201 }
  })

  actions.action('/web/boards/:id/unshare', 'person', async (asked) => {
    await unshareBoard(db, boardOf(asked))
    return { json: { ok: true }, to: `/boards/${asked.param('id')}` }
  })
}

/** What people do with the frames of a board. */
export function addPinActions(actions: Actions, deps: PageDeps): void {
  const { db } = deps

  // `board` is an id, or `name` a board to find or make. Without either the answer asks which.
  actions.action(
    '/web/pins',
    'pro',
    async ({ visitor, fields }) => {
      const accountId = visitor.account.id
      const frameIds = framesOf(fields)
      if (fields.has('elsewhere') || (!fields.has('board') && !fields.has('name'))) {
        const boards = await listBoardChoices(db, accountId)
        return { page: { title: 'Pin', current: 'boards', body: chooseBoard(visitor, boards, frameIds) } }
      }
      const note = fields.one('note') || undefined
      const pinned = await db.transactionOf(accountId, async (tx) => {
        const boardId = fields.one('board') || (await ensureBoard(tx, { accountId, name: fields.one('name') })).board.id
        return { board: boardId, ...(await pinFrames(tx, { accountId, boardId, frameIds, note })) }
      })
      return { json: pinned, to: `/boards/${pinned.board}` }
    },
    {
      points: pointsOf,
      confirm: async ({ fields }) => ({
        title: `Pin ${counted(framesOf(fields).length, 'frame')}?`,
        body: html`<p>${!fields.has('board') && !fields.has('name') && 'The next page asks for the board.'}</p>`,
        button: 'Pin',
      }),
    },
  )

  actions.action(
    '/web/unpins',
    'person',
    async ({ visitor, fields }) => {
      const only = fields.one('only')
      const { frameIds: unpinned, undo } = await removePinsWithUndo(db, {
        accountId: visitor.account.id,
        boardId: fields.one('board'),
        frameIds: only === '' ? framesOf(fields) : [only],
      })
      return { json: { unpinned, undo }, to: undoPath(`/boards/${fields.one('board')}`, undo) }
    },
    { points: pointsOf },
  )

  actions.action('/web/boards/:id/note', 'pro', async (asked) => {
    const frameId = asked.fields.one('frame')
    await requirePinned(deps, asked, frameId)
    await pinFrame(db, { ...boardOf(asked), frameId, note: asked.fields.one('note') })
    return { json: { ok: true }, to: `/boards/${asked.param('id')}#pin-${frameId}` }
  })

  actions.action('/web/boards/:id/move', 'pro', (asked) => movePin(deps, asked))
}

/** Moves a pin in the order that its owner saw. Where the board has changed, the answer shows both orders. */
async function movePin(deps: PageDeps, asked: Asked): ReturnType<Parameters<Actions['action']>[2]> {
  const { db } = deps
  const { visitor, fields } = asked
  const { frameId, position } = moveOf(fields)
  const at = boardOf(asked)
  try {
    await requirePinned(deps, asked, frameId)
    const moved = await pinFrame(db, { ...at, frameId, position, seen: fields.one('version') })
    const { version } = await findBoard(db, at)
    return { json: { position: moved.position, version }, to: `/boards/${at.boardId}#pin-${frameId}` }
  } catch (error) {
    if (!(error instanceof BoardChanged)) throw error
    asked.res.set('Cache-Control', 'no-store')
    const page = await conflictPage(deps, { visitor, ...at, frameId, position })
    return { page: { title: 'Two orders', current: 'boards', wide: true, body: page }, status: 409 }
  }
}

/** `move` is `<frame>:<place from 0>`, as the buttons have it; or `frame`, with `place` from 1 as people count. */
function moveOf(fields: Fields): { frameId: string; position: number } {
  const [frameId, place] = fields.has('move')
    ? (fields.one('move').split(':') as [string, string?])
    : [fields.one('frame'), String(Number(fields.one('place')) - 1)]
  const position = Math.max(0, Number(place))
  if (!Number.isInteger(position)) throw invalid('place', 'The place is a whole number, from 1 for the first.')
  return { frameId, position }
}

/** Moves and notes need an existing pin, so they never restore a removed one. @throws AppError not_found */
async function requirePinned({ db }: PageDeps, asked: Asked, frameId: string): Promise<void> {
  await requirePin(db, { ...boardOf(asked), frameId })
}
