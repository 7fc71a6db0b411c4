import { describe, expect, test } from 'vitest'
import { useService } from '../support/service.ts'

const IMAGE = Buffer.from('0123456789')
const PATH = '/media/k3v9x0aq7m2d-1a4c-0f3c21ab.webp'
const ETAG = '"k3v9x0aq7m2d-1a4c-0f3c21ab.webp"'

const service = useService({ worker: false, overrides: { readImage: async () => IMAGE } })

async function ask(headers: Record<string, string>, method = 'GET') {
  const answer = await fetch(service.url + PATH, { method, headers })
  return { status: answer.status, headers: answer.headers, text: await answer.text() }
}

describe('Range on images', () => {
  test.each([
    ['bytes=0-3', '0123', 'bytes 0-3/10'],
    ['bytes=4-', '456789', 'bytes 4-9/10'],
    ['bytes=-2', '89', 'bytes 8-9/10'],
    ['bytes=-9999', '0123456789', 'bytes 0-9/10'],
    ['bytes=8-99', '89', 'bytes 8-9/10'],
    ['bytes=0-1,2-3', '0123', 'bytes 0-3/10'],
  ])('%s is one part', async (range, body, contentRange) => {
    const answer = await ask({ range })
    expect([answer.status, answer.text, answer.headers.get('content-range')]).toEqual([206, body, contentRange])
    expect(answer.headers.get('etag')).toBe(ETAG)
    expect(answer.headers.get('content-length')).toBe(String(body.length))
  })

  test.each(['bytes=0-1,5-6', 'bytes=a-b', 'bytes', 'lines=1-2'])('%s is answered whole', async (range) => {
    const answer = await ask({ range })
    expect([answer.status, answer.text, answer.headers.get('content-range')]).toEqual([200, '0123456789', null])
    expect(answer.headers.get('accept-ranges')).toBe('bytes')
  })

  test('what lies outside is refused with the size', async () => {
    const answer = await ask({ range: 'bytes=10-' })
    expect([answer.status, JSON.parse(answer.text).code]).toEqual([416, 'range_not_satisfiable'])
    expect(answer.headers.get('content-range')).toBe('bytes */10')
    expect(answer.headers.get('cache-control')).toBe('no-store')
  })

  test('If-Range with another tag brings the whole image', async () => {
    expect((await ask({ range: 'bytes=0-3', 'if-range': ETAG })).status).toBe(206)
    expect((await ask({ range: 'bytes=0-3', 'if-range': '"other"' })).text).toBe('0123456789')
  })

  test('a copy that is current goes before a part, in any form of the tag', async () => {
    for (const tag of [ETAG, `W/${ETAG}`, `"x", ${ETAG}`, '*'])
      expect((await ask({ range: 'bytes=0-3', 'if-none-match': tag })).status).toBe(304)
  })

  test('HEAD tells the whole size', async () => {
    const answer = await ask({ range: 'bytes=0-3' }, 'HEAD')
    expect([answer.status, answer.headers.get('content-length'), answer.text]).toEqual([200, '10', ''])
  })
})
