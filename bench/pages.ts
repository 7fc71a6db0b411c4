import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Browser, type CDPSession, chromium, type Page } from 'playwright-core'
import { type About, optionsOf } from './support/bench.ts'
import { SEED_WORDS } from './support/library.ts'
import { drawnImages, openPicturedApi } from './support/pictured-api.ts'
import { median, round } from './support/stats.ts'

const CHROMIUM = '/usr/bin/chromium'
const VIEWPORT = { width: 1440, height: 900 }

/** Aims: 1.3 × a bare page; CLS 0.02; nodes and memory as on the tenth page; 250 and 100 ms here. */
export const about: About = {
  measures: 'The wall in Chromium: first frames, shifts, memory over many pages, a filter, suggestions.',
  against:
    'a bare page from a bare server in the same process. It has the same pictures at the same sizes and the same ' +
    'security headers. As many of them are in the window, and as many load at once. The browser’s cache is empty on ' +
    'either side. For a key press: a request for a few bytes from that server. They take turns.',
  figures: [
    { what: 'first frames painted ÷ bare page', at: ['first_ratio'], atMost: 1.3 },
    { what: 'cumulative layout shift', at: ['cls'], atMost: 0.02 },
    { what: 'DOM nodes at the end ÷ on the tenth page', at: ['nodes_ratio'], atMost: 1.15 },
    { what: 'script memory at the end ÷ on the tenth page', at: ['heap_ratio'], atMost: 1.3 },
    { what: 'filter click to painted', at: ['filter_ms'], atMost: 250, unit: 'ms' },
    { what: 'key press to suggestions', at: ['suggest_ms'], atMost: 100, unit: 'ms' },
  ],
}

export async function run(args: string[]): Promise<object | undefined> {
  const values = optionsOf(args, { frames: 100_000, pages: 50, rounds: 9 })
  if (!existsSync(CHROMIUM)) {
    console.error(`pages: no ${CHROMIUM} here`)
    process.exitCode = 1
    return undefined
  }
  const readImage = await drawnImages()
  await using api = await openPicturedApi({ frames: values.frames, readImage })
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] })
  try {
    await using bare = await openBare(api.url, readImage, await placeOfFirst(browser, api.url))
    const rounds = values.rounds
    const first = await firstFrames(browser, { ours: api.url, bare: bare.url }, rounds)
    const scrolled = await scroll(browser, api.url, values.pages)
    const filter = await filterClicks(browser, api.url, rounds)
    const suggest = await suggestions(browser, api.url, bare.url, rounds)
    return {
      bench: 'pages',
      frames: values.frames,
      first_ratio: round(first.ratio),
      first_ratio_of: 'ms to the first frames painted to those of the bare page, the median of the rounds',
      first_pictures: first.pictures,
      first_ms: Math.round(first.ours),
      bare_first_ms: Math.round(first.bare),
      ...scrolled,
      filter_ms: Math.round(filter),
      filter_ratio: round(filter / first.bare),
      filter_ratio_of: 'ms from a click on a filter to frames painted, to loading the bare page',
      suggest_ms: Math.round(suggest.ours),
      suggest_ratio: round(suggest.ours / suggest.bare),
      suggest_ratio_of: 'ms from a key press to suggestions to a request for a few bytes',
    }
  } finally {
    await browser.close()
  }
}

/** What a wall tells browsers to guard itself; the bare page tells the same, because some of it costs time. */
const GUARDS = /^(content-security-policy|permissions-policy|referrer-policy|x-content-type-options|cross-origin-.*)$/

/**
 * A page of plain pictures and nothing else. From the first page of the wall it has the pictures, their size, their
 * place below the top, how many load at once, and the headers that guard it.
 */
