import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import sharp from 'sharp'
import type { VisionServer } from '../../src/config.ts'
import type { FrameToAnnotate } from '../../src/vision/annotator.ts'
import { FAKE_SERVERS, type ServerState } from './fake-model-servers.ts'

/** The nth frame to ask about: noise, so that no two frames are alike. */
export async function noiseFrame(n: number, over: Partial<FrameToAnnotate> = {}): Promise<FrameToAnnotate> {
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
    reason: 'beat',
    ...over,
  }
}

/** How the endpoint behaves at one call. */
export type Behaviour =
  | 'well'
  | 'rate-limited'
  | 'server-error'
  | 'garbage'
  | 'broken-json'
  | 'cut-off'
  | 'refusal'
  | 'content-filter'
  | 'wrong-enums'
  | 'missing-frames'
  | 'wrong-order'
  | 'huge-body'
  | 'endless-body'
  | 'hang'
  | 'drop'
  | 'wrong-key'
  | 'no-model'
  | 'rejected'
  | 'fenced'
  | 'in-thoughts'
  | 'cut-in-thoughts'
  | 'endless-space'
  | 'thinks'

export interface FakeCall {
  /** Names of the frames asked for; empty for a repair. */
  names: string[]
  /** SHA-like identity of each image sent, in order: its data URL. */
  images: string[]
  // biome-ignore lint/suspicious/noExplicitAny: tests read into requests field by field
  body: Record<string, any>
}

export interface FakeVisionOptions {
  /** Where it listens: loopback and a free port by default. */
  host?: string
  port?: number
  /** What the nth call (from 0) meets; `well` by default. */
  plan?: (call: number) => Behaviour
  /** How long a good answer takes. */
  delayMs?: number
  /** Answer for one frame; merged over the default. */
  describe?: (name: string, image: string) => Record<string, unknown>
  /** What it is: any that speaks the OpenAI protocol, or one of the profiles. */
  server?: VisionServer
  state?: ServerState
  /** The modes of `response_format` that it accepts. Others get a 400. */
  takes?: ReadonlyArray<'json_schema' | 'text'>
  /** Parameters that it does not accept. */
  refuses?: readonly string[]
  /** Asked first: status and body as a certain server would send them. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read into requests field by field
  replace?: (body: Record<string, any>) => Promise<{ status: number; body: unknown } | undefined>
  retryAfterMs?: number
  /** Answers do not report their usage. */
  withoutUsage?: boolean
}

/** A plan drawn from a seed: the given share of calls meets each fault, the rest goes well. */
export function seededPlan(seed: number, faults: Partial<Record<Behaviour, number>>): (call: number) => Behaviour {
  return (call) => {
    let at = random(seed, call)
    for (const [behaviour, share] of Object.entries(faults)) {
      if (at < share) return behaviour as Behaviour
      at -= share
    }
    return 'well'
  }
}

/** What a call adds to the address of its server. */
const CALL = /\/(chat\/completions|api\/chat|messages)$/

/** mulberry32, one draw. */
function random(seed: number, n: number): number {
  let t = (seed + (n + 1) * 0x6d2b79f5) | 0
  t = Math.imul(t ^ (t >>> 15), t | 1)
  t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296
}

/**
 * A local OpenAI-compatible endpoint that fails on demand. It counts calls, and the answers given for
 * every image, which is what a user pays for.
 */
