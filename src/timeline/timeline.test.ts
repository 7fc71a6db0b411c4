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
    [
      'with a clip shorter than the transitions at its ends',
      timeline([
        clip(0, 20),
        clip(20, 30, { mix: { before: 2, behind: 6 } }),
        clip(30, 60, { mix: { before: 5, behind: 5 } }),
      ]),
    ],
  ]
  test.each(refused)('%s', (_what, given) => {
    expect(() => checkTimeline(given)).toThrow(TimelineRefused)
  })

  test('one frame past the last label of the day', () => {
    const lastLeft = [249, 250, 251].find((left) => {
      try {
        checkTimeline(timeline([clip(0, 250)], { start: 25 * 86_400 - left }))
        return true
      } catch {
        return false
      }
    })
    expect(lastLeft).toBe(250)
  })
})
