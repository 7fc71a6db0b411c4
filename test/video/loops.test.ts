import sharp from 'sharp'
import { expect, test } from 'vitest'
import { QUICK, useClips } from './ffmpeg.ts'

const clips = useClips()

function make(name: string, ...filters: string[]): string {
  const inputs = filters.flatMap((filter) => ['-f', 'lavfi', '-i', filter])
  return clips.make(name, ...inputs, '-filter_complex', `concat=n=${filters.length}`, ...QUICK)
}

const extract = (file: string, loops?: boolean) => clips.extract(file, loops === undefined ? {} : { loops })

const read = (path: string) => sharp(path, { animated: true }).metadata()

test('a moving shot gives a small animation that begins with the frame and repeats for ever', async () => {
  const { frames } = await extract(make('moving.mp4', 'testsrc2=s=640x360:r=30:d=4'), true)
  const { loop, thumbPath } = frames[0]!
  const { format, width, pageHeight, pages, loop: repeats, delay } = await read(loop!.path)
  expect({ format, width, pageHeight, repeats }).toEqual({ format: 'webp', width: 320, pageHeight: 180, repeats: 0 })
  expect(pages).toBeGreaterThanOrEqual(8)
  const lengthMs = delay!.reduce((sum, one) => sum + one)
  expect([lengthMs >= 800, lengthMs <= 2000]).toEqual([true, true])
  const [first, still] = [await sharp(loop!.path).stats(), await sharp(thumbPath).stats()]
  for (const n of [0, 1, 2]) expect(Math.abs(first.channels[n]!.mean - still.channels[n]!.mean)).toBeLessThan(4)
})

test('an upright video gives upright animations, and a small one is not enlarged', async () => {
  const { frames } = await extract(make('upright.mp4', 'testsrc2=s=360x640:r=25:d=3'), true)
  expect(await read(frames[0]!.loop!.path)).toMatchObject({ width: 180, pageHeight: 320 })
  const small = await extract(make('small.mp4', 'testsrc2=s=200x120:r=25:d=3'), true)
  expect(await read(small.frames[0]!.loop!.path)).toMatchObject({ width: 200, pageHeight: 120 })
})

test('a still picture gives none, and nothing does unless it is asked for', async () => {
  const still = await extract(make('still.mp4', 'testsrc2=s=320x180:r=30,trim=end_frame=1,loop=90:1'), true)
  expect(still.frames.map(({ loop }) => loop)).toEqual([null])
  const file = make('moving-too.mp4', 'testsrc2=s=320x180:r=30:d=3')
  for (const loops of [false, undefined])
    expect((await extract(file, loops)).frames.filter(({ loop }) => loop !== null)).toEqual([])
})

test('a loop shows its own shot alone', async () => {
  const shot = (color: string, seconds: number) =>
    `color=${color}:s=320x180:r=30:d=${seconds},noise=alls=60:allf=t,drawbox=x='t*40':y=30:w=45:h=45:color=white:t=fill`
  const file = make('shots.mp4', shot('red', 1.6), shot('blue', 1.5), shot('red', 3))
  const { frames, shots } = await extract(file, true)
  expect(shots).toHaveLength(3)
  const loops = frames.flatMap(({ loop, tMs }) => (loop ? { ...loop, tMs } : []))
  expect(loops).toHaveLength(frames.length)
  for (const { path, tMs } of loops) {
    const { pages } = await read(path)
    for (let page = 0; page < pages!; page++) {
      const { channels } = await sharp(path, { page }).stats()
      const isBlue = channels[2]!.mean > channels[0]!.mean
      expect({ tMs, page, isBlue }).toEqual({ tMs, page, isBlue: tMs >= shots[1]!.startMs && tMs < shots[2]!.startMs })
    }
  }
})
