import type { Command } from 'commander'
import { protectedResource } from '../oauth/routes.ts'
import { readLocal } from './context.ts'
import { type Checked, printFindings } from './findings.ts'
import { addExamples } from './terminal.ts'

const TIMEOUT_MS = 10_000

/** `frames connect …`: whether assistants can connect at the public address. */
export function defineConnect(group: Command): void {
  group
    .command('check')
    .description('request what assistants need at PUBLIC_URL, and say what a proxy broke')
    .option('--url <address>', 'another address than PUBLIC_URL')
    .action(async ({ url, json }: { url?: string; json?: boolean }) => {
      const publicUrl = (url ?? readLocal().config.publicUrl).replace(/\/+$/, '')
      printFindings(json, { url: publicUrl }, await checkConnection(publicUrl))
    })
  addExamples(group, 'connect check', 'connect check --url https://frames.example.org')
}

class Fault extends Error {}

/** Looks at every address that an app needs, as the app does. */
export async function checkConnection(publicUrl: string): Promise<Checked[]> {
  const { resource, path, metadataUrl } = protectedResource(publicUrl)
  const findings: Checked[] = []
  const check = async <T>(what: string, look: () => Promise<T>): Promise<T | undefined> => {
    try {
      const found = await look()
      findings.push({ what, fault: null })
      return found
    } catch (error) {
      const why =
        error instanceof Fault ? error.message : 'No response came. Check the name, the certificate and the proxy.'
      findings.push({ what, fault: why })
      return undefined
    }
  }
  await check('tool server, open (/api/mcp)', async () => {
    const answer = await ask(`${publicUrl}/api/mcp`, LIST)
    // READS=members asks for a key here too.
    const asksForKey = answer.status === 401 && answer.headers.get('www-authenticate')?.startsWith('Bearer')
    if (answer.status !== 200 && !asksForKey)
      throw new Fault(`It answers ${answer.status}. Let the proxy pass POST /api/mcp.`)
  })
  await check('tool server, with sign-in (/mcp)', async () => {
    const answer = await ask(resource, LIST)
    if (answer.status !== 401)
      throw new Fault(`It answers ${answer.status} instead of 401. Let the proxy pass POST /mcp.`)
    const challenge = answer.headers.get('www-authenticate') ?? ''
    if (challenge === '') throw new Fault('The header WWW-Authenticate is missing. Let the proxy pass it.')
    if (!challenge.includes('resource_metadata=')) throw new Fault('OAuth is off. Set OAUTH=on.')
    if (!challenge.includes(`resource_metadata="${metadataUrl}"`))
      throw new Fault(`It names another address than ${publicUrl}. Set PUBLIC_URL to the address that people use.`)
  })
  await check('metadata of the resource', async () => {
    const metadata = await document(publicUrl + path)
    if (metadata.resource !== resource)
      throw new Fault(`The resource is ${metadata.resource}, not ${resource}. Set PUBLIC_URL to the address in use.`)
  })
  const server = await check('metadata of the authorization server', async () => {
    const metadata = await document(`${publicUrl}/.well-known/oauth-authorization-server`)
    if (metadata.issuer !== publicUrl)
      throw new Fault(`The issuer is ${metadata.issuer}, not ${publicUrl}. Set PUBLIC_URL to the address in use.`)
    return metadata
  })
  for (const [name, address] of Object.entries(server ?? {}).filter(([name]) => /_(?:endpoint|uri)$/.test(name)))
    await check(name, async () => {
      const isGet = /^(?:authorization_endpoint|jwks_uri)$/.test(name)
      const { status } = await ask(String(address), isGet ? {} : { method: 'POST' })
      if (![200, 400, 401].includes(status)) throw new Fault(`It answers ${status}. Let the proxy pass ${address}.`)
    })
  return findings
}

const LIST = {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
}

/** Apps follow no redirect here, and wait ten seconds. */
async function ask(address: string, init: RequestInit): Promise<Response> {
  const answer = await fetch(address, { ...init, redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT_MS) })
  if (answer.status >= 300 && answer.status < 400)
    throw new Fault(`It redirects to ${answer.headers.get('location')}. Set PUBLIC_URL to the address that answers.`)
  return answer
}

async function document(address: string): Promise<Record<string, unknown>> {
  const answer = await ask(address, {})
  if (answer.status !== 200) throw new Fault(`It answers ${answer.status}. Let the proxy pass ${address}.`)
  const read = await answer.json().catch(() => undefined)
  if (typeof read !== 'object' || read === null) throw new Fault('It is not JSON. Another program answers there.')
  return read as Record<string, unknown>
}
