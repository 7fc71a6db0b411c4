import { type Html, html } from './html.ts'

/** What is shown where a link to a page is pasted. */
export interface Card {
  title: string
  description: string
  /** Path of the page, and of its picture with its size. */
  path: string
  image: { path: string; width?: number | null; height?: number | null } | null
}

/** Open Graph (ogp.me), the same for X cards, and where the oEmbed answer of this page is. */
export function openGraph(publicUrl: string, { title, description, path, image }: Card): Html {
  const address = publicUrl + path
  const size =
    image?.width &&
    image.height &&
    html`<meta property="og:image:width" content="${image.width}">
<meta property="og:image:height" content="${image.height}">
`
  return html`<link rel="canonical" href="${address}">
<link rel="alternate" type="application/json+oembed" title="${title}"
 href="${publicUrl}/api/oembed?url=${encodeURIComponent(address)}">
<meta property="og:site_name" content="Frame Library">
<meta property="og:type" content="article">
<meta property="og:title" content="${title}">
<meta property="og:description" content="${description}">
<meta property="og:url" content="${address}">
${image && html`<meta property="og:image" content="${publicUrl}${image.path}">\n`}${size}<meta name="twitter:card"
 content="${image ? 'summary_large_image' : 'summary'}">
`
}
