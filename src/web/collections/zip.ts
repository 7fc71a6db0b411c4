import type { ReadableStream } from 'node:stream/web'
import { makeZip } from 'client-zip'
import type { PinnedFrame, SavedFrame } from '../../views/collections.ts'
import { CSV_HEAD, type ExportRow, toCsvLines, toExportRow } from '../../views/export.ts'
import { type Html, html, safeUrl, trusted } from '../html.ts'

interface Zipped {
  title: string
  batches: AsyncIterable<readonly (SavedFrame | PinnedFrame)[]>
  readImage: (path: string) => Promise<Buffer | undefined>
  publicUrl: string
}

/**
 * The images of a collection in its order, with a contact sheet to look at and print (`index.html`) and a table
 * (`frames.csv`). Each file is made when the reader asks for it, so that a board of any size needs little memory.
 */
export function zipOf(given: Zipped): ReadableStream<Uint8Array> {
  return makeZip(filesOf(given)) as ReadableStream<Uint8Array>
}

interface SheetEntry {
  /** Null where the image is gone. */
  file: string | null
  row: ExportRow
}

async function* filesOf({ title, batches, readImage, publicUrl }: Zipped) {
  const entries: SheetEntry[] = []
  for await (const batch of batches)
    for (const frame of batch) {
      const image = await readImage(frame.image_url.slice(publicUrl.length))
      // Numbers first, so that a folder shows the owner's order.
      const file = `images/${String(entries.length + 1).padStart(4, '0')}-${frame.id}.webp`
      if (image) yield { name: file, input: image, lastModified: new Date() }
      entries.push({ file: image ? file : null, row: toExportRow(frame) })
    }
  yield { name: 'frames.csv', input: CSV_HEAD + toCsvLines(entries.map(({ row }) => row)), lastModified: new Date() }
  yield { name: 'index.html', input: contactSheet(title, entries).text, lastModified: new Date() }
}

const STYLE = `body{font:14px/1.4 system-ui,sans-serif;margin:2rem;color:#1c1917}
ol{display:grid;grid-template-columns:repeat(auto-fill,minmax(16rem,1fr));gap:1.2rem;padding:0;list-style:none}
li{break-inside:avoid}img{width:100%;height:auto;border-radius:6px}p{margin:.3rem 0}.credit{color:#57534e}
@media print{ol{grid-template-columns:repeat(3,1fr)}}`

const POLICY = "default-src 'none'; img-src 'self' file:; style-src 'unsafe-inline'"

/** A page of its own, without script: it is opened from the reader's disk. */
function contactSheet(title: string, entries: readonly SheetEntry[]): Html {
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${title}</title>
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<style>${trusted(STYLE)}</style></head>
<body><h1>${title}</h1><ol>${entries.map(sheetEntry)}</ol></body></html>
`
}

function sheetEntry({ file, row }: SheetEntry): Html {
  const source = safeUrl(row.source_url)
  return html`<li>${file ? html`<img src="${file}" alt="${row.caption}">` : html`<p>The image is no longer there.</p>`}
${row.note && html`<p>${row.note}</p>`}
${row.caption && html`<p>${row.caption}</p>`}
<p class="credit">${source ? html`<a href="${source}">${row.credit}</a>` : row.credit}</p></li>
`
}
