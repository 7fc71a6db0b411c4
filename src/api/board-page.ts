import type { Request, Response } from 'express'
import type { Db } from '../db/client.ts'
import { CompressibleBody, sendJson } from '../http/compressed-body.ts'
import type { VersionedCache } from '../http/versioned-cache.ts'
import type { Caller } from '../library/accounts/keys.ts'
import {
  BOARD_PAGE,
  type BoardVersion,
  type LoadedBoard,
  loadFoundBoard,
  PIN_CURSOR,
} from '../library/collections/boards.ts'
import type { Parameters } from '../parameters.ts'
import type { CollectionDeps } from '../views/collections.ts'
import { cursorParameter, linkNext } from './paging.ts'

/** What the endpoints of boards, pins and share links have in common. */

export interface BoardsDeps extends CollectionDeps {
  db: Db
  /** Cached pages of boards, keyed by the version of the board. */
  kept: VersionedCache<object>
}

/** The board that a path names, as the calling account's. */
export function boardOf({ caller, params }: { caller: Caller; params: { id: string } }) {
  return { accountId: caller.account.id, boardId: params.id }
}

export const itemParameters = { after: cursorParameter(PIN_CURSOR) } as const satisfies Parameters

interface BoardPage {
  kind: 'own' | 'shared'
  /** Finds the board, or refuses. */
  look: () => Promise<BoardVersion>
  view: (stored: LoadedBoard) => Promise<object>
}

/** Sends a page of a board, from memory while board and library are unchanged. */
export async function sendBoardPage(
  { db, kept, publicUrl }: BoardsDeps,
  { req, res, query: { after } }: { req: Request; res: Response; query: { after?: string | undefined } },
  { kind, look, view }: BoardPage,
): Promise<undefined> {
  const board = await look()
  const { value } = await kept.getOrLoad(`${kind} board ${board.id} ${board.version} ${after ?? ''}`, async () => {
    const stored = await loadFoundBoard(db, board, { after, limit: BOARD_PAGE })
    const { next } = stored
    return { body: new CompressibleBody(JSON.stringify({ board: await view(stored), next })), next }
  })
  linkNext({ req, res }, publicUrl, { limit: undefined, next: value.next })
  await sendJson(req, res, value.body)
  return undefined
}