export async function startFakeVisionEndpoint(options: FakeVisionOptions = {}) {
  const calls: FakeCall[] = []
  const paid = new Map<string, number>()
  let open = 0
  let most = 0
  const takes = options.takes ?? ['json_schema', 'text']
  const fake = FAKE_SERVERS[options.server ?? 'compatible']
  const state: Required<ServerState> = {
    model: 'm',
    window: 32_768,
    isBlind: false,
    tellsLittle: false,
    isMissing: false,
    page: '',
    ...options.state,
  }

  const server = createServer((request, response) => {
    open++
    most = Math.max(most, open)
    response.on('close', () => open--)
    answer(request, response).catch(() => response.destroy())
  })

  async function answer(request: IncomingMessage, response: ServerResponse) {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { url = '' } = request
    const known = url === fake.path
    const body = chunks.length > 0 ? JSON.parse(Buffer.concat(chunks).toString()) : {}
    const mode = body.response_format?.type ?? 'text'
    const send = (status: number, answer: unknown, headers: Record<string, string> = {}) => {
      response.writeHead(status, { 'content-type': 'application/json', ...headers })
      response.end(JSON.stringify(answer))
    }
    const fail = (status: number, error: Record<string, unknown>, headers: Record<string, string> = {}) =>
      send(status, { error: { message: 'no', type: 'error', ...error } }, headers)
    if (state.page) {
      response.writeHead(200, { 'content-type': 'text/html' })
      return void response.end(state.page)
    }
    const told = known ? fake.refuse?.(body, request.headers, state) : fake.tell?.(url, body, state)
    if (told) return send(told.status, told.body)
    if (!known) return fail(404, { message: 'no such path' })
    const replaced = await options.replace?.(body)
    if (replaced) return send(replaced.status, replaced.body)
    if (!takes.includes(mode)) return fail(400, { message: `response_format of type ${mode} is not supported` })
    const refused = (options.refuses ?? []).find((name) => name in body)
    if (refused) return fail(400, { message: `Unsupported parameter: '${refused}'`, param: refused })

    const { names, images } = fake.asked(body)
    const behaviour = options.plan?.(calls.length) ?? 'well'
    calls.push({ names, images, body })

    const failure = FAILURES[behaviour]
    if (failure) return fail(...failure)
    if (behaviour === 'rate-limited')
      return fail(429, { message: 'slow down' }, { 'retry-after-ms': String(options.retryAfterMs ?? 10) })
    if (behaviour === 'drop') return void response.destroy()
    if (behaviour === 'hang') return
    if (options.delayMs) await new Promise((resolve) => setTimeout(resolve, options.delayMs))

    const describe = (name: string, i: number) => ({
      ...describeWell(name),
      ...options.describe?.(name, images[i]!),
    })
    const reply = replyOf(behaviour, names.map(describe))
    if (names.length === 0)
      reply.text = repair(
        [body.messages.at(-1).content]
          .flat()
          .map((part) => part.text ?? part)
          .join(''),
      )
    for (const frame of reply.given) {
      const image = images[names.indexOf(String(frame.frame))]
      if (image) paid.set(image, (paid.get(image) ?? 0) + 1)
    }
    response.writeHead(200, { 'content-type': 'application/json' })
    if (behaviour === 'endless-body') {
      for (const image of images) paid.set(image, (paid.get(image) ?? 1) - 1)
      const more = () => {
        while (!response.destroyed && response.write(' '.repeat(65_536)));
      }
      response.on('drain', more)
      return more()
    }
    if (behaviour === 'huge-body') {
      for (const image of images) paid.set(image, (paid.get(image) ?? 1) - 1)
      reply.text = 'x'.repeat(8 * 1024 * 1024)
    }
    const input = Math.min(2000 + images.length * 500, state.window - 1)
    const most = Math.min(
      body.max_tokens ?? body.max_completion_tokens ?? body.options.num_predict,
      state.window - input,
    )
    const output = Math.min(reply.isCut ? most : 180 * names.length, most)
    // A window that is exceeded ends the answer, with status 200.
    if (output < 180 * names.length) Object.assign(reply, cut(reply, output / (180 * names.length)))
    const usage = options.withoutUsage ? null : { input, output }
    response.end(JSON.stringify(fake.reply(body, { ...reply, usage })))
  }

  await new Promise<void>((resolve) => server.listen(options.port ?? 0, options.host ?? '127.0.0.1', resolve))
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}${fake.path.replace(CALL, '')}`,
    calls,
    /** How often an answer was given for each image, by data URL. */
    paid,
    get mostAtOnce() {
      return most
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function describeWell(name: string): Record<string, unknown> {
  const sure = {
    subject: 0.9,
    surface: 0.8,
    shot: 0.9,
    technique: 0.6,
    zone: 0.9,
    caption: 0.8,
    composition: 0.7,
    steal: 0.5,
    on_screen_text: 0.9,
  }
  return {
    frame: name,
    subject: 'ui',
    surface: 'screen-recording',
    shot: 'no-face',
    technique: 'screen-walkthrough',
    suggested_technique: null,
    zone: 'none',
    caption: 'A settings page with a list of members.',
    composition: 'A wide list, left-aligned.',
    steal: 'Show one list at a time.',
    on_screen_text: 'Members\nInvite',
    confidence: sure,
    refusal: null,
  }
}

type Frame = Record<string, unknown>

const FAILURES: Partial<Record<Behaviour, [status: number, error: Record<string, unknown>]>> = {
  'server-error': [500, {}],
  'wrong-key': [401, { message: 'Incorrect API key provided' }],
  'no-model': [404, { message: 'The model does not exist', code: 'model_not_found' }],
  rejected: [400, { message: 'invalid image' }],
}

interface Reply {
  text: string
  thoughts?: string
  /** The frames that the text gives an answer for. */
  given: Frame[]
  isCut: boolean
  refusal?: string
  filtered?: boolean
}

function replyOf(behaviour: Behaviour, described: Frame[]): Reply {
  let frames = described
  if (behaviour === 'wrong-order') frames = frames.toReversed()
  if (behaviour === 'missing-frames') frames = frames.slice(0, Math.max(1, frames.length - 2))
  if (behaviour === 'wrong-enums')
    frames = frames.map((frame) => ({ ...frame, subject: 'spaceship', zone: 7, technique: 'no-such-move' }))
  const good: Reply = { text: JSON.stringify({ frames }), given: frames, isCut: false }
  if (behaviour === 'garbage')
    return { ...good, text: 'Sorry, as a language model I would rather write prose.', given: [] }
  // A quote is missing right at the start, so that no frame can be saved from it.
  if (behaviour === 'broken-json') return { ...good, text: good.text.replaceAll('"frame":', '"frame:'), given: [] }
  if (behaviour === 'refusal') return { ...good, text: '', given: [], refusal: 'I cannot help with that.' }
  if (behaviour === 'content-filter') return { ...good, text: '', given: [], filtered: true }
  if (behaviour === 'fenced')
    return { ...good, text: `Here it is:\n\`\`\`json\n${good.text}\n\`\`\`\nI hope that {this} helps.` }
  if (behaviour === 'thinks') return { ...good, thoughts: 'Let me see.' }
  if (behaviour === 'in-thoughts') return { ...good, text: '', thoughts: good.text }
  if (behaviour === 'cut-in-thoughts') return { ...cut(good, 0.6), text: '', thoughts: cut(good, 0.6).text }
  if (behaviour === 'endless-space') {
    const [first] = frames
    const text = `{"frames":[${JSON.stringify(first)},${' '.repeat(5_000)}`
    return frames.length > 1 ? { ...good, text, given: [first!], isCut: true } : good
  }
  return behaviour === 'cut-off' ? cut(good, 0.6) : good
}

function cut({ text, given }: Reply, share: number): Reply {
  const kept = { text: text.slice(0, Math.floor(text.length * share)), given: given.slice(0, given.length * share) }
  return { ...kept, isCut: true }
}

/** The answer of a model that is asked to repair a broken JSON text. */
function repair(broken: string): string {
  return broken.replaceAll('"frame:', '"frame":')
}
