import { expect, test } from 'vitest'
import { html, safeUrl, trusted } from './html.ts'

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
