import type { Page } from 'playwright-core'
import { expect } from 'vitest'

/**
 * The overlay of a place: a frame opens over it with its number, the keys turn, and the focus returns. With `comesBack`
 * also that Back leads to the place after a reload and from elsewhere. The page is left at the place.
 */
export async function expectOverlay(
  page: Page,
  { url, place, comesBack }: { url: string; place: string; comesBack: boolean },
): Promise<void> {
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
  expect([place, await at()]).toEqual([place, href])
  if (comesBack) {
    const backAndForward = async () => {
      await page.locator('main .frame h1').waitFor()
      await page.goBack()
      await page.locator(`main #${id}`).waitFor()
      expect([place, await at(), await dialog.count()]).toEqual([place, place, 0])
      await page.goForward()
      await dialog.locator('.about h1').waitFor()
    }
    await page.reload()
    await backAndForward()
    // A page that listens to its end comes back without the back-forward cache.
    await page.evaluate(() => addEventListener('unload', () => undefined))
    await page.goto(`${url}/privacy`)
    await page.goBack()
    await backAndForward()
  }
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  expect([place, await at(), await page.evaluate(() => document.activeElement?.id)]).toEqual([place, place, id])
}
