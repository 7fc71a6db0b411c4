import { describe, expect, test } from 'vitest'
import { toFcpxml, toXmeml } from './final-cut.ts'
import { toOtio } from './otio.ts'
import { type Clip, checkTimeline, type Media, type Timeline, TimelineRefused } from './timeline.ts'

const PAL = { num: 25, den: 1 }

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
