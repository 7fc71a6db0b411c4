import type { Db } from '../../src/db/client.ts'

/** Events of each of the last thirty days, for figures: of frames and videos of the library, and without their rows. */
export async function seedMonth(db: Db): Promise<void> {
  const of = (text: string) => db.$client.query(text).then(({ rows }) => rows)
  const frames = await of(`select f.id as frame_id, f.video_id, v.author, f.technique, f.subject
                             from frames f join videos v on v.id = f.video_id order by md5(f.id) limit 40`)
  const videos = await of('select id as video_id, title, author, platform from videos order by id')
  const events: object[] = []
  for (let days = 0; days < 30; days++) {
    const add = (type: string, subject: string, data: object, who?: number) =>
      events.push({ type, subject, account_id: who === undefined ? null : `account-${who}`, data, days })
    // Weeks have a rhythm, and few frames have most of the saves.
    for (let n = 0; n < 4 + (days % 7) * 2; n++) {
      const frame = frames[(n * n + days) % frames.length]!
      add('frame.saved', frame.frame_id, frame, n)
      if (n % 2 === 0) add('board.frame_pinned', 'board', { ...frame, board_id: 'board' }, n)
      if (n % 5 === 0) add('frame.unsaved', frame.frame_id, { ...frame, cause: 'owner' }, n)
      if (n % 7 === 0) add('board.frame_unpinned', 'board', { ...frame, board_id: 'board', cause: 'owner' }, n)
    }
    const video = videos[days % videos.length]!
    if (days % 3 === 0) add('board.created', 'board', { board_id: 'board', name: 'Openings' }, days % 5)
    add('video.submitted', video.video_id, { ...video, revision: 1, reason: 'added' })
    if (days % 4 === 0) add('video.failed', video.video_id, { ...video, code: 'no_video' })
    else add('video.ready', video.video_id, { ...video, stages: [{ stage: 'fetching', seconds: 5 + days }] })
    add('model.called', video.video_id, { model: 'vision-small', cost_usd: 0.001 * (1 + (days % 5)) })
    const term = { kind: 'unanswered', term: 'clay stop motion', count: 1 + (days % 4) }
    const askers = [{ asker: 'page', searches: 10, unanswered: term.count }]
    add('searches.counted', 'search', { askers, terms: [term] })
  }
  await db.$client.query(
    `insert into events (type, subject, account_id, data, time)
     select type, subject, account_id, data, now() - make_interval(days => days)
       from jsonb_to_recordset($1) as e(type text, subject text, account_id text, data jsonb, days int)
      order by days desc`,
    [JSON.stringify(events)],
  )
}
