// Makes the README's pictures from the samples. Start an empty library first: npm start. Then, in a second terminal:
// node scripts/pictures.mjs [address] [file of the operator's key]. It makes a board named "Openings".
import { readFileSync } from 'node:fs'
import { chromium } from 'playwright-core'
import sharp from 'sharp'

const [address = 'http://localhost:3000', keyFile = '.data/operator-key'] = process.argv.slice(2)
const headers = { authorization: `Bearer ${readFileSync(keyFile, 'utf8').trim()}`, 'content-type': 'application/json' }

/** An answer of the API. Throws with its message where it refuses. */
async function ask(path, body) {
  const init = body ? { method: 'POST', headers, body: JSON.stringify(body) } : { headers }
  const response = await fetch(address + path, init)
  const answer = await response.json()
  if (!response.ok) throw new Error(`${path}: ${answer.message}`)
  return answer
}

const { frames } = await ask('/api/frames?variety=on')
const best = frames.find(({ subject, steal }) => subject === 'product' && steal)
/** One frame of each technique, at most two of a film. */
const perFilm = new Map()
const seen = new Set()
const chosen = frames.filter(({ technique, video: { id } }) => {
  const n = perFilm.get(id) ?? 0
  if (!technique || seen.has(technique) || n === 2) return false
  seen.add(technique)
  perFilm.set(id, n + 1)
  return true
})
const { board } = await ask('/api/boards', { name: 'Openings' })
await ask(`/api/boards/${board.id}/frames`, { frameIds: chosen.slice(0, 8).map(({ id }) => id) })
const { url } = await ask(`/api/boards/${board.id}/share`, {})

const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] })
const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, colorScheme: 'light' })
for (const [name, path, height] of [
  ['search', '/?q=presenter', 470],
  ['frame', `/frames/${best.id}`, 760],
  ['board', new URL(url).pathname, 590],
]) {
  await page.setViewportSize({ width: 1280, height })
  await page.goto(address + path, { waitUntil: 'networkidle' })
  await sharp(await page.screenshot())
    .webp({ quality: 80 })
    .toFile(`docs/${name}.webp`)
}
await browser.close()
