// Keeps the numbers of the system page fresh while it is shown, unless a person reads with the keyboard in it.
import { loadPage, lookAgain, swap } from './core.js'

lookAgain(5_000, '#system:not(:focus-within)', async () => swap(await loadPage(location.href), 'system'))
