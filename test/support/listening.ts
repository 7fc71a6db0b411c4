import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createHttpServer } from '../../src/http/server.ts'

/** A server as in production on a free loopback port. Its address is known before it is wired. */
export async function listeningServer(): Promise<{ server: Server; url: string }> {
  const server = createHttpServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}
