import { z } from 'zod'
import { cachedRead } from '../http/cached-reads.ts'
import { sourceKeyOf } from '../video/source/source.ts'
import { FrameHit, toFrame, toHit } from '../views/frame.ts'
import { freeText, limitUpTo, MAX_QUERY } from '../views/parameters.ts'
import { BrandHit, TechniqueHit, toBrand, toTechnique, toVideo, VideoHit } from '../views/resources.ts'
import type { App } from './app.ts'

const LIMIT = { default: 6, max: 20 } as const

const SearchAnswer = z
  .strictObject({
    videos: z.array(VideoHit),
    frames: z.array(FrameHit),
    brands: z.array(BrandHit),
    techniques: z.array(TechniqueHit),
  })
  .meta({ id: 'SearchResponse' })

export const searchEndpoints = [
  cachedRead(
    {
      id: 'searchLibrary',
      path: '/api/search',
      tag: 'Library',
      summary: 'Search videos, frames, brands and techniques in one call',
      description: [
        'Reads `q` as people write it: a word is met by a text or by the attribute that it names (*dark*, *close up*).',
        'Frames with all words come first. By turns partial matches follow and those close in meaning',
        '(`matched.meaning`); they name the words they miss.',
        'Tolerates typing mistakes, matches the beginnings of words, and phrases in quotes; `-word` leaves out.',
        'Finds any part of a text in Chinese, Japanese, Korean, Thai, Lao, Khmer and Burmese.',
        'A blank term returns the strongest rows of each kind.',
        'The URL of a video, in any common form, returns that video. With `q` it costs 5 points.',
      ].join(' '),
      parameters: {
        q: {
          schema: freeText(MAX_QUERY),
          description: 'The term, or the URL of a video. Blank: the strongest rows of each kind.',
          example: 'terminal',
          fallback: '',
        },
        limit: {
          schema: limitUpTo(LIMIT.max),
          description: `Rows per group: ${LIMIT.default} by default, at most ${LIMIT.max} (higher values are capped).`,
          example: '6',
          fallback: LIMIT.default,
        },
      },
      answer: SearchAnswer,
      price: 'search',
    },
    async ({ search, publicUrl }: App, { query: { q = '', limit = LIMIT.default } }) => {
      const groups = await search.search({ q, limit, sourceKey: sourceKeyOf(q), asker: 'programs' })
      const answer = {
        videos: groups.videos.map((hit) => toHit(hit, (document) => toVideo(document, publicUrl))),
        frames: groups.frames.map((hit) => toHit(hit, (document) => toFrame(document, publicUrl))),
        brands: groups.brands.map((hit) => toHit(hit, (document) => toBrand(document, publicUrl))),
        techniques: groups.techniques.map((hit) => toHit(hit, (document) => toTechnique(document, publicUrl))),
      }
      return groups.readAs?.meaning === 'unavailable' ? { passing: answer } : answer
    },
    { raises: ({ q = '' }) => q !== '' },
  ),
]
