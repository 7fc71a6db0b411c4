import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, connect, isIP, isIPv6 } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { MediaError } from '../../src/errors.ts'
import type { Address, Wire } from '../../src/outbound/checked-connection.ts'
import { fetchSource } from '../../src/video/source/fetch-source.ts'

/** The beginning of an MP4, padded. */
const FILM = Buffer.concat([Buffer.from([0, 0, 0, 24]), Buffer.from('ftypisom0000isommp42'), Buffer.alloc(4000, 7)])
const PUBLIC: Address[] = [{ address: '93.184.216.34', family: 4 }]

let folder: string
let servers: Server[]
let dialled: string[]

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fetch-test-'))
  servers = []
  dialled = []
})
afterEach(async () => {
  for (const server of servers) {
    server.closeAllConnections()
    await new Promise((done) => server.close(done))
  }
  rmSync(folder, { recursive: true, force: true })
})

/** A wire whose far end is always a plain server on loopback. It records the addresses asked for. */
async function wireTo(
  listener: RequestListener,
  answers: Record<string, Address[]> | ((name: string) => Address[]) = () => PUBLIC,
): Promise<Required<Omit<Wire, 'nameServers'>>> {
  const server = createServer(listener)
  servers.push(server)
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  return {
    resolve: async (name) => (typeof answers === 'function' ? answers(name) : (answers[name] ?? PUBLIC)),
    dial: async ({ address, port: asked, servername }) => {
      dialled.push(`${servername} ${address}:${asked}`)
      const socket = connect(port, '127.0.0.1')
      await new Promise((done, fail) => socket.once('connect', done).once('error', fail))
      return socket
    },
  }
}

const sendFilm: RequestListener = (_req, res) =>
  res.writeHead(200, { 'content-type': 'video/mp4', 'content-length': FILM.length }).end(FILM)

function fetchIt(url: string, wire: Wire, more: Partial<Parameters<typeof fetchSource>[1]> = {}) {
  return fetchSource(url, {
    scratchDir: folder,
    signal: new AbortController().signal,
    maxBytes: 1_000_000,
    ...wire,
    ...more,
  })
}

async function codeOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => null,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(MediaError)
  return (error as MediaError).code
}

/** Every range that is not public, in every known way to write its addresses. */
const RANGES: [what: string, addresses: string][] = [
  ['this machine', '127.0.0.1 127.1 127.0.1 127.255.255.254 2130706433 0x7f000001 0x7f.1 0177.0.0.1 0177.1'],
  ['this machine, in letters', '017700000001 ①②⑦.⓪.⓪.①'],
  ['no address', '0 0.0.0.0 0.1.2.3 ０.０.０.０'],
  ['private', '10.0.0.1 10.255.255.255 0xa.0.0.1 167772161 172.16.0.1 172.31.255.254 2886729729'],
  ['private', '192.168.0.1 192.168.255.255 0xc0a80001 3232235521'],
  ['link-local', '169.254.0.1 169.254.169.254 2852039166 0xa9fea9fe 0251.0376.0251.0376'],
  ['behind a carrier', '100.64.0.1 100.100.100.200 100.127.255.254'],
  ['of protocols', '192.0.0.1 192.0.0.192 192.88.99.1 168.63.129.16'],
  ['of documents and measurements', '192.0.2.1 198.51.100.7 203.0.113.9 198.18.0.1 198.19.255.254'],
  ['multicast and reserved', '224.0.0.1 239.255.255.250 240.0.0.1 250.1.2.3 255.255.255.255'],
  ['none, and this machine', ':: ::1 0:0:0:0:0:0:0:1'],
  ['version 4 within 6', '::ffff:127.0.0.1 ::ffff:7f00:1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 ::ffff:8.8.8.8'],
  ['version 4 within 6', '0:0:0:0:0:ffff:c0a8:0001 ::127.0.0.1 ::10.0.0.1 ::ffff:0:127.0.0.1'],
  ['translated', '64:ff9b::7f00:1 64:ff9b::a9fe:a9fe 64:ff9b::8.8.8.8 64:ff9b:1::1'],
  ['tunnelled', '2002:7f00:1:: 2002:a9fe:a9fe::1 2002:0808:0808::1 2001::1 2001:0:4136:e378:8000:63bf:3fff:fdd2'],
  ['of documents and tests', '2001:10::1 2001:20::1 2001:db8::1 3fff::1 100::1 5f00::1'],
  ['private', 'fc00::1 fd00::1 fd00:ec2::254 fd12:3456:789a::1'],
  ['link-local, site-local, multicast', 'fe80::1 febf::1 fec0::1 ff02::1 ff05::2'],
  ['never given out', '4000::1 8000::1'],
]
const INNER = RANGES.flatMap(([, addresses]) => addresses.split(' '))
const INNER_NAMES =
  'localhost LOCALHOST localhost. a.localhost redis metadata printer.local metadata.google.internal db.internal ' +
  'nas.lan router.home box.home.arpa mail.corp x.test y.invalid z.example site.onion host.localdomain api.private ' +
  'wiki.intranet'
