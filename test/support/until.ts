const LIMIT_MS = 1_000_000

/** Waits for something the service does by itself, looking every 20 ms. The limit only ends what hangs. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = Date.now() + LIMIT_MS; !(await holds()); ) {
    if (Date.now() > end) throw new Error('The awaited condition did not become true.')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
