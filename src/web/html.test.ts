import { expect, test } from 'vitest'
import { html, safeUrl, thousands, trusted } from './html.ts'

test('values are escaped in text and attributes, markup is kept, nothing leaves no trace', () => {
  const evil = `<script>alert("1")</script>' onload='x`
  const page =
    html`<p title="${evil}">${evil}${trusted('<b>')}${null}${undefined}${false}${[html`<i>${1}</i>`, 'a&b']}</p>`.text
  expect(page).not.toContain('<script>')
  expect(page).not.toContain(`' onload`)
  expect(page).toContain('<b><i>1</i>a&amp;b</p>')
})

test('only http addresses become links', () => {
  expect(safeUrl('javascript:alert(1)')).toBeNull()
  expect(safeUrl('data:text/html,x')).toBeNull()
  expect(safeUrl(null)).toBeNull()
  expect(safeUrl('https://example.org/')).toBe('https://example.org/')
})

test('thousands stand apart as in English', () => {
  for (const count of [0, 7, 12, 999, 1_000, 20_000, 999_999, 1_000_000, 1_234_567_890])
    expect(thousands(count)).toBe(count.toLocaleString('en'))
})