const SCHEMES = [
  'http://93.184.216.34/a.mp4',
  'http://cdn.films.org/a.mp4',
  'ftp://cdn.films.org/a.mp4',
  'file:///etc/passwd',
  'gopher://127.0.0.1:6379/_FLUSHALL',
  'data:video/mp4;base64,AAAA',
  'blob:https://cdn.films.org/1',
  'javascript:alert(1)',
  'ws://cdn.films.org/a',
  'wss://cdn.films.org/a',
  '//cdn.films.org/a.mp4',
  'cdn.films.org/a.mp4',
  '',
  'https://',
  'https:///etc/passwd',
  'https://[::1',
  'https://user@cdn.films.org/a.mp4',
  'https://user:pw@cdn.films.org/a.mp4',
  'https://cdn.films.org@127.0.0.1/a.mp4',
  'https://127.0.0.1#@cdn.films.org/a.mp4',
  'https://127.0.0.1\\@cdn.films.org/a.mp4',
  ...[1, 21, 22, 25, 80, 3000, 3306, 5432, 6379, 8080, 8443, 9200, 11211, 27017, 65535].map(
    (port) => `https://cdn.films.org:${port}/a.mp4`,
  ),
]
/** Answers for a name, each with a private address. */
const BAD_ANSWERS: Address[][] = INNER.filter((one) => isIP(one)).map((address) => [{ address, family: isIP(address) }])

describe('refused before any connection', () => {
  const addresses = [
    ...INNER.map((host) => `https://${isIPv6(host) ? `[${host}]` : host}/a.mp4`),
    ...INNER_NAMES.split(' ').map((host) => `https://${host}/a.mp4`),
    ...SCHEMES,
  ]

  test(`${addresses.length} addresses as given`, async () => {
    let looked = 0
    const wire = await wireTo(sendFilm, () => {
      looked++
      return PUBLIC
    })
    for (const address of addresses)
      expect([address, await codeOf(fetchIt(address, wire))]).toEqual([address, 'refused_address'])
    expect(dialled).toEqual([])
    expect(looked).toBe(0)
  })

  test(`the same, ${addresses.length} times behind a redirect of a public server`, async () => {
    const located = addresses.filter((address) => /^[a-z]+:/.test(address) && URL.canParse(address))
    let location = ''
    const wire = await wireTo((_req, res) => res.writeHead(302, { location }).end())
    for (const address of located) {
      location = encodeURI(address).replace(/%25/g, '%').replace(/%5B/g, '[').replace(/%5D/g, ']')
      dialled = []
      expect([address, await codeOf(fetchIt('https://cdn.films.org/a.mp4', wire))]).toEqual([
        address,
        'refused_address',
      ])
      expect(dialled).toEqual(['cdn.films.org 93.184.216.34:443'])
    }
    expect(located.length + addresses.length).toBeGreaterThan(200)
  })

  test(`${BAD_ANSWERS.length} names that answer with an inner address, alone or among outer ones`, async () => {
    for (const answer of BAD_ANSWERS) {
      for (const answers of [answer, [...PUBLIC, ...answer], [...answer, ...PUBLIC]]) {
        const wire = await wireTo(sendFilm, () => answers)
        expect([answers, await codeOf(fetchIt('https://rebind.films.org/a.mp4', wire))]).toEqual([
          answers,
          'refused_address',
        ])
        for (const server of servers.splice(0)) await new Promise((done) => server.close(done))
      }
    }
    expect(dialled).toEqual([])
    expect(await codeOf(fetchIt('https://nowhere.films.org/a.mp4', await wireTo(sendFilm, () => [])))).toBe(
      'refused_address',
    )
  })

  test('a name that changes its answer between two hops', async () => {
    let asked = 0
    const wire = await wireTo(
      (_req, res) => res.writeHead(302, { location: 'https://rebind.films.org/b.mp4', connection: 'close' }).end(),
      () => (asked++ === 0 ? PUBLIC : [{ address: '127.0.0.1', family: 4 }]),
    )
    expect(await codeOf(fetchIt('https://rebind.films.org/a.mp4', wire))).toBe('refused_address')
    expect(dialled).toEqual(['rebind.films.org 93.184.216.34:443'])
  })
})

