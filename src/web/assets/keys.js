// Copy buttons, times in the reader's own zone, and a new key that a reload does not create again.

function enhance() {
  for (const snippet of document.querySelectorAll('.snippet')) {
    const code = snippet.querySelector('code')
    if (!code || !(snippet instanceof HTMLElement)) continue
    const button = document.createElement('button')
    button.type = 'button'
    button.className = 'copy'
    const label = document.createElement('span')
    label.textContent = 'Copy'
    label.setAttribute('aria-live', 'polite')
    const what = document.createElement('span')
    what.className = 'visually-hidden'
    what.textContent = ` ${snippet.dataset.copy}`
    button.append(label, what)
    button.addEventListener('click', async () => {
      try {
        await navigator.clipboard.writeText(code.textContent)
        label.textContent = 'Copied'
      } catch {
        // No clipboard outside https: select the text, so that the keyboard can copy it.
        getSelection()?.selectAllChildren(code)
        label.textContent = 'Press Ctrl+C'
      }
      setTimeout(() => {
        label.textContent = 'Copy'
      }, 2500)
    })
    snippet.append(button)
  }

  for (const time of document.querySelectorAll('time')) {
    const at = new Date(time.dateTime)
    time.title = time.textContent
    time.textContent = at.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' })
  }

  // At most one open box among the actions of a key.
  for (const details of /** @type {NodeListOf<HTMLDetailsElement>} */ (document.querySelectorAll('.actions details'))) {
    details.addEventListener('toggle', () => {
      if (!details.open) return
      for (const other of details.closest('.actions')?.querySelectorAll('details') ?? [])
        if (other !== details) other.open = false
    })
  }

  const made = document.getElementById('made')
  /** @type {HTMLElement | null} */
  const invalid = document.querySelector('[aria-invalid="true"]')
  if (location.pathname !== '/keys' || location.search) history.replaceState(null, '', '/keys')
  if (made) made.focus()
  else invalid?.focus()
}
enhance()
// A form has put another page in place.
document.addEventListener('shown', enhance)
