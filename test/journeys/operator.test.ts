import { createHash, randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { ensureAccount } from '../../src/library/accounts/accounts.ts'
import { createKey } from '../../src/library/accounts/keys.ts'
import { scriptedAnnotator, values } from '../library/support.ts'
import { expectAccessible, noChromium, signIn, useBrowser } from '../support/browser.ts'
import { useFolder } from '../support/folder.ts'
import { useService } from '../support/service.ts'
import { ffmpeg, QUICK } from '../video/ffmpeg.ts'

const sample = (name: string) => fileURLToPath(new URL(`../../samples/${name}`, import.meta.url))
const EVIL = '<img src=x onerror="alert(1)"> & “quotes”'

describe.skipIf(noChromium)(`an operator in a browser${noChromium ? ` (skipped: ${noChromium})` : ''}`, () => {
  const annotator = scriptedAnnotator('scripted@1', () => ({
    values: values({ subject: 'ui', surface: 'slide', shot: 'no-face', zone: 'none', caption: EVIL }, 'model', 0.6),
    suggestedTechnique: { slug: 'slow-pour' },
  }))
  const service = useService({ pages: true, annotator })
  const browser = useBrowser(service)
  let page: Page
  const folder = useFolder()
  const short = () => join(folder, 'one-second.mp4')
  beforeAll(async () => {
    ffmpeg('-f', 'lavfi', '-i', 'testsrc2=s=192x108:r=12:d=1', ...QUICK, short())
    await writeFile(join(folder, 'broken.mp4'), Buffer.concat([Buffer.from('\0\0\0\x14ftypisom'), randomBytes(5_000)]))
    page = await browser.open()
    await ensureAccount(service.stores.db, { email: 'op@example.org', role: 'operator', plan: 'pro' })
    await signIn(page, service.stores.db, service.config.publicUrl, 'op@example.org')
  })

  const goto = (path: string) => page.goto(service.config.publicUrl + path)
  const row = (title: string) => page.locator('tr[data-video]', { hasText: title })
  /** The bar of what can be done is there once a video is selected. */
  async function onRow(title: string, act: string) {
    await row(title).getByRole('checkbox').check()
    await page.locator('.acting').getByRole('button', { name: act }).click()
  }
  const still = (title: string) => row(title).locator('img.still')

  test('adds three clips, one twice and one broken, and watches them without a reload', async () => {
    await goto('/operator')
    await expectAccessible(page)
    await page.locator('#file').setInputFiles([sample('coffee-pour.mp4'), join(folder, 'broken.mp4')])
    await page.locator('.uploads li', { hasText: 'coffee-pour' }).getByText('queued').waitFor()
    await page.locator('.uploads li', { hasText: 'broken' }).getByText('queued').waitFor()
    // What is no video is told before it is read.
    await page.locator('#file').setInputFiles([
      { name: 'empty.mp4', mimeType: 'video/mp4', buffer: Buffer.alloc(0) },
      { name: 'photo.png', mimeType: 'image/png', buffer: Buffer.from('png') },
    ])
    await page.locator('.uploads li', { hasText: 'empty.mp4' }).getByText('empty: choose').waitFor()
    await page.locator('.uploads li', { hasText: 'photo.png' }).getByText('not a video').waitFor()
    // The duplicate is told by its bytes, with the way to its video.
    await page.locator('#file').setInputFiles(sample('coffee-pour.mp4'))
    await page
      .locator('.uploads li')
      .nth(4)
      .getByRole('link', { name: 'in the library already: coffee pour' })
      .waitFor()
    await page.getByRole('button', { name: /Show 2 new/ }).click()
    await row('coffee pour').locator('.badge.ready').waitFor()
    await still('coffee pour').waitFor()
    expect(await still('coffee pour').evaluate((image: HTMLImageElement) => image.decode())).toBeUndefined()
    await row('broken').locator('.badge.failed').waitFor()
    await row('broken').locator('.reason').waitFor()
    await expectAccessible(page)
  })

  test('is told what each pasted address would do before anything is queued', async () => {
    await goto('/operator')
    const { json: all } = await service.get('/api/frames?facets=1')
    const { json: left } = await service.get('/api/frames?facets=1&described=no')
    expect(all.total).toBeGreaterThan(0)
    const told = left.total > 0 ? `${left.total} of ${all.total} frames` : 'Frames are described by measurement only.'
    await page.getByText(told).waitFor()
    const lines = ['https://example.org/launch.mp4', 'https://example.org/launch.mp4?utm_source=x', 'not an address']
    await page.getByLabel('Video links, one per line').fill([...lines, 'http://127.0.0.1/x.mp4'].join('\n'))
    await page.getByRole('button', { name: 'Check' }).click()
    await page.getByText('1 link is new, of 4').waitFor()
    await expectAccessible(page)
    const { rows } = await service.stores.db.$client.query(`select 1 from videos where source_key like 'url:%'`)
    expect(rows).toEqual([])
  })

  test('the list keeps its order and the focus while videos change and come', async () => {
    await goto('/operator')
    const ids = () => page.locator('tr[data-video]').evaluateAll((rows) => rows.map((one) => one.id))
    const before = await ids()
    await row('broken').getByRole('checkbox').focus()
    await page.locator('#file').setInputFiles(short())
    await page.getByRole('button', { name: 'Show 1 new' }).waitFor()
    await row('broken').getByRole('button', { name: 'Retry' }).focus()
    await page.keyboard.press('Enter')
    await page.getByText('1 queued again.').first().waitFor()
    await expect
      .poll(() =>
        service.stores.db.$client.query(`select attempts from videos where title = 'broken'`).then((r) => r.rows),
      )
      .toEqual([{ attempts: 1 }])
    expect(await ids()).toEqual(before)
    await page.getByRole('button', { name: 'Show 1 new' }).click()
    await row('one second').waitFor()
    await row('one second').locator('.badge.ready').waitFor()
    // What is shown then acts in place too.
    await page.evaluate(() => Object.assign(window, { same: true }))
    await row('broken').locator('.badge.failed').waitFor()
    const refreshed = page.waitForRequest((one) => one.url().endsWith('/operator') && one.resourceType() === 'fetch')
    await row('broken').getByRole('button', { name: 'Retry' }).click()
    await refreshed
    expect(await page.evaluate(() => 'same' in window)).toBe(true)
  })

  test('the page of a video shows each attempt as it happens', async () => {
    await goto('/operator')
    await row('broken').locator('.badge.failed').waitFor()
    await row('broken').getByRole('link').first().click()
    await page.locator('#stages').evaluate((stages) => stages.setAttribute('data-before', ''))
    await page.getByRole('button', { name: 'Retry: broken' }).click()
    await page.locator('#stages:not([data-before])').waitFor()
    await row('broken').locator('.badge.failed').waitFor()
  })

  test('the list looks again while something is under way and a person can see it, and no longer', async () => {
    const other = await browser.open()
    await signIn(other, service.stores.db, service.config.publicUrl, 'op@example.org')
    await other.clock.install()
    await other.goto(`${service.config.publicUrl}/operator`)
    await other.locator('#counts').waitFor()
    await other.clock.pauseAt(Date.now() + 60_000)
    let looks = 0
    other.on('request', (request) => void (request.url().endsWith('/operator') && looks++))
    const isUnderWay = (is: boolean) =>
      other.locator('#counts').evaluate((counts, is) => counts.toggleAttribute('data-under-way', is), is)
    const isHidden = (hidden: boolean) =>
      other.evaluate(
        (hidden) => Object.defineProperty(document, 'hidden', { value: hidden, configurable: true }),
        hidden,
      )
    await other.clock.runFor(10_000)
    await isHidden(true)
    await isUnderWay(true)
    await other.clock.runFor(10_000)
    expect(looks).toBe(0)
    await isHidden(false)
    await other.clock.runFor(3_000)
    // What came says that nothing is under way.
    await other.locator('#counts:not([data-under-way])').waitFor()
    await other.clock.runFor(10_000)
    expect(looks).toBe(1)
    await other.context().close()
  })

  test('deletes only after it was told what goes', async () => {
    await goto('/operator')
    await onRow('one second', 'Delete')
    await page.getByRole('heading', { name: 'Delete “one second”?' }).waitFor()
    await page.getByText('Nobody has saved or pinned').waitFor()
    await page.getByText('“one second” cannot be brought back.').waitFor()
    await expectAccessible(page)
    await page.goBack()
    await onRow('one second', 'Delete')
    await page.getByRole('button', { name: 'Delete for good' }).click()
    await page.getByText('1 video deleted.').first().waitFor()
    expect(await row('one second').count()).toBe(0)
  })

  test('says a title and a brand beside a file, changes them on its page, and sees what is refused', async () => {
    await goto('/operator')
    const details = page.getByText('Add title, brand, platform and date')
    // The file is sent as soon as it is chosen: what is said of it comes before.
    expect((await details.boundingBox())!.y).toBeLessThan((await page.locator('#file').boundingBox())!.y)
    await details.click()
    await page.getByLabel('Title').fill('Pour')
    await page.getByLabel('Brand', { exact: true }).fill('Acme inc')
    await page.locator('#file').setInputFiles(short())
    await page.locator('.uploads li').getByRole('link', { name: 'queued' }).click()
    await page.getByRole('heading', { name: 'Pour', level: 1 }).waitFor()
    expect(await page.getByLabel('Brand', { exact: true }).inputValue()).toBe('Acme inc')
    await page.getByLabel('Brand', { exact: true }).fill('Acme')
    await page.getByLabel('Published').fill('2126-11-20')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.locator('#published_at[aria-invalid]').waitFor()
    await page.getByText('not in the future').waitFor()
    // What lies half below the bar of the page would count as too small.
    await page.evaluate(() => scrollTo(0, 0))
    await expectAccessible(page)
    await page.getByLabel('Published').fill('2026-11-20')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved.').first().waitFor()
    expect(await page.getByLabel('Published').inputValue()).toBe('2026-11-20')
    await page.evaluate(() => scrollTo(0, 0))
    await expectAccessible(page)
    await row('Pour').getByText('Acme ·').waitFor()
    await row('Pour').locator('.badge.ready').waitFor()
    await row('Pour').getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('button', { name: 'Delete for good' }).click()
    await page.getByText('1 video deleted.').first().waitFor()
  })

  const frameOf = async (title: string) => {
    const { rows } = await service.stores.db.$client.query(
      `select f.* from frames f join videos v on v.id = f.video_id where v.title = $1 order by f.id limit 1`,
      [title],
    )
    return rows[0]
  }

  test('judges frames by keyboard, and takes one judgement back', async () => {
    await goto('/operator/review')
    const first = await page.locator('figure a').getAttribute('href')
    await page.getByText('A model proposed Slow pour').waitFor()
    await page.getByText(/^1 of \d+: a value outside/).waitFor()
    // Where a face sits is a grid of three by three, each with its name.
    const cells = page.getByRole('group', { name: /^Face/ }).getByRole('radio')
    const boxes = await cells.evaluateAll((all) => all.map((one) => one.getBoundingClientRect()))
    expect([boxes.length, new Set(boxes.slice(0, 9).map(({ x }) => x)).size]).toEqual([10, 3])
    expect(await cells.nth(5).getAttribute('value')).toBe('middle-right')
    await page.getByRole('radio', { name: 'Middle right' }).waitFor()
    await expectAccessible(page)
    // The first row is the subject: 3 is product; Enter accepts what is shown for the rest.
    await page.keyboard.press('3')
    expect(await page.locator('input[name="subject"]:checked').inputValue()).toBe('product')
    // More presses while the answer is on its way, and Enter that is held, judge nothing that was not seen.
    const sent: string[] = []
    page.on('request', (request) => void (request.method() === 'POST' && sent.push(new URL(request.url()).pathname)))
    const slow = Promise.withResolvers<void>()
    await page.route('**/web/review/**', (route) => slow.promise.then(() => route.continue()))
    for (const key of ['Enter', 'Enter', 'u']) await page.keyboard.press(key)
    await page.keyboard.down('Enter')
    slow.resolve()
    await page.locator('#toast').getByRole('button', { name: 'Undo' }).waitFor()
    await page.getByText(/^2 of \d+: /).waitFor()
    await page.keyboard.down('Enter')
    await page.keyboard.up('Enter')
    expect(sent).toEqual([`/web/review/${first!.split('/').at(-1)}`])
    await page.unroute('**/web/review/**')
    expect(await page.locator('figure a').getAttribute('href')).not.toBe(first)
    const id = first!.split('/').at(-1)!
    const judged = async () => (await service.get(`/api/frames/${id}?provenance=1`)).json.frame
    await expect.poll(async () => (await judged()).subject).toBe('product')
    await page.keyboard.press('u')
    await page.locator(`figure a[href="${first}"]`).waitFor()
    await expect.poll(async () => (await judged()).subject).toBe('ui')
    await page.keyboard.press('3')
    await page.keyboard.press('Enter')
    await page.locator('#toast').getByRole('button', { name: 'Undo' }).waitFor()
    await page.getByText(/^2 of \d+: /).waitFor()
  })

  test('corrects a frame, describes its video again, and the correction stands', async () => {
    const { id } = await frameOf('coffee pour')
    // From the frame to its values and back.
    await goto(`/frames/${id}`)
    await page.locator('summary', { hasText: 'More' }).click()
    await page.getByRole('link', { name: 'Correct', exact: true }).click()
    // The numbers are those of the chips, also once a click has put the focus on one.
    await page.locator('.value', { has: page.locator('[value="presenter"]') }).click()
    await page.keyboard.press('3')
    expect(await page.locator('input[name="subject"]:checked').inputValue()).toBe('product')
    await page.getByLabel('Caption').fill('A hand pours <b>coffee</b>')
    await page.locator('.value', { hasText: 'b-roll' }).click()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('2 values saved.').first().waitFor()
    expect((await frameOf('coffee pour')).caption).toBe('A hand pours <b>coffee</b>')
    await expectAccessible(page)
    const frameShows = async () => {
      await page.getByRole('heading', { level: 1, name: 'A hand pours <b>coffee</b>' }).waitFor()
      await page.getByText('corrected by a person').waitFor()
    }
    await expect
      .poll(async () => (await service.get(`/api/frames/${id}`)).json.frame.caption)
      .toBe('A hand pours <b>coffee</b>')
    await page.getByRole('link', { name: 'To the frame' }).click()
    await frameShows()
    // What was asked for before is described.
    await service.drain()
    const asked = annotator.asked.length
    annotator.answer = () => ({ values: values({ subject: 'chart', caption: 'Another answer' }) })
    await goto('/operator')
    await onRow('coffee pour', 'Describe again')
    await page.getByText('Frames that it has not described: 0').waitFor()
    await page.getByText('It costs nothing').or(page.getByText('the price is not known')).first().waitFor()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Describe 3 frames' }).click()
    await page.getByText('3 frames asked for again.').first().waitFor()
    await service.drain()
    expect(annotator.asked.length).toBe(asked + 3)
    await goto(`/frames/${id}`)
    await frameShows()
    const frame = await frameOf('coffee pour')
    expect([frame.caption, frame.subject]).toEqual(['A hand pours <b>coffee</b>', 'b-roll'])
    const { rows } = await service.stores.db.$client.query(`select subject, caption from frames where id <> $1`, [id])
    expect(rows.some((other) => other.caption === 'Another answer')).toBe(true)
  })

  test('adds a proposed technique, merges it into another, and its frames follow', async () => {
    const slugs = async () =>
      (
        await service.stores.db.$client.query('select distinct technique from frames where technique is not null')
      ).rows.map((one) => one.technique)
    await service.stores.db.$client.query(`update annotations set proposed_technique = 'slow-pour'`)
    await goto('/operator/techniques')
    await expectAccessible(page)
    const card = page.locator('.suggestions li', { hasText: 'Slow pour' }).first()
    await card.getByRole('button', { name: 'Dismiss Slow pour' }).click()
    await page.locator('#toast').getByText('“Slow pour” is dismissed').waitFor()
    expect(await page.locator('.suggestions li', { hasText: 'Slow pour' }).count()).toBe(0)
    await page.getByRole('button', { name: 'Undo' }).first().click()
    await page.waitForURL(/techniques$/)
    await card.locator('summary').getByText('Add it').click()
    await card.getByLabel('What it is').fill('A slow pour, seen from close.')
    await card.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByRole('heading', { name: 'Slow pour', level: 1 }).waitFor()
    expect(await slugs()).toEqual(['slow-pour'])
    await expectAccessible(page)
    await page.getByLabel('Technique').selectOption({ index: 0 })
    await page.getByRole('button', { name: 'Merge…' }).click()
    await page.locator('section.narrow', { hasText: /3 frames\b.* become frames of/s }).waitFor()
    await page.getByRole('button', { name: 'Merge', exact: true }).click()
    await page.waitForURL((at) => !at.pathname.endsWith('/slow-pour'))
    await page.getByText('3 frames in 1 video.').waitFor()
    expect(await slugs()).toEqual([page.url().split('/').at(-1)])
  })

  test('disables an account: its key and its session end at once, and come back', async () => {
    const { account } = await ensureAccount(service.stores.db, { email: 'gone@example.org', plan: 'pro' })
    const { key } = await createKey(service.stores.db, { accountId: account.id, name: 'x' })
    const other = await browser.open()
    await signIn(other, service.stores.db, service.config.publicUrl, 'gone@example.org')
    const saves = () => service.get('/api/favourites', { authorization: `Bearer ${key}` })
    expect((await saves()).status).toBe(200)
    await goto('/operator/accounts?q=gone')
    await page.getByText('1 account.').waitFor()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Disable gone@example.org' }).click()
    await page.getByRole('button', { name: 'Enable gone@example.org' }).waitFor()
    expect((await saves()).status).toBe(401)
    await other.goto(`${service.config.publicUrl}/saves`)
    expect(new URL(other.url()).pathname).toBe('/sign-in')
    await page.getByRole('button', { name: 'Enable gone@example.org' }).click()
    await page.getByRole('button', { name: 'Disable gone@example.org' }).waitFor()
    expect(new URL(page.url()).searchParams.get('q')).toBe('gone')
    await goto('/operator/accounts?q=op@')
    expect(await page.getByRole('button', { name: /Disable/ }).count()).toBe(0)
  })

  test('an upload that a lost connection cut off is told, and Retry sends it again', async () => {
    const film = Buffer.concat([Buffer.from('\0\0\0\x14ftypisom'), randomBytes(10 * 1024 * 1024)])
    const file = join(folder, 'long-film.mp4')
    await writeFile(file, film)
    await goto('/operator')
    await page.route('**/web/videos/file', (route) => route.abort('connectionreset'), { times: 1 })
    await page.locator('#file').setInputFiles(file)
    const line = page.locator('.uploads li', { hasText: 'long-film' })
    await line.getByText('The connection was lost.').waitFor()
    await expectAccessible(page)
    await line.getByRole('button', { name: 'Retry: long-film.mp4' }).click()
    await line.getByRole('link', { name: 'queued' }).waitFor()
    expect(await page.locator('.uploads li').count()).toBe(1)
    // What arrived is the file.
    const { rows } = await service.stores.db.$client.query(`select source_key from videos where title = 'long film'`)
    expect(rows).toEqual([{ source_key: `sha256:${createHash('sha256').update(film).digest('hex')}` }])
  })

  test('an upload under way shows how far it is, and can be cancelled; no page misbehaved', async () => {
    await goto('/operator')
    await page.route('**/web/videos/file', () => undefined)
    await page.locator('#file').setInputFiles([sample('tears-of-steel.mp4'), sample('relay-launch.mp4')])
    const [first, second] = [page.locator('.uploads li').first(), page.locator('.uploads li').nth(1)]
    await first.getByRole('progressbar', { name: 'tears-of-steel.mp4' }).waitFor()
    await second.getByText('waits').waitFor()
    const mayLeave = () => page.evaluate(() => dispatchEvent(new Event('beforeunload', { cancelable: true })))
    expect(await mayLeave()).toBe(false)
    await second.getByRole('button', { name: 'Cancel' }).click()
    await first.getByRole('button', { name: 'Cancel' }).click()
    for (const line of [first, second]) await line.getByText('cancelled').waitFor()
    expect(await mayLeave()).toBe(true)
    await page.unroute('**/web/videos/file')
    expect(browser.faults).toEqual([])
  })
})