test('legal addresses are connected to, at the address that was checked', async () => {
  // The neighbours of each range.
  const public4 =
    '1.1.1.1 8.8.8.8 9.9.9.9 93.184.216.34 99.255.0.1 100.63.255.254 100.128.0.1 128.0.0.1 172.15.0.1 172.32.0.1 ' +
    '192.167.0.1 192.169.0.1 198.17.0.1 198.20.0.1 223.255.255.1'
  const legal: Array<[string, string]> = [
    ...public4.split(' ').map((address): [string, string] => [`https://${address}/a.mp4`, address]),
    ['https://[2606:4700:4700::1111]/a.mp4', '2606:4700:4700::1111'],
    ['https://[2a00:1450:4001:81b::200e]/a.mp4', '2a00:1450:4001:81b::200e'],
    ['https://cdn.films.org/a.mp4', '93.184.216.34'],
    ['https://cdn.films.org:443/a.mp4?x=1', '93.184.216.34'],
    ['https://CDN.Films.ORG./a.mp4', '93.184.216.34'],
    ['https://xn--bcher-kva.ch/a.mp4', '93.184.216.34'],
  ]
  const wire = await wireTo(sendFilm)
  for (const [url, address] of legal) {
    dialled = []
    rmSync(join(folder, 'source'), { force: true })
    expect((await fetchIt(url, wire)).bytes).toBe(FILM.length)
    expect(dialled.map((line) => line.split(' ')[1])).toEqual([`${address}:443`])
  }
})

describe('what is fetched', () => {
  test('the file as it is, with a title from its name, and progress', async () => {
    const progress: number[] = []
    const fetched = await fetchIt('https://cdn.films.org/films/Launch_day-2026.mp4', await wireTo(sendFilm), {
      onProgress: (done) => progress.push(done),
    })
    expect(fetched).toMatchObject({ bytes: FILM.length, title: 'Launch day 2026' })
    expect(readFileSync(fetched.file).equals(FILM)).toBe(true)
    expect(progress.at(-1)).toBe(FILM.length)
  })

  test('up to five redirects are followed, no more', async () => {
    const chain =
      (length: number): RequestListener =>
      (req, res) => {
        const hop = Number(new URL(req.url!, 'https://a').searchParams.get('hop') ?? 0)
        if (hop < length) res.writeHead(307, { location: `/a.mp4?hop=${hop + 1}` }).end()
        else sendFilm(req, res)
      }
    expect((await fetchIt('https://cdn.films.org/a.mp4', await wireTo(chain(5)))).bytes).toBe(FILM.length)
    rmSync(join(folder, 'source'))
    expect(await codeOf(fetchIt('https://cdn.films.org/a.mp4', await wireTo(chain(6))))).toBe('fetch_failed')
  })

  test.each<[string, RequestListener, string]>([
    [
      'a length beyond the limit',
      (_req, res) => res.writeHead(200, { 'content-length': 2_000_000 }).write(FILM),
      'too_large',
    ],
    [
      'more bytes than the limit, unannounced',
      (_req, res) => {
        res.writeHead(200)
        for (let i = 0; i < 400; i++) res.write(FILM)
        res.end()
      },
      'too_large',
    ],
    [
      'a web page',
      (_req, res) => res.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><p>no'),
      'not_a_video',
    ],
    [
      'a playlist',
      (_req, res) => res.writeHead(200).end('#EXTM3U\n#EXT-X-TARGETDURATION:1\nfile:///etc/passwd\n'),
      'not_a_video',
    ],
    ['nothing', (_req, res) => res.writeHead(200).end(), 'empty_file'],
    ['a missing file', (_req, res) => res.writeHead(404).end(), 'source_not_found'],
    ['a locked file', (_req, res) => res.writeHead(403).end(), 'source_refused'],
    ['a broken server', (_req, res) => res.writeHead(503).end(), 'fetch_failed'],
    ['compressed bytes', (_req, res) => res.writeHead(200, { 'content-encoding': 'gzip' }).end(FILM), 'fetch_failed'],
    ['a redirect without an address', (_req, res) => res.writeHead(302).end(), 'fetch_failed'],
    [
      'a transfer that breaks off',
      (_req, res) => res.writeHead(200, { 'content-length': 9000 }).write(FILM, () => res.destroy()),
      'fetch_failed',
    ],
    ['a server that falls silent', (_req, res) => res.writeHead(200).write(FILM), 'timed_out'],
    ['a server that never answers', () => undefined, 'timed_out'],
  ])('%s', async (_name, listener, code) => {
    const patience = code === 'timed_out' ? { totalTimeoutMs: 300 } : {}
    expect(await codeOf(fetchIt('https://cdn.films.org/a.mp4', await wireTo(listener), patience))).toBe(code)
  })

  test('an abort ends it with its own reason', async () => {
    const stop = new AbortController()
    const wire = await wireTo((_req, res) => res.writeHead(200).write(FILM, () => stop.abort(new Error('enough'))))
    await expect(fetchIt('https://cdn.films.org/a.mp4', wire, { signal: stop.signal })).rejects.toThrow('enough')
  })

  test('a full or closed folder is not blamed on the server', async () => {
    const wire = await wireTo(sendFilm)
    await expect(fetchIt('https://cdn.films.org/a.mp4', wire, { scratchDir: join(folder, 'absent') })).rejects.toThrow(
      /ENOENT/,
    )
    expect(readdirSync(folder)).toEqual([])
  })
})
