import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'

/** What the tests of docker-compose.yml have in common. They need minutes and base images, so they are asked for. */
export const missing = whyMissing()

function whyMissing(): string | undefined {
  if (process.env.TEST_CONTAINERS !== '1') return 'TEST_CONTAINERS is not 1'
  if (spawnSync('docker', ['version'], { stdio: 'ignore' }).status !== 0) return 'no container engine answers'
  return spawnSync('docker', ['compose', 'version'], { stdio: 'ignore' }).status === 0 ? undefined : 'no docker compose'
}

/** The commands that docs/production.md prints below a heading of the first hour, block by block. */
export function firstHour(heading: string): string[] {
  const page = readFileSync('docs/production.md', 'utf8')
  const section = page.split(/^#{2,4} /m).find((one) => one.startsWith(`${heading}\n`))
  return [...section!.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, commands]) => commands!)
}

/** The command of the page that makes the passwords, and those that start. Between them is the address for others. */
export function startCommands(): { passwords: string; start: string } {
  const [passwords, , start] = firstHour('1. Start')
  return { passwords: passwords!, start: start! }
}

/** A network of its own, so that another copy of the service may run beside. */
export function ownSubnet(): string {
  const [first, second, third] = randomBytes(5)
    .toString('hex')
    .match(/^..|..../g)!
  return `fd${first}:${second}:${third}::/64`
}

export async function freePorts(count: number): Promise<number[]> {
  for (;;) {
    const first = 20_000 + Math.floor(Math.random() * 10_000)
    const wanted = Array.from({ length: count }, (_, n) => first + n)
    const servers = await Promise.all(wanted.map(tryListen))
    for (const server of servers) await new Promise((done) => (server ? server.close(done) : done(undefined)))
    if (!servers.includes(undefined)) return wanted
  }
}

function tryListen(port: number): Promise<Server | undefined> {
  return new Promise((done) => {
    const server = createServer()
    server.once('error', () => done(undefined)).listen(port, '127.0.0.1', () => done(server))
  })
}
