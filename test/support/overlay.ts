import type { Page } from 'playwright-core'
import { expect } from 'vitest'

/**
 * The overlay of a place: a frame opens over it with its number, the keys turn, the focus returns, and Back leads to
 * the place also after a reload. The page is left at the place.
 */
export async function expectOverlay(page: Page, url: string, place: string): Promise<void> {
  const at = () => page.evaluate(() => location.pathname + location.search)
  const dialog = page.locator('dialog.over')
  const told = (n: number) => dialog.getByText(new RegExp(`^${n} of `)).waitFor()
  await page.goto(`${url}/privacy`)
  await page.goto(url + place)
  const card = page.locator('main .card-link').first()
  const [id, href] = [await card.getAttribute('id'), await card.getAttribute('href')]
  await card.click()
  await told(1)
  await page.keyboard.press('ArrowRight')
  await told(2)
  await page.keyboard.press('ArrowLeft')
  await told(1)
  await page.reload()
  await page.locator('main .frame h1').waitFor()
  expect([place, await at()]).toEqual([place, href])
  await page.goBack()
  await page.locator(`main #${id}`).waitFor()
  expect([place, await at(), await dialog.count()]).toEqual([place, place, 0])
  await page.goForward()
  await dialog.locator('.about h1').waitFor()
  // A page that listens to its end comes back without the back-forward cache.
  await page.evaluate(() => addEventListener('unload', () => undefined))
  await page.goto(`${url}/privacy`)
  await page.goBack()
  await page.locator('main .frame h1').waitFor()
  await page.goBack()
  await page.locator(`main #${id}`).waitFor()
  expect([place, await at(), await dialog.count()]).toEqual([place, place, 0])
  await page.goForward()
  await dialog.locator('.about h1').waitFor()
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  expect([place, await at(), await page.evaluate(() => document.activeElement?.id)]).toEqual([place, place, id])
}
