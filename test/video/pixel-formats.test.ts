import { readFileSync, writeFileSync } from 'node:fs'
import sharp from 'sharp'
import { beforeAll, expect, test } from 'vitest'
import type { ExtractedFrame } from '../../src/video/extract/frame-images.ts'
import { useClips } from './ffmpeg.ts'

const { extract, make: makeFile } = useClips()
let plain: ExtractedFrame

/** A grey, a white, a red, a blue, a green and a skin-coloured field. */
const SOURCE = [
  'color=white:s=640x360:r=25:d=1',
  'format=gbrp',
  'drawbox=0:0:320:120:gray:fill',
  'drawbox=0:120:320:120:red:fill',
  'drawbox=0:240:320:120:0x00a000:fill',
  'drawbox=320:120:320:120:blue:fill',
  'drawbox=320:240:320:120:0xd0a080:fill',
].join(',')

beforeAll(async () => {
  plain = (await extract(make('plain.mp4', SDR, ['-c:v', 'libx264', '-pix_fmt', 'yuv420p', ...TAGS]))).frames[0]!
})

const SDR = `${SOURCE},scale=out_color_matrix=bt709:out_range=tv,format=yuv444p`

const TAGS = ['-colorspace', 'bt709', '-color_trc', 'bt709', '-color_primaries', 'bt709', '-color_range', 'tv']

const make = (name: string, filters: string, args: string[]) => makeFile(name, '-f', 'lavfi', '-i', filters, ...args)

/** The colours in the middle of the six fields. */
async function fields(frame: ExtractedFrame): Promise<number[][]> {
  const result: number[][] = []
  for (const [left, top] of [
    [60, 30],
    [380, 30],
    [60, 150],
    [380, 150],
    [60, 270],
    [380, 270],
  ] as const) {
    const { channels } = await sharp(
      await sharp(frame.imagePath)
        .extract({ left, top, width: 200, height: 60 })
        .toColourspace('srgb')
        .png()
        .toBuffer(),
    ).stats()
    result.push(channels.slice(0, 3).map(({ mean }) => Math.round(mean)))
  }
  return result
}

async function farthest(a: ExtractedFrame, b: ExtractedFrame): Promise<number> {
  const [one, other] = [await fields(a), await fields(b)]
  return Math.max(...one.flatMap((colour, i) => colour.map((value, k) => Math.abs(value - other[i]![k]!))))
}

test('the reference shows the colours it was made of', async () => {
  const made = [
    [128, 128, 128],
    [255, 255, 255],
    [255, 0, 0],
    [0, 0, 255],
    [0, 160, 0],
    [208, 160, 128],
  ]
  const shown = await fields(plain)
  for (const [i, colour] of made.entries())
    for (const [k, value] of colour.entries()) expect(Math.abs(shown[i]![k]! - value)).toBeLessThan(9)
})

const AV1 = ['-c:v', 'libaom-av1', '-cpu-used', '8', '-usage', 'realtime', '-crf', '20', '-b:v', '0']
const VP9 = ['-c:v', 'libvpx-vp9', '-deadline', 'realtime', '-cpu-used', '8', '-crf', '20', '-b:v', '0']
const HEVC = ['-c:v', 'libx265', '-preset', 'ultrafast', '-x265-params', 'log-level=error']
const PRORES = 'prores_metadata=color_primaries=bt709:color_trc=bt709:colorspace=bt709'

