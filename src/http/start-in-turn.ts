import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'

type Exchange = [req: IncomingMessage, res: ServerResponse]

interface StartOptions {
  addressOf: (req: IncomingMessage) => string
  /** How long one turn of the event loop may start requests. */
  sliceMs?: number
}

/**
 * Starts requests in slices, with all other events between them. Requests that are left over start in the next turns of
 * the event loop, one of each address after the other. So a request waits for a slice, and not for the hundreds that a
 * client sends at once.
 */
export function startInTurn(listener: RequestListener, { addressOf, sliceMs = 2 }: StartOptions): RequestListener {
  const waiting = new Map<string, Exchange[]>()
  let isOpen = false
  let sliceEndsAt = 0

  function openSlice(): void {
    isOpen = true
    sliceEndsAt = performance.now() + sliceMs
    setImmediate(nextTurn)
  }

  function nextTurn(): void {
    isOpen = false
    if (waiting.size === 0) return
    openSlice()
    do startNext()
    while (waiting.size > 0 && performance.now() < sliceEndsAt)
  }

  function startNext(): void {
    const [address, exchanges] = waiting.entries().next().value!
    const [req, res] = exchanges.shift()!
    waiting.delete(address)
    if (exchanges.length > 0) waiting.set(address, exchanges)
    // Its client may have gone.
    if (!req.socket.destroyed) listener(req, res)
  }

  function wait(req: IncomingMessage, res: ServerResponse): void {
    const address = addressOf(req)
    const exchanges = waiting.get(address)
    if (exchanges) exchanges.push([req, res])
    else waiting.set(address, [[req, res]])
  }

  return (req, res) => {
    if (!isOpen) openSlice()
    else if (waiting.size > 0 || performance.now() >= sliceEndsAt) return wait(req, res)
    listener(req, res)
  }
}
