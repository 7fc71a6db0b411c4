import { randomUUID } from 'node:crypto'
import type { Db } from '../../src/db/client.ts'
import { createAccount } from '../../src/library/accounts/accounts.ts'
import { createKey } from '../../src/library/accounts/keys.ts'
import { createSignInCode, formToken, redeemSignInCode } from '../../src/library/accounts/sessions.ts'
import { createBoard } from '../../src/library/collections/boards.ts'
import { pinFrames } from '../../src/library/collections/pins.ts'
import { saveFrames } from '../../src/library/collections/saves.ts'
import { recordFilm } from '../../src/library/films/films.ts'
import { idArray } from '../../src/library/ids.ts'
import { addTechnique } from '../../src/library/techniques/techniques.ts'
import { sql } from '../../src/sql/orm.ts'

export interface World {
  db: Db
  accountId: string
  key: string
  cookie: string
  form: string
  frames: string[]
  videos: string[]
  slugs: string[]
  brands: string[]
  /** Full, with the longest notes. */
  board: string
}

const FRAMES = 7_000
const SMALL_BOARDS = 300

export const MOST = { pins: 5_000, note: 'n'.repeat(2_000) }

export async function openWorld(db: Db): Promise<World> {
  const videos = await listIds(db, 'select id from videos order by id')
  const frames = await listIds(db, `select id from frames order by md5(id) limit ${FRAMES}`)
  const { accountId, ...person } = await newPerson(db, 'operator')
  const board = await fullBoard(db, accountId, frames)
  for (const [at, id] of videos.entries()) await db.transaction((tx) => recordFilm(tx, id, inventedFilm(at)))
  for (let n = 1; n < SMALL_BOARDS; n++) {
    const { id: boardId } = await createBoard(db, { accountId, name: `board ${n} ${'b'.repeat(100)}` })
    await pinFrames(db, { accountId, boardId, frameIds: frames.slice(n, n + 5) })
  }
  for (let from = 0; from < MOST.pins; from += 500)
    await saveFrames(db, { accountId, frameIds: frames.slice(from, from + 500) })
  return {
    db,
    accountId,
    ...person,
    frames,
    videos,
    slugs: await listIds(
      db,
      'select technique as id from frames where technique is not null group by 1 order by count(*) desc',
    ),
    brands: await listIds(
      db,
      'select author as id from videos where author is not null group by 1 order by count(*) desc',
    ),
    board,
  }
}

/** 200 shots whose lengths and motion differ from film to film. */
function inventedFilm(at: number): Parameters<typeof recordFilm>[2] {
  const shots = Array.from({ length: 200 }, (_, n) => {
    const [fromMs, toMs] = [n * (500 + at), (n + 1) * (500 + at)]
    const bounds = { fromMs, toMs, startMs: fromMs, endMs: toMs }
    const seen = { held: 0.5, motion: at + n }
    return { ...bounds, ...seen, transition: 'cut' as const, through: null }
  })
  const picture = { measures: {}, noSound: 'none', arcs: { motion: [at], luma: [at], u: [0], v: [0] } } as never
  return { shots, picture, probe: { durationSec: 200 * (0.5 + at / 1000) } }
}

async function listIds(db: Db, text: string): Promise<string[]> {
  const { rows } = await db.$client.query<{ id: string }>(text)
  return rows.map(({ id }) => id)
}

/** With the longest notes, unless another is given. */
export async function fullBoard(
  db: Db,
  accountId: string,
  frames: readonly string[],
  note: string | null = MOST.note,
): Promise<string> {
  const { id } = await createBoard(db, { accountId, name: `full ${randomUUID()}` })
  await db.execute(sql`
    insert into board_items (board_id, frame_id, position, note)
    select ${id}, frame_id, n, ${note}
      from unnest(${idArray(frames.slice(0, MOST.pins))}) with ordinality as f(frame_id, n)`)
  return id
}

/** A technique that a tenth of a library of 20,000 frames has. */
export async function commonTechnique(db: Db): Promise<string> {
  const slug = `t-${randomUUID()}`
  await addTechnique(db, { slug, name: slug, description: slug, aliases: [] })
  await db.$client.query(
    'update frames set technique = $1 where id in (select id from frames order by md5(id) limit 2000)',
    [slug],
  )
  return slug
}

/** A Pro account with a key and a session. */
export async function newPerson(db: Db, role: 'member' | 'operator' = 'member') {
  const email = `${randomUUID()}@example.org`
  const { id: accountId } = await createAccount(db, { email, plan: 'pro', role })
  const { key } = await createKey(db, { accountId, name: 'k' })
  const { code } = (await createSignInCode(db, { email, newPlan: null }))!
  const { token } = (await redeemSignInCode(db, { code }))!
  return { accountId, key, cookie: `session=${token}`, form: formToken(token) }
}