test.each([
  ['HEVC in ten bits', 'hevc10.mp4', [...HEVC, '-pix_fmt', 'yuv420p10le']],
  ['AV1 in ten bits', 'av1.mp4', [...AV1, '-pix_fmt', 'yuv420p10le']],
  ['VP9 in ten bits', 'vp9.webm', [...VP9, '-pix_fmt', 'yuv420p10le']],
  ['H.264 4:2:2 in ten bits', 'h264-422.mp4', ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv422p10le']],
  ['H.264 4:4:4', 'h264-444.mp4', ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv444p']],
  ['ProRes 4444', 'prores.mov', ['-c:v', 'prores_ks', '-profile:v', '4', '-pix_fmt', 'yuv444p10le', '-bsf:v', PRORES]],
])('%s gives the same colours', async (_, name, args) => {
  const { frames, probe } = await extract(make(name, SDR, [...args, ...TAGS]))
  expect([probe.width, probe.height]).toEqual([640, 360])
  expect(await farthest(frames[0]!, plain)).toBeLessThan(9)
})

test.each([
  ['PQ', 'smpte2084'],
  ['HLG', 'arib-std-b67'],
])(
  'a high dynamic range (%s) comes out as the same picture of the usual range, not grey and pale',
  async (_, transfer) => {
    // Diffuse white at 203 cd/m², as broadcasters set it.
    const wide = [
      'zscale=tin=bt709:min=bt709:pin=bt709:rin=tv:t=linear:p=bt709:m=gbr:npl=203',
      'format=gbrpf32le',
      'zscale=tin=linear:min=gbr:pin=bt709:t=linear:m=gbr:p=bt2020',
      `zscale=tin=linear:min=gbr:pin=bt2020:t=${transfer}:m=bt2020nc:p=bt2020:r=tv:npl=203`,
      'format=yuv420p10le',
    ].join(',')
    const params = `log-level=error:colorprim=bt2020:transfer=${transfer}:colormatrix=bt2020nc`
    const hdr = ['-c:v', 'libx265', '-preset', 'ultrafast', '-crf', '12', '-x265-params', params]
    const file = make(`${transfer}.mp4`, `${SDR},${wide}`, hdr)
    const { frames } = await extract(file)
    // White itself is lowered a little, to leave room for brighter values.
    expect(await farthest(frames[0]!, plain)).toBeLessThan(26)
    expect(Math.abs(frames[0]!.luma - plain.luma)).toBeLessThan(8)
  },
)

const IN_P3 = [
  'zscale=tin=iec61966-2-1:t=iec61966-2-1:min=bt709:m=bt709:pin=bt709:p=smpte432:rin=tv:r=tv',
  'format=yuv420p',
].join(',')
const X264 = ['-c:v', 'libx264', '-preset', 'ultrafast', '-crf', '10', '-pix_fmt', 'yuv420p']

test('Display P3 comes out as the same colours, not paler', async () => {
  const tags = [...TAGS, '-color_trc', 'iec61966-2-1', '-color_primaries', 'smpte432']
  const tagged = await extract(make('p3.mp4', `${SDR},${IN_P3}`, [...X264, ...tags]))
  expect(await farthest(tagged.frames[0]!, plain)).toBeLessThan(12)
  // The same values without the mark are the pale picture that this is about.
  const unmarked = await extract(make('p3-unmarked.mp4', `${SDR},${IN_P3}`, [...X264, ...TAGS]))
  expect(await farthest(unmarked.frames[0]!, plain)).toBeGreaterThan(20)
})

/** Adds the box that marks Dolby Vision to the sample entry of an MP4 file whose index is at its end. */
function markDolbyVision(file: string, profile: number, compatibility: number): string {
  const bytes = readFileSync(file)
  const box = Buffer.alloc(32)
  box.writeUInt32BE(32, 0)
  box.write('dvcC', 4, 'latin1')
  box[8] = 1
  // Version 1.0, profile (7 bits), level 3 (6 bits), layers: RPU and base; then the compatibility (4 bits).
  box.writeUInt16BE((profile << 9) | (3 << 3) | 0b101, 10)
  box[12] = compatibility << 4
  let end = bytes.indexOf('hvc1', bytes.indexOf('stsd')) - 4
  const entry = end
  end += bytes.readUInt32BE(entry)
  const grown = Buffer.concat([bytes.subarray(0, end), box, bytes.subarray(end)])
  for (const name of ['moov', 'trak', 'mdia', 'minf', 'stbl', 'stsd']) {
    const at = bytes.indexOf(name) - 4
    grown.writeUInt32BE(bytes.readUInt32BE(at) + box.length, at)
  }
  grown.writeUInt32BE(bytes.readUInt32BE(entry) + box.length, entry)
  const marked = file.replace('.mp4', `-dv${profile}.mp4`)
  writeFileSync(marked, grown)
  return marked
}

test('Dolby Vision without a base layer is refused with what to do; with one it is shown', async () => {
  const file = make('vision.mp4', SDR, [...HEVC, '-tag:v', 'hvc1', '-pix_fmt', 'yuv420p10le', ...TAGS])
  await expect(extract(markDolbyVision(file, 5, 0))).rejects.toMatchObject({
    code: 'unsupported_colour',
    message: expect.stringMatching(/Dolby Vision profile 5.*Export it as HDR10, HLG or SDR/),
  })
  const { frames } = await extract(markDolbyVision(file, 8, 2))
  expect(await farthest(frames[0]!, plain)).toBeLessThan(9)
})
