import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { TECHNIQUE_SEED } from '../src/library/techniques/technique-seed.ts'
import { openLocalLimiter } from '../src/vision/model/limits.ts'
import { openModelAnnotator } from '../src/vision/model/model-annotator.ts'
import { noiseFrame, startFakeVisionEndpoint } from '../test/support/fake-vision-endpoint.ts'

/**
 * Throughput of the model annotator against a local endpoint that takes half a second for an answer, sixteen calls at once, as a share of the ideal: calls ÷
 * concurrency × answer time, and as a share of what bare requests reach in the same run. The endpoint has a process of its own, as any would.
 */
export async function run(args: string[]): Promise<void> {
  if (args[0] === 'serve') return serve(Number(args[1]))
  const { values } = parseArgs({
    args,
    options: {
      calls: { type: 'string', default: '320' },
      concurrency: { type: 'string', default: '16' },
      delay: { type: 'string', default: '500' },
      json: { type: 'boolean', default: false },
    },
  })
  const [calls, concurrency, delayMs] = [Number(values.calls), Number(values.concurrency), Number(values.delay)]
  const batchSize = 4
  const server = fork(join(import.meta.dirname, 'main.ts'), ['annotation-throughput', 'serve', String(delayMs)])
  const [baseUrl] = (await once(server, 'message')) as [string]
  const annotator = openModelAnnotator({
    baseUrl,
    apiKey: 'k',
    model: 'm',
    batchSize,
    limiter: openLocalLimiter(concurrency),
  })
  const frames = await Promise.all(Array.from({ length: calls * batchSize }, (_, n) => noiseFrame(n)))
  const batches = Array.from({ length: calls }, (_, i) => frames.slice(i * batchSize, (i + 1) * batchSize))
  const video = { id: 'v', title: 'Throughput', author: null, durationSec: 60 }
  const options = { signal: AbortSignal.timeout(600_000), techniques: TECHNIQUE_SEED }

  const start = performance.now()
  // Twice as many jobs as calls at once, so that images are prepared while others wait for their answer.
  await Promise.all(
    Array.from({ length: concurrency * 2 }, async () => {
      for (let batch = batches.pop(); batch; batch = batches.pop()) await annotator.annotate(video, batch, options)
    }),
  )
  const seconds = (performance.now() - start) / 1000
  // The same questions asked by bare requests: what this machine makes of the ideal at present.
  const told = once(server, 'message')
  server.send('tell')
  const [{ body, made, mostAtOnce }] = (await told) as [Told]
  const bareStart = performance.now()
  let left = calls
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (left-- > 0) {
        await (
          await fetch(`${baseUrl}/chat/completions`, {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body,
          })
        ).text()
      }
    }),
  )
  const bareSeconds = (performance.now() - bareStart) / 1000
  server.kill()
  const ideal = (Math.ceil(calls / concurrency) * delayMs) / 1000
  const ratio = Math.round((ideal / seconds) * 1000) / 1000
  const ratioOfBare = Math.round((bareSeconds / seconds) * 1000) / 1000
  if (!values.json)
    console.log(
      `${calls} calls of ${batchSize} frames in ${seconds.toFixed(2)} s, ideal ${ideal.toFixed(2)} s: ${ratio} of the ideal, ${ratioOfBare} of bare requests in the same run (most at once: ${mostAtOnce})`,
    )
  console.log(
    JSON.stringify({
      ratio,
      of: 'ideal throughput: calls ÷ concurrency × answer time',
      calls: made,
      concurrency,
      delayMs,
      seconds,
    }),
  )
}

interface Told {
  /** The first question, to be asked again. */
  body: string
  made: number
  mostAtOnce: number
}

async function serve(delayMs: number): Promise<void> {
  const endpoint = await startFakeVisionEndpoint({ delayMs })
  process.on('message', () => {
    const told: Told = {
      body: JSON.stringify(endpoint.calls[0]!.body),
      made: endpoint.calls.length,
      mostAtOnce: endpoint.mostAtOnce,
    }
    process.send!(told)
  })
  process.send!(endpoint.baseUrl)
}
