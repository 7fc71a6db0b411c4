import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Router } from 'express'
import { notFound } from '../errors.ts'

const TYPES: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}

export interface Assets {
  /** The address of a file of `assets/`, which changes with its content. */
  url(name: string): string
  router: Router
}

/** Reads the pages' style sheet and modules once; they are served under addresses that may be kept for ever. */
export function loadAssets(): Assets {
  const folder = fileURLToPath(new URL('./assets/', import.meta.url))
  const files = new Map<string, { body: Buffer; type: string }>()
  const urls = new Map<string, string>()
  for (const name of readdirSync(folder)) {
    const type = TYPES[extname(name)]
    if (!type) continue
    const body = readFileSync(folder + name)
    const hashed = `${name.slice(0, -extname(name).length)}-${createHash('sha256').update(body).digest('hex').slice(0, 8)}${extname(name)}`
    files.set(hashed, { body, type })
    urls.set(name, `/assets/${hashed}`)
  }
  const router = Router()
  router.get('/assets/:name', (req, res) => {
    const file = files.get(String(req.params.name))
    if (!file) throw notFound('file')
    res.set({ 'Content-Type': file.type, 'Cache-Control': 'public, max-age=31536000, immutable' }).send(file.body)
  })
  return {
    url(name) {
      const url = urls.get(name)
      if (!url) throw new Error(`no asset ${name}`)
      return url
    },
    router,
  }
}
