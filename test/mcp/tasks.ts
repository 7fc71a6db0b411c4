/**
 * What a new agent is asked for, and the calls that it needs: two at most. A call may name what the one before found.
 * `before`: calls and tokens (o200k of the whole results) of the same task at 6595973, measured once; null where the
 * tools could not do it.
 */

export interface Task {
  asked: string
  who: 'anyone' | 'member' | 'operator'
  calls: readonly ((seen: Seen) => [name: string, args: Record<string, unknown>])[]
  before: { calls: number; tokens: number } | null
  /** What must hold of the last answer; true where the task is done. */
  isDone(seen: Seen): boolean
}

export interface Seen {
  videoIds: readonly string[]
  /** Frames of the first video, in time order. */
  frames: readonly { id: string; image_url: string }[]
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked into field by field
  answers: readonly { text: string; data: any }[]
}

const last = ({ answers }: Seen) => answers.at(-1)!
const listed = (seen: Seen): Record<string, unknown>[] => last(seen).data.frames
const BOARD = 'Openings for May'

export const TASKS: readonly Task[] = [
  {
    asked: 'Show me dark terminals.',
    who: 'anyone',
    calls: [() => ['search_frames', { query: 'dark terminals' }]],
    before: { calls: 1, tokens: 1867 },
    isDone: (seen) => listed(seen).length === 8 && listed(seen).every(({ subject }) => subject === 'terminal'),
  },
  {
    asked: 'How do these five films open? Two frames of each.',
    who: 'anyone',
    calls: [({ videoIds }) => ['get_video_frames', { video_id: videoIds.slice(0, 5), first: 2 }]],
    before: { calls: 5, tokens: 2735 },
    isDone: (seen) => listed(seen).length === 10 && last(seen).data.videos.length === 5,
  },
  {
    asked: 'How do the newest films end?',
    who: 'anyone',
    calls: [
      () => ['browse_frames', { kind: 'intro', sort: 'newest', limit: 3 }],
      ({ answers }) => ['get_video_frames', { video_id: answers[0]!.data.videos.map(idOf), last: 1 }],
    ],
    before: { calls: 4, tokens: 5684 },
    isDone: (seen) => listed(seen).length === 3 && listed(seen).every(({ subject }) => subject === 'b-roll'),
  },
  {
    asked: 'Find frames like this one in other films.',
    who: 'anyone',
    calls: [({ frames }) => ['find_similar_frames', { frame_id: frames[4]!.image_url, other_videos: true, limit: 7 }]],
    before: { calls: 1, tokens: 2095 },
    isDone: (seen) =>
      listed(seen).length === 7 && !listed(seen).some(({ id }) => String(id).startsWith(seen.videoIds[0]!)),
  },
  {
    asked: 'Which moves are used most? Show an example of each.',
    who: 'anyone',
    calls: [() => ['list_techniques', { limit: 5 }]],
    before: { calls: 1, tokens: 978 },
    isDone: (seen) => {
      const { techniques } = last(seen).data
      return techniques.every(
        (one: { frame_count: number; image_url: string }) => one.frame_count === 8 && one.image_url,
      )
    },
  },
  {
    asked: 'How many bright frames are there?',
    who: 'anyone',
    calls: [() => ['browse_frames', { tone: 'bright', limit: 1 }]],
    before: { calls: 1, tokens: 579 },
    isDone: (seen) => last(seen).data.total === 16 && last(seen).text.startsWith('1 frame of 16'),
  },
  {
    asked: 'What does Northwind do with kinetic type?',
    who: 'anyone',
    calls: [() => ['browse_frames', { brand: 'northwind', technique: 'kinetic type' }]],
    before: { calls: 1, tokens: 272 },
    isDone: (seen) => listed(seen).length === 1 && last(seen).data.videos[0].author === 'Northwind',
  },
  {
    asked: 'What happens in the first ten seconds of this film?',
    who: 'anyone',
    calls: [() => ['get_video_frames', { video: 'https://youtu.be/launch00003', to_sec: '10s' }]],
    before: { calls: 1, tokens: 729 },
    isDone: (seen) => listed(seen).length === 3 && listed(seen).every(({ t_sec }) => Number(t_sec) <= 10),
  },
  {
    asked: 'Put the third pin of my board to the top.',
    who: 'member',
    calls: [({ frames }) => ['pin_frame', { board: BOARD, frame_id: frames[2]!.id, position: 0 }]],
    before: null,
    isDone: (seen) => last(seen).data.moved.length === 1,
  },
  {
    asked: 'Change the note of that pin to “for Monday”.',
    who: 'member',
    calls: [({ frames }) => ['pin_frame', { board: BOARD, frame_id: frames[2]!.id, note: 'for Monday' }]],
    before: null,
    isDone: (seen) => last(seen).data.note_changed.length === 1,
  },
  {
    asked: 'Describe my board and give me a link to share.',
    who: 'member',
    calls: [() => ['update_board', { board: BOARD, description: 'For the launch', share: 'new_link' }]],
    before: null,
    isDone: (seen) => last(seen).text.includes(last(seen).data.url),
  },
  {
    asked: 'Give me my board as a file with the credits.',
    who: 'member',
    calls: [() => ['export_board', { board: BOARD }]],
    before: null,
    isDone: (seen) => last(seen).text.startsWith('frame_id,credit,') && last(seen).text.trim().split('\n').length === 5,
  },
  {
    asked: 'Delete that board.',
    who: 'member',
    calls: [
      () => ['delete_board', { board: BOARD }],
      ({ answers }) => ['delete_board', { board_id: answers[0]!.data.board.id, confirm: true }],
    ],
    before: null,
    isDone: (seen) => last(seen).data.deleted,
  },
  {
    asked: 'What did people save most this month? With pictures.',
    who: 'operator',
    calls: [() => ['report', { of: 'saves', by: 'frame' }]],
    before: null,
    isDone: (seen) => last(seen).data.rows.length === 4 && last(seen).text.includes(last(seen).data.rows[0].image_url),
  },
  {
    asked: 'What do people search for in vain?',
    who: 'operator',
    calls: [() => ['report', { of: 'searches', by: 'term' }]],
    before: null,
    isDone: (seen) =>
      last(seen).data.rows.some((row: { key: string; weak: number }) => row.key === 'red walrus' && row.weak),
  },
]

function idOf({ id }: { id: string }): string {
  return id
}
