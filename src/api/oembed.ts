import { z } from 'zod'
import { AppError, invalid, notFound } from '../errors.ts'
import { cachedRead } from '../http/cached-reads.ts'
import { frameIdIn } from '../library/ids.ts'
import { currentSlug } from '../search/query.ts'
import { thumbnailSize } from '../views/frame.ts'
import { plainName, wholeNumber } from '../views/parameters.ts'
import type { ReadDeps } from './reads.ts'

/** oEmbed (https://oembed.com), for sites that show previews of pasted links. */

const OEmbedAnswer = z
  .strictObject({
    version: z.literal('1.0'),
    type: z.enum(['photo', 'link']),
    title: z.string(),
    author_name: z.string().optional(),
    author_url: z.url().optional(),
    provider_name: z.string(),
    provider_url: z.url(),
    url: z.url().optional().describe('The image of a `photo`.'),
    width: z.int().optional(),
    height: z.int().optional(),
    thumbnail_url: z.url().optional(),
    thumbnail_width: z.int().optional(),
    thumbnail_height: z.int().optional(),
  })
  .meta({ id: 'OEmbedResponse' })
type Answer = z.infer<typeof OEmbedAnswer>

const parameters = {
  url: {
    schema: plainName(2_000),
    description: 'The address of a frame, a video or a technique on this site.',
    example: 'http://localhost:3000/techniques/title-card',
  },
  format: { schema: z.enum(['json']), description: 'Only `json`.', fallback: 'json' as const },
  maxwidth: { schema: wholeNumber('must be a whole number from 1'), description: 'The widest picture wanted.' },
  maxheight: { schema: wholeNumber('must be a whole number from 1'), description: 'The highest picture wanted.' },
} as const

interface Size {
  maxwidth?: number | undefined
  maxheight?: number | undefined
}

export const oembedEndpoints = [
  cachedRead(
    {
      id: 'oembed',
      path: '/api/oembed',
      tag: 'Service',
      summary: 'oEmbed of a page: what is shown where its link is pasted',
      parameters,
      answer: OEmbedAnswer,
      errors: [404],
    },
    async (deps: ReadDeps, { query: { url, ...size } }) => {
      if (url === undefined) throw invalid('url', 'url: is required and must be the address of a page on this site')
      const [, kind, id] = pathOn(deps.publicUrl, url)
      if (kind === 'frames') return frameOf(deps, id!, size)
      if (kind === 'videos') return videoOf(deps, id!)
      if (kind === 'techniques') return techniqueOf(deps, id!)
      throw noPage()
    },
  ),
]

function noPage(): AppError {
  const message = 'No such page. Send the address of a frame, video or technique on this site.'
  return new AppError('not_found', message, { missing: 'page' })
}

/** The parts of the path of one of our pages. @throws AppError not_found */
function pathOn(publicUrl: string, url: string): string[] {
  const address = URL.canParse(url) ? new URL(url) : undefined
  if (address?.origin !== new URL(publicUrl).origin) throw noPage()
  return /^\/(frames|videos|techniques)\/([a-z0-9-]{1,64})\/?$/i.exec(address.pathname)?.slice() ?? []
}

function common(publicUrl: string): Pick<Answer, 'version' | 'provider_name' | 'provider_url'> {
  return { version: '1.0', provider_name: 'Frame Library', provider_url: publicUrl }
}

async function frameOf({ search, publicUrl }: ReadDeps, id: string, size: Size): Promise<Answer> {
  const found = await search.frame(id)
  if (!found) throw notFound('frame')
  const { frame } = found
  const thumbnail = thumbnailSize(frame)
  const isLarge = frame.width <= (size.maxwidth ?? Infinity) && frame.height <= (size.maxheight ?? Infinity)
  const { thumbnail_width: width, thumbnail_height: height } = thumbnail
  const shown = isLarge
    ? { path: frame.image_path, width: frame.width, height: frame.height }
    : { path: frame.thumb_path, width, height }
  const { author } = frame
  return {
    ...common(publicUrl),
    type: 'photo',
    title: frame.caption ?? frame.video.title,
    ...(author === null
      ? {}
      : { author_name: author, author_url: `${publicUrl}/brands/${encodeURIComponent(author)}` }),
    url: publicUrl + shown.path,
    width: shown.width,
    height: shown.height,
    thumbnail_url: publicUrl + frame.thumb_path,
    ...thumbnail,
  }
}

/** The small picture of the frame that an image shows, with its size: oEmbed has none of the three alone. */
async function thumbnailOf({ search, publicUrl }: ReadDeps, imagePath: string | null): Promise<Partial<Answer>> {
  const [frame] = imagePath === null ? [] : await search.framesByIds([frameIdIn(imagePath)])
  return frame ? { thumbnail_url: publicUrl + frame.thumb_path, ...thumbnailSize(frame) } : {}
}

async function videoOf(deps: ReadDeps, id: string): Promise<Answer> {
  const video = await deps.search.video(id)
  if (!video) throw notFound('video')
  const { title, author, image_path } = video
  return {
    ...common(deps.publicUrl),
    type: 'link',
    title,
    ...(author === null ? {} : { author_name: author }),
    ...(await thumbnailOf(deps, image_path)),
  }
}

async function techniqueOf(deps: ReadDeps, given: string): Promise<Answer> {
  const vocabulary = await deps.search.techniques()
  const slug = currentSlug(vocabulary, given)
  const technique = vocabulary.find((one) => one.slug === slug)
  if (!technique) throw notFound('technique')
  const { name, image_path } = technique
  return {
    ...common(deps.publicUrl),
    type: 'link',
    title: name,
    ...(await thumbnailOf(deps, image_path)),
  }
}
