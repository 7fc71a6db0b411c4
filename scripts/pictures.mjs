// Makes the README's pictures from the samples. Start an empty library first: npm start. Then, in a second terminal:
// node scripts/pictures.mjs [address] [file of the operator's key]. It makes a board named "Openings", and adds the
// beginning of a sample as a film without notes: one frame of both is shown.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { chromium } from 'playwright-core'
import sharp from 'sharp'

const [address = 'http://localhost:3000', keyFile = '.data/operator-key'] = process.argv.slice(2)
const headers = { authorization: `Bearer ${readFileSync(keyFile, 'utf8').trim()}` }

/** An answer of the API. Throws with its message where it refuses. */
async function ask(path, body, type = 'application/json') {
  const sent = Buffer.isBuffer(body) ? body : JSON.stringify(body)
  const init = body ? { method: 'POST', headers: { ...headers, 'content-type': type }, body: sent } : { headers }
  const response = await fetch(address + path, init)
  const answer = await response.json()
  if (!response.ok) throw new Error(`${path}: ${answer.message}`)
  return answer
}

const { frames } = await ask('/api/frames?variety=on')
const described = frames.find(({ shot, video }) => shot === 'close-presenter' && video.title.startsWith('Relay'))
const arguments_ = '-v error -i samples/relay-launch.mp4 -t 9 -c copy -f matroska -'.split(' ')
const film = execFileSync('ffmpeg', arguments_, { maxBuffer: 50e6 })
const { video } = await ask('/api/videos?title=Relay&author=Relay', film, 'video/x-matroska')
let measured
while (!measured) {
  await sleep(1_000)
  const { frames: own } = await ask(`/api/frames?video=${video.id}`).catch(() => ({ frames: [] }))
  measured = own.find(({ t_sec, annotation }) => Math.abs(t_sec - described.t_sec) < 0.5 && annotation.model)
}
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

const browser = await chromium.launch({ executablePath: '/usr/bin/chromium-headless-shell', args: ['--no-sandbox'] })
const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, colorScheme: 'light' })
for (const [name, path, width, height] of [
  ['search', '/?q=presenter', 1280, 470],
  ['measured', `/frames/${measured.id}`, 600, 1100],
  ['frame', `/frames/${described.id}`, 600, 1100],
  ['board', new URL(url).pathname, 1280, 440],
]) {
  await page.setViewportSize({ width, height })
  await page.goto(address + path, { waitUntil: 'networkidle' })
  await sharp(await page.screenshot())
    .webp({ quality: 80 })
    .toFile(`docs/${name}.webp`)
}
await browser.close()
