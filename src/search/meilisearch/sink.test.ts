import { expect, test } from 'vitest'
import { chunksOf } from './sink.ts'

test('tasks are bounded by documents and by bytes, and hold every document once, in order', () => {
  const read = (bodies: string[]) =>
    bodies.map((body) => body.split('\n').map((line) => (JSON.parse(line) as { n: number }).n))
  expect([...chunksOf([])]).toEqual([])
  const many = read([...chunksOf(Array.from({ length: 25_000 }, (_, n) => ({ n })))])
  expect(many.map((chunk) => chunk.length)).toEqual([10_000, 10_000, 5_000])
  expect(many.flat()).toEqual(Array.from({ length: 25_000 }, (_, n) => n))

  // Three bytes a letter: the limit counts bytes.
  const sizes = [10, 1, 10, 12, 40, 1]
  const bodies = [...chunksOf(sizes.map((megabytes, n) => ({ n, text: '東'.repeat((megabytes * 1024 * 1024) / 3) })))]
  expect(read(bodies)).toEqual([[0, 1, 2], [3], [4], [5]])
  for (const [n, body] of bodies.entries()) if (n !== 2) expect(Buffer.byteLength(body)).toBeLessThan(33 * 1024 * 1024)
})