async function openBare(url: string, readImage: (key: string) => Promise<Buffer>, { top, width, height }: Place) {
  const wall = await fetch(url)
  const guards = [...wall.headers].filter(([name]) => GUARDS.test(name))
  const pictures = [...(await wall.text()).matchAll(/<img src="(\/media\/[^"]+)"[^>]*?( loading="lazy")?>/g)].map(
    ([, src, lazy = '']) => `<img src="${src}" width="${width}" height="${height}" alt="" decoding="async"${lazy}>`,
  )
  const page = `<!doctype html><title>Bare</title><body topmargin="${top}">${pictures.join('\n')}</body>`
  const server = createServer(async (req, res) => {
    for (const [name, value] of guards) res.setHeader(name, value)
    if (req.url?.startsWith('/media/')) {
      const image = await readImage(toKey(req.url))
      res.setHeader('Content-Type', 'image/webp').setHeader('Cache-Control', 'public, max-age=31536000, immutable')
      res.end(image)
    } else if (req.url === '/few') res.setHeader('Access-Control-Allow-Origin', '*').end('{}')
    else res.setHeader('Content-Type', 'text/html').end(page)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
    },
  }
}

interface Place {
  top: number
  width: number
  height: number
}

/** Where the first picture of the wall is, in whole pixels. */
async function placeOfFirst(browser: Browser, url: string): Promise<Place> {
  const page = await browser.newPage({ viewport: VIEWPORT })
  await page.goto(url)
  const place = await page.evaluate(() => {
    const { top, width, height } = document.querySelector('#wall img')!.getBoundingClientRect()
    return { top: Math.round(top), width: Math.round(width), height: Math.round(height) }
  })
  await page.close()
  return place
}

