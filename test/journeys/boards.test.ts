import { crc32 } from 'node:zlib'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ensureAccount } from '../../src/library/accounts/accounts.ts'
import { listBoards, loadBoard } from '../../src/library/collections/boards.ts'
import { pinFrame } from '../../src/library/collections/pins.ts'
import { saveFrames } from '../../src/library/collections/saves.ts'
import { addVideo, frameRows, openScripted, scriptedAnnotator, values } from '../library/support.ts'
import { expectAccessible, noChromium, openBrowser, signIn, type TestBrowser } from '../support/browser.ts'
import type { Service } from '../support/service.ts'

const EVIL = '</title><script>alert(1)</script><img src=x onerror="alert(2)">'

describe.skipIf(noChromium)(`boards in a browser${noChromium ? ` (skipped: ${noChromium})` : ''}`, () => {
  let service: Service
  let browser: TestBrowser
  let page: Page
  let accountId: string
  let frameIds: string[]
  let boardPath: string
  beforeAll(async () => {
    const annotator = scriptedAnnotator('scripted@1', () => ({ values: values({ subject: 'ui', caption: EVIL }) }))
    service = await openScripted(annotator, { pages: true })
    const video = await addVideo(service, 8, { title: EVIL })
    await service.drain()
    frameIds = (await frameRows(service, video)).map(({ id }) => id)
    browser = await openBrowser(service.config.publicUrl)
    page = await browser.open()
    const { account } = await ensureAccount(service.stores.db, { email: 'ada@example.org', plan: 'pro' })
    accountId = account.id
    await signIn(page, service.stores.db, service.config.publicUrl, 'ada@example.org')
  })
  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]()
    await service?.[Symbol.asyncDispose]()
  })

  const url = (path: string) => service.config.publicUrl + path
  const boardId = () => boardPath.split('/').at(-1)!
  const order = async () =>
    (await loadBoard(service.stores.db, { accountId, boardId: boardId() })).pins.map(({ frameId }) => frameId)
  const button = (on: Page, act: string, n: number) => on.locator(`#${act}-${frameIds[n]}`)

  test('makes a board of saved frames, by a selection', async () => {
    await saveFrames(service.stores.db, { accountId, frameIds })
    await page.goto(url('/saves'))
    await page.getByText('8 frames, newest first').waitFor()
    for (const n of [0, 1, 2, 3]) await page.locator('input[name="frame"]').nth(n).check()
    await page.getByText('4 selected').waitFor()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Pin to a board' }).click()
    await page.getByLabel('Name').fill(EVIL)
    await page.getByRole('button', { name: 'Make the board' }).click()
    await page.getByRole('heading', { level: 1, name: EVIL }).waitFor()
    boardPath = new URL(page.url()).pathname
    // The order of the selection is the order of the board.
    frameIds = await order()
    expect(frameIds).toHaveLength(4)
    await expectAccessible(page)
  })

  test('orders it by keyboard alone: the focus stays on what was moved, and its place is told', async () => {
    const [a, b, c, d] = frameIds
    await page.goto(url(boardPath))
    await page.getByRole('link', { name: 'Arrange' }).click()
    await expectAccessible(page)
    await button(page, 'later', 0).focus()
    await page.keyboard.press('Enter')
    await page.locator('#live', { hasText: 'Moved to 2 of 4.' }).waitFor({ state: 'attached' })
    expect(await page.evaluate(() => document.activeElement?.id)).toBe(`later-${a}`)
    await page.keyboard.press('Enter')
    await page.locator('#live', { hasText: 'Moved to 3 of 4.' }).waitFor({ state: 'attached' })
    expect(await order()).toEqual([b, c, a, d])
    await button(page, 'start', 3).press('Enter')
    await page.locator('#live', { hasText: 'Moved to 1 of 4.' }).waitFor({ state: 'attached' })
    expect(await order()).toEqual([d, b, c, a])
  })

  test('at rest a board shows pictures and notes; what can be done shows under pointer and focus', async () => {
    await page.goto(url(boardPath))
    await page.mouse.move(0, 0)
    const pin = page.locator(`#pin-${frameIds[0]}`)
    const shown = async () => [
      await pin.locator('.box').evaluate((box) => getComputedStyle(box).opacity),
      await pin.locator('.pin-menu').evaluate((menu) => getComputedStyle(menu).opacity),
      await page.locator('#picked').isVisible(),
    ]
    await expect.poll(shown).toEqual(['0', '0', false])
    expect(await page.locator('#pins button:visible').count()).toBe(0)
    await pin.hover()
    await expect.poll(shown).toEqual(['1', '1', false])
    await page.mouse.move(0, 0)
    await pin.locator('summary').focus()
    await expect.poll(shown).toEqual(['1', '1', false])
    await pin.locator('input').check()
    await page.mouse.move(0, 0)
    await expect.poll(async () => (await shown()).at(-1)).toBe(true)
    await expectAccessible(page)
  })

  test('dragging does the same, to every place', async () => {
    const [a, b, c, d] = frameIds
    const item = (n: number) => page.locator(`#pin-${frameIds[n]} img`)
    const { width, height } = (await item(1).boundingBox())!
    const [before, behind] = [
      { x: 5, y: height / 2 },
      { x: width - 5, y: height / 2 },
    ]
    await page.goto(url(boardPath))
    const shown = () =>
      page.locator('#pins > li').evaluateAll((items) => items.map(({ id }) => id.slice('pin-'.length)))
    const moves = [
      { from: 0, to: 1, at: before, order: [d, a, b, c] },
      { from: 3, to: 2, at: behind, order: [a, b, c, d] },
      { from: 3, to: 0, at: before, order: [d, a, b, c] },
    ]
    for (const move of moves) {
      await item(move.from).dragTo(item(move.to), { targetPosition: move.at })
      await expect.poll(shown).toEqual(move.order)
      expect(await order()).toEqual(move.order)
    }
  })

  test('a move of a board that was changed meanwhile is made, and the page shows the order as it is', async () => {
    const [a, b, c, d] = frameIds
    await page.goto(url(`${boardPath}?arrange=1`))
    await pinFrame(service.stores.db, { accountId, boardId: boardId(), frameId: c!, position: 0 })
    // It was shown as d, a, b, c.
    await button(page, 'later', 0).press('Enter')
    await page.locator('#live', { hasText: 'Moved to 3 of 4.' }).waitFor({ state: 'attached' })
    expect(await order()).toEqual([c, d, a, b])
    expect(await page.locator('#pins > li').evaluateAll((items) => items.map(({ id }) => id))).toEqual(
      [c, d, a, b].map((id) => `pin-${id}`),
    )
  })

  test('a removal is undone where it was, with its note, and all of it works without script', async () => {
    const plain = await browser.open({ javaScriptEnabled: false })
    await signIn(plain, service.stores.db, service.config.publicUrl, 'ada@example.org')
    const before = await order()
    await plain.goto(url(boardPath))
    const more = (id: string | undefined) => plain.locator(`#pin-${id} summary`).click()
    await more(before[1])
    await plain.locator(`#pin-${before[1]}`).getByRole('link', { name: 'Add a note' }).click()
    await plain.getByLabel('Note').fill(`hold ${EVIL}`)
    await plain.getByRole('button', { name: 'Keep the note' }).click()
    await plain.locator(`#pin-${before[1]} .note`).getByText(`hold ${EVIL}`).waitFor()
    await more(before[1])
    await plain
      .locator(`#pin-${before[1]}`)
      .getByRole('button', { name: /^Remove/ })
      .click()
    expect(await order()).toEqual([before[0], before[2], before[3]])
    await plain.getByRole('button', { name: 'Undo' }).click()
    expect(await order()).toEqual(before)
    await plain.locator(`#pin-${before[1]} .note`).getByText(`hold ${EVIL}`).waitFor()
    await plain.getByRole('link', { name: 'Arrange' }).click()
    await plain.locator(`#later-${before[0]}`).click()
    expect(await order()).toEqual([before[1], before[0], before[2], before[3]])
    await plain.getByRole('link', { name: 'Done' }).click()
    await more(before[2])
    await plain
      .locator(`#pin-${before[2]}`)
      .getByRole('button', { name: /^Make the cover/ })
      .click()
    const { boards } = await listBoards(service.stores.db, accountId)
    expect(boards[0]!.coverFrameIds[0]).toBe(before[2])
    await plain.goto(url('/boards'))
    await plain.getByText('4 frames').waitFor()
  })

  test('a removal with script leaves the page where it is, and its message takes it back', async () => {
    const before = await order()
    await page.goto(url(boardPath))
    await page.locator(`#pin-${before[0]} input`).check()
    await page.getByRole('button', { name: 'Remove', exact: true }).first().click()
    await page.locator('#toast').getByText('1 frame removed.').waitFor()
    expect(await order()).toEqual(before.slice(1))
    await page.locator('#toast').getByRole('button', { name: 'Undo' }).click()
    await expect.poll(order).toEqual(before)
  })

  test('a shared board is shown to strangers with its card, until the link ends', async () => {
    await page.goto(url(boardPath))
    await page.locator('summary').getByText('Share').click()
    await page.getByRole('button', { name: 'Make a link' }).click()
    const link = await page.getByLabel('Link').inputValue()
    await expectAccessible(page)
    // It stands there for as long as it works, with the way to end it beside it.
    await page.goto(url(boardPath))
    await page.locator('summary').getByText('Share').click()
    expect(await page.getByLabel('Link').inputValue()).toBe(link)
    expect(await page.getByRole('button', { name: 'Copy link' }).isVisible()).toBe(true)
    const stranger = await browser.open({ colorScheme: 'dark', viewport: { width: 390, height: 800 } })
    await stranger.goto(link)
    expect(await stranger.locator('.frames li').count()).toBe(4)
    expect(await stranger.locator('meta[property="og:title"]').getAttribute('content')).toBe(EVIL)
    const image = await stranger.locator('meta[property="og:image"]').getAttribute('content')
    expect((await fetch(image!)).headers.get('content-type')).toBe('image/webp')
    await expectAccessible(stranger)
    await page.goto(url(boardPath))
    await page.locator('summary').getByText('Share').click()
    await page.getByRole('button', { name: 'End the link' }).click()
    // The form is sent in place: the address stays, and the board offers a new link.
    await page.locator('button', { hasText: 'Make a link' }).waitFor({ state: 'attached' })
    expect((await fetch(link)).status).toBe(404)
  })

  test('exports a ZIP that holds every image, a table and a contact sheet', async () => {
    const cookie = (await page.context().cookies()).map(({ name, value }) => `${name}=${value}`).join('; ')
    const zip = await fetch(url(`${boardPath}/export?format=zip`), { headers: { cookie } })
    expect(zip.headers.get('content-disposition')).toContain('.zip')
    const files = unzipStored(Buffer.from(await zip.arrayBuffer()))
    const names = [...files.keys()]
    expect(names.slice(-2)).toEqual(['frames.csv', 'index.html'])
    expect(names.slice(0, -2).map((name) => name.replace(/^images\/\d{4}-(.*)\.webp$/, '$1'))).toEqual(await order())
    for (const name of names.slice(0, -2)) expect(files.get(name)!.subarray(8, 12).toString()).toBe('WEBP')
    const sheet = files.get('index.html')!.toString()
    expect(sheet).not.toContain('<script>')
    expect(sheet).toContain('hold &lt;/title&gt;')
  })

  test('a deleted board comes back, and no page misbehaved', async () => {
    const before = await order()
    await page.goto(url(boardPath))
    await page.locator('summary').getByText('Delete').click()
    await page.getByRole('button', { name: 'Delete the board' }).click()
    await page.getByRole('heading', { name: 'Boards', exact: true }).waitFor()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByRole('heading', { level: 1, name: EVIL }).waitFor()
    expect(await order()).toEqual(before)
    expect(browser.faults).toEqual([])
  })
})

/** The files of a ZIP that stores them as they are, by its central directory, each checked by its CRC. */
function unzipStored(zip: Buffer): Map<string, Buffer> {
  const files = new Map<string, Buffer>()
  const end = zip.lastIndexOf(Buffer.from('PK\x05\x06', 'latin1'))
  let at = zip.readUInt32LE(end + 16)
  for (let n = 0; n < zip.readUInt16LE(end + 10); n++) {
    const [crc, size] = [zip.readUInt32LE(at + 16), zip.readUInt32LE(at + 24)]
    const [nameLength, extra, comment] = [
      zip.readUInt16LE(at + 28),
      zip.readUInt16LE(at + 30),
      zip.readUInt16LE(at + 32),
    ]
    const local = zip.readUInt32LE(at + 42)
    const name = zip.subarray(at + 46, at + 46 + nameLength).toString()
    const start = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28)
    const content = zip.subarray(start, start + size)
    expect(crc32(content), name).toBe(crc)
    files.set(name, content)
    at += 46 + nameLength + extra + comment
  }
  return files
}
