import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { TECHNIQUE_SEED } from '../src/library/techniques/technique-seed.ts'
import { openLocalLimiter } from '../src/vision/model/limits.ts'
import { openModelAnnotator } from '../src/vision/model/model-annotator.ts'
import { noiseFrame, startFakeVisionEndpoint } from '../test/support/fake-vision-endpoint.ts'
import type { About } from './support/bench.ts'
import { round } from './support/stats.ts'

/** Aim: 0.9 of the ideal. */
export const about: About = {
  measures: 'Model calls of the annotator with sixteen at once, from an endpoint that answers after half a second.',
  against:
    'the ideal (calls ÷ concurrency × answer time), and bare requests to the same endpoint in the same run. The ' +
    'endpoint has a process of its own.',
  figures: [
    { what: 'throughput ÷ ideal', at: ['ratio'], atLeast: 0.9 },
    { what: 'throughput ÷ bare requests', at: ['ratio_of_bare'] },
  ],
  notes: [
    'The machine was at work during the run of November 22. The endpoint, the annotator and others shared two cores.',
  ],
}

export async function run(args: string[]): Promise<object | undefined> {
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
  // The same calls as bare requests: what the machine reaches of the ideal at present.
  const told = once(server, 'message')
  server.send('tell')
  const [{ body, made, mostAtOnce }] = (await told) as [Told]
  const bareSeconds = await bareRequests({ baseUrl, body, calls, concurrency })
  server.kill()
  const ideal = (Math.ceil(calls / concurrency) * delayMs) / 1000
  const ratio = round(ideal / seconds)
  const ratioOfBare = round(bareSeconds / seconds)
  if (!values.json)
    console.log(
      `${calls} calls of ${batchSize} frames in ${seconds.toFixed(2)} s, ideal ${ideal.toFixed(2)} s: ` +
        `${ratio} of the ideal, ${ratioOfBare} of bare requests (most at once: ${mostAtOnce})`,
    )
  return {
    bench: 'annotation-throughput',
    ratio,
    ratio_of: 'ideal throughput: calls ÷ concurrency × answer time',
    ratio_of_bare: ratioOfBare,
    calls: made,
    concurrency,
    delayMs,
    seconds,
  }
}

async function bareRequests({
  baseUrl,
  body,
  calls,
  concurrency,
}: {
  baseUrl: string
  body: string
  calls: number
  concurrency: number
}): Promise<number> {
  const started = performance.now()
  const headers = { 'content-type': 'application/json' }
  let left = calls
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (left-- > 0) await (await fetch(`${baseUrl}/chat/completions`, { method: 'POST', headers, body })).text()
    }),
  )
  return (performance.now() - started) / 1000
}

interface Told {
  /** The first question, to be asked again. */
  body: string
  made: number
  mostAtOnce: number
}

async function serve(delayMs: number): Promise<undefined> {
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
  return undefined
}
