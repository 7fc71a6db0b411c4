import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { ensureAccount } from '../../src/library/accounts/accounts.ts'
import { createKey } from '../../src/library/accounts/keys.ts'
import { createBoard, deleteBoard, listBoards, loadBoard } from '../../src/library/collections/boards.ts'
import { pinFrame, pinFrames } from '../../src/library/collections/pins.ts'
import { saveFrames } from '../../src/library/collections/saves.ts'
import { addVideo, frameRows, openScripted, scriptedAnnotator, values } from '../library/support.ts'
import { expectAccessible, noChromium, signIn, useBrowser } from '../support/browser.ts'
import { useOpened } from '../support/closing.ts'
import { expectOverlay } from '../support/overlay.ts'
import { seedVideo } from '../support/seed.ts'
import { unzipStored } from '../support/unzip.ts'

const EVIL = '</title><script>alert(1)</script><img src=x onerror="alert(2)">'

describe.skipIf(noChromium)(`boards in a browser${noChromium ? ` (skipped: ${noChromium})` : ''}`, () => {
  const annotator = scriptedAnnotator('scripted@1', () => ({ values: values({ subject: 'ui', caption: EVIL }) }))
  const service = useOpened(() => openScripted(annotator, { pages: true }))
  const browser = useBrowser(service)
  let page: Page
  let accountId: string
  let frameIds: string[]
  let boardPath: string
  beforeAll(async () => {
    const video = await addVideo(service, 8, { title: EVIL })
    await service.drain()
    frameIds = (await frameRows(service, video)).map(({ id }) => id)
    page = await browser.open()
    const { account } = await ensureAccount(service.stores.db, { email: 'ada@example.org', plan: 'pro' })
    accountId = account.id
    await signIn(page, service.stores.db, service.config.publicUrl, 'ada@example.org')
  })

  const url = (path: string) => service.config.publicUrl + path
  const boardId = () => boardPath.split('/').at(-1)!
  const order = async () =>
    (await loadBoard(service.stores.db, { accountId, boardId: boardId() })).pins.map(({ frameId }) => frameId)
  const bearer = async () => {
    const { key } = await createKey(service.stores.db, { accountId, name: 'k' })
    return { authorization: `Bearer ${key}` }
  }
  const button = (on: Page, act: string, n: number) => on.locator(`#${act}-${frameIds[n]}`)

  test('makes a board of saved frames, by a selection', async () => {
    await saveFrames(service.stores.db, { accountId, frameIds })
    await page.goto(url('/saves'))
    await page.getByText('8 frames · newest first').waitFor()
    for (const n of [0, 1, 2, 3]) await page.locator('.tick input').nth(n).click()
    const bar = page.locator('#selection')
    await bar.getByText('4 selected').waitFor()
    await bar.getByRole('button', { name: 'All' }).click()
    await bar.getByText('8 selected').waitFor()
    await page.keyboard.press('Escape')
    expect(await page.locator('.tick input:checked').count()).toBe(0)
    await page.locator('.tick input').nth(0).click()
    await page
      .locator('.card-link')
      .nth(3)
      .click({ modifiers: ['Shift'] })
    await bar.getByText('4 selected').waitFor()
    await expectAccessible(page)
    await bar.getByRole('button', { name: 'Board' }).click()
    await page.getByLabel('New board').fill(EVIL)
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('link', { name: 'To the board' }).click()
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
    // Its place stands among the buttons as one of them.
    const wide = await page.locator(`#pin-${a} .moves > *`).evaluateAll((all) => all.map((one) => one.clientWidth))
    expect(Math.max(...wide)).toBeLessThan(2 * Math.min(...wide))
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
      await pin.locator('.tick').evaluate((tick) => getComputedStyle(tick).opacity),
      await pin.locator('.pin-menu').evaluate((menu) => getComputedStyle(menu).opacity),
      await page.locator('#selection').isVisible(),
    ]
    await expect.poll(shown).toEqual(['0', '0', false])
    expect(await page.locator('#pins button:visible').count()).toBe(0)
    await pin.hover()
    await expect.poll(shown).toEqual(['1', '1', false])
    await page.mouse.move(0, 0)
    await pin.locator('summary').focus()
    await expect.poll(shown).toEqual(['1', '1', false])
    await pin.locator('input').click()
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
    // What is saved has its order.
    await page.goto(url('/saves'))
    const saved = await shown()
    await page.locator('#pins img').first().dragTo(page.locator('#pins img').nth(2), { targetPosition: behind })
    await page.evaluate(() => new Promise((painted) => requestAnimationFrame(() => requestAnimationFrame(painted))))
    expect([await shown(), await page.locator('#toast').count()]).toEqual([saved, 0])
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

  test('a shared board is shown to strangers with its card, until the link ends', async () => {
    await page.goto(url(boardPath))
    await page.locator('summary').getByText('Share').click()
    await page.getByRole('button', { name: 'Make a link' }).click()
    const link = (await page.locator('#share-link').textContent())!
    await expectAccessible(page)
    // It stands there for as long as it works, with the way to end it beside it.
    await page.goto(url(boardPath))
    await page.locator('summary').getByText('Share').click()
    expect(await page.locator('#share-link').textContent()).toBe(link)
    expect(await page.getByRole('button', { name: 'Copy link' }).isVisible()).toBe(true)
    const stranger = await browser.open({ colorScheme: 'dark', viewport: { width: 390, height: 800 } })
    await stranger.goto(link)
    expect(await stranger.locator('.sheet > li').count()).toBe(4)
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

  test('frames open over saves, boards and shared boards, with the note below the picture', async () => {
    await page.goto(url(boardPath))
    await page.locator('summary').getByText('Share').click()
    await page.getByRole('button', { name: 'Make a link' }).click()
    const shared = new URL((await page.locator('#share-link').textContent())!).pathname
    for (const place of ['/saves', boardPath, shared])
      await expectOverlay(page, { url: service.config.publicUrl, place, comesBack: place !== '/saves' })
    const [noted] = await page.locator('#pins li:has(.note), .sheet li:has(.note)').all()
    await noted!.locator('.card-link').click()
    await page.locator('dialog .stage > .note').getByText(`hold ${EVIL}`).waitFor()
    await expectAccessible(page)
    // Whoever is signed in and may have boards takes it along, with all that is its own; its owner has it.
    expect(await page.goto(url(shared)).then(() => page.getByText('to my boards').count())).toBe(0)
    const { rows } = await service.stores.db.$client.query(
      `update boards set description = 'As told', cover_frame_id = (select frame_id from board_items
         where board_id = boards.id order by position desc limit 1)
        where id = $1 returning cover_frame_id`,
      [boardPath.split('/').at(-1)],
    )
    const other = await browser.open()
    const { account } = await ensureAccount(service.stores.db, { email: 'bob@example.org', plan: 'pro' })
    await signIn(other, service.stores.db, service.config.publicUrl, 'bob@example.org')
    await other.goto(url(shared))
    expect(await other.content()).not.toContain('ada@example.org')
    await other.getByRole('button', { name: 'Save to my boards' }).click()
    await other.waitForURL(/\/boards\//)
    const at = { accountId: account.id, boardId: new URL(other.url()).pathname.split('/').at(-1)! }
    const { board, pins } = await loadBoard(service.stores.db, at)
    expect([board.name, pins.map(({ frameId }) => frameId)]).toEqual([EVIL, await order()])
    expect(pins.filter(({ note }) => note === `hold ${EVIL}`)).toHaveLength(1)
    expect([board.description, board.coverFrameIds[0]]).toEqual(['As told', rows[0].cover_frame_id])
    await other.context().close()
  })

  test('the choice of a board shows covers, counts and where a frame is; what is saved is the first', async () => {
    const [first] = await order()
    await page.goto(url(boardPath))
    // The board is behind the frame that is open.
    await page.locator(`#f-${first}`).click()
    await page.locator('dialog article').waitFor()
    await page.keyboard.press('b')
    const choices = page.locator('dialog #choices button')
    await choices.first().waitFor()
    expect(await choices.evaluateAll((all) => all.map((one) => one.ariaPressed))).toEqual(['true', 'true'])
    expect(await choices.locator('.hint').allTextContents()).toEqual(['8 frames', '4 frames'])
    expect(await choices.locator('img').count()).toBe(2)
    await expectAccessible(page)
    await choices.nth(1).click()
    await page.locator('#toast').getByText(`No longer on “${EVIL}”.`).waitFor()
    await expect.poll(order).not.toContain(first)
    await page.locator(`#pin-${first}`).waitFor({ state: 'detached' })
    await page.locator('#toast').getByRole('button', { name: 'Undo' }).click()
    await expect.poll(async () => (await order())[0]).toBe(first)
    await page.goto(url('/boards'))
    expect(await page.locator('.tiles .label').first().textContent()).toBe('Saved')
    const { boards } = await (await fetch(url('/api/boards'), { headers: await bearer() })).json()
    expect(boards.map(({ name }: { name: string }) => name)).toEqual([EVIL])
  })

  test('frames are found and added from within a board', async () => {
    const before = await order()
    await page.goto(url(boardPath))
    await page.locator('summary', { hasText: 'Add frames' }).click()
    expect((await page.getByLabel('Search the library').boundingBox())!.width).toBeGreaterThan(300)
    await page.getByLabel('Search the library').fill('ui')
    await page.keyboard.press('Enter')
    const found = page.locator('#found button')
    await found.first().waitFor()
    expect(await page.locator('#found [aria-pressed="true"]').count()).toBe(before.length)
    const chosen = page.locator('#found [aria-pressed="true"]').first()
    expect(await chosen.evaluate((one) => getComputedStyle(one, '::before').content)).toBe('none')
    await expectAccessible(page)
    const fresh = page.locator('#found [aria-pressed="false"]').first()
    const frame = (await fresh.getAttribute('data-add'))!
    await fresh.click()
    await page.locator(`#pin-${frame}`).waitFor()
    expect(await order()).toEqual([...before, frame])
    await page.locator(`#found [data-add="${frame}"]`).click()
    await page.locator(`#pin-${frame}`).waitFor({ state: 'detached' })
    expect(await order()).toEqual(before)
  })

  test('after a rename the focus is on the menu that holds it', async () => {
    await page.goto(url(boardPath))
    await page.locator('.tools summary', { hasText: 'More' }).click()
    await page.locator('summary', { hasText: 'Rename' }).click()
    await Promise.all([page.waitForEvent('load'), page.getByRole('button', { name: 'Rename' }).click()])
    await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe('More')
  })

  test('a finger selects by a long press, and moves the frame if it goes on', async () => {
    const phone = await browser.open({ hasTouch: true, isMobile: true, viewport: { width: 390, height: 800 } })
    await signIn(phone, service.stores.db, service.config.publicUrl, 'ada@example.org')
    await phone.goto(url(boardPath))
    const [a, b, c, d] = await order()
    const boxOf = async (id: string) => (await phone.locator(`#f-${id}`).boundingBox())!
    const touch = await phone.context().newCDPSession(phone)
    const send = (type: 'touchStart' | 'touchMove' | 'touchEnd', points: { x: number; y: number }[]) =>
      touch.send('Input.dispatchTouchEvent', { type, touchPoints: points })
    const at = await boxOf(a!)
    const from = { x: at.x + at.width / 2, y: at.y + at.height / 2 }
    await send('touchStart', [from])
    await phone.locator(`#pin-${a}[data-picked]`).waitFor()
    await send('touchEnd', [])
    await phone.locator('#selection').getByText('1 selected').waitFor()
    await phone.locator('#selection').getByRole('button', { name: 'Clear' }).tap()
    await phone.locator('[data-picked]').waitFor({ state: 'detached' })
    await send('touchStart', [from])
    await phone.locator(`#pin-${a}[data-picked]`).waitFor()
    const to = await boxOf(d!)
    await send('touchMove', [{ x: from.x + 10, y: from.y + 10 }])
    await send('touchMove', [{ x: to.x + to.width - 5, y: to.y + to.height / 2 }])
    await phone.locator(`#pin-${d}.drop-after`).waitFor()
    await send('touchEnd', [])
    await expect.poll(order).toEqual([b, c, d, a])
    expect(await phone.locator('[data-picked]').count()).toBe(0)
    await pinFrame(service.stores.db, { accountId, boardId: boardId(), frameId: a!, position: 0 })
    await phone.context().close()
  })

  test('of two tabs that move one frame the last one wins, and both can go on', async () => {
    const [a, b, c, d] = await order()
    const other = await page.context().newPage()
    for (const tab of [page, other]) await tab.goto(url(boardPath))
    const drag = (tab: Page, to: string) => tab.locator(`#pin-${a} img`).dragTo(tab.locator(`#pin-${to} img`))
    const shown = (tab: Page) => tab.locator('#pins > li').evaluateAll((all) => all.map(({ id }) => id.slice(4)))
    await drag(page, d!)
    await expect.poll(() => shown(page)).toEqual([b, c, a, d])
    await drag(other, c!)
    await expect.poll(() => shown(other)).toEqual([b, a, c, d])
    await page.locator(`#pin-${a} .tick input`).click()
    await page.locator('#selection').getByRole('button', { name: 'Remove' }).click()
    await expect.poll(() => shown(page)).toEqual([b, c, d])
    await page.locator('#toast').getByText('1 frame removed.').waitFor()
    // It is moved where it is no longer.
    await drag(other, d!)
    await other.locator('#toast').getByText(/pin/i).waitFor()
    await page.locator('#toast').getByRole('button', { name: 'Undo' }).click()
    await expect.poll(order).toEqual([b, a, c, d])
    await other.close()
  })

  test('a long board has pages of 120, and a frame turns from one to the next', async () => {
    const { db } = service.stores
    const { id } = await createBoard(db, { accountId, name: 'Full' })
    for (const length of [500, 501]) {
      const frames = Array.from({ length }, (_, tSec) => ({ tSec }))
      const { frameIds } = await seedVideo(db, { title: `Long ${length}`, durationSec: length, frames })
      await pinFrames(db, { accountId, boardId: id, frameIds })
    }
    await service.drain()
    await page.goto(url(`/boards/${id}?page=8`))
    expect(await page.locator('#pins > li').count()).toBe(120)
    await page.locator('#pins .card-link').last().click()
    const dialog = page.locator('dialog.over')
    await dialog.getByText('960 of 1,001', { exact: true }).waitFor()
    await dialog.getByRole('button', { name: 'Next frame' }).click()
    await dialog.getByText('961 of 1,001', { exact: true }).waitFor()
    await page.goto(url(`/boards/${id}?page=9`))
    await page.getByText('Page 9 of 9').waitFor()
    expect(await page.locator('#pins > li').count()).toBe(41)
    await deleteBoard(db, { accountId, boardId: id })
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
    await page.locator('summary').getByText('More', { exact: true }).click()
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
