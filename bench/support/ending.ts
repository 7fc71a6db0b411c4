import { constants } from 'node:os'

/** What a bench has started, to be stopped when the bench ends by itself, by a failure or by a signal. */
export interface Ending {
  /** The last is undone first. */
  defer(act: () => unknown): void
  /** Waits for a start. What a signal meets half started is stopped as well. */
  use<T>(starting: Promise<T>, stop: (started: T) => unknown): Promise<T>
  /** Undoes all once. */
  leave(): Promise<void>
}

const open = new Set<Ending>()

export function openEnding(): Ending {
  const things = new AsyncDisposableStack()
  let left: Promise<void> | undefined
  const ending: Ending = {
    defer: (act) => things.defer(async () => void (await act())),
    use(starting, stop) {
      ending.defer(() => starting.then(stop, () => undefined))
      return starting
    },
    async leave() {
      left ??= things.disposeAsync()
      await left
      open.delete(ending)
      if (open.size === 0) unwatch()
    },
  }
  if (open.size === 0) watch()
  open.add(ending)
  return ending
}

function watch(): void {
  process.once('SIGINT', onSignal)
  process.once('SIGTERM', onSignal)
  process.once('uncaughtException', onFailure)
}

function unwatch(): void {
  process.off('SIGINT', onSignal)
  process.off('SIGTERM', onSignal)
  process.off('uncaughtException', onFailure)
}

const onSignal = (signal: NodeJS.Signals) => leaveAll(128 + constants.signals[signal])

/** Of a served process too, whose parent was killed: it cannot say that it serves. */
function onFailure(error: Error): Promise<void> {
  console.error(error)
  return leaveAll(1)
}

async function leaveAll(code: number): Promise<void> {
  // The bench goes on meanwhile and loses its databases. Its failures would end the process before all has stopped.
  process.on('uncaughtException', () => undefined)
  for (const ending of [...open].reverse()) await ending.leave().catch(() => undefined)
  process.exit(code)
}
