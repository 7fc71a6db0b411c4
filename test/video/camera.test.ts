import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import sharp from 'sharp'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { extractVideo } from '../../src/video/extract/extract.ts'

const SAMPLES = join(import.meta.dirname, '../../samples')
let folder: string
/** A filmed picture of 1600×900, and a page of 640×2400 with its header of 640×60. */
let still: string
let page: string
let header: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'camera-test-'))
  still = ffmpeg('still.png', ['-ss', '31', '-i', join(SAMPLES, 'tears-of-steel.mp4')], ['-vf', 'scale=1600:900'], 1)
  page = await draw('page.png', 2400, 34)
  header = await draw('header.png', 60, 20)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function ffmpeg(name: string, input: string[], output: string[], frames?: number): string {
  const file = join(folder, name)
  const all = frames ? ['-frames:v', String(frames)] : ['-pix_fmt', 'yuv420p', '-preset', 'ultrafast']
  execFileSync('ffmpeg', ['-v', 'error', '-nostdin', '-y', ...input, ...output, ...all, file])
  return file
}

/** Lines of dark words, no two alike. */
async function draw(name: string, height: number, step: number): Promise<string> {
  const words = Array.from({ length: Math.floor(height / step) }, (_, row) =>
    Array.from({ length: 7 }, (_, n) => {
      const wide = 20 + ((row * 37 + n * 53 + row * n * 11) % 50)
      return `<rect x="${20 + n * 85 + ((row * 17) % 15)}" y="${row * step + 6}" width="${wide}" height="${step / 2}"/>`
    }).join(''),
  )
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="640" height="${height}"><rect width="640"
height="${height}" fill="#fff"/>${words.join('')}</svg>`
  const file = join(folder, name)
  await sharp(Buffer.from(svg)).png().toFile(file)
  return file
}

async function shotsOf(file: string) {
  const scratchDir = mkdtempSync(join(folder, 'scratch-'))
  const signal = new AbortController().signal
  return (await extractVideo({ file, scratchDir, signal, limits: { maxDurationSec: 900 } })).shots
}

/** Four seconds of one picture. */
const REPEATED = 'loop=119:1,setpts=N/30/TB,fps=30'
/** A window of 640×360 that goes over the picture, or one whose size changes. */
const window = (x: string, y: string, size = '640:360') => `crop=${size}:x='${x}':y='${y}',scale=640:360`
const GROWN = "scale=w='2*trunc(400*(1+0.06*t))':h=-2:eval=frame,crop=640:360"
const SHAKE = ['6*sin(5*t)+5*sin(13*t+1)+3*sin(23*t)', '5*sin(7*t+2)+4*sin(17*t)+3*sin(29*t+1)']

test.each([
  ['static', window('400', '200')],
  ['static', `${window('400', '200')},noise=alls=8:allf=t`],
  ['pan', window('700-60*t', '200')],
  ['pan', window('300+35*t', '200')],
  ['tilt', window('400', '60+50*t')],
  ['zoom', GROWN],
  ['handheld', window(`480+${SHAKE[0]}`, `270+${SHAKE[1]}`)],
])('a camera that is %s: %s', async (move, filter) => {
  const film = ffmpeg('move.mp4', ['-i', still], ['-vf', `${REPEATED},${filter}`])
  expect((await shotsOf(film)).map(({ camera }) => camera)).toEqual([move])
})

test.each([
  [12, 2],
  [3, 10],
])('%i slides with one picture each, %i seconds long, are static, the last one too', async (count, sec) => {
  const slides = `loop=${count - 1}:1,setpts=${sec}*N/TB,fps=1/${sec},${window('400', '200')},negate=enable='mod(n,2)'`
  const film = ffmpeg('slides.mp4', ['-i', still], ['-vf', slides])
  const shots = (await shotsOf(film)).map(({ startMs, camera }) => [startMs, camera])
  expect(shots).toEqual(Array.from({ length: count }, (_, n) => [1000 * sec * n, 'static']))
})

test('a page that goes up under its header is scrolled', async () => {
  const scroll = `[0]${REPEATED},crop=640:360:x=0:y='if(lt(mod(t,2),1),90*t,90*(1+floor(t/2)))'[a];[a][1]overlay`
  const film = ffmpeg('scroll.mp4', ['-i', page, '-i', header], ['-filter_complex', scroll])
  expect((await shotsOf(film)).map(({ camera }) => camera)).toEqual(['scroll'])
})

test('pictures that mostly move each in its own way say nothing of the camera', async () => {
  const noise = ['-f', 'lavfi', '-t', '3', '-i', 'life=size=160x90:mold=10:rate=30:random_seed=7']
  const film = ffmpeg('life.mp4', noise, ['-vf', 'scale=640:360'])
  expect(new Set((await shotsOf(film)).map(({ camera }) => camera))).toEqual(new Set(['unknown']))
})

test('frames taken out of a filmed shot are a jump, and no shot; those of a screen recording are none', async () => {
  const without = (sample: string, from: number) => {
    const select = `select='not(between(n,${from},${from + 14}))',setpts=N/30/TB`
    return shotsOf(ffmpeg('cut.mp4', ['-i', join(SAMPLES, sample)], ['-an', '-vf', select]))
  }
  const whole = await shotsOf(join(SAMPLES, 'coffee-pour.mp4'))
  expect(whole.map(({ jumps }) => jumps)).toEqual([[]])
  const [shot, ...others] = await without('coffee-pour.mp4', 150)
  expect(others).toEqual([])
  expect(shot!.jumps.map((ms) => Math.round((ms * 30) / 1000))).toEqual([150])
  expect((await without('gitui-commit.mp4', 120)).flatMap(({ jumps }) => jumps)).toEqual([])
})
