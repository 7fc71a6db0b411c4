import { afterEach } from 'vitest'

/** Returns a function that closes what it is given after the test, the last one first, and passes it through. */
export function useClosing(): <T extends AsyncDisposable>(opened: T) => T {
  let open: AsyncDisposable[] = []
  afterEach(async () => {
    for (const each of open.reverse()) await each[Symbol.asyncDispose]()
    open = []
  })
  return (opened) => {
    open.push(opened)
    return opened
  }
}
