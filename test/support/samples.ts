import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Db } from '../../src/db/client.ts'
import { measureLuma } from '../../src/video/extract/measure.ts'
import { seedFilm } from './film.ts'
import type { SeedFrame } from './seed.ts'

interface Sample {
  file: string
  title: string
  author: string
  /** Without a palette where no frame is kept. */
  notes: (SeedFrame & { at: number })[]
}

/** That of its largest colour stands for a frame. */
const lightOf = (colour: string) => measureLuma(Buffer.from(colour.slice(1), 'hex'))

/** The library of a first start, from what is noted with the samples: nothing is decoded. */
export async function seedSamples(db: Db): Promise<void> {
  for (const { file, title, author, notes } of JSON.parse(readFileSync('samples/samples.json', 'utf8')) as Sample[]) {
    const sourceKey = `sha256:${createHash('sha256')
      .update(readFileSync(`samples/${file}`))
      .digest('hex')}`
    const frames = notes.flatMap(({ at, palette, ...note }) =>
      palette ? [{ ...note, ...lightOf(palette[0]!), palette, tSec: at }] : [],
    )
    const shots = notes.map(({ at }, n) => Math.max(0.5, (notes[n + 1]?.at ?? at + 2) - at))
    await seedFilm(db, { sourceKey, title, author, frames, shots })
  }
}
