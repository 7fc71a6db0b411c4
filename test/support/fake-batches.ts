import type { IncomingMessage, ServerResponse } from 'node:http'

/** What becomes of the nth batch (from 0), and of one of its requests. */
export interface FakeBatchOptions {
  ends?: (batch: number) => 'completed' | 'expired' | 'failed' | 'cancelled'
  /** `twice`: its line comes back two times. */
  request?: (batch: number, n: number) => 'answered' | 'twice' | 'failed' | 'garbage' | 'missing'
  /** The status that a request fails with, such as `POST /v1/files`; undefined where it succeeds. */
  fails?: (request: string) => number | undefined
  /** Answers about the request's frames, by the bodies of the calls. */
  // biome-ignore lint/suspicious/noExplicitAny: requests are read field by field
  answer: (body: any) => { completion: object; images: string[] }
}

interface Batch {
  id: string
  input_file_id: string
  status: string
  output_file_id: string | null
  error_file_id: string | null
}

/** Files and batches in OpenAI's form. A batch ends when the test says so. */
export function fakeBatches(options: FakeBatchOptions) {
  const files = new Map<string, string>()
  const batches: Batch[] = []
  /** How often an answer was given for each image, by data URL. */
  const paid = new Map<string, number>()

  function end(): void {
    for (const [number, batch] of batches.entries()) {
      if (batch.status !== 'in_progress') continue
      batch.status = options.ends?.(number) ?? 'completed'
      if (batch.status === 'failed') continue
      const output: string[] = []
      const errors: string[] = []
      for (const [n, line] of files.get(batch.input_file_id)!.trim().split('\n').entries()) {
        const { custom_id, body } = JSON.parse(line)
        const fate = options.request?.(number, n) ?? 'answered'
        if (fate === 'missing') continue
        if (fate === 'garbage') output.push('{"custom_id":')
        if (fate === 'failed') errors.push(toLine(custom_id, 500, { error: { message: 'no' } }))
        if (fate !== 'answered' && fate !== 'twice') continue
        const { completion, images } = options.answer(body)
        for (const image of images) paid.set(image, (paid.get(image) ?? 0) + 1)
        for (let times = 0; times < (fate === 'twice' ? 2 : 1); times++) output.push(toLine(custom_id, 200, completion))
      }
      batch.output_file_id = store(output)
      batch.error_file_id = store(errors)
    }
  }

  function store(lines: string[]): string | null {
    if (lines.length === 0) return null
    const id = `file-${files.size}`
    files.set(id, `${lines.join('\n')}\n`)
    return id
  }

  /** True when the request was one of batches. */
  async function handle(request: IncomingMessage, response: ServerResponse): Promise<boolean> {
    const path = new URL(request.url!, 'http://fake').pathname
    if (!/^\/v1\/(files|batches)(\/|$)/.test(path)) return false
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks).toString()
    const id = path.split('/')[3]
    const failure = options.fails?.(`${request.method} ${path}`)
    if (failure) {
      reply(response, { error: { message: 'no' } }, failure)
      return true
    }
    if (path.endsWith('/content')) response.end(files.get(id!))
    else if (path.startsWith('/v1/files')) reply(response, { id: store(lineOfUpload(body)), object: 'file' })
    else if (id) reply(response, batches.find((batch) => batch.id === id)!)
    else if (request.method === 'POST') reply(response, create(JSON.parse(body).input_file_id))
    else reply(response, pageOf(new URL(request.url!, 'http://fake').searchParams))
    return true
  }

  /** Some batches, the newest first. */
  function pageOf(asked: URLSearchParams): object {
    const newest = batches.toReversed()
    const from = newest.findIndex(({ id }) => id === asked.get('after')) + 1
    const to = from + Number(asked.get('limit'))
    return { object: 'list', data: newest.slice(from, to), has_more: newest.length > to }
  }

  function create(fileId: string): Batch {
    const batch = {
      id: `batch-${batches.length}`,
      input_file_id: fileId,
      status: 'in_progress',
      output_file_id: null,
      error_file_id: null,
    }
    batches.push(batch)
    return batch
  }

  return { handle, end, batches, paid, files }
}

function toLine(id: string, status: number, body: object): string {
  return JSON.stringify({ id: `r-${id}`, custom_id: id, response: { status_code: status, body }, error: null })
}

/** The lines of a multipart upload that are requests. */
function lineOfUpload(body: string): string[] {
  return body.split(/\r?\n/).filter((line) => line.startsWith('{"custom_id"'))
}

function reply(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(value))
}
