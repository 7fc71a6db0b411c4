import { Readable } from 'node:stream'
import {
  AbortMultipartUploadCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  type ListMultipartUploadsCommandInput,
  type ListMultipartUploadsCommandOutput,
  ListObjectsV2Command,
  NoSuchKey,
  NotFound,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { StorageFull } from './disk-store.ts'
import { checkKey, checkPrefix, type MediaStore, tooLarge } from './media-store.ts'

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
/** Most films read at once. One address has fewer connections, so it cannot take all. */
const MOST_READERS = 1_000
/** The most keys that one delete request may name. */
const DELETE_BATCH = 1000

/** A media store in an S3 bucket of AWS or of a compatible server. */
export function openS3Store(options: S3StoreOptions): MediaStore {
  const { bucket } = options
  const client = openClient(options)
  // A reader of a film holds a socket as long as it takes. Images and uploads have sockets of their own.
  const streaming = openClient(options, { maxSockets: MOST_READERS })
  const at = (key: string) => ({ Bucket: bucket, Key: checkKey(key) })

  async function read(from: S3Client, key: string, part?: { start: number; end: number }) {
    const Range = part && `bytes=${part.start}-${part.end}`
    const found = await absent(from.send(new GetObjectCommand({ ...at(key), Range })))
    // Listens before any reader does: the body may fail long after the answer began.
    const body = found?.Body as Readable | undefined
    body?.once('error', asOutage)
    return found
  }

  return {
    async put(key, body, contentType, { maxBytes = Number.POSITIVE_INFINITY } = {}) {
      const target = { ...at(key), ContentType: contentType }
      if (!Buffer.isBuffer(body)) return { bytes: await uploadStream(client, target, body, maxBytes) }
      if (body.length > maxBytes) throw tooLarge(maxBytes)
      await client.send(new PutObjectCommand({ ...target, Body: body }))
      return { bytes: body.length }
    },
    async get(key) {
      const found = await read(client, key)
      return found?.Body && Buffer.from(await found.Body.transformToByteArray())
    },
    async open(key, part) {
      const found = await read(streaming, key, part)
      return found?.Body as Readable | undefined
    },
    async stat(key) {
      const found = await absent(client.send(new HeadObjectCommand(at(key))))
      return found && { bytes: found.ContentLength ?? 0 }
    },
    async delete(key) {
      await absent(client.send(new DeleteObjectCommand(at(key))))
    },
    list: (prefix) => listObjects(client, bucket, prefix),
    async deletePrefix(prefix) {
      const keys: string[] = []
      for await (const { key } of listObjects(client, bucket, checkPrefix(prefix))) keys.push(key)
      for (let i = 0; i < keys.length; i += DELETE_BATCH)
        await deleteObjects(client, bucket, keys.slice(i, i + DELETE_BATCH))
    },
    room: async () => undefined,
    freeUnfinished: (prefix, before) => abortUploads(client, bucket, checkPrefix(prefix), before),
  }
}

function openClient(
  { endpoint, region, accessKey, secretKey, idleTimeoutMs }: S3StoreOptions,
  agent: { maxSockets?: number } = {},
): S3Client {
  const client = new S3Client({
    endpoint,
    region,
    credentials: { accessKeyId: accessKey, secretAccessKey: secretKey },
    forcePathStyle: endpoint !== undefined,
    // Other servers refuse the checksums that newer SDKs send by default.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    maxAttempts: 3,
    requestHandler: {
      ...{ connectionTimeout: CONNECT_TIMEOUT_MS, socketTimeout: idleTimeoutMs ?? IDLE_TIMEOUT_MS },
      ...{ httpAgent: agent, httpsAgent: agent },
    },
  })
  const failing = (error: unknown) => {
    throw asOutage(error)
  }
  client.middlewareStack.add((next) => (args) => next(args).catch(failing), { step: 'initialize', name: 'asOutage' })
  return client
}

/** Uploads in parts, because S3 needs to know a single body's length in advance. A failed upload leaves no parts. */
async function uploadStream(
  client: S3Client,
  target: { Bucket: string; Key: string; ContentType: string },
  body: Readable,
  maxBytes: number,
): Promise<number> {
  let bytes = 0
  let failure: unknown
  async function* counted() {
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
  }
  const upload = new Upload({
    client,
    params: { ...target, Body: Readable.from(counted(), { objectMode: false }) },
    partSize: PART_BYTES,
    queueSize: 2,
    leavePartsOnError: false,
  })
  await upload.done().catch((error) => {
    // The body's own error says more than an error of the clean-up.
    throw failure ?? error
  })
  return bytes
}

async function* listObjects(client: S3Client, bucket: string, prefix: string): ReturnType<MediaStore['list']> {
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

/** A killed process leaves parts that no listing of objects shows. Servers that cannot list them are left alone. */
async function abortUploads(client: S3Client, bucket: string, prefix: string, before: Date): Promise<number> {
  let aborted = 0
  let markers: Pick<ListMultipartUploadsCommandInput, 'KeyMarker' | 'UploadIdMarker'> | undefined = {}
  while (markers) {
    const page: ListMultipartUploadsCommandOutput | undefined = await client
      .send(new ListMultipartUploadsCommand({ Bucket: bucket, Prefix: prefix, ...markers }))
      .catch((error: unknown) => {
        if (statusOf(error) === 501) return undefined
        throw error
      })
    for (const { Key, UploadId, Initiated } of page?.Uploads ?? []) {
      if (!Key || !UploadId || !Initiated || Initiated >= before) continue
      await absent(client.send(new AbortMultipartUploadCommand({ Bucket: bucket, Key, UploadId })))
      aborted++
    }
    markers = page?.IsTruncated ? { KeyMarker: page.NextKeyMarker, UploadIdMarker: page.NextUploadIdMarker } : undefined
  }
  return aborted
}

async function deleteObjects(client: S3Client, bucket: string, keys: readonly string[]): Promise<void> {
  const Objects = keys.map((Key) => ({ Key }))
  const { Errors } = await client.send(new DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects, Quiet: true } }))
  if (Errors?.length) throw new Error(`could not delete ${Errors.length} objects: ${Errors[0]?.Code}`)
}

/**
 * A full bucket is StorageFull. Adds an outage's code (see `isConnectionLoss`) to the error when the bucket is
 * overloaded, broken or silent. Then the work waits and no attempt counts. A request that the server does not implement
 * (501) will not succeed later.
 */
function asOutage(error: unknown): unknown {
  if (!(error instanceof Error) || 'code' in error) return error
  const status = statusOf(error) ?? 0
  if (status === 507 || FULL.test(error.name)) return new StorageFull('bucket', error)
  const isOutage =
    status === 429 ||
    (status >= 500 && status !== 501) ||
    /^(SlowDown|InternalError|RequestTimeout|TimeoutError)$/.test(error.name)
  return isOutage ? Object.assign(error, { code: 'ETIMEDOUT' }) : error
}

/** How servers name a bucket or a server without room, some of them with a status of the 400s. */
const FULL = /StorageFull|QuotaExceeded|InsufficientStorage|NotEnoughSpace/

/** The promise's value; undefined when the object does not exist. */
async function absent<T>(promise: Promise<T>): Promise<T | undefined> {
  try {
    return await promise
  } catch (error) {
    if (error instanceof NoSuchKey || error instanceof NotFound) return undefined
    if (statusOf(error) === 404 && (error as Error).name !== 'NoSuchBucket') return undefined
    throw error
  }
}

function statusOf(error: unknown): number | undefined {
  return (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode
}
