// Suggestions while a person types: techniques, brands and videos. The pattern is the ARIA combobox with a list.
import { byId } from './core.js'

const WAIT_MS = 40

/** @typedef {{ kind: string, label: string, hint: string, href: string, image: string | null }} Suggestion */

/** @param {HTMLInputElement} input */
export function openSuggestions(input) {
  /** @type {AbortController | undefined} */
  let asking
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer
  let at = -1

  input.setAttribute('role', 'combobox')
  input.setAttribute('aria-autocomplete', 'list')
  input.setAttribute('aria-controls', 'suggestions')
  input.setAttribute('aria-expanded', 'false')

  const box = document.createElement('div')
  box.id = 'suggestions'
  box.setAttribute('role', 'listbox')
  box.setAttribute('aria-label', 'Suggestions')
  box.hidden = true
  input.form?.append(box)
  box.addEventListener('click', () => close())

  const options = () => [...box.children].filter((one) => one instanceof HTMLAnchorElement)

  function close() {
    asking?.abort()
    clearTimeout(timer)
    box.hidden = true
    at = -1
    input.setAttribute('aria-expanded', 'false')
    input.removeAttribute('aria-activedescendant')
  }

  async function ask() {
    // A newer question makes the answer to an older one worthless, however late it comes.
    asking?.abort()
    asking = new AbortController()
    const { signal } = asking
    const q = input.value.trim()
    if (q === '') return close()
    try {
      const response = await fetch(`/web/suggest?q=${encodeURIComponent(q.slice(0, 80))}`, {
        signal,
        headers: { accept: 'application/json' },
      })
      if (!response.ok) return
      const { suggestions } = await response.json()
      if (signal.aborted) return
      show(suggestions)
    } catch {
      // Aborted, or the network failed: typing goes on without suggestions.
    }
  }

  /** @param {Suggestion[]} suggestions */
  function show(suggestions) {
    at = -1
    input.removeAttribute('aria-activedescendant')
    box.replaceChildren(...suggestions.map(option))
    box.hidden = suggestions.length === 0
    input.setAttribute('aria-expanded', String(!box.hidden))
  }

  input.addEventListener('input', () => {
    clearTimeout(timer)
    timer = setTimeout(ask, WAIT_MS)
  })
  input.addEventListener('keydown', (event) => {
    if (box.hidden) return
    const all = options()
    if (event.key === 'ArrowDown') at = (at + 1) % all.length
    else if (event.key === 'ArrowUp') at = (at + all.length + (at < 0 ? 0 : -1)) % all.length
    else if (event.key === 'Enter' && at >= 0) all[at]?.click()
    else if (event.key === 'Escape') close()
    else return
    event.preventDefault()
    for (const [n, one] of all.entries()) one.setAttribute('aria-selected', String(n === at))
    const chosen = all[at]
    if (chosen) {
      input.setAttribute('aria-activedescendant', chosen.id)
      chosen.scrollIntoView({ block: 'nearest' })
    }
  })
  input.addEventListener('blur', () => setTimeout(() => byId('suggestions')?.matches(':hover') || close(), 120))
  return { close }
}

/** @param {Suggestion} suggestion @param {number} n */
function option({ kind, label, hint, href, image }, n) {
  const link = document.createElement('a')
  link.id = `suggestion-${n}`
  link.href = href
  link.tabIndex = -1
  link.setAttribute('role', 'option')
  link.setAttribute('aria-selected', 'false')
  const picture = document.createElement('img')
  picture.alt = ''
  picture.width = 62
  picture.height = 35
  if (image) picture.src = image.replace(/\.webp$/, '-480.webp')
  else picture.hidden = true
  const text = document.createElement('span')
  text.textContent = label
  const more = document.createElement('span')
  more.className = 'kind'
  more.textContent = kind === 'search' ? '' : [kind, hint].filter(Boolean).join(', ')
  link.append(picture, text, more)
  return link
}
