import { describe, expect, test } from 'vitest'
import { toEdl, toMarkerEdl } from './edit-lists.ts'
import { toFcpxml, toXmeml } from './final-cut.ts'
import { toOtio } from './otio.ts'
import { type Clip, checkTimeline, type Media, type Timeline, TimelineRefused } from './timeline.ts'

const PAL = { num: 25, den: 1 }
const NTSC30 = { num: 30_000, den: 1001 }

const film: Media = {
  id: 'v1',
  fileName: 'Atlas & "friends" <1>.mp4',
  title: 'Atlas',
  url: null,
  rate: PAL,
  width: 1280,
  height: 720,
  length: 250,
  start: 0,
  drop: false,
}
const clip = (from: number, to: number, more: Partial<Clip> = {}): Clip => ({
  name: `Shot at ${from}`,
  media: film,
  from,
  to,
  markers: [],
  ...more,
})
const timeline = (clips: Clip[], more: Partial<Timeline> = {}): Timeline => ({
  name: 'Atlas',
  rate: PAL,
  start: 90_000,
  drop: false,
  clips,
  ...more,
})

describe('an edit decision list', () => {
  test('has a line a cut, and two for a dissolve, which begins where mixing does', () => {
    const lines = toEdl(timeline([clip(0, 100), clip(100, 250, { mix: { before: 5, behind: 10 } })])).split('\n')
    expect(lines).toEqual([
      'TITLE: Atlas',
      'FCM: NON-DROP FRAME',
      '',
      '001  ATLAS001 V     C        00:00:00:00 00:00:03:20 01:00:00:00 01:00:03:20',
      '* FROM CLIP NAME: Atlas & "friends" <1>.mp4',
      '002  ATLAS001 V     C        00:00:03:20 00:00:03:20 01:00:03:20 01:00:03:20',
      '002  ATLAS001 V     D    015 00:00:03:20 00:00:10:00 01:00:03:20 01:00:10:00',
      '* FROM CLIP NAME: Atlas & "friends" <1>.mp4',
      '* TO CLIP NAME: Atlas & "friends" <1>.mp4',
      '',
    ])
  })

  test('is refused for two rates and for more than 999 clips, with what to do', () => {
    const other = { ...film, id: 'v2', rate: NTSC30 }
    expect(() => toEdl(timeline([clip(0, 10), clip(0, 10, { media: other })]))).toThrow(/Name one with rate/)
    const many = Array.from({ length: 1000 }, () => clip(0, 1))
    expect(() => toEdl(timeline(many))).toThrow(/at most 999 events/)
  })

  test.each<[string, Clip[]]>([
    [
      'a dissolve of a thousand frames',
      [
        clip(0, 1000, { media: { ...film, length: 5000 } }),
        clip(1000, 3000, { media: { ...film, length: 5000 }, mix: { before: 500, behind: 500 } }),
      ],
    ],
    ['a source that runs past midnight', [clip(0, 250, { media: { ...film, start: 25 * 86_400 - 249 } })]],
    ['a film longer than a day', [clip(0, 25 * 86_401, { media: { ...film, length: 25 * 90_000 } })]],
  ])('is refused for %s', (_what, clips) => {
    expect(() => toEdl(timeline(clips, { start: 0 }))).toThrow(/Use otio or xml/)
  })

  test('markers share a frame, hold no separator, and no name begins with a digit', () => {
    const markers = [
      { frame: 10, name: '3 cards', note: 'a|b' },
      { frame: 10, name: 'Second', note: '' },
    ]
    const list = toMarkerEdl(timeline([clip(0, 100, { markers })]))
    expect(list).toContain('001  001      V     C        01:00:00:10 01:00:00:11 01:00:00:10 01:00:00:11')
    expect(list).toContain('|M:Frame 3 cards: a/b / Second |D:1')
    expect(list.match(/\|M:/g)).toHaveLength(1)
  })
})

test('every form escapes hostile names', () => {
  const hostile = { ...film, fileName: '</name>\u0000]]>&#x0;.mp4' }
  const given = timeline([clip(0, 10, { media: hostile, name: '"><script>' })])
  for (const xml of [toXmeml(given), toFcpxml(given)]) {
    expect(xml).not.toContain('<script')
    expect(xml).not.toContain('</name>]')
    expect(xml).not.toContain('\u0000')
  }
  expect(JSON.parse(toOtio(given)).tracks.children[0].children[0].name).toBe('"><script>')
})

describe('a timeline is refused', () => {
  const refused: [string, Timeline][] = [
    ['without a clip', timeline([])],
    ['with an empty clip', timeline([clip(10, 10)])],
    ['with a clip that runs backwards', timeline([clip(10, 5)])],
    ['with a clip before its film', timeline([clip(-1, 5)])],
    ['with a clip beyond its film', timeline([clip(240, 251)])],
    ['with half a frame', timeline([clip(0.5, 5)])],
    ['with a marker outside', timeline([clip(0, 5, { markers: [{ frame: 5, name: '', note: '' }] })])],
    ['that begins with a transition', timeline([clip(10, 20, { mix: { before: 1, behind: 1 } })])],
    ['with an empty transition', timeline([clip(0, 9), clip(9, 20, { mix: { before: 0, behind: 0 } })])],
    ['with a transition longer than its clip', timeline([clip(0, 9), clip(9, 20, { mix: { before: 10, behind: 0 } })])],
    [
      'with a transition that has no pictures',
      timeline([clip(200, 250), clip(9, 20, { mix: { before: 0, behind: 5 } })]),
    ],
    [
      'with a clip shorter than the transitions at its ends',
      timeline([
        clip(0, 20),
        clip(20, 30, { mix: { before: 2, behind: 6 } }),
        clip(30, 60, { mix: { before: 5, behind: 5 } }),
      ]),
    ],
    ['with half a frame of transition', timeline([clip(0, 9), clip(9, 20, { mix: { before: 1.5, behind: 2 } })])],
    ['with a marker at no frame', timeline([clip(0, 5, { markers: [{ frame: 1.5, name: '', note: '' }] })])],
    ['that drops labels at 25', timeline([clip(0, 9)], { drop: true })],
    ['that begins before zero', timeline([clip(0, 9)], { start: -1 })],
    ['longer than a day', timeline([clip(0, 250)], { start: 25 * 86_400 - 249 })],
  ]
  test.each(refused)('%s', (_what, given) => {
    expect(() => checkTimeline(given)).toThrow(TimelineRefused)
  })

  test('and one that ends with the last label of the day is not', () => {
    expect(() => checkTimeline(timeline([clip(0, 250)], { start: 25 * 86_400 - 250 }))).not.toThrow()
  })
})
