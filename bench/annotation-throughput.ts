import { createHash } from 'node:crypto'
import { parseArgs } from 'node:util'
import sharp from 'sharp'
import { TECHNIQUE_SEED } from '../src/library/technique-seed.ts'
import type { FrameToAnnotate } from '../src/vision/annotator.ts'
import { openLocalLimiter } from '../src/vision/model/limits.ts'
import { openModelAnnotator } from '../src/vision/model/model-annotator.ts'
import { startFakeVisionEndpoint } from '../test/support/fake-vision-endpoint.ts'

/**
 * Throughput of the model annotator against a local endpoint that takes half a second for an answer, sixteen calls at once, as a share of the ideal: calls ÷
 * concurrency × answer time, and as a share of what bare requests reach in the same run.
 */
export async function run(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      calls: { type: 'string', default: '160' },
      concurrency: { type: 'string', default: '16' },
      delay: { type: 'string', default: '500' },
      json: { type: 'boolean', default: false },
    },
  })
  const [calls, concurrency, delayMs] = [Number(values.calls), Number(values.concurrency), Number(values.delay)]
  const batchSize = 4
  await using endpoint = await startFakeVisionEndpoint({ delayMs })
  const annotator = openModelAnnotator({
    baseUrl: endpoint.baseUrl,
    apiKey: 'k',
    model: 'm',
    batchSize,
    limiter: openLocalLimiter(concurrency),
  })
  const frames = await Promise.all(Array.from({ length: calls * batchSize }, (_, n) => toFrame(n)))
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
  const body = JSON.stringify(endpoint.calls[0]!.body)
  const bareStart = performance.now()
  let left = calls
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (left-- > 0) {
        await (
          await fetch(`${endpoint.baseUrl}/chat/completions`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
        ).text()
      }
    }),
  )
  const bareSeconds = (performance.now() - bareStart) / 1000
  const ideal = (Math.ceil(calls / concurrency) * delayMs) / 1000
  const ratio = Math.round((ideal / seconds) * 1000) / 1000
  const ratioOfBare = Math.round((bareSeconds / seconds) * 1000) / 1000
  if (!values.json)
    console.log(
      `${calls} calls of ${batchSize} frames in ${seconds.toFixed(2)} s, ideal ${ideal.toFixed(2)} s: ${ratio} of the ideal, ${ratioOfBare} of bare requests in the same run (most at once: ${endpoint.mostAtOnce})`,
    )
  console.log(
    JSON.stringify({
      ratio,
      of: 'ideal throughput: calls ÷ concurrency × answer time',
      calls: endpoint.calls.length,
      concurrency,
      delayMs,
      seconds,
    }),
  )
}

async function toFrame(n: number): Promise<FrameToAnnotate> {
  const hash = createHash('sha256').update(`frame ${n}`).digest()
  const image = await sharp(Buffer.alloc(64 * 36 * 3, hash), { raw: { width: 64, height: 36, channels: 3 } })
    .webp()
    .toBuffer()
  return {
    id: `frame-${n}`,
    tSec: n,
    kind: 'beat',
    image,
    imageSha256: createHash('sha256').update(image).digest('hex'),
    width: 64,
    height: 36,
    luma: 120,
    tone: 'bright',
    motion: 0,
    phash: hash.toString('hex', 8, 16),
    reason: 'beat',
  }
}
