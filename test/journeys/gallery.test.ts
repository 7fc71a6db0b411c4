import {
  McpUiInitializedNotificationSchema,
  McpUiInitializeRequestSchema,
  McpUiOpenLinkRequestSchema,
  McpUiResourceMetaSchema,
  McpUiSizeChangedNotificationSchema,
  McpUiToolMetaSchema,
  McpUiUpdateModelContextRequestSchema,
} from '@modelcontextprotocol/ext-apps'
import type { Frame, Page } from 'playwright-core'
import sharp from 'sharp'
import { beforeAll, describe, expect, test } from 'vitest'
import { openToolService } from '../mcp/service.ts'
import { MODERN_META, post, postModern } from '../mcp/support.ts'
import { expectAccessible, noChromium, useBrowser } from '../support/browser.ts'
import { useOpened } from '../support/closing.ts'
import { plainPicture, seedVideo } from '../support/seed.ts'

/*
 * The gallery in a host of our own: a page that holds it in a sandbox, passes calls on to the tool server, and judges
 * what it says by the schemas of the extension's package.
 */

const HOSTILE = '<img src=x onerror="parent.postMessage(1)"> & "quoted"'

/** What a view says, by its method. */
const SAID = new Map(
  [
    McpUiInitializeRequestSchema,
    McpUiInitializedNotificationSchema,
    McpUiSizeChangedNotificationSchema,
    McpUiOpenLinkRequestSchema,
    McpUiUpdateModelContextRequestSchema,
  ].map((schema) => [schema.shape.method.value as string, schema]),
)

interface Message {
  id?: number
  method: string
  params: Record<string, unknown>
}

// biome-ignore lint/suspicious/noExplicitAny: answers are asserted field by field
type Json = any

interface Host {
  page: Page
  view: Frame
  heard: Message[]
  /** Gives the view a result, as after a call by the model. */
  give(result: unknown): Promise<void>
  tell(method: string, params: object): Promise<void>
}