/** The public name has dashes where the key has slashes. */
const toKey = (path: string): string => path.replace(/^\/media\//, '').replace('-', '/')

/** For the page: resolves with its clock and their number when all pictures in the window are there and painted. */
const PAINTED = `window.painted = () => new Promise((resolve) => {
  const look = () => {
    const seen = [...document.images].filter((image) => {
      const { top, bottom, width } = image.getBoundingClientRect()
      return width > 40 && top < innerHeight && bottom > 0
    })
    const isDone = seen.length > 3 && seen.every((image) => image.complete)
    if (isDone) requestAnimationFrame(() => setTimeout(() => resolve({ ms: performance.now(), pictures: seen.length })))
    else requestAnimationFrame(look)
  }
  look()
})`

interface Painted {
  ms: number
  pictures: number
}
type Watched = Window & { painted(): Promise<Painted> }

const painted = (page: Page): Promise<Painted> => page.evaluate(() => (window as unknown as Watched).painted())

async function firstFrames(
  browser: Browser,
  urls: { ours: string; bare: string },
  rounds: number,
): Promise<{ ours: number; bare: number; ratio: number; pictures: number }> {
  const times = { ours: [] as number[], bare: [] as number[] }
  const seen = { ours: 0, bare: 0 }
  for (let n = -1; n < rounds; n++)
    for (const name of ['ours', 'bare'] as const) {
      // A context of its own: nothing is in the browser's cache.
      const context = await browser.newContext({ viewport: VIEWPORT })
      const page = await context.newPage()
      await page.addInitScript(PAINTED)
      await page.goto(urls[name], { waitUntil: 'commit' })
      const { ms, pictures } = await painted(page)
      seen[name] = pictures
      // The first round warms the servers.
      if (n >= 0) times[name].push(ms)
      await context.close()
    }
  if (seen.ours !== seen.bare) throw new Error(`The wall shows ${seen.ours} pictures, the bare page ${seen.bare}.`)
  const ratios = times.ours.map((ms, n) => ms / times.bare[n]!)
  return { ours: median(times.ours), bare: median(times.bare), ratio: median(ratios), pictures: seen.ours }
}

async function scroll(browser: Browser, url: string, pages: number) {
  const context = await browser.newContext({ viewport: VIEWPORT })
  const page = await context.newPage()
  const session = await context.newCDPSession(page)
  await session.send('Performance.enable')
  await page.goto(url)
  await page.evaluate(() => {
    Object.assign(window, { shifted: 0 })
    const add = (list: PerformanceObserverEntryList) => {
      // As the metric is defined: a width that a person has just changed is no surprise.
      for (const entry of list.getEntries() as unknown as { value: number; hadRecentInput: boolean }[])
        if (!entry.hadRecentInput) (window as unknown as { shifted: number }).shifted += entry.value
    }
    new PerformanceObserver(add).observe({ type: 'layout-shift', buffered: true })
  })
  let tenth = { nodes: 1, heap: 1 }
  for (let n = 2; n <= pages; n++) {
    await scrollTo(page, n)
    if (n === 10) tenth = await weigh(session)
  }
  const last = await weigh(session)
  for (const width of [1000, 1440]) {
    await page.setViewportSize({ width, height: 900 })
    await page.waitForTimeout(500)
  }
  const cls = await page.evaluate(() => (window as unknown as { shifted: number }).shifted)
  const full = await page.locator('#wall > .sheet:not([data-far])').count()
  await context.close()
  return {
    pages,
    cls: round(cls),
    full_pages: full,
    nodes: last.nodes,
    nodes_ratio: round(last.nodes / tenth.nodes),
    heap_mb: round(last.heap / 1024 / 1024),
    heap_ratio: round(last.heap / tenth.heap),
  }
}

/** By the wheel, until a page of the wall has its frames. */
async function scrollTo(page: Page, n: number): Promise<void> {
  const cell = page.locator(`#sheet-${n} > li`).first()
  for (let turns = 0; turns < 400 && (await cell.count()) === 0; turns++) {
    await page.mouse.wheel(0, 900)
    await page.waitForTimeout(30)
  }
}

async function weigh(session: CDPSession): Promise<{ nodes: number; heap: number }> {
  await session.send('HeapProfiler.collectGarbage')
  const { metrics } = await session.send('Performance.getMetrics')
  const of = (name: string) => metrics.find((one) => one.name === name)?.value ?? 0
  return { nodes: of('Nodes'), heap: of('JSHeapUsedSize') }
}

/** Each click asks for a wall that nobody has asked for before. */
async function filterClicks(browser: Browser, url: string, rounds: number): Promise<number> {
  const page = await browser.newPage({ viewport: VIEWPORT })
  await page.addInitScript(PAINTED)
  const times: number[] = []
  const words = SEED_WORDS.things.slice(0, rounds)
  for (const word of words) {
    await page.goto(`${url}/?q=${word}`)
    await painted(page)
    const ms = await page.evaluate(async () => {
      const link = document.querySelector<HTMLElement>('#pick-tone-dark')!
      const wall = document.getElementById('wall')
      const started = performance.now()
      link.click()
      while (document.getElementById('wall') === wall) await new Promise(requestAnimationFrame)
      return (await (window as unknown as Watched).painted()).ms - started
    })
    times.push(ms)
  }
  await page.close()
  return median(times)
}

async function suggestions(
  browser: Browser,
  url: string,
  bareUrl: string,
  rounds: number,
): Promise<{ ours: number; bare: number }> {
  const page = await browser.newPage({ viewport: VIEWPORT, bypassCSP: true })
  await page.addInitScript(PAINTED)
  await page.goto(url)
  await painted(page)
  const times = { ours: [] as number[], bare: [] as number[] }
  const words = [...SEED_WORDS.things].slice(0, rounds * 2)
  for (const word of words) {
    await page.locator('#q').fill('')
    const bare = await page.evaluate(async (address) => {
      const started = performance.now()
      await (await fetch(address)).text()
      return performance.now() - started
    }, `${bareUrl}/few`)
    const ours = await page.evaluate(
      async (typed) => {
        const input = document.querySelector<HTMLInputElement>('#q')!
        document.getElementById('suggestions')!.replaceChildren()
        const started = performance.now()
        input.value = typed
        input.dispatchEvent(new Event('input', { bubbles: true }))
        const box = document.getElementById('suggestions')!
        while (box.childElementCount === 0 && performance.now() - started < 3_000)
          await new Promise(requestAnimationFrame)
        return performance.now() - started
      },
      word.slice(0, 4),
    )
    times.ours.push(ours)
    times.bare.push(bare)
  }
  await page.close()
  return { ours: median(times.ours), bare: median(times.bare) }
}
