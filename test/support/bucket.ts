import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import S3rver from '@20minutes/s3rver'
import { listenOn } from './listening.ts'

/** An upload in parts that was begun and neither completed nor aborted. */
export interface OpenUpload {
  key: string
  id: string
  begun: Date
}

/** An S3 server with these buckets. It computes a wrong signature for a listing with a prefix, so it takes any. */
export async function startS3({ buckets = ['media'], anySignature = true } = {}) {
  const directory = mkdtempSync(join(tmpdir(), 'frames-bucket-'))
  const server = new S3rver({
    port: 0,
    address: '127.0.0.1',
    silent: true,
    allowMismatchedSignatures: anySignature,
    directory,
    configureBuckets: buckets.map((name) => ({ name, configs: [] })),
  })
  const { port } = (await server.run()) as AddressInfo
  return {
    port,
    endpoint: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      const { httpServer } = server as unknown as { httpServer?: Server }
      httpServer?.closeAllConnections()
      await server.close()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

/** The key that the server knows. */
export const S3_KEY = { accessKey: 'S3RVER', secretKey: 'S3RVER' }

/**
 * A bucket behind a door, which answers what s3rver lacks as the S3 reference writes it: the list of open uploads in
 * parts, two a page, and the end of one. It refuses whatever is put while the bucket is full.
 */
export async function openBucket() {
  const s3 = await startS3()
  const open = new Map<string, OpenUpload>()
  const door = createServer(async (req, res) => {
    const { searchParams } = new URL(req.url!, 'http://s3')
    const id = searchParams.get('uploadId')
    if (req.method === 'GET' && searchParams.has('uploads')) return void res.end(listOf(open, searchParams))
    if (req.method === 'DELETE' && id !== null) return void res.writeHead(open.delete(id) ? 204 : 404).end()
    if (req.method === 'PUT' && bucket.isFull) {
      req.resume()
      return void res.writeHead(507).end('<Error><Code>XMinioStorageFull</Code><Message>full</Message></Error>')
    }
    pass(req, res, s3.port, open)
  })
  const listening = await listenOn(door)
  const bucket = {
    /** The settings of a service whose images and uploads are in it. */
    env: {
      S3_ENDPOINT: listening.url,
      S3_BUCKET: 'media',
      S3_ACCESS_KEY: S3_KEY.accessKey,
      S3_SECRET_KEY: S3_KEY.secretKey,
    },
    /** Uploads in parts that hold room now, by id. */
    open,
    isFull: false,
    async [Symbol.asyncDispose]() {
      await listening[Symbol.asyncDispose]()
      await s3[Symbol.asyncDispose]()
    },
  }
  return bucket
}

const keyOf = (pathname: string) => decodeURIComponent(pathname.split('/').slice(2).join('/'))

/** To the server behind the door. Begun and completed uploads in parts are noted. */
function pass(req: IncomingMessage, res: ServerResponse, port: number, open: Map<string, OpenUpload>): void {
  const { method, url, headers } = req
  const { pathname, searchParams } = new URL(url!, 'http://s3')
  const onward = request({ host: '127.0.0.1', port, method, path: url, headers }, async (answer) => {
    const chunks: Buffer[] = []
    for await (const chunk of answer) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks)
    if (method === 'POST' && answer.statusCode === 200) {
      const begun = /<UploadId>([^<]+)</.exec(body.toString())?.[1]
      const key = keyOf(pathname)
      if (searchParams.has('uploads') && begun) open.set(begun, { key, id: begun, begun: new Date() })
      const completed = searchParams.get('uploadId')
      if (completed !== null) open.delete(completed)
    }
    res.writeHead(answer.statusCode!, answer.headers).end(body)
  })
  onward.on('error', () => res.destroy())
  req.pipe(onward)
}

function listOf(open: ReadonlyMap<string, OpenUpload>, asked: URLSearchParams): string {
  const mark = `${asked.get('key-marker') ?? ''}\n${asked.get('upload-id-marker') ?? ''}`
  const place = ({ key, id }: OpenUpload) => `${key}\n${id}`
  const rest = [...open.values()]
    .filter((one) => one.key.startsWith(asked.get('prefix') ?? '') && place(one) > mark)
    .sort((a, b) => (place(a) < place(b) ? -1 : 1))
  const page = rest.slice(0, 2)
  const last = page.at(-1)
  return `<?xml version="1.0"?><ListMultipartUploadsResult><Bucket>media</Bucket>
<IsTruncated>${rest.length > page.length}</IsTruncated>
<NextKeyMarker>${last?.key ?? ''}</NextKeyMarker><NextUploadIdMarker>${last?.id ?? ''}</NextUploadIdMarker>
${page
  .map(
    ({ key, id, begun }) =>
      `<Upload><Key>${key}</Key><UploadId>${id}</UploadId><Initiated>${begun.toISOString()}</Initiated></Upload>`,
  )
  .join('')}</ListMultipartUploadsResult>`
}
