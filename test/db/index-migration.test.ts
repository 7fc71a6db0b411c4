import pg from 'pg'
import { expect, test } from 'vitest'
import { applyMigrations, knownMigrations } from '../../src/db/migrate.ts'
import { openStores } from '../support/stores.ts'

/** Migration 0008, on a library that is filled. */
test('a filled library keeps its pages through the migration, and a new generation has the same indexes', async () => {
  await using stores = await openStores()
  const name = `${stores.prefix}_old`
  await stores.db.$client.query(`create database ${name}`)
  const client = new pg.Client({ connectionString: stores.databaseUrl.replace(/[^/]+$/, name) })
  await client.connect()
  try {
    const from = knownMigrations().length
    expect(from).toBeGreaterThanOrEqual(9)
    await applyMigrations(client, { from: 0, to: 8 })
    await client.query(
      `insert into library_search.frames (id, video_id, t_ms, added_ms, subject, tone, kind, platform, strength, luma,
                                          phash, colors, words)
       select 'f' || n, 'v' || n / 100, n, n / 7, 'ui', case when n % 3 = 0 then 'dark' else 'bright' end, 'cut', 'web',
              0, 0, '0'::bit(64), '{}', 'lamp'
         from generate_series(1, 20000) n`,
    )
    const page = `select id, tone from library_search.frames where tone = 'dark'
                   order by added_ms desc, video_id, t_ms limit 20 offset 5000`
    const before = (await client.query(page)).rows
    const definitions = async (schema: string) => {
      const { rows } = await client.query<{ indexdef: string }>(
        'select indexdef from pg_indexes where schemaname = $1 order by indexname',
        [schema],
      )
      return rows.map(({ indexdef }) => indexdef.replaceAll(schema, 'library_search'))
    }
    await applyMigrations(client, { from: 8, to: 9 })
    const live = await definitions('library_search')
    expect((await client.query(page)).rows).toEqual(before)
    const { rows: invalid } = await client.query('select 1 from pg_index where not indisvalid')
    expect(invalid).toEqual([])

    await client.query(`select create_read_model('next_generation'), index_read_model('next_generation')`)
    expect(await definitions('next_generation')).toEqual(live)
  } finally {
    await client.end()
    await stores.db.$client.query(`drop database ${name}`)
  }
})
