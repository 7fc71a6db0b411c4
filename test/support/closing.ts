import { afterEach } from 'vitest'

/** Returns a function that closes what it is given after the test, the last one first, and passes it through. */
export function useClosing(): <T extends AsyncDisposable>(opened: T) => T {
  let open: AsyncDisposable[] = []
  afterEach(async () => {
    const closing = open.reverse()
    open = []
    for (const each of closing) await each[Symbol.asyncDispose]()
  })
  return (opened) => {
    open.push(opened)
    return opened
  }
}
