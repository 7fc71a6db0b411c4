import type { WorkerOptions } from '../../src/workers/main.ts'
import { type FakeVisionOptions, startFakeVisionEndpoint } from '../support/fake-vision-endpoint.ts'
import { openService } from '../support/service.ts'
import { extractFromNumber, scriptedAnnotator, values } from './support.ts'

/** Measures nothing: the models that measure take half a minute to load, and they have tests of their own. */
export const measuring = scriptedAnnotator('measured@1', () => ({ values: values({ shot: 'no-face' }, 'measured') }))

interface VisionServiceOptions {
  fake?: FakeVisionOptions
  env?: Record<string, string>
  worker?: boolean
  workerOptions?: Partial<WorkerOptions>
}

/** A service, configured by its variables, that asks a fake endpoint about frames. `close` ends both after the test. */
export async function openVisionService(
  close: <T extends AsyncDisposable>(opened: T) => T,
  { fake, env, worker, workerOptions }: VisionServiceOptions = {},
) {
  const endpoint = close(await startFakeVisionEndpoint(fake))
  const settings = {
    VISION_BASE_URL: endpoint.baseUrl,
    VISION_MODEL: 'fake-vl',
    VISION_PRICE_IN: '1',
    VISION_PRICE_OUT: '10',
    ...env,
  }
  const service = close(
    await openService({
      env: settings,
      worker,
      workerOptions: { extract: extractFromNumber, reconcileMs: 3_600_000, measuring, ...workerOptions },
    }),
  )
  return { endpoint, service, env: settings }
}
