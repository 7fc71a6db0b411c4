import { sql } from 'drizzle-orm'
import type { Db } from '../../src/db/client.ts'

export interface LivelyOptions {
  /** About as many: weekends lose some. */
  events: number
  days: number
  seed?: number
}

/**
 * Appends events of the last `days` days to the log of a seeded library, with a rhythm of days and weeks. They are
 * saves and pins of its frames (a few frames have most of them), boards, videos, model calls and searches without an
 * answer. Events only, without their rows: for looking at figures and for measuring what counts them.
 */
export async function seedLivelyEvents(db: Db, { events, days, seed = 1 }: LivelyOptions): Promise<number> {
  return db.transaction(async (tx) => {
    await tx.execute(sql`select setseed(${(seed % 1_000) / 1_000})`)
    await tx.execute(sql`
      create temporary table lively_frames on commit drop as
      select row_number() over (order by md5(f.id)) - 1 as n, f.id, f.video_id, v.author, f.technique, f.subject
        from frames f join videos v on v.id = f.video_id where v.first_ready_at is not null`)
    await tx.execute(sql`
      create temporary table lively_videos on commit drop as
      select row_number() over (order by md5(id)) - 1 as n, id, title, author, platform from videos`)
    await tx.execute(sql`create index on lively_frames (n)`)
    await tx.execute(sql`create index on lively_videos (n)`)
    await tx.execute(sql`analyze lively_frames, lively_videos`)
    const { rowCount } = await tx.execute(sql`
      with moments as materialized (
        select now() - make_interval(days => ${days}) + power(random(), 0.75) * ${days} * interval '1 day' as day,
               random() + random() + random() as hour, random() as what, random() as which, random() as chance,
               random() as who
          from generate_series(1, ${events})),
      acts as materialized (
        select least(date_trunc('day', day) + hour * interval '8 hours', now()) as time, what, which, chance,
               'lively-' || floor(power(who, 2) * 240)::int as account_id,
               floor(power(which, 3) * (select count(*) from lively_frames))::bigint as frame_n,
               floor(which * (select count(*) from lively_videos))::bigint as video_n
          from moments where extract(isodow from day) < 6 or chance < 0.45),
      told as (
        select time, account_id,
               case when what < 0.64 then 'frame.saved' when what < 0.72 then 'frame.unsaved'
                    when what < 0.93 then 'board.frame_pinned' when what < 0.96 then 'board.frame_unpinned'
                    when what < 0.968 then 'board.created' when what < 0.97 then 'board.deleted'
                    when what < 0.976 then 'video.submitted' when what < 0.9815 then 'video.ready'
                    when what < 0.982 then 'video.failed' when what < 0.997 then 'model.called'
                    else 'searches.unanswered' end as type,
               jsonb_build_object('frame_id', f.id, 'video_id', f.video_id, 'author', f.author,
                                  'technique', f.technique, 'subject', f.subject) as facts,
               jsonb_build_object('video_id', v.id, 'title', v.title, 'author', v.author,
                                  'platform', v.platform) as video,
               f.id as frame_id, v.id as video_id, what, chance, video_n
          from acts join lively_frames f on f.n = frame_n join lively_videos v on v.n = video_n)
      insert into events (type, subject, account_id, data, time)
      select type,
             case when type like 'frame.%' then frame_id when type like 'board.%' then 'board-' || (video_n % 40)
                  when type = 'searches.unanswered' then 'search' else video_id end,
             case when type like 'frame.%' or type like 'board.%' then account_id end,
             ${dataOf()}, time
        from told order by time`)
    return rowCount ?? 0
  })
}

/** The data of each type, as the catalogue has it. */
function dataOf() {
  return sql`
    case type
      when 'frame.saved' then facts
      when 'frame.unsaved' then facts || '{"cause": "owner"}'
      when 'board.frame_pinned' then facts || jsonb_build_object('board_id', 'board-' || (video_n % 40))
      when 'board.frame_unpinned'
        then facts || jsonb_build_object('board_id', 'board-' || (video_n % 40), 'cause', 'owner')
      when 'board.created' then jsonb_build_object('board_id', 'board-' || (video_n % 40), 'name', 'Openings')
      when 'board.deleted'
        then jsonb_build_object('board_id', 'board-' || (video_n % 40), 'name', 'Openings', 'item_count', 3)
      when 'video.submitted' then video || '{"revision": 1, "reason": "added"}'
      when 'video.ready' then video || jsonb_build_object('frame_count', 125, 'stages', jsonb_build_array(
        jsonb_build_object('stage', 'fetching', 'seconds', round((2 + 9 * chance)::numeric, 3)),
        jsonb_build_object('stage', 'extracting', 'seconds', round((14 + 40 * chance * chance)::numeric, 3)),
        jsonb_build_object('stage', 'annotating', 'seconds', round((35 + 90 * chance)::numeric, 3))))
      when 'video.failed' then video || jsonb_build_object(
        'code', (array['unreachable', 'no_video', 'too_long'])[1 + (video_n % 3)],
        'stages', jsonb_build_array(jsonb_build_object('stage', 'fetching', 'seconds', 30)))
      when 'model.called' then jsonb_build_object('video_id', video_id, 'model', 'vision-small', 'outcome', 'ok',
        'frames', 4, 'input_tokens', 3600, 'output_tokens', 520, 'duration_ms', 2400,
        'cost_usd', round((0.0012 + 0.0009 * chance)::numeric, 6))
      else jsonb_build_object('withheld', video_n % 2, 'terms', jsonb_build_array(jsonb_build_object(
        'term', (array['holographic card stack', 'clay stop motion', 'vhs tracking lines', 'x-ray product cutaway',
                       'split flap board', 'liquid metal logo', 'paper fold transition', 'thermal camera'])
                [1 + floor(8 * chance * chance)::int], 'count', 1 + (video_n % 4))))
    end`
}
