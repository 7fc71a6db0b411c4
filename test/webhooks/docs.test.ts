import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import { freePort } from '../../src/local/processes.ts'
import { useOpened } from '../support/closing.ts'
import { useFolder } from '../support/folder.ts'
import { until } from '../support/until.ts'
import { openStage } from './support.ts'

const stage = useOpened(() => openStage({ clock: undefined }))
const dir = useFolder()

const page = readFileSync(new URL('../../docs/webhooks.md', import.meta.url), 'utf8')
const programOf = (language: string) => new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 's').exec(page)![1]!
const python = spawnSync('python3', ['--version']).status === 0

test.each([
  ['js', 'receiver.mjs', process.execPath, true],
  ['python', 'receiver.py', 'python3', python],
])(
  'the %s receiver of the page takes what is genuine, once, and refuses the rest',
  async (language, name, command, here) => {
    if (!here) return console.log(`skipped: there is no ${command} on this machine`)
    const port = await freePort()
    const endpoint = await stage.register(`http://127.0.0.1:${port}/`, { types: ['key.revoked'] })
    const file = join(dir, name)
    writeFileSync(file, programOf(language))
    const child = spawn(command, [file], {
      env: { PATH: process.env.PATH, PORT: String(port), WEBHOOK_SECRET: endpoint.secret },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    try {
      const lines = linesOf(child)
      await until(() => lines.includes('listening'))
      const [subject] = await stage.write(1)
      await until(async () => (await stage.deliveries(endpoint.id)).some(({ state }) => state === 'delivered'))
      await until(() => lines.includes(`key.revoked ${subject}`))

      const now = Math.floor(Date.now() / 1000)
      const post = async (over: { id?: string; time?: string | number; body?: string; signature?: string }) => {
        const { id = 'evt', time = now, body = '{"type":"forged","subject":"x"}' } = over
        const { signature = signatureOf(endpoint.secret, `${id}.${time}.${body}`) } = over
        const headers = { 'webhook-id': id, 'webhook-timestamp': String(time), 'webhook-signature': signature }
        return (await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers, body })).status
      }
      const wrong = signatureOf(`whsec_${Buffer.alloc(32).toString('base64')}`, `evt.${now}.{}`)
      expect(await post({ body: '{}', signature: wrong })).toBe(401)
      expect(await post({ signature: 'v1,' })).toBe(401)
      expect(await post({ signature: '' })).toBe(401)
      expect(await post({ time: now - 400 })).toBe(401)
      expect(await post({ time: now + 400 })).toBe(401)
      expect(await post({ time: 'NaN' })).toBe(401)
      expect(await post({ id: '' })).toBe(401)
      const genuine = '{"type":"key.revoked","subject":"twice"}'
      const good = signatureOf(endpoint.secret, `evt.${now}.${genuine}`)
      expect(await post({ body: genuine, signature: `${wrong} v1a,xx ${good}` })).toBe(204)
      expect(await post({ body: genuine })).toBe(204)
      expect(await post({ body: `${genuine} `, signature: good })).toBe(401)
      expect(lines.filter((line) => line === 'key.revoked twice')).toHaveLength(1)
      expect(lines.join()).not.toContain('forged')
    } finally {
      child.kill()
      await once(child, 'close')
    }
  },
)

function linesOf(child: ChildProcess): string[] {
  const lines: string[] = []
  createInterface(child.stdout!).on('line', (line) => lines.push(line))
  return lines
}

function signatureOf(secret: string, content: string): string {
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64')
  return `v1,${createHmac('sha256', key).update(content).digest('base64')}`
}
