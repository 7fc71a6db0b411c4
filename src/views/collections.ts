import type { Account } from '../library/accounts/accounts.ts'
import type { Board, Pin } from '../library/collections/boards.ts'
import type { Save } from '../library/collections/saves.ts'
import type { FrameDocument, LibrarySearch } from '../search/library-search.ts'
import { type PublicFrame, toFrame } from './resources.ts'

/** Saves and boards as the decisions have them. Frames come from the read model; ids it does not know (yet) are left out of what is shown and counted. */
export interface CollectionDeps {
  search: Pick<LibrarySearch, 'framesByIds'>
  publicUrl: string
}

export interface PublicBoard {
  id: string
  name: string
  item_count: number
  created_at: string
  updated_at: string
  /** When its present share link was made; null while there is none. */
  shared_at: string | null
  cover_urls: string[]
}
export type SavedFrame = PublicFrame & { saved_at: string }
export type PinnedFrame = PublicFrame & { note: string | null; pinned_at: string }

export async function toSavedFrames(
  { search, publicUrl }: CollectionDeps,
  saves: readonly Save[],
): Promise<SavedFrame[]> {
  const documents = await documentsOf(
    search,
    saves.map((save) => save.frameId),
  )
  return saves.flatMap(({ frameId, savedAt }) => {
    const document = documents.get(frameId)
    return document ? [{ ...toFrame(document, publicUrl), saved_at: savedAt.toISOString() }] : []
  })
}

export async function toBoards(
  { search, publicUrl }: CollectionDeps,
  boards: readonly Board[],
): Promise<PublicBoard[]> {
  const documents = await documentsOf(search, [...new Set(boards.flatMap((board) => board.coverFrameIds))])
  return boards.map((board) => toBoard(board, documents, publicUrl))
}

/** One board with its frames in the owner's order: `item_count` is the number of `items`. */
export async function toBoardWithItems(
  { search, publicUrl }: CollectionDeps,
  { board, pins }: { board: Board; pins: readonly Pin[] },
): Promise<PublicBoard & { items: PinnedFrame[] }> {
  const documents = await documentsOf(
    search,
    pins.map((pin) => pin.frameId),
  )
  const items = pins.flatMap(({ frameId, note, pinnedAt }) => {
    const document = documents.get(frameId)
    return document ? [{ ...toFrame(document, publicUrl), note, pinned_at: pinnedAt.toISOString() }] : []
  })
  return { ...toBoard(board, documents, publicUrl), item_count: items.length, items }
}

export function toPublicAccount({ id, email, role, plan, createdAt }: Account) {
  return { id, email, role, plan, created_at: createdAt.toISOString() }
}

function toBoard(board: Board, documents: ReadonlyMap<string, FrameDocument>, publicUrl: string): PublicBoard {
  return {
    id: board.id,
    name: board.name,
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

const BATCH = 1_000

async function documentsOf(
  search: CollectionDeps['search'],
  ids: readonly string[],
): Promise<Map<string, FrameDocument>> {
  const documents = new Map<string, FrameDocument>()
  for (let from = 0; from < ids.length; from += BATCH)
    for (const document of await search.framesByIds(ids.slice(from, from + BATCH))) documents.set(document.id, document)
  return documents
}
