/** Runs tasks one after another in the order asked; a failed one does not stop the next. */
export function oneAtATime() {
  let last: Promise<unknown> = Promise.resolve()
  return function run<T>(task: () => Promise<T>): Promise<T> {
    const result = last.then(task)
    last = result.catch(() => {})
    return result
  }
}
