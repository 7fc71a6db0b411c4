import { Readable } from 'node:stream'
import {
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  NoSuchKey,
  NotFound,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { tooLarge } from './disk-store.ts'
import { checkKey, checkPrefix, type MediaStore } from './media-store.ts'

export interface S3StoreOptions {
  /** Left out for AWS itself. */
  endpoint?: string
  bucket: string
  region: string
  accessKey: string
  secretKey: string
  /** How long a connection may stay silent in the middle of a request. */
  idleTimeoutMs?: number
}

const PART_BYTES = 8 * 1024 * 1024
const CONNECT_TIMEOUT_MS = 5_000
const IDLE_TIMEOUT_MS = 60_000
/** The most keys one delete request may name. */
const DELETE_BATCH = 1000

/** A store in an S3 bucket, of AWS or of a server that speaks its language. `close` ends its connections. */
export function openS3Store({
  endpoint,
  bucket,
  region,
  accessKey,
  secretKey,
  idleTimeoutMs = IDLE_TIMEOUT_MS,
}: S3StoreOptions): MediaStore & { close(): void } {
  const client = new S3Client({
    endpoint,
    region,
    credentials: { accessKeyId: accessKey, secretAccessKey: secretKey },
    forcePathStyle: endpoint !== undefined,
    // Other servers refuse the checksums that newer SDKs send unasked.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    maxAttempts: 3,
    requestHandler: { connectionTimeout: CONNECT_TIMEOUT_MS, socketTimeout: idleTimeoutMs },
  })
  const failing = (error: unknown) => {
    throw asOutage(error)
  }
  client.middlewareStack.add((next) => (args) => next(args).catch(failing), { step: 'initialize', name: 'asOutage' })
  const at = (key: string) => ({ Bucket: bucket, Key: checkKey(key) })

  async function read(key: string) {
    const found = await absent(client.send(new GetObjectCommand(at(key))))
    // Heard before whoever reads it: the body may break off long after the answer began.
    const body = found?.Body as Readable | undefined
    body?.once('error', asOutage)
    return found
  }

  async function* keysBelow(prefix: string): AsyncGenerator<{ key: string; bytes: number; modifiedAt: Date }> {
    let token: string | undefined
    do {
      const page = await client.send(
        new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix, ContinuationToken: token }),
      )
      for (const { Key, Size, LastModified } of page.Contents ?? []) {
        if (Key) yield { key: Key, bytes: Size ?? 0, modifiedAt: LastModified ?? new Date(0) }
      }
      token = page.IsTruncated ? page.NextContinuationToken : undefined
    } while (token)
  }

  return {
    async put(key, body, contentType, { maxBytes = Number.POSITIVE_INFINITY } = {}) {
      const target = { ...at(key), ContentType: contentType }
      if (Buffer.isBuffer(body)) {
        if (body.length > maxBytes) throw tooLarge(maxBytes)
        await client.send(new PutObjectCommand({ ...target, Body: body }))
        return { bytes: body.length }
      }
      let bytes = 0
      let failure: unknown
      const counted = Readable.from(
        (async function* () {
          try {
            for await (const chunk of body) {
              bytes += (chunk as Buffer).length
              if (bytes > maxBytes) throw tooLarge(maxBytes)
              yield chunk as Buffer
            }
          } catch (error) {
            failure = error
            throw error
          }
        })(),
        { objectMode: false },
      )
      // In parts, because S3 wants to know a single body's length beforehand. An upload that fails is aborted and leaves no parts.
      const upload = new Upload({
        client,
        params: { ...target, Body: counted },
        partSize: PART_BYTES,
        queueSize: 2,
        leavePartsOnError: false,
      })
      await upload.done().catch((error) => {
        // What was wrong with the body says more than how its clean-up went.
        throw failure ?? error
      })
      return { bytes }
    },
    async get(key) {
      const found = await read(key)
      return found?.Body && Buffer.from(await found.Body.transformToByteArray())
    },
    async open(key) {
      const found = await read(key)
      return found?.Body as Readable | undefined
    },
    async stat(key) {
      const found = await absent(client.send(new HeadObjectCommand(at(key))))
      return found && { bytes: found.ContentLength ?? 0 }
    },
    async delete(key) {
      await absent(client.send(new DeleteObjectCommand(at(key))))
    },
    list: keysBelow,
    async deletePrefix(prefix) {
      let batch: Array<{ Key: string }> = []
      const flush = async () => {
        if (batch.length === 0) return
        const { Errors } = await client.send(
          new DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects: batch, Quiet: true } }),
        )
        if (Errors?.length) throw new Error(`could not delete ${Errors.length} objects: ${Errors[0]?.Code}`)
        batch = []
      }
      const keys: string[] = []
      for await (const { key } of keysBelow(checkPrefix(prefix))) keys.push(key)
      for (const Key of keys) {
        batch.push({ Key })
        if (batch.length === DELETE_BATCH) await flush()
      }
      await flush()
    },
    close: () => client.destroy(),
  }
}

/**
 * The same error, with a code that tells an outage (`isConnectionLoss`) when the bucket is overloaded, broken or silent: work waits for it, and nothing is counted
 * against it. What a server has not implemented (501) will not come back.
 */
function asOutage(error: unknown): unknown {
  if (!(error instanceof Error) || 'code' in error) return error
  const status = (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode ?? 0
  const isAway =
    status === 429 ||
    (status >= 500 && status !== 501) ||
    /^(SlowDown|InternalError|RequestTimeout|TimeoutError)$/.test(error.name)
  return isAway ? Object.assign(error, { code: 'ETIMEDOUT' }) : error
}

async function absent<T>(promise: Promise<T>): Promise<T | undefined> {
  try {
    return await promise
  } catch (error) {
    if (error instanceof NoSuchKey || error instanceof NotFound) return undefined
    if (
      (error as { $metadata?: { httpStatusCode?: number }; name?: string }).$metadata?.httpStatusCode === 404 &&
      (error as Error).name !== 'NoSuchBucket'
    )
      return undefined
    throw error
  }
}
