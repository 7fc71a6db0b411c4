import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { checkConnection } from '../../src/cli/connect.ts'
import { useOpened } from '../support/closing.ts'
import { listenOn } from '../support/listening.ts'
import { openSignInService } from './support.ts'

/** `frames connect check`, through proxies that break one thing each. */

const service = useOpened(() => openSignInService())

type Break = (req: IncomingMessage, res: ServerResponse) => boolean | undefined

/** A proxy in front of the service. `broken` may answer by itself, or change what is passed on. */
async function proxied<T>(broken: Break, act: (url: string) => Promise<T>): Promise<T> {
  const server: Server = createServer((req, res) => {
    if (broken(req, res)) return
    const target = new URL(service.url)
    const passed = request({
      host: target.hostname,
      port: target.port,
      path: req.url,
      method: req.method,
      headers: req.headers,
    })
    passed.on('response', (answer) => {
      const headers = { ...answer.headers }
      if (res.getHeader('x-drop')) delete headers['www-authenticate']
      res.writeHead(answer.statusCode!, headers)
      answer.pipe(res)
    })
    req.pipe(passed)
  })
  await using listening = await listenOn(server)
  return await act(listening.url)
}

const faultsOf = async (url: string) => {
  const findings = await checkConnection(url)
  return Object.fromEntries(findings.flatMap(({ what, fault }) => (fault === null ? [] : [[what, fault]])))
}

test('finds nothing at the address of the service', async () => {
  const findings = await checkConnection(service.url)
  expect(findings.filter(({ fault }) => fault !== null)).toEqual([])
  expect(findings).toHaveLength(9)
})

test('tells that PUBLIC_URL is another address', async () => {
  const faults = await proxied(() => undefined, faultsOf)
  expect(faults['tool server, with sign-in (/mcp)']).toContain('Set PUBLIC_URL')
  expect(faults['metadata of the authorization server']).toContain(`The issuer is ${service.url}`)
})

test.each<[string, Break, string, string]>([
  [
    'redirects',
    (_req, res) => {
      res.writeHead(301, { location: 'https://www.example.com/' }).end()
      return true
    },
    'tool server, open (/api/mcp)',
    'It redirects to https://www.example.com/',
  ],
  [
    'does not pass /mcp',
    ({ url }, res) => {
      if (url !== '/mcp') return false
      res.writeHead(404).end()
      return true
    },
    'tool server, with sign-in (/mcp)',
    'It answers 404 instead of 401.',
  ],
  [
    'drops the challenge',
    (_req, res) => {
      res.setHeader('x-drop', '1')
      return false
    },
    'tool server, with sign-in (/mcp)',
    'WWW-Authenticate is missing',
  ],
  [
    'answers by itself',
    ({ url }, res) => {
      if (!url!.startsWith('/.well-known')) return false
      res.end('<html>welcome</html>')
      return true
    },
    'metadata of the resource',
    'It is not JSON.',
  ],
])('tells what a proxy does that %s', async (_what, broken, place, told) => {
  expect((await proxied(broken, faultsOf))[place]).toContain(told)
})

test('tells that nothing answers', async () => {
  const faults = await faultsOf('http://127.0.0.1:1')
  expect(faults['tool server, open (/api/mcp)']).toContain('No response came.')
})
