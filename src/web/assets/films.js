// The films that are chosen on the list: two to six can be compared.
import { byId, on } from './core.js'

function count() {
  const form = byId('films')
  const n = form?.querySelectorAll('[name="videos"]:checked').length ?? 0
  const told = form?.querySelector('[data-count]')
  const button = form?.querySelector('button')
  if (told) told.textContent = `${n > 0 ? `${n} chosen. ` : ''}${n < 2 || n > 6 ? 'Choose two to six.' : ''}`
  if (button) button.disabled = n < 2 || n > 6
}
on('change', '#films input', count)
// Browsers bring back what was chosen.
addEventListener('pageshow', count)
