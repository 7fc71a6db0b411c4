import { z } from 'zod'
import { type LoadedBoard, type Pin, pinBatches, type Board as StoredBoard } from '../library/collections/boards.ts'
import { listSaves, type Save } from '../library/collections/saves.ts'
import type { FrameDocument, LibrarySearch } from '../search/library-search.ts'
import { FRAME_EXAMPLE, frameShape, type PublicFrame, toFrame } from './frame.ts'

/**
 * Saves and boards as public resources. Their frames come from the read model. Frames that it does not hold (yet) are
 * neither shown nor counted.
 */
export interface CollectionDeps {
  search: Pick<LibrarySearch, 'framesByIds'>
  publicUrl: string
}

const boardShape = {
  id: z.string(),
  name: z.string(),
  description: z.string().nullable(),
  item_count: z.int().min(0),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
  shared_at: z.iso.datetime().nullable().describe('When its present share link was made; null while there is none.'),
  cover_urls: z.array(z.url()).max(4),
}
export const Board = z.strictObject(boardShape).meta({
  id: 'Board',
  examples: [
    {
      id: 'b7q2m9x4',
      name: 'Logo reveals',
      description: null,
      item_count: 1,
      created_at: '2026-11-20T12:00:00.000Z',
      updated_at: '2026-11-20T12:05:00.000Z',
      shared_at: null,
      cover_urls: [FRAME_EXAMPLE.thumb_url],
    },
  ],
})
export const SavedFrame = z.strictObject({ ...frameShape, saved_at: z.iso.datetime() }).meta({ id: 'SavedFrame' })
export const PinnedFrame = z
  .strictObject({ ...frameShape, note: z.string().nullable(), pinned_at: z.iso.datetime() })
  .meta({ id: 'PinnedFrame' })
export const BoardWithItems = z
  .strictObject({ ...boardShape, items: z.array(PinnedFrame).describe('In the owner’s order.') })
  .meta({ id: 'BoardWithItems' })

type PublicBoard = z.infer<typeof Board>
export type SavedFrame = PublicFrame & { saved_at: string }
export type PinnedFrame = PublicFrame & { note: string | null; pinned_at: string }

export async function toSavedFrames(deps: CollectionDeps, saves: readonly Save[]): Promise<SavedFrame[]> {
  const documents = await documentsOf(deps, saves)
  return shownFrames(saves, documents, deps).map(([frame, { savedAt }]) => {
    return { ...frame, saved_at: savedAt.toISOString() }
  })
}

export async function toBoards(deps: CollectionDeps, boards: readonly StoredBoard[]): Promise<PublicBoard[]> {
  const documents = await documentsOf(deps, boards.flatMap(coversOf))
  return boards.map((board) => toBoard(board, documents, deps.publicUrl))
}

/**
 * One board with a page of its frames in the owner's order. Where the page is the whole board, `item_count` is the
 * number of `items`.
 */
export async function toBoardWithItems(
  deps: CollectionDeps,
  { board, pins }: Pick<LoadedBoard, 'board' | 'pins'>,
): Promise<PublicBoard & { items: PinnedFrame[] }> {
  const documents = await documentsOf(deps, [...pins, ...coversOf(board)])
  const items = pinnedFrames(pins, documents, deps)
  const isWhole = pins.length === board.itemCount
  const shown = toBoard(board, documents, deps.publicUrl)
  return { ...shown, item_count: isWhole ? items.length : shown.item_count, items }
}

export async function toPinnedFrames(deps: CollectionDeps, pins: readonly Pin[]): Promise<PinnedFrame[]> {
  return pinnedFrames(pins, await documentsOf(deps, pins), deps)
}

/** Frames per batch of a whole collection. */
const BATCH = 100

type ListDeps = CollectionDeps & { db: Parameters<typeof listSaves>[0] }

/** Everything that an account has saved, newest save first. */
export async function* savedBatches(deps: ListDeps, accountId: string): AsyncGenerator<SavedFrame[]> {
  let after: string | undefined
  do {
    const { saves, next } = await listSaves(deps.db, accountId, { limit: BATCH, after })
    yield await toSavedFrames(deps, saves)
    after = next ?? undefined
  } while (after !== undefined)
}

/** All frames of a board in the owner's order. */
export async function* pinnedBatches(deps: ListDeps, board: { id: string }): AsyncGenerator<PinnedFrame[]> {
  for await (const pins of pinBatches(deps.db, board, BATCH)) yield await toPinnedFrames(deps, pins)
}

type Documents = ReadonlyMap<string, FrameDocument>

function pinnedFrames(pins: readonly Pin[], documents: Documents, deps: CollectionDeps): PinnedFrame[] {
  return shownFrames(pins, documents, deps).map(([frame, { note, pinnedAt }]) => {
    return { ...frame, note, pinned_at: pinnedAt.toISOString() }
  })
}

/** Each row whose frame is there, with that frame. */
function shownFrames<R extends { frameId: string }>(
  rows: readonly R[],
  documents: Documents,
  { publicUrl }: CollectionDeps,
): [PublicFrame, R][] {
  return rows.flatMap((row) => {
    const document = documents.get(row.frameId)
    return document ? [[toFrame(document, publicUrl), row] as [PublicFrame, R]] : []
  })
}

const coversOf = ({ coverFrameIds }: StoredBoard) => coverFrameIds.map((frameId) => ({ frameId }))

function toBoard(board: StoredBoard, documents: Documents, publicUrl: string): PublicBoard {
  return {
    id: board.id,
    name: board.name,
    description: board.description,
    item_count: board.itemCount,
    created_at: board.createdAt.toISOString(),
    updated_at: board.updatedAt.toISOString(),
    shared_at: board.sharedAt?.toISOString() ?? null,
    cover_urls: board.coverFrameIds.flatMap((id) => {
      const document = documents.get(id)
      return document ? [publicUrl + document.thumb_path] : []
    }),
  }
}

const DOCUMENTS_AT_ONCE = 1_000

async function documentsOf({ search }: CollectionDeps, rows: readonly { frameId: string }[]): Promise<Documents> {
  const ids = [...new Set(rows.map(({ frameId }) => frameId))]
  const documents = new Map<string, FrameDocument>()
  for (let from = 0; from < ids.length; from += DOCUMENTS_AT_ONCE)
    for (const document of await search.framesByIds(ids.slice(from, from + DOCUMENTS_AT_ONCE)))
      documents.set(document.id, document)
  return documents
}
