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
export function findPageVideo(
  url: URL,
  host: string,
): { canonicalUrl: string; key: string; videoId: string } | undefined {
  for (const [label, { hosts, paths, toUrl }] of Object.entries(SITES)) {
    if (!hosts.test(host)) continue
    for (const path of paths) {
      const id = path.exec(url.pathname)?.[1]
      if (id) return { canonicalUrl: toUrl(id), key: `${label}:${id}`, videoId: id }
    }
  }
  return undefined
}

/** The name of the site that an address belongs to; undefined for every other address. */
export function pageSiteOf(address: string): string | undefined {
  if (!URL.canParse(address)) return undefined
  const host = new URL(address).hostname.replace(/^(www|m)\./, '')
  return Object.values(SITES).find(({ hosts }) => hosts.test(host))?.name
}
