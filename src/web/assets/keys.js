// Times in the reader's own zone, and a new key that a reload does not create again.
import { byId } from './core.js'

function enhance() {
  for (const time of document.querySelectorAll('time')) {
    const at = new Date(time.dateTime)
    time.title = time.textContent
    time.textContent = at.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' })
  }

  if (location.pathname !== '/keys' || location.search) history.replaceState(null, '', '/keys')
  byId('made')?.focus()
}
enhance()
// A form has put another page in place.
document.addEventListener('shown', enhance)
