import {
  type FrameRow,
  toBrandDocument,
  toFrameDocument,
  toTechniqueDocument,
  toVideoDocument,
  type VideoRow,
} from '../../../src/projections/search/document.ts'
import { cellOf, cellsOf, colorNames, isColorName } from '../../../src/search/color.ts'
import type {
  FilterName,
  FrameDocument,
  FrameFilters,
  TechniqueDocument,
  VideoDocument,
} from '../../../src/search/library-search.ts'
import { namedValues } from '../../../src/search/text/named-words.ts'
import { DERIVED, type Derived } from '../../../src/vocabulary.ts'
import { type SeedFrame, toFrameRow } from '../../support/seed.ts'

/** Made-up documents, and queries for them. */

export const PALETTE = ['#d02020', '#20a040', '#2040c0', '#e0c020', '#b030b0']

export function order(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

/** The filters as a plain predicate. */
export function passes(frame: FrameDocument, filters: FrameFilters): boolean {
  const named = namedValues(frame)
  const valuesOf = (name: FilterName): readonly (string | null)[] => {
    if (name === 'video') return [frame.video_id]
    if (name === 'color') return [...colorNames(frame), ...cellsOf(frame.palette, frame.palette_shares).map(String)]
    return (DERIVED as readonly string[]).includes(name)
      ? named.filter((one) => one.startsWith(`${name}=`)).map((one) => one.slice(name.length + 1))
      : [frame[name as Exclude<FilterName, Derived | 'video' | 'color'>]]
  }
  const asStored = (name: FilterName, value: string) =>
    name === 'color' && !isColorName(value) ? String(cellOf(value)) : value
  return Object.entries(filters).every(([given, values]) => {
    const name = given.replace('not_', '') as FilterName
    if (!values || values.length === 0) return true
    const has = valuesOf(name)
    return given.startsWith('not_') !== values.some((value: string) => has.includes(asStored(name, value)))
  })
}

export interface Clip {
  video: VideoDocument
  frames: FrameDocument[]
}

export function clip(id: string, video: Partial<VideoRow>, list: SeedFrame[]): Clip {
  const addedAt = video.addedAt ?? new Date(Date.UTC(2026, 0, 5))
  const row = {
    id,
    sourceKey: `youtube:${id}`,
    sourceUrl: `https://example.com/${id}`,
    title: `Video ${id}`,
    author: 'Acme',
    platform: 'web',
    durationSec: 60,
    width: 1280,
    height: 720,
    fps: 30,
    publishedAt: null,
    ...video,
    addedAt,
  } as VideoRow
  const frames = list.map((frame, at) =>
    toFrameDocument({ ...toFrameRow(id, frame, at, addedAt), shotMs: null, vector: null } as FrameRow, row, () => null),
  )
  const best = frames.toSorted((a, b) => b.strength - a.strength)[0]
  return {
    video: toVideoDocument(row, {
      frameCount: frames.length,
      imagePath: best?.image_path ?? null,
      strength: best?.strength ?? 0,
    }),
    frames,
  }
}

/** The documents of these clips. `oldSlugs`: what a technique was called before, by its slug. */
export function changesOf(clips: readonly Clip[], oldSlugs: Record<string, string[]> = {}) {
  const frames = clips.flatMap((one) => one.frames)
  const authors = [...new Set(clips.flatMap(({ video }) => video.author ?? []))]
  const slugs = [...new Set(frames.flatMap(({ technique }) => technique ?? []))]
  const summary = (of: FrameDocument[]) => ({
    frameCount: of.length,
    imagePath: of[0]?.image_path ?? null,
    strength: Math.max(0, ...of.map(({ strength }) => strength)),
  })
  const brands = authors.map((name) =>
    toBrandDocument(name, { ...summary(frames.filter(({ author }) => author === name)), videoCount: 1 }),
  )
  const techniques = slugs.map(
    (slug): TechniqueDocument =>
      toTechniqueDocument(
        {
          slug,
          name: slug.replaceAll('-', ' '),
          description: '',
          recognise: '',
          aliases: [],
          retiredAt: null,
          movesTo: null,
          movesAs: null,
          createdAt: new Date(0),
          updatedAt: new Date(0),
        },
        oldSlugs[slug] ?? [],
        summary(frames.filter(({ technique }) => technique === slug)),
      ),
  )
  return { put: { frames, videos: clips.map(({ video }) => video), brands, techniques }, remove: {} }
}
