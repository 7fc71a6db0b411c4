import { type SQL, sql } from 'drizzle-orm'
import type { EventType } from '../../events/catalogue.ts'

/** The figure that each type of event counts towards. */
const COUNTED = {
  'board.created': 'boards_created',
  'board.deleted': 'boards_deleted',
  'video.submitted': 'videos_queued',
  'video.ready': 'videos_ready',
  'video.failed': 'videos_failed',
  'video.cancelled': 'videos_cancelled',
} as const satisfies Partial<Record<EventType, string>>

const USES = {
  'frame.saved': 'saves',
  'frame.unsaved': 'unsaves',
  'board.frame_pinned': 'pins',
  'board.frame_unpinned': 'unpins',
} as const satisfies Partial<Record<EventType, string>>

/** Changes that an account makes in its own collection. It was active on that day. */
const ACTS = [
  'frame.saved',
  'frame.unsaved',
  'board.created',
  'board.renamed',
  'board.described',
  'board.deleted',
  'board.frame_pinned',
  'board.frame_unpinned',
  'board.frame_moved',
  'board.frame_noted',
  'board.cover_chosen',
  'board.shared',
  'board.unshared',
] as const satisfies readonly EventType[]

/** Event types that are rare compared with saves and pins: their events are read once and kept. */
const RARE = [...Object.keys(COUNTED), 'model.called', 'searches.unanswered', 'searches.counted']

/** Events that change a figure. */
export const ANALYTICS_EVENTS: readonly EventType[] = [...new Set<EventType>([...ACTS, ...(RARE as EventType[])])]

/**
 * Writes saves and pins of the days from `counted`, by every dimension of the events. Writes only changed rows, because
 * the current day is counted again and again. No row is ever deleted: the log only grows. One sort, byte by byte, gives
 * both the groups and the order of the arrays. Frames are not grouped again, because events rarely differ in a frame's
 * facts.
 */
export function writeUses(counted: SQL): SQL {
  const tally = (type: string) => sql`(count(*) filter (where type = ${sql.raw(`'${type}'`)}))::int`
  const [saved, unsaved, pinned, unpinned] = Object.keys(USES).map(tally)
  const counts = sql`array_agg(saves), array_agg(unsaves), array_agg(pins), array_agg(unpins)`
  return sql`
    with uses as materialized (
      select day, frame, video, brand, technique, subject,
             ${saved} as saves, ${unsaved} as unsaves, ${pinned} as pins, ${unpinned} as unpins
        from (select day, type, (data->>'frame_id') collate "C" as frame, (data->>'video_id') collate "C" as video,
                     nullif(data->>'author', '') collate "C" as brand, (data->>'technique') collate "C" as technique,
                     (data->>'subject') collate "C" as subject
                from (${counted}) c where type in ${listOf(Object.keys(USES))}
               order by day, frame, video, brand, technique, subject) e
       group by day, frame, video, brand, technique, subject)
    insert into analytics_uses (day, dimension, keys, saves, unsaves, pins, unpins)
    select day, 'frame', array_agg(frame), ${counts}
      from (select * from uses order by day, frame, video, brand, technique, subject) f group by day
    union all
    select day,
           case named when 7 then 'video' when 11 then 'brand' when 13 then 'technique' when 14 then 'subject'
                      else 'all' end,
           array_agg(key), ${counts}
      from (select day, grouping(video, brand, technique, subject) as named,
                   coalesce(video, brand, technique, subject, '') as key, sum(saves)::int as saves,
                   sum(unsaves)::int as unsaves, sum(pins)::int as pins, sum(unpins)::int as unpins
              from uses
             group by grouping sets ((day), (day, video), (day, brand), (day, technique), (day, subject))
             order by named, day, key) k
     group by named, day
    on conflict (dimension, day) do update
       set keys = excluded.keys, saves = excluded.saves, unsaves = excluded.unsaves, pins = excluded.pins,
           unpins = excluded.unpins
     where (analytics_uses.keys, analytics_uses.saves, analytics_uses.unsaves, analytics_uses.pins,
            analytics_uses.unpins)
           is distinct from (excluded.keys, excluded.saves, excluded.unsaves, excluded.pins, excluded.unpins)`
}

/** Writes everything else of the days from `counted`. Amounts are decimals, whose sum has no order. */
export function writeFigures(counted: SQL): SQL {
  const figureOf = Object.entries(COUNTED).map(([type, figure]) => `when '${type}' then '${figure}'`)
  return sql`
    with e as (select * from (${counted}) e where type in ${listOf(RARE)})
    insert into analytics_figures (day, figure, key, count, amount)
    select day, case type ${sql.raw(figureOf.join(' '))} end,
           case when type = 'video.failed' then data->>'code' else '' end, count(*), null::numeric
      from e where type in ${listOf(Object.keys(COUNTED))} group by 1, 2, 3
    union all
    select day, 'active_accounts', '', count(*), null::numeric
      from (select distinct day, account_id from (${counted}) e
             where type in ${listOf(ACTS)} and account_id is not null and coalesce(data->>'cause', 'owner') = 'owner') a
     group by day
    union all
    select day, 'stages', s->>'stage', count(*), sum((s->>'seconds')::numeric)
      from e, jsonb_array_elements(data->'stages') s where type in ('video.ready', 'video.failed') group by 1, 2, 3
    union all
    select day, 'model_calls', data->>'model', count(*), sum((data->>'cost_usd')::numeric)
      from e where type = 'model.called' group by 1, 2, 3
    union all
    select day, case type when 'searches.counted' then 'weak' else 'unanswered' end, term, sum(n), null::numeric
      from (select day, type, t->>'term' as term, (t->>'count')::bigint as n
              from e, jsonb_array_elements(data->'terms') t where type like 'searches.%'
            union all
            select day, type, '', (data->>'withheld')::bigint from e where type like 'searches.%') t
     group by 1, 2, 3 having sum(n) > 0
    union all
    select day, 'searches_' || c.key, a->>'asker', sum(c.value::bigint), null::numeric
      from e, jsonb_array_elements(data->'askers') a, jsonb_each_text(a - 'asker') c
     where type = 'searches.counted' group by 1, 2, 3 having sum(c.value::bigint) > 0
    on conflict (figure, day, key) do update set count = excluded.count, amount = excluded.amount
     where (analytics_figures.count, analytics_figures.amount) is distinct from (excluded.count, excluded.amount)`
}

const listOf = (types: readonly string[]): SQL => sql.raw(`(${types.map((type) => `'${type}'`).join(', ')})`)
