import { resolve } from 'node:path'
import { z } from 'zod'
import manifest from '../package.json' with { type: 'json' }
import { describeIssue } from './errors.ts'
import { PLANS, type Plan } from './vocabulary.ts'

// The only file that names environment variables.

/** The version of this service. package.json is the only place that states it. */
export const VERSION: string = manifest.version

export class ConfigError extends Error {}

const port = z.coerce.number().int().min(0).max(65535)
const address = z.string().regex(/^[\w.:-]+$/, 'must be an IP address or a host name of this machine')
const postgresUrl = z.string().regex(/^postgres(ql)?:\/\//, 'must begin with postgres:// or postgresql://')
const redisUrl = z.string().regex(/^rediss?:\/\//, 'must begin with redis:// or rediss://')
const httpUrl = z
  .string()
  .regex(/^https?:\/\/[^/]/, 'must begin with http:// or https://')
  .regex(/^[^/]*\/\/[^/@]+(?:\/|$)/, 'must not hold a name and a password')
  .transform((value) => value.replace(/\/+$/, ''))

const secretsKeys = z
  .string()
  .regex(
    /^\s*[\da-f]{64}\s*(,\s*[\da-f]{64}\s*)*$/i,
    'must be 64 hexadecimal digits, as `openssl rand -hex 32` prints them, or several such keys with commas between',
  )
  .transform((value) => value.split(',').map((key) => Buffer.from(key.trim(), 'hex')))

interface VisionDefaults {
  /** Up to and without the path of a call. */
  baseUrl?: string
  model?: string
  needsKey?: true
  /** Calls at once, and frames a call at most. */
  concurrency: number
  frames: number
}

const LOCAL = { concurrency: 1, frames: 8 }
const HOSTED = { needsKey: true, concurrency: 4, frames: 8 } as const

/** What VISION sets. Each value has a variable that overrides it. */
const VISION_SERVERS = {
  ollama: { ...LOCAL, baseUrl: 'http://localhost:11434', model: 'qwen3-vl:8b-instruct', frames: 2 },
  llamacpp: { ...LOCAL, baseUrl: 'http://localhost:8080/v1' },
  vllm: { ...LOCAL, baseUrl: 'http://localhost:8000/v1', model: 'Qwen/Qwen3-VL-8B-Instruct', concurrency: 4 },
  lmstudio: { ...LOCAL, baseUrl: 'http://localhost:1234/v1' },
  openai: { ...HOSTED, baseUrl: 'https://api.openai.com/v1', model: 'gpt-5-mini' },
  gemini: {
    ...HOSTED,
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta/openai',
    model: 'gemini-flash-latest',
  },
  anthropic: { ...HOSTED, baseUrl: 'https://api.anthropic.com/v1', model: 'claude-haiku-4-5' },
  openrouter: { ...HOSTED, baseUrl: 'https://openrouter.ai/api/v1', model: 'qwen/qwen3-vl-8b-instruct' },
} satisfies Record<string, VisionDefaults>
export const VISION_NAMES = Object.keys(VISION_SERVERS) as (keyof typeof VISION_SERVERS)[]
/** `compatible`: any endpoint that speaks the OpenAI protocol. */
export type VisionServer = keyof typeof VISION_SERVERS | 'compatible'

/** What EMBED sets: where a text model is, and how long its vectors are. */
const TEXT_MODELS: Record<string, { baseUrl: string; model: string; dimensions: number; needsKey?: true }> = {
  ollama: { baseUrl: 'http://localhost:11434/v1', model: 'nomic-embed-text', dimensions: 768 },
  openai: { ...HOSTED, baseUrl: 'https://api.openai.com/v1', model: 'text-embedding-3-small', dimensions: 1_536 },
  gemini: { ...HOSTED, baseUrl: VISION_SERVERS.gemini.baseUrl, model: 'gemini-embedding-001', dimensions: 3_072 },
}
const EMBED_OF_OTHERS = ['EMBED_BASE_URL', 'EMBED_MODEL', 'EMBED_DIMENSIONS', 'EMBED_API_KEY', 'EMBED_PRICE'] as const
const EMBED_NAMES = ['embedded', 'off', ...Object.keys(TEXT_MODELS)]

const Env = z.object({
  PORT: port.default(3000),
  HOST: address.optional(),
  DATA_DIR: z.string().min(1).default('.data'),
  PUBLIC_URL: httpUrl.optional(),
  TRUST_PROXY: z.coerce.number().int().min(0).max(10).default(0),
  /** The worker takes the one above it. */
  METRICS_PORT: port.max(65_534).optional(),
  METRICS_HOST: address.default('127.0.0.1'),
  DATABASE_URL: postgresUrl.optional(),
  REDIS_URL: redisUrl.optional(),
  MEILI_URL: httpUrl.optional(),
  MEILI_KEY: z.string().min(1).optional(),
  S3_ENDPOINT: httpUrl.optional(),
  S3_BUCKET: z.string().min(1).optional(),
  S3_REGION: z.string().min(1).optional(),
  S3_ACCESS_KEY: z.string().min(1).optional(),
  S3_SECRET_KEY: z.string().min(1).optional(),
  VISION: z.enum(VISION_NAMES, `must be ${VISION_NAMES.slice(0, -1).join(', ')} or ${VISION_NAMES.at(-1)}`).optional(),
  VISION_BASE_URL: httpUrl.optional(),
  VISION_MODEL: z.string().regex(/^\S+$/, 'must be the name of a model, without spaces').optional(),
  VISION_API_KEY: z.string().min(1).optional(),
  VISION_REASONING_EFFORT: z
    .string()
    .regex(/^[a-z]+$/, 'must be a word that the model accepts, such as minimal, low or medium')
    .optional(),
  VISION_CONCURRENCY: z.coerce.number().int().min(1).max(1_000).optional(),
  VISION_FRAMES: z.coerce.number().int().min(1).max(8).optional(),
  VISION_WINDOW: z.coerce.number().int().min(1_024).max(10_000_000).optional(),
  VISION_PER_MINUTE: z.coerce.number().int().min(0).default(0),
  VISION_PRICE_IN: z.coerce.number().min(0).optional(),
  VISION_PRICE_OUT: z.coerce.number().min(0).optional(),
  VISION_BUDGET_VIDEO: z.coerce.number().positive().optional(),
  VISION_BUDGET_DAY: z.coerce.number().positive().optional(),
  EMBED: z.enum(EMBED_NAMES, `must be ${EMBED_NAMES.slice(0, -1).join(', ')} or ${EMBED_NAMES.at(-1)}`).optional(),
  EMBED_BASE_URL: httpUrl.optional(),
  EMBED_MODEL: z.string().regex(/^\S+$/, 'must be the name of a model, without spaces').optional(),
  EMBED_DIMENSIONS: z.coerce.number().int().min(64).max(4_096).optional(),
  EMBED_API_KEY: z.string().min(1).optional(),
  EMBED_PRICE: z.coerce.number().min(0).optional(),
  READS: z.enum(['open', 'members'], 'must be open or members').default('open'),
  SMTP_URL: z
    .string()
    .regex(/^smtps?:\/\//, 'must begin with smtp:// or smtps://')
    .optional(),
  OAUTH: z.enum(['on', 'off']).optional(),
  SIGNUP: z.enum(['on', 'off']).optional(),
  DEFAULT_PLAN: z.enum(PLANS).optional(),
  WEBHOOK_ALLOW_PRIVATE: z.enum(['0', '1']).default('0'),
  SECRETS_KEY: secretsKeys.optional(),
  RATE_LIMIT_SCALE: z.coerce.number().positive().max(1e6).default(1),
  OCR_MODELS: z.string().min(1).optional(),
  YTDLP_PATH: z.string().min(1).optional(),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
  KEEP_VIDEOS: z.enum(['on', 'off']).default('off'),
  MAX_UPLOAD_MB: z.coerce.number().int().min(1).max(100_000).default(500),
  MAX_VIDEO_MINUTES: z.coerce.number().positive().max(600).default(15),
  NODE_ENV: z.string().optional(),
})

/** The names of all settings. */
export const SETTINGS = Object.keys(Env.shape)

/** All settings, as `parseConfig` reads them. */
export type Config = ReturnType<typeof parseConfig>

export type VisionConfig = NonNullable<Config['vision']>

/** Where texts get their vectors from. */
export type EmbedConfig = NonNullable<Config['embed']>

/** Vectors of one space can be compared with each other. */
export const spaceOf = ({ model, dimensions }: Pick<EmbedConfig, 'model' | 'dimensions'>) => `${model}@${dimensions}`

export type MetricsConfig = Config['metrics']['api']

/**
 * Reads the settings. An empty variable counts as absent.
 * @throws ConfigError that names the variable and what it may hold.
 */
export function parseConfig(env: Readonly<Record<string, string | undefined>>) {
  const known = Object.fromEntries(SETTINGS.map((name) => [name, env[name] === '' ? undefined : env[name]]))
  const parsed = Env.safeParse(known)
  if (!parsed.success) {
    const issue = parsed.error.issues[0]!
    throw new ConfigError(`${String(issue.path[0])}: ${describeIssue(issue)}`)
  }
  const e = parsed.data
  requireTogether(e, ['MEILI_URL', 'MEILI_KEY'])
  const vision = visionOf(e)
  if (e.S3_ENDPOINT || e.S3_REGION || e.S3_ACCESS_KEY || e.S3_SECRET_KEY || e.S3_BUCKET)
    requireTogether(e, ['S3_BUCKET', 'S3_ACCESS_KEY', 'S3_SECRET_KEY'])
  return {
    port: e.PORT,
    metrics: metricsOf(e),
    /** Where to listen. Undefined: loopback under `frames start`, every interface under `frames api`. */
    host: e.HOST,
    dataDir: resolve(e.DATA_DIR),
    publicUrl: e.PUBLIC_URL ?? `http://localhost:${e.PORT}`,
    trustProxy: e.TRUST_PROXY,
    databaseUrl: e.DATABASE_URL,
    redisUrl: e.REDIS_URL,
    /** `prefix` begins the names of the indexes, so that services can share a server (tests do). */
    meili: (e.MEILI_URL && e.MEILI_KEY ? { url: e.MEILI_URL, key: e.MEILI_KEY } : undefined) as
      | { url: string; key: string; prefix?: string }
      | undefined,
    s3:
      e.S3_BUCKET && e.S3_ACCESS_KEY && e.S3_SECRET_KEY
        ? {
            endpoint: e.S3_ENDPOINT,
            bucket: e.S3_BUCKET,
            region: e.S3_REGION ?? 'us-east-1',
            accessKey: e.S3_ACCESS_KEY,
            secretKey: e.S3_SECRET_KEY,
          }
        : undefined,
    vision,
    /** What makes texts comparable by meaning. Undefined: off. */
    embed: embedOf(e),
    /** The folder with more models that read text in pictures. */
    readingModels: e.OCR_MODELS === undefined ? undefined : resolve(e.OCR_MODELS),
    /** Who may read: everyone, or those with a key or a session. */
    reads: e.READS,
    /** Apps sign people in to use the tool server. Undefined: off. */
    oauth: oauthOf(e),
    smtpUrl: e.SMTP_URL,
    defaultPlan: e.DEFAULT_PLAN ?? 'pro',
    /** The plan of an account that an unknown address gets by signing in; null: it gets none. */
    signup: signupOf(e),
    /** Whether webhooks may go to private addresses, over http and to any port. */
    webhookAllowPrivate: e.WEBHOOK_ALLOW_PRIVATE === '1',
    /** Keys of 32 bytes for webhook secrets: the first encrypts, all decrypt. Empty: secrets are stored as they are. */
    secretsKeys: e.SECRETS_KEY ?? ([] as readonly Buffer[]),
    rateLimitScale: e.RATE_LIMIT_SCALE,
    ytdlpPath: e.YTDLP_PATH,
    logLevel: e.LOG_LEVEL,
    /** Files of videos are kept, and played on the pages of their films. */
    keepVideos: e.KEEP_VIDEOS === 'on',
    maxUploadBytes: e.MAX_UPLOAD_MB * 1024 * 1024,
    maxVideoSec: e.MAX_VIDEO_MINUTES * 60,
    production: e.NODE_ENV === 'production',
  }
}

function visionOf(e: z.infer<typeof Env>) {
  const server: VisionServer = e.VISION ?? 'compatible'
  const defaults: VisionDefaults = server === 'compatible' ? { concurrency: 4, frames: 8 } : VISION_SERVERS[server]
  if (!e.VISION) {
    requireTogether(e, ['VISION_BASE_URL', 'VISION_MODEL'])
    for (const name of ['VISION_API_KEY', 'VISION_REASONING_EFFORT'] as const)
      if (e[name] && !e.VISION_BASE_URL)
        throw new ConfigError(`${name}: set VISION, or VISION_BASE_URL and VISION_MODEL, too`)
  }
  if (
    (e.VISION_BUDGET_VIDEO ?? e.VISION_BUDGET_DAY) !== undefined &&
    (e.VISION_PRICE_IN === undefined || e.VISION_PRICE_OUT === undefined)
  )
    throw new ConfigError(
      'VISION_BUDGET_VIDEO, VISION_BUDGET_DAY: ' +
        'set VISION_PRICE_IN and VISION_PRICE_OUT (dollars per million tokens) too',
    )
  const baseUrl = e.VISION_BASE_URL ?? defaults.baseUrl
  if (!baseUrl) return undefined
  if (defaults.needsKey && !e.VISION_API_KEY)
    throw new ConfigError(`VISION_API_KEY: set it too, because ${server} needs a key`)
  const model = e.VISION_MODEL ?? defaults.model
  if (!model) throw new ConfigError(`VISION_MODEL: set it too, to the model that ${server} has loaded`)
  return {
    server,
    // Ollama's own interface is beside the compatible one.
    baseUrl: server === 'ollama' ? baseUrl.replace(/\/v1$/, '') : baseUrl,
    model,
    apiKey: e.VISION_API_KEY,
    /** Passed on unchanged. Undefined: the profile switches thinking off, or the model decides. */
    reasoningEffort: e.VISION_REASONING_EFFORT,
    /** Calls at once and per minute over all workers. 0 a minute means no limit. */
    concurrency: e.VISION_CONCURRENCY ?? defaults.concurrency,
    perMinute: e.VISION_PER_MINUTE,
    /** The most frames of a call. */
    frames: e.VISION_FRAMES ?? defaults.frames,
    /** Tokens of prompt and answer. Undefined: as the server tells. */
    window: e.VISION_WINDOW,
    /** US dollars per million tokens. */
    priceIn: e.VISION_PRICE_IN,
    priceOut: e.VISION_PRICE_OUT,
    /** US dollars. */
    budgetPerVideo: e.VISION_BUDGET_VIDEO,
    budgetPerDay: e.VISION_BUDGET_DAY,
  }
}

/** @throws ConfigError */
function embedOf(e: z.infer<typeof Env>) {
  const name = e.EMBED ?? (e.EMBED_BASE_URL ? 'this endpoint' : 'embedded')
  if (name === 'off') return undefined
  if (name === 'embedded') {
    const ignored = EMBED_OF_OTHERS.find((one) => e[one] !== undefined)
    if (ignored)
      throw new ConfigError(`${ignored}: the embedded model takes none. Set EMBED to another, or leave it out`)
    const unpaid = { price: undefined, budgetPerDay: undefined }
    return { source: 'embedded', model: 'use-lite-en', dimensions: 512, ...unpaid } as const
  }
  const text = TEXT_MODELS[name]
  if (text?.needsKey && !e.EMBED_API_KEY)
    throw new ConfigError(`EMBED_API_KEY: set it too, because ${name} needs a key`)
  const baseUrl = e.EMBED_BASE_URL ?? text?.baseUrl
  const model = e.EMBED_MODEL ?? text?.model
  // Another model has vectors of another length.
  const dimensions = e.EMBED_DIMENSIONS ?? (e.EMBED_MODEL ? undefined : text?.dimensions)
  if (!baseUrl || !model || !dimensions)
    throw new ConfigError(
      `EMBED_MODEL, EMBED_DIMENSIONS: set both for ${name}: a text model, and how long its vectors are`,
    )
  if (e.VISION_BUDGET_DAY !== undefined && e.EMBED_PRICE === undefined)
    throw new ConfigError(
      'EMBED_PRICE: set it too (dollars per million tokens), because VISION_BUDGET_DAY holds for it',
    )
  const budgetPerDay = e.VISION_BUDGET_DAY
  return {
    ...({ source: 'endpoint', baseUrl, model, dimensions } as const),
    ...{ apiKey: e.EMBED_API_KEY, price: e.EMBED_PRICE, budgetPerDay },
  }
}

/**
 * Sign-up is off in production unless it is set. Where it is set, the plan is too: a stranger who signs up gets it.
 * @throws ConfigError
 */
function signupOf({ SIGNUP, DEFAULT_PLAN, NODE_ENV }: z.infer<typeof Env>): Plan | null {
  if (SIGNUP === 'on' && DEFAULT_PLAN === undefined)
    throw new ConfigError(
      'SIGNUP: with sign-up on, everyone gets an account. Name its plan too: DEFAULT_PLAN=free or DEFAULT_PLAN=pro',
    )
  const isOn = SIGNUP === 'on' || (SIGNUP === undefined && NODE_ENV !== 'production')
  return isOn ? (DEFAULT_PLAN ?? 'pro') : null
}

/** Whether only programs on this machine reach a host. */
export function isLoopback(host: string | undefined): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || /^127(\.\d+){3}$/.test(host ?? '')
}

/** Apps send people to PUBLIC_URL, and tokens travel there: by https, or within one machine. */
function oauthOf({ OAUTH, PUBLIC_URL = 'http://localhost' }: z.infer<typeof Env>) {
  const { protocol, hostname, pathname } = new URL(PUBLIC_URL)
  const isSafe = (protocol === 'https:' || isLoopback(hostname)) && pathname === '/'
  if (OAUTH === 'on' && !isSafe)
    throw new ConfigError('OAUTH: set PUBLIC_URL to an https address without a path, or set OAUTH=off')
  return isSafe && OAUTH !== 'off'
}

/** The worker's port is one above the API's, because `npm start` runs both on one machine. Port 0: nowhere. */
function metricsOf(e: z.infer<typeof Env>) {
  const api = e.METRICS_PORT ?? 9464
  const worker = api === 0 ? 0 : api + 1
  for (const value of [api, worker])
    if (value !== 0 && value === e.PORT)
      throw new ConfigError(
        `METRICS_PORT: ${value} is the port of the API (PORT). Metrics take METRICS_PORT and the one above it. ` +
          'Set it to another port, or to 0 for none.',
      )
  /** `given`: a setting named the port, so it must be free. */
  const shared = { host: e.METRICS_HOST, given: e.METRICS_PORT !== undefined }
  return { api: { ...shared, port: api }, worker: { ...shared, port: worker } }
}

/** The environment of a child process with the same settings and the addresses of the local databases. */
export function childEnv(
  env: Readonly<Record<string, string | undefined>>,
  { config, databaseUrl, redisUrl }: { config: Config; databaseUrl: string; redisUrl: string },
): Record<string, string | undefined> {
  return {
    ...env,
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    DATA_DIR: config.dataDir,
    PORT: String(config.port),
    PUBLIC_URL: config.publicUrl,
  }
}

function requireTogether(env: Record<string, unknown>, names: string[]): void {
  const set = names.filter((name) => env[name] !== undefined)
  if (set.length === 0 || set.length === names.length) return
  const missing = names.filter((name) => env[name] === undefined)
  throw new ConfigError(`${set[0]}: set ${missing.join(' and ')} too`)
}
