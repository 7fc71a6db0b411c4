import { afterAll, afterEach, beforeAll } from 'vitest'

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

/** What the tests of a file share: opened before the first of them and its `beforeAll`s, closed after the last. */
export function useOpened<T extends AsyncDisposable>(open: () => Promise<T>): T {
  const shared = {} as T
  beforeAll(async () => void Object.assign(shared, await open()))
  afterAll(() => shared[Symbol.asyncDispose]?.())
  return shared
}
