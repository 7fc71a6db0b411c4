import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { plural } from '../clean-text.ts'
import { imageKeyOf } from '../media/image-name.ts'
import { MAX_INLINE } from './present.ts'
import { defineTool, READS, type Tool, type ToolApp } from './tool.ts'
import { frameIds } from './values.ts'

/**
 * The gallery: a page that a host shows inside a chat, with the frames of a result (MCP Apps, SEP-1865). Hosts without
 * the extension show the text of the result, as before.
 */

/** Names the kind of page to a host. */
export const GALLERY_TYPE = 'text/html;profile=mcp-app'

/** The page in one file: its style and script stand in it, because a host loads nothing else. */
export function loadGallery(): string {
  const read = (name: string) => readFileSync(new URL(`gallery/${name}`, import.meta.url), 'utf8')
  return read('gallery.html')
    .replace('/* gallery.css */', () => read('gallery.css'))
    .replace('/* gallery.js */', () => read('gallery.js'))
}

/** What a host reads beside the page: it may load images of the library. Where it allows none, thumbnails are data. */
export const galleryMeta = (publicUrl: string) => ({
  ui: { csp: { resourceDomains: [new URL(publicUrl).origin] }, prefersBorder: true },
})

const MAX_PICTURES = 20

/**
 * Thumbnails as data addresses. Only the gallery calls it: hosts keep it from their model. Without a key the gallery
 * reads the frames as resources, one by one: the open tools are six.
 */
export function framePictures({ search, readImage }: Pick<ToolApp, 'search' | 'readImage'>): Tool {
  return defineTool({
    name: 'frame_pictures',
    title: 'Pictures for the gallery',
    description: 'Thumbnails for the gallery that a host shows. Not for models: use image URLs.',
    annotations: READS,
    price: 'search',
    scope: 'any',
    visibleTo: ['app'],
    input: z.strictObject({ frame_ids: frameIds(MAX_PICTURES) }),
    output: z.object({
      pictures: z.array(z.object({ of: z.string(), data: z.string() })),
      left: z.array(z.string()),
    }),
    async run({ frame_ids: ids }) {
      const frames = new Map((await search.framesByIds(ids)).map((frame) => [frame.id, frame]))
      const pictures: { of: string; data: string }[] = []
      const left: string[] = []
      let size = 0
      for (const id of ids) {
        const key = imageKeyOf(frames.get(id)?.thumb_path ?? '')
        const image = left.length === 0 && key ? await readImage(key) : undefined
        const data = image?.toString('base64') ?? ''
        if (left.length > 0 || size + data.length > MAX_INLINE.all) left.push(id)
        else if (data !== '' && data.length <= MAX_INLINE.one) {
          size += data.length
          pictures.push({ of: id, data: `data:image/webp;base64,${data}` })
        }
      }
      const text = `${plural(pictures.length, 'picture')} for the gallery.`
      return { text, structured: { pictures, left } }
    },
  })
}
