import { createServer, request, type ServerResponse } from 'node:http'
import { listenOn } from '../support/listening.ts'

const BUFFER_BYTES = 64 * 1024

/**
 * A proxy like nginx: it collects an answer until the buffer is full or the answer ends, unless the answer says
 * `X-Accel-Buffering: no`. `cut` breaks every connection that is open, in the middle of whatever is being sent.
 */
export async function bufferingProxy(target: string) {
  const open = new Set<ServerResponse>()
  const lastEventIds: (string | undefined)[] = []
  const server = createServer((req, res) => {
    open.add(res)
    lastEventIds.push(req.headers['last-event-id'] as string | undefined)
    const onward = request(target + req.url, { method: req.method, headers: req.headers }, (answer) => {
      res.writeHead(answer.statusCode!, answer.headers)
      const buffers = answer.headers['x-accel-buffering'] !== 'no'
      let held: Buffer[] = []
      const flush = () => {
        for (const chunk of held) res.write(chunk)
        held = []
      }
      answer.on('data', (chunk: Buffer) => {
        held.push(chunk)
        if (!buffers || Buffer.concat(held).length >= BUFFER_BYTES) flush()
      })
      answer.on('end', () => {
        flush()
        res.end()
      })
      answer.on('error', () => res.destroy())
    })
    onward.on('error', () => res.destroy())
    res.on('close', () => {
      open.delete(res)
      onward.destroy()
    })
    req.pipe(onward)
  })
  return {
    ...(await listenOn(server)),
    lastEventIds,
    cut() {
      for (const res of open) res.destroy()
    },
  }
}