describe.skipIf(noChromium)('the gallery', () => {
  const service = useOpened(() => openToolService({ readImage: plainPicture }))
  const browser = useBrowser(service)
  let bearer: { authorization: string }
  let id: string
  beforeAll(async () => {
    const frames = [HOSTILE, 'A lake at dawn', 'A lake at noon'].map((caption, tSec) => ({ caption, tSec }))
    ;({ id } = await seedVideo(service.stores.db, { title: 'Lakes', author: 'Waters', frames }))
    await service.drain()
    ;({ bearer } = await service.keyOf('pro'))
  })

  const ask = async (method: string, params: object, headers = {}): Promise<Json> =>
    (await post(service.mcp, { jsonrpc: '2.0', id: 1, method, params }, headers)).json
  const call = async (name: string, args: object, headers: object = bearer) =>
    (await ask('tools/call', { name, arguments: args }, headers)).result

  async function openHost({ headers = bearer as object, theme = 'light' } = {}): Promise<Host> {
    const read = await ask('resources/read', { uri: 'ui://frame-library/gallery.html' })
    const page = await browser.open({ viewport: { width: 700, height: 900 } })
    const heard: Message[] = []
    const hostCapabilities = { serverTools: {}, serverResources: {}, openLinks: {}, updateModelContext: { text: {} } }
    await page.exposeFunction('said', async (message: Message) => {
      heard.push(message)
      const { method, params } = message
      SAID.get(method)?.parse({ method, params })
      if (method === 'ui/initialize')
        return {
          result: {
            protocolVersion: '2026-01-26',
            hostInfo: { name: 'test', version: '1' },
            hostCapabilities,
            hostContext: { theme, styles: { variables: { '--color-text-primary': 'rgb(1, 2, 3)' } } },
          },
        }
      if (method === 'tools/call' || method === 'resources/read') return ask(method, params, headers)
      return { result: {} }
    })
    await page.goto(`${service.url}/robots.txt`)
    await page.setContent(
      '<html lang="en"><title>Host</title><iframe title="Gallery" sandbox="allow-scripts" height="900"></iframe>',
    )
    await page.evaluate((html) => {
      const frame = document.querySelector('iframe')!
      const { said } = window as unknown as { said(message: object): Promise<{ result?: unknown; error?: unknown }> }
      addEventListener('message', async ({ data }) => {
        if (data?.jsonrpc !== '2.0' || data.method === undefined) return
        const { result, error } = await said({ id: data.id, method: data.method, params: data.params })
        const answer = error ? { error } : { result }
        if (data.id !== undefined) frame.contentWindow!.postMessage({ jsonrpc: '2.0', id: data.id, ...answer }, '*')
      })
      frame.srcdoc = html
    }, read.result.contents[0].text)
    await expect.poll(() => heard.some(({ method }) => method === 'ui/notifications/initialized')).toBe(true)
    const tell = (method: string, params: object) =>
      page.evaluate(
        (message) => {
          document.querySelector('iframe')!.contentWindow!.postMessage({ jsonrpc: '2.0', ...message }, '*')
        },
        { method, params } as object,
      )
    const view = page.frames().find((frame) => frame.parentFrame() !== null)!
    return { page, view, heard, tell, give: (result) => tell('ui/notifications/tool-result', result as object) }
  }

  test('tools with frames name a page that is there, and only the gallery is offered its pictures', async () => {
    const capabilities = { extensions: { 'io.modelcontextprotocol/ui': {} } }
    const _meta = { ...MODERN_META, 'io.modelcontextprotocol/clientCapabilities': capabilities }
    const { tools } = (await postModern(service.mcp, { method: 'tools/list', params: { _meta } }, bearer)).json.result
    const metas = new Map<string, Json>(tools.map(({ name, _meta }: Json) => [name, _meta]))
    for (const name of ['search_frames', 'find_similar_frames', 'get_video_frames', 'get_board', 'list_saves']) {
      expect(McpUiToolMetaSchema.parse(metas.get(name)?.ui).resourceUri, name).toBe('ui://frame-library/gallery.html')
      expect(metas.get(name)['ui/resourceUri']).toBe('ui://frame-library/gallery.html')
    }
    expect(McpUiToolMetaSchema.parse(metas.get('frame_pictures').ui)).toEqual({ visibility: ['app'] })
    expect(metas.get('save_frame')).toBeUndefined()
    const [page] = (await ask('resources/read', { uri: 'ui://frame-library/gallery.html' })).result.contents
    expect(page.mimeType).toBe('text/html;profile=mcp-app')
    expect(McpUiResourceMetaSchema.parse(page._meta.ui).csp?.resourceDomains).toEqual([service.url])
    // Hosts that do not show it are not told of its pictures. Without a key the open tools are the six.
    const withKey = (await ask('tools/list', {}, bearer)).result.tools.map(({ name }: Json) => name)
    expect(tools.map(({ name }: Json) => name).filter((name: string) => !withKey.includes(name))).toEqual([
      'frame_pictures',
    ])
    expect((await ask('tools/list', {})).result.tools).toHaveLength(6)
  })

  test('a wall with pictures, by keyboard, in the colours of the host, with hostile captions as text', async () => {
    const host = await openHost()
    await host.give(await call('search_frames', { query: 'lake' }))
    const { view } = host
    await expect.poll(() => view.locator('#status').textContent()).toMatch(/^\d frames$/)
    await expect.poll(() => view.locator('.tile img').count()).toBe(await view.locator('.tile').count())
    expect(await view.locator('body').evaluate((body) => getComputedStyle(body).color)).toBe('rgb(1, 2, 3)')
    await host.give(await call('get_video_frames', { video_id: id }))
    await expect.poll(() => view.locator('.tile').count()).toBe(3)
    expect(await view.locator('.tile').first().textContent()).toBe(HOSTILE)
    await view.locator('.tile').first().focus()
    await host.page.keyboard.press('ArrowRight')
    await host.page.keyboard.press('Enter')
    expect(await view.locator('#caption').textContent()).toBe('A lake at dawn')
    expect(await view.locator('#facts').textContent()).toContain('Waters · Lakes · 0:01')
    expect(await view.locator('#place').textContent()).toBe('2 of 3')
    await expectAccessible(host.page)
    await host.page.keyboard.press('ArrowRight')
    expect(await view.locator('#place').textContent()).toBe('3 of 3')
    await host.page.keyboard.press('Escape')
    expect(
      await view
        .locator('.tile')
        .nth(2)
        .evaluate((tile) => tile === document.activeElement),
    ).toBe(true)
    await expectAccessible(host.page)
    await host.tell('ui/notifications/host-context-changed', { theme: 'dark', styles: { variables: {} } })
    await expect.poll(() => view.locator('html').getAttribute('data-theme')).toBe('dark')
    expect(host.heard.some(({ method }) => method === 'ui/notifications/size-changed')).toBe(true)
    expect(browser.faults).toEqual([])
  })

  test('save, pin to a new board, more like this and back, show in the library', async () => {
    const host = await openHost({ theme: 'dark' })
    const { view } = host
    await host.give(await call('get_video_frames', { video_id: id }))
    await view.locator('.tile').nth(1).click()
    await view.getByRole('button', { name: 'Save' }).click()
    await expect.poll(() => view.locator('#told').textContent()).toMatch(/saved/i)
    await view.getByRole('button', { name: 'Pin to a board' }).click()
    await view.getByLabel('Name of the new board').fill('Lakes')
    await view.getByRole('button', { name: 'Pin', exact: true }).click()
    await expect.poll(() => view.locator('#told').textContent()).toMatch(/pinned/i)
    const saves = (await call('list_saves', {})).structuredContent.frames.map((frame: Json) => frame.caption)
    expect(saves).toEqual(['A lake at dawn'])
    const { boards } = (await call('get_board', {})).structuredContent
    expect(boards.map(({ name, item_count }: Json) => [name, item_count])).toEqual([['Lakes', 1]])
    await view.getByRole('button', { name: 'Show in library' }).click()
    const links = () => host.heard.filter(({ method }) => method === 'ui/open-link').map(({ params }) => params.url)
    await expect.poll(links).toEqual([expect.stringMatching(new RegExp(`^${service.url}/frames/${id}-`))])
    await view.getByRole('button', { name: 'More like this' }).click()
    await expect.poll(() => view.locator('#heading').textContent()).toBe('More like “A lake at dawn”')
    await expect.poll(() => host.heard.some(({ method }) => method === 'ui/update-model-context')).toBe(true)
    await view.getByRole('button', { name: 'Back' }).click()
    await expect.poll(() => view.locator('.tile').count()).toBe(3)
    expect(
      await view
        .locator('.tile')
        .nth(1)
        .evaluate((tile) => tile === document.activeElement),
    ).toBe(true)
    expect(browser.faults).toEqual([])
  })

  test('without a key pictures come as resources, and an action says what it needs', async () => {
    const host = await openHost({ headers: {} })
    const { view } = host
    await host.give(await call('get_video_frames', { video_id: id }, {}))
    await expect.poll(() => view.locator('.tile img').count()).toBe(3)
    await view.locator('.tile').nth(1).click()
    await view.getByRole('button', { name: 'Save' }).click()
    await expect.poll(() => view.locator('#told').textContent()).toMatch(/needs an API key/)
    await host.give(await call('search_frames', { query: 'zeppelin' }, {}))
    await expect.poll(() => view.locator('.tile').count()).toBe(0)
    expect(await view.locator('#status').textContent()).not.toBe('')
  })

  test('an answer with pictures stays within 100 kB and says what is left', async () => {
    const noise = { type: 'gaussian' as const, mean: 128, sigma: 30 }
    const large = await sharp({ create: { width: 320, height: 180, channels: 3, background: '#000', noise } })
      .webp({ quality: 50 })
      .toBuffer()
    expect(large.length).toBeGreaterThan(10_000)
    await using noisy = await openToolService({ readImage: async () => large })
    const frames = Array.from({ length: 12 }, (_, tSec) => ({ tSec }))
    const { frameIds } = await seedVideo(noisy.stores.db, { frames })
    await noisy.drain()
    const { bearer: key } = await noisy.keyOf('free')
    const params = { name: 'frame_pictures', arguments: { frame_ids: frameIds } }
    const { json } = await post(noisy.mcp, { jsonrpc: '2.0', id: 1, method: 'tools/call', params }, key)
    const { pictures, left } = json.result.structuredContent
    expect(pictures.length).toBeGreaterThan(0)
    expect(pictures.length + left.length).toBe(12)
    expect(JSON.stringify(pictures).length).toBeLessThanOrEqual(103_000)
    expect(json.result.content).toEqual([
      { type: 'text', text: expect.stringMatching(/^\d+ pictures? for the gallery/) },
    ])
  })
})
