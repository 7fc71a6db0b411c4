import { TRACKING } from '../../parameters.ts'
import type { Platform } from '../../vocabulary.ts'

/** One video, however its address was written. */
export interface Source {
  platform: Platform
  /** The address that is stored, shown and fetched. */
  canonicalUrl: string
  /** What makes two submissions the same video: `youtube:<id>`, `url:<canonical>`. */
  key: string
  /** The platform's own id. */
  videoId?: string
}

const MAX_URL = 2000

/** The canonical source of a video address; undefined for text that is no web address. */
export function findSource(text: string): Source | undefined {
  const url = toUrl(text)
  if (!url) return undefined
  const host = url.hostname.replace(/^(www|m|mobile|music|gaming)\./, '')
  return (
    youtube(url, host) ?? x(url, host) ?? vimeo(url, host) ?? linkedin(url, host) ?? page(url, host) ?? web(url, host)
  )
}

/**
 * The source of an address as people paste it. It may be in brackets or quotes, end with a full stop, be
 * percent-encoded as a whole, or stand among other words. Among words only the address of a platform's video counts.
 */
export function findPasted(text: string): Source | undefined {
  const term = /^https?%3a%2f%2f/i.test(text.trim()) ? decodePercent(text.trim()) : text.trim()
  const [address] = /https?:\/\/\S+/i.exec(term) ?? [term.replace(/^[(<["'“]+/, '').replace(/^\/\/(?=\w)/, 'https://')]
  const bare = withoutEnd(address)
  const source = findSource(bare)
  const alone = !/[\p{L}\p{N}]/u.test(term.replace(bare, ''))
  return alone || source?.videoId !== undefined ? source : undefined
}

/** The key of a pasted video URL. A URL of no video finds nothing, instead of words that resemble its letters. */
export function sourceKeyOf(term: string): string | undefined {
  return findPasted(term)?.key ?? (/^https?:\/\//i.test(term) ? 'unknown' : undefined)
}

const SENTENCE_END = new Set('.,;:!?…\'"”’»>]}')

/** Strips what ends a sentence, a quotation or a bracket that was opened before the address. */
function withoutEnd(address: string): string {
  let unopened = address.split(')').length - address.split('(').length
  let end = address.length
  for (; end > 0; end--) {
    const sign = address[end - 1]!
    if (sign === ')' && unopened > 0) unopened--
    else if (!SENTENCE_END.has(sign)) break
  }
  return address.slice(0, end)
}

function toUrl(text: string): URL | undefined {
  let given = text.trim()
  if (given === '' || given.length > MAX_URL || /[\s\u0000-\u001f<>"]/.test(given)) return undefined
  // People leave out https://. Such text needs a dotted host and a path to count as an address.
  if (!/^[a-z][a-z0-9+.-]*:/i.test(given)) {
    if (!/^([a-z0-9-]+\.)+[a-z]{2,}\/\S+/i.test(given)) return undefined
    given = `https://${given}`
  }
  if (!/^https?:\/\//i.test(given) || !URL.canParse(given)) return undefined
  const url = new URL(given)
  // A name and password in an address are never stored.
  if (url.username !== '' || url.password !== '') return undefined
  if (!url.hostname.includes('.') && !url.hostname.startsWith('[')) return undefined
  return url
}

/** `label`: what names the platform in the key. */
function toSource(platform: Platform, videoId: string, canonicalUrl: string, label: string = platform): Source {
  return { platform, canonicalUrl, key: `${label}:${videoId}`, videoId }
}

const YOUTUBE_ID = /^[A-Za-z0-9_-]{11}$/

function youtube(url: URL, host: string): Source | undefined {
  if (host !== 'youtube.com' && host !== 'youtu.be' && host !== 'youtube-nocookie.com') return undefined
  const [first, second] = segments(url)
  let id: string | null | undefined
  // A time added by hand often has a second question mark, or an ampersand where a question mark belongs.
  if (host === 'youtu.be') id = first?.split('&')[0]
  else if (first === 'watch' || first === undefined) id = url.searchParams.get('v')?.split('?')[0] ?? second
  else if (['shorts', 'embed', 'live', 'v', 'e', 'vi'].includes(first ?? '')) id = second
  else if (first === 'attribution_link') return nested(url.searchParams.get('u'), 'https://www.youtube.com')
  else if (first === 'oembed' || first === 'redirect')
    return nested(url.searchParams.get('url') ?? url.searchParams.get('q'), 'https://www.youtube.com')
  if (!id || !YOUTUBE_ID.test(id)) return undefined
  return toSource('youtube', id, `https://www.youtube.com/watch?v=${id}`)
}

function nested(address: string | null, base: string): Source | undefined {
  if (!address || !URL.canParse(address, base)) return undefined
  const url = new URL(address, base)
  return /^https?:$/.test(url.protocol) ? youtube(url, url.hostname.replace(/^(www|m|music)\./, '')) : undefined
}

function x(url: URL, host: string): Source | undefined {
  if (!['x.com', 'twitter.com', 'fxtwitter.com', 'vxtwitter.com', 'fixupx.com', 'fixvx.com'].includes(host))
    return undefined
  const id =
    /^\/(?:i\/web|i|[A-Za-z0-9_]{1,20})\/(?:status|statuses)\/(\d{1,20})(?:\/|$)/i.exec(url.pathname)?.[1] ??
    /^\/i\/videos\/(?:tweet\/)?(\d{1,20})/.exec(url.pathname)?.[1]
  return id ? toSource('x', id, `https://x.com/i/status/${id}`) : undefined
}

const VIMEO_FOLDERS = [
  'video',
  'videos',
  'manage/videos',
  'channels/[^/]+',
  'groups/[^/]+/videos',
  '(?:album|showcase)/\\d+/video',
  'ondemand/[^/]+',
  '[^/]+/review',
  'reviews/[^/]+/videos',
]
/** A language, a folder, the id and the hash of an unlisted video. */
const VIMEO_PATH = new RegExp(
  `^/(?:[a-z]{2}/)?(?:(?:${VIMEO_FOLDERS.join('|')})/)?(\\d{4,12})(?:/([0-9a-f]{6,16}))?/?$`,
)

function vimeo(url: URL, host: string): Source | undefined {
  if (host !== 'vimeo.com' && host !== 'player.vimeo.com') return undefined
  const found = VIMEO_PATH.exec(url.pathname)
  const id = found?.[1]
  if (!id) return undefined
  // An unlisted video can be reached only with its hash. It is the same video with and without.
  const hash = found[2] ?? url.searchParams.get('h')
  const secret = hash && /^[0-9a-f]{6,16}$/.test(hash) ? `/${hash}` : ''
  return toSource('vimeo', id, `https://vimeo.com/${id}${secret}`)
}

function linkedin(url: URL, host: string): Source | undefined {
  if (host !== 'linkedin.com' && !host.endsWith('.linkedin.com')) return undefined
  const path = decodePercent(url.pathname + url.search)
  const found =
    /urn:li:(activity|ugcPost|share):(\d{6,25})/.exec(path) ??
    /\/posts\/[^/]*-(activity|ugcPost|share)-(\d{6,25})(?:-|\/|$)/.exec(path)
  if (!found) return undefined
  const id = `${found[1]}:${found[2]}`
  return toSource('linkedin', id, `https://www.linkedin.com/feed/update/urn:li:${id}`)
}

/**
 * Sites that are no platform of their own (`platform: web`) and show videos on pages. Only yt-dlp can fetch those. Each
 * page of one video has one address, in the form that yt-dlp accepts.
 */
interface PageSite {
  /** As people write it. */
  name: string
  /** yt-dlp's extractors of the site. */
  extractors: string[]
  hosts: RegExp
  /** What names the video in the path. */
  paths: RegExp[]
  toUrl(id: string): string
}

const SITES: Record<string, PageSite> = {
  tiktok: {
    name: 'TikTok',
    extractors: ['tiktok', 'vm.tiktok'],
    hosts: /^((vm|vt)\.)?tiktok\.com$/,
    paths: [
      /^\/@[\w.-]*\/video\/(\d{6,25})(?:\/|$)/,
      /^\/(?:embed(?:\/v\d)?|player\/v\d|v)\/(\d{6,25})(?:\.html|\/|$)/,
    ],
    // The site leads to the author's page, whatever the author is called here.
    toUrl: (id) => `https://www.tiktok.com/@_/video/${id}`,
  },
  instagram: {
    name: 'Instagram',
    extractors: ['instagram'],
    hosts: /^(instagram\.com|instagr\.am)$/,
    paths: [/^\/(?:(?!share\/|stories\/)[\w.]+\/)?(?:p|tv|reels?)\/(?!audio(?:\/|$))([\w-]{5,60})(?:\/|$)/],
    toUrl: (id) => `https://www.instagram.com/p/${id}/`,
  },
  loom: {
    name: 'Loom',
    extractors: ['loom'],
    hosts: /^loom\.com$/,
    paths: [/^\/(?:share|embed|i)\/(?:[\w-]*-)?([\da-f]{32})(?:\/|$)/],
    toUrl: (id) => `https://www.loom.com/share/${id}`,
  },
}

/** The names of the sites' extractors, for yt-dlp. */
export const PAGE_EXTRACTORS = Object.values(SITES).flatMap(({ extractors }) => extractors)

/** The video that an address of such a site names; undefined for every other address. `host` is without `www`. */
function page(url: URL, host: string): Source | undefined {
  for (const [label, { hosts, paths, toUrl }] of Object.entries(SITES)) {
    if (!hosts.test(host)) continue
    for (const path of paths) {
      const id = path.exec(url.pathname)?.[1]
      if (id) return toSource('web', id, toUrl(id), label)
    }
  }
  return undefined
}

/** The name of the site that an address belongs to; undefined for every other address. */
function pageSiteOf(address: string): string | undefined {
  if (!URL.canParse(address)) return undefined
  const host = new URL(address).hostname.replace(/^(www|m)\./, '')
  return Object.values(SITES).find(({ hosts }) => hosts.test(host))?.name
}

/** A plain address. A platform's page that names no video (a channel, a search) keeps its platform. */
function web(url: URL, host: string): Source {
  const canonical = new URL(url)
  canonical.protocol = 'https:'
  canonical.hash = ''
  canonical.hostname = canonical.hostname.replace(/\.$/, '')
  // The port of http has no meaning for https.
  if (url.protocol === 'http:' && canonical.port === '80') canonical.port = ''
  for (const name of [...canonical.searchParams.keys()]) if (TRACKING.test(name)) canonical.searchParams.delete(name)
  return { platform: platformOf(host), canonicalUrl: canonical.href, key: `url:${canonical.href}` }
}

function platformOf(host: string): Platform {
  if (/^(youtube\.com|youtu\.be|youtube-nocookie\.com)$/.test(host)) return 'youtube'
  if (/^(x|twitter)\.com$/.test(host)) return 'x'
  if (/^(player\.)?vimeo\.com$/.test(host)) return 'vimeo'
  if (/(^|\.)linkedin\.com$/.test(host)) return 'linkedin'
  return 'web'
}

/** Whether the address is a page that only yt-dlp can turn into a video file. */
export function needsYtDlp(source: Pick<Source, 'platform' | 'canonicalUrl'>): boolean {
  return source.platform !== 'web' || pageSiteOf(source.canonicalUrl) !== undefined
}

/** What people call the site of a source. */
export function siteOf(source: Pick<Source, 'platform' | 'canonicalUrl'>): string {
  return pageSiteOf(source.canonicalUrl) ?? source.platform
}

/** The video's address at one second; null where its platform has no such links. */
export function deepLink(platform: Platform, url: string | null, tSec: number): string | null {
  if (url === null) return null
  const second = Math.max(0, Math.floor(tSec))
  if (platform === 'youtube' && /^https:\/\/www\.youtube\.com\/watch\?v=[\w-]{11}$/.test(url))
    return `${url}&t=${second}s`
  if (platform === 'vimeo' && /^https:\/\/vimeo\.com\/\d/.test(url)) return `${url}#t=${second}s`
  // Browsers support a media fragment on a plain file.
  if (platform === 'web' && URL.canParse(url) && /\.(mp4|m4v|mov|webm)$/i.test(new URL(url).pathname))
    return `${url}#t=${second}`
  return null
}

function segments(url: URL): string[] {
  return url.pathname.split('/').filter((part) => part !== '')
}

/** A text that is not percent-encoded UTF-8 stays as it is. */
export function decodePercent(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}
