import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import { beforeAll, expect, test } from 'vitest'
import { createAccount } from '../../src/library/accounts/accounts.ts'
import { SCOPES } from '../../src/library/accounts/key-checks.ts'
import { createKey } from '../../src/library/accounts/keys.ts'
import { useOpened } from '../support/closing.ts'
import { seedSamples } from '../support/samples.ts'
import { openToolService } from './service.ts'

/** Twenty tasks of people over the samples, by the SDK's client of both eras: calls and tokens are counted. */

const service = useOpened(() => openToolService())
let headers: { authorization: string }
beforeAll(async () => {
  const { db } = service.stores
  await seedSamples(db)
  await service.drain()
  const { id: accountId } = await createAccount(db, { email: 'operator@example.org', role: 'operator', plan: 'pro' })
  const { key } = await createKey(db, { accountId, name: 'agent', scopes: SCOPES })
  headers = { authorization: `Bearer ${key}` }
})

// biome-ignore lint/suspicious/noExplicitAny: answers are asserted field by field
type Json = any
interface Asked {
  text: string
  data: Json
}

test.each([
  ['2026-07-28', { mode: { pin: '2026-07-28' } }],
  ['the initialize era', { mode: 'legacy' }],
] as const)(
  'twenty tasks take at most 24 calls, and 9,000 tokens in the form that a model is shown: %s',
  async (era, versionNegotiation) => {
    await using client = Object.assign(new Client({ name: 'agent', version: '1' }, { versionNegotiation }), {
      [Symbol.asyncDispose]: () => client.close(),
    })
    await client.connect(new StreamableHTTPClientTransport(new URL(service.mcp), { requestInit: { headers } }))
    const [texts, data]: [number[], number[]] = [[], []]
    async function ask(name: string, args: Record<string, unknown>): Promise<Asked> {
      const { content, structuredContent } = (await client.callTool({ name, arguments: args })) as Json
      const text = content[0].text as string
      texts.push(encode(text).length)
      data.push(encode(JSON.stringify(structuredContent)).length)
      return { text, data: structuredContent }
    }
    const ids = (frames: { id: string }[]) => frames.map(({ id }) => id)

    // Something by what it shows; what there is not is said.
    const typing = await ask('search_frames', { query: 'dark terminal with a commit message', limit: 6 })
    expect(typing.data.frames[0].caption).toContain('commit message')
    const title = await ask('search_frames', { query: 'dark title card that names the product', limit: 4 })
    expect(title.data.frames[0]).toMatchObject({ subject: 'text-card', technique: 'title-card' })
    const mug = await ask('search_frames', { query: 'coffee into a blue mug', limit: 6 })
    for (const { caption } of mug.data.frames.slice(0, 3)) expect(caption).toContain('mug')
    const car = await ask('search_frames', { query: 'red car', limit: 3 })
    expect(car.text).toMatch(/No frame has every word/)
    const plain = await ask('browse_frames', { color: 'monochrome', limit: 5 })
    expect(plain.text.length).toBeGreaterThan(0)
    // What there is, by brand and by name.
    const brands = await ask('browse_frames', { counts: true, limit: 1 })
    expect(brands.text).toMatch(/author: .*"Atlas" \d+/)
    const atlas = await ask('search_library', { query: 'Atlas launch film', limit: 3 })
    const { id } = atlas.data.videos[0]
    expect(atlas.data.videos[0].title).toBe('Atlas launch film')
    // How films open and end.
    const opening = await ask('get_video_frames', { video_id: id, to_sec: 10 })
    expect(opening.data.frames.length).toBeGreaterThan(1)
    const ends = await ask('get_video_frames', { video_id: [id, 'Relay 2.0 launch film'], last: 1 })
    expect(ends.data.frames.map(({ technique }: Json) => technique)).toEqual(['end-card', 'end-card'])
    // On from a frame.
    const alike = await ask('find_similar_frames', { frame_id: mug.data.frames[0].id, other_videos: true, limit: 3 })
    expect(alike.data.frames.length).toBeGreaterThan(0)
    const moves = await ask('list_techniques', {})
    expect(moves.data.techniques[0].frame_count).toBeGreaterThan(3)
    // How films are built.
    const built = await ask('describe_film', { video_id: 'Tears of Steel (excerpt)' })
    expect(built.text).toMatch(/9 shots/)
    const both = await ask('describe_film', { video_id: [id, 'Relay 2.0 launch film'] })
    expect(both.data.films).toHaveLength(2)
    const fast = await ask('find_films', { limit: 1 })
    expect(fast.data.films[0].measures.shots_a_minute).toBeGreaterThan(20)
    const leads = await ask('find_sequences', { steps: [{ subject: 'terminal' }, { subject: 'product' }], limit: 1 })
    expect(leads.data.sequences).toHaveLength(1)
    const brief = await ask('film_brief', { video_id: 'Coffee poured into a blue mug' })
    expect(brief.data.beats).toHaveLength(3)
    // A board of one's own, and what goes again.
    await ask('edit_board', { name: 'Mugs' })
    await ask('pin_frame', { board_id: 'Mugs', frame_ids: ids(mug.data.frames), note: 'the steam' })
    const board = await ask('get_board', { board_id: 'Mugs' })
    expect(ids(board.data.frames)).toEqual(ids(mug.data.frames))
    await ask('save_frame', { frame_ids: ids(title.data.frames) })
    expect((await ask('remove', { frame_ids: ids(title.data.frames) })).data.missing).toEqual([])
    expect((await ask('remove', { board_id: 'Mugs', confirm: true })).data.deleted).toBe(true)
    // What operators do.
    const added = await ask('add_video', { url: `https://films.example.com/${encodeURIComponent(era)}.mp4` })
    expect(added.data.videos[0].status).toBe('queued')
    await ask('usage_report', { of: 'searches', by: 'term' })

    expect(texts.length).toBeLessThanOrEqual(24)
    for (const sizes of [texts, data])
      expect(
        sizes.reduce((sum, one) => sum + one, 0),
        sizes.join(),
      ).toBeLessThanOrEqual(9_000)
  },
)
