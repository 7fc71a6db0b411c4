import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { notFound } from '../errors.ts'
import { type Charging, priced } from '../http/rate-limit/rate-limits.ts'
import { CompressibleBody, isNoneMatchMet, preferredEncoding, sendBody } from '../http/response-body.ts'
import { openRoutes } from '../http/routes.ts'
import { placeholderStyles } from './frame-card.ts'

const TYPES: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
}

/**
 * The parts of each style sheet in the order in which they cascade. The wall and a frame need the first alone, all
 * other pages both.
 */
const STYLE_SHEETS = {
  'style.css': ['base', 'page', 'forms', 'filters', 'grid', 'wall', 'frame'],
  'pages.css': ['cards', 'keys', 'entities', 'collections', 'operator', 'docs'],
} as const

/** Of a package. */
const FACE = '@fontsource-variable/inter/files/inter-latin-wght-normal.woff2'

export type Assets = ReturnType<typeof loadAssets>

/** Reads the files of `assets/` once. Their addresses name their content, so browsers may cache them for ever. */
export function loadAssets(limits: Charging) {
  const files = new Map<string, { body: CompressibleBody; type: string; etag: string }>()
  const urls = new Map<string, string>()
  const imports = new Map<string, string[]>()
  for (const [name, read] of importsFirst(readAssets())) {
    imports.set(name, importsOf(name, read))
    const body = namedByContent(name, read, urls)
    const extension = extname(name)
    const hash = createHash('sha256').update(body).digest('hex').slice(0, 8)
    const hashed = `${name.slice(0, -extension.length)}-${hash}${extension}`
    files.set(hashed, { body: new CompressibleBody(body), type: TYPES[extension]!, etag: `W/"${hash}"` })
    urls.set(name, `/assets/${hashed}`)
  }
  const router = openRoutes()
  router.get('/assets/:name', priced(limits, { budget: 'media' }), (req, res) => {
    const file = files.get(String(req.params.name))
    if (!file) throw notFound('file')
    const { body, type, etag } = file
    res.set({ 'Cache-Control': 'public, max-age=31536000, immutable', ETag: etag, Vary: 'Accept-Encoding' })
    if (isNoneMatchMet(req.headers['if-none-match'], etag)) {
      res.status(304).end()
      return
    }
    // A face is compressed already.
    const encoding = type === TYPES['.woff2'] ? undefined : preferredEncoding(req)
    return sendBody(req, res, body, { type, encoding })
  })
  const url = (name: string) => {
    const found = urls.get(name)
    if (!found) throw new Error(`no asset ${name}`)
    return found
  }
  const withImports = (name: string): string[] => [name, ...(imports.get(name) ?? []).flatMap(withImports)]
  return {
    /** The address of an asset, which changes with its content. */
    url,
    /** The addresses of a module and of all that it imports. */
    modules: (name: string) => [...new Set(withImports(name))].map(url),
    router,
  }
}

/** What a file loads, by its kind: modules in modules, the face in the style sheet. */
const IMPORTS: Readonly<Record<string, RegExp>> = {
  '.js': /(?<=\bfrom ')\.\/([\w-]+\.js)(?=')/g,
  '.css': /(?<=\burl\(")\.\/([\w-]+\.(?:woff2|svg))(?="\))/g,
}

function importsOf(name: string, body: Buffer): string[] {
  const pattern = IMPORTS[extname(name)]
  return pattern ? [...body.toString().matchAll(pattern)].map(([, imported]) => imported!) : []
}

/** The same files, each behind those that it imports: their addresses are part of its content. */
function importsFirst(files: ReturnType<typeof readAssets>): Map<string, Buffer> {
  const byName = new Map(files)
  const ordered = new Map<string, Buffer>()
  const add = (name: string) => {
    const body = byName.get(name)
    if (!body) throw new Error(`no asset ${name}`)
    for (const imported of importsOf(name, body)) if (!ordered.has(imported)) add(imported)
    ordered.set(name, body)
  }
  for (const name of byName.keys()) add(name)
  return ordered
}

/** A file whose imports are the addresses that name their content. */
function namedByContent(name: string, body: Buffer, urls: ReadonlyMap<string, string>): Buffer {
  const pattern = IMPORTS[extname(name)]
  return pattern ? Buffer.from(body.toString().replace(pattern, (_, imported: string) => urls.get(imported)!)) : body
}

/** Scripts, icons, and style sheets made of their parts. Comments that stand on lines of their own are not sent. */
export function readAssets(): (readonly [name: string, body: Buffer])[] {
  const folder = fileURLToPath(new URL('./assets/', import.meta.url))
  const read = (name: string) => readFileSync(folder + name, 'utf8').replace(COMMENTS, '')
  const names = readdirSync(folder).filter((name) => extname(name) in TYPES)
  const sheets = Object.entries(STYLE_SHEETS).map(([name, parts]): [string, string] => {
    const styles = parts.map((part) => read(`style/${part}.css`))
    return [name, styles.join('') + (name === 'style.css' ? placeholderStyles() : '')]
  })
  const scripts = names.map((name): [string, string] => [name, read(name)])
  const face = readFileSync(createRequire(import.meta.url).resolve(FACE))
  return [...[...sheets, ...scripts].map(([name, text]) => [name, Buffer.from(text)] as const), ['inter.woff2', face]]
}

const COMMENTS = /^ *(?:\/\/.*|\/\*(?:(?!\*\/)[\s\S])*\*\/)\n/gm
