import { existsSync } from 'node:fs'
import { join } from 'node:path'
import axe from 'axe-core'
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { expect } from 'vitest'
import type { Db } from '../../src/db/client.ts'
import { useOpened } from './closing.ts'
import { sessionOf } from './session.ts'

const CHROMIUM = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'].find((file) => existsSync(file))
export const noChromium = CHROMIUM ? undefined : 'no Chromium here'

export interface TestBrowser {
  /** A page of its own context. What goes wrong in it is kept in `faults`. */
  open(options?: BrowserContextOptions): Promise<Page>
  /**
   * Page errors, refusals by the content security policy, requests to other origins than the service, and pictures that
   * did not come, with the reason. A picture that is not there (404), or that the page no longer wants, is none.
   */
  faults: string[]
  [Symbol.asyncDispose](): Promise<void>
}

/** The Chromium of this worker: started when a file first needs it, and ended with the worker's process. */
let ofWorker: Promise<Browser> | undefined

function theChromium(): Promise<Browser> {
  ofWorker ??= chromium.launch({
    executablePath: CHROMIUM!,
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update'],
    ...{ handleSIGINT: false, handleSIGTERM: false, handleSIGHUP: false },
  })
  return ofWorker
}

/** `origin`: the only address that a page may ask. */
export async function openBrowser(origin: string): Promise<TestBrowser> {
  const browser = await theChromium()
  const contexts: BrowserContext[] = []
  const faults: string[] = []
  return {
    faults,
    async open(options = {}) {
      const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options })
      contexts.push(context)
      // It ends what hangs, also on a machine that has other work.
      context.setDefaultTimeout(240_000)
      const page = await context.newPage()
      page.on('pageerror', (error) => faults.push(error.message))
      page.on('dialog', (dialog) => {
        faults.push(`dialog: ${dialog.message()}`)
        dialog.dismiss().catch(() => undefined)
      })
      page.on('console', (message) => {
        if (/Content Security Policy|Refused to/i.test(message.text())) faults.push(message.text())
      })
      page.on('request', (request) => {
        const url = request.url()
        if (!url.startsWith(origin) && !/^(data|blob|about):/.test(url)) faults.push(`request to ${url}`)
      })
      page.on('response', (response) => {
        if (response.status() >= 400 && response.status() !== 404 && response.request().resourceType() === 'image')
          faults.push(`${response.status()} for ${response.url()}`)
      })
      page.on('requestfailed', (request) => {
        const reason = request.failure()?.errorText
        if (request.resourceType() === 'image' && reason !== 'net::ERR_ABORTED')
          faults.push(`${reason} for ${request.url()}`)
      })
      return page
    },
    async [Symbol.asyncDispose]() {
      for (const context of contexts) await context.close()
    },
  }
}

/** One for all tests of a file, for the pages of its service. */
export const useBrowser = (service: { url: string }) => useOpened(() => openBrowser(service.url))

/** Signs a person in by the cookie alone. */
export async function signIn(page: Page, db: Db, url: string, email: string): Promise<void> {
  await page.context().addCookies([{ ...(await sessionOf(db, url, email)), url }])
}

const WCAG_22_AA = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']
let pictures = 0

/**
 * No violation of WCAG 2.2 A and AA that axe-core finds, or of one rule of it. SCREENSHOT_DIR asks for a picture of the
 * page, for people.
 */
export async function expectAccessible(page: Page, rule?: 'color-contrast'): Promise<void> {
  const folder = process.env.SCREENSHOT_DIR
  const name = `${new URL(page.url()).pathname.replaceAll(/\W+/g, '-')}-${++pictures}.png`
  if (folder) await page.screenshot({ path: join(folder, name), fullPage: true })
  // A colour that still changes has another contrast.
  await page.evaluate(() => {
    for (const one of document.getAnimations())
      if (one.effect?.getComputedTiming().endTime !== Number.POSITIVE_INFINITY) one.finish()
  })
  // By the protocol, not as an element of the page: the content security policy stays as it is.
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe.source)
  const violations = await page.evaluate(
    async (runOnly) => {
      const { axe } = window as unknown as { axe: { run(options: object): Promise<{ violations: unknown[] }> } }
      // What passes is not described, and no style sheet is fetched again.
      const { violations } = await axe.run({ runOnly, resultTypes: ['violations'], preload: false })
      return (violations as { id: string; nodes: { html: string; failureSummary: string }[] }[]).map(
        ({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 200)} ${nodes[0]?.failureSummary}`,
      )
    },
    rule === undefined ? WCAG_22_AA : [rule],
  )
  expect(violations, page.url()).toEqual([])
}
