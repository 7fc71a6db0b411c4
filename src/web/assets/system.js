// Keeps the numbers of the system page fresh while it is shown, unless a person reads with the keyboard in it.
import { byId, loadPage, swap } from './core.js'

setInterval(async () => {
  if (document.hidden || byId('system')?.contains(document.activeElement)) return
  const page = await loadPage(location.href).catch(() => undefined)
  if (page) swap(page, 'system')
}, 5_000)
