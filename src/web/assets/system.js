// Keeps the numbers of the system page fresh while it is shown, unless a person reads with the keyboard in it.
import { byId, loadPage, lookAgain, swap } from './core.js'

lookAgain(5_000, async () => {
  if (!byId('system')?.contains(document.activeElement)) swap(await loadPage(location.href), 'system')
})
