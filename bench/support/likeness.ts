import type pg from 'pg'
import type { FrameDocument, LibrarySearch } from '../../src/search/library-search.ts'
import { mostAlike } from '../../src/search/likeness.ts'
import { round } from './stats.ts'

/**
 * Quality of `similar` over ten frames. `share`: the likeness of its results ÷ the likeness of the 24 most alike
 * frames. `found`: how many of those 24 it finds. The most alike are found by comparing with every frame.
 */
export async function likenessShare(pool: pg.Pool, search: LibrarySearch): Promise<{ share: number; found: number }> {
  const { rows } = await pool.query<{ doc: FrameDocument }>(
    `select doc from library_search.documents where kind = 'frames' and doc is not null
      order by md5(id) limit 10`,
  )
  const asked = rows.map(({ doc }) => ({ me: doc, best: [] as { id: string; score: number }[] }))
  const all = "select id, doc from library_search.documents where kind = 'frames' and doc is not null and id > $1"
  for (let after = ''; ; ) {
    const page = await pool.query<{ id: string; doc: FrameDocument }>(`${all} order by id limit 5000`, [after])
    if (page.rows.length === 0) break
    after = page.rows.at(-1)!.id
    for (const one of asked) {
      const others = page.rows.flatMap(({ id, doc }) => (id === one.me.id ? [] : [doc]))
      const scored = mostAlike(one.me, others, 24).map(({ document, likeness }) => ({
        id: document.id,
        score: likeness,
      }))
      one.best = [...one.best, ...scored].sort((a, b) => b.score - a.score).slice(0, 24)
    }
  }
  const sum = (scores: { score: number }[]) => scores.reduce((total, { score }) => total + score, 0)
  let share = 0
  let found = 0
  for (const { me, best } of asked) {
    const hits = (await search.similar(me.id, { filters: {}, limit: 24 }))!
    share += sum(hits) / sum(best) / asked.length
    found +=
      hits.filter(({ document }) => best.some(({ id }) => id === document.id)).length / best.length / asked.length
  }
  return { share: round(share), found: round(found) }
}
