import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo, Server as AnyServer } from 'node:net'
import { createHttpServer } from '../../src/http/server.ts'

/** A server as in production on a free loopback port. Its address is known before it is wired. */
export async function listeningServer(): Promise<{ server: Server; url: string }> {
  const server = createHttpServer()
  const { url } = await listenOn(server)
  return { server, url }
}

/** Lets a server listen on a free loopback port. Disposing closes it, at once where it is one of HTTP. */
export async function listenOn(
  server: AnyServer | Server,
): Promise<{ port: number; url: string; [Symbol.asyncDispose](): Promise<void> }> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      if ('closeAllConnections' in server) server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
    },
  }
}
