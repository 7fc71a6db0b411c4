import { type JsonText, jsonText, prefixMember, storedJson, withMembers } from '../json-text.ts'
import type {
  BrandDocument,
  FrameHit,
  Hit,
  ShownFrame,
  TechniqueDocument,
  VideoDocument,
} from '../search/library-search.ts'

/** Documents as the public resources of the decisions, section 1: PUBLIC_URL is the only source of absolute addresses. */

export function toFrame(document: ShownFrame, publicUrl: string, options: { provenance?: boolean } = {}) {
  return {
    id: document.id,
    video_id: document.video_id,
    t_sec: document.t_sec,
    kind: document.kind,
    subject: document.subject,
    surface: document.surface,
    shot: document.shot,
    technique: document.technique,
    zone: document.zone,
    tone: document.tone,
    author: document.author,
    platform: document.platform,
    caption: document.caption,
    composition: document.composition,
    steal: document.steal,
    on_screen_text: document.on_screen_text,
    palette: document.palette,
    image_url: publicUrl + document.image_path,
    thumb_url: publicUrl + document.thumb_path,
    placeholder: document.placeholder,
    width: document.width,
    height: document.height,
    save_count: document.save_count,
    source_url: document.source_url,
    annotation: document.annotation,
    video: document.video,
    ...(options.provenance ? { provenance: document.provenance } : {}),
  }
}
export type PublicFrame = ReturnType<typeof toFrame>

export function toVideo(document: VideoDocument, publicUrl: string) {
  return {
    id: document.id,
    title: document.title,
    author: document.author,
    platform: document.platform,
    source_url: document.source_url,
    duration_sec: document.duration_sec,
    width: document.width,
    height: document.height,
    fps: document.fps,
    frame_count: document.frame_count,
    published_at: document.published_at,
    added_at: document.added_at,
    image_url: absolute(document.image_path, publicUrl),
  }
}

export function toBrand(document: BrandDocument, publicUrl: string) {
  return {
    name: document.name,
    video_count: document.video_count,
    frame_count: document.frame_count,
    image_url: absolute(document.image_path, publicUrl),
  }
}

export function toTechnique(document: TechniqueDocument, publicUrl: string) {
  return {
    slug: document.slug,
    name: document.name,
    description: document.description,
    frame_count: document.frame_count,
    image_url: absolute(document.image_path, publicUrl),
  }
}

/** A search hit is the resource itself with `score` and `matched`. */
export function toHit<D, R extends object>(
  hit: Hit<D>,
  view: (document: D) => R,
): R & { score: number; matched: Record<string, string> } {
  return { ...view(hit.document), score: hit.score, matched: hit.matched }
}

/**
 * The same of a frame as JSON text. A stored document is spliced instead of parsed: a wall page has 120 of them.
 */
export function toHitText(hit: FrameHit, publicUrl: string): JsonText {
  const shown = hit.text === undefined ? undefined : toFrameText(storedJson(hit.text), publicUrl)
  if (shown === undefined) return jsonText(toHit(hit, (document) => toFrame(document, publicUrl)))
  return withMembers(shown, { score: jsonText(hit.score), matched: jsonText(hit.matched) })
}

/** A stored document has a resource's members in a resource's order, but for the paths of its images. */
function toFrameText(document: JsonText, publicUrl: string): JsonText | undefined {
  const shown = prefixMember(document, 'image_path', { as: 'image_url', prefix: publicUrl })
  return shown && prefixMember(shown, 'thumb_path', { as: 'thumb_url', prefix: publicUrl })
}

function absolute(path: string | null, publicUrl: string): string | null {
  return path === null ? null : publicUrl + path
}
