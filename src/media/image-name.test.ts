import { expect, test } from 'vitest'
import { frameIdOfImage, imageKeysOf, imageNamesOf, toImageKey } from './image-name.ts'

const [FRAME, SHA] = ['k3v9x0aq7m2d-1a4c', '0f3c21ab'.padEnd(64, '0')]

test('a public image name leads back to its key', () => {
  const [keys, names] = [imageKeysOf(FRAME, SHA), imageNamesOf(FRAME, SHA)]
  expect(keys).toEqual({
    image: 'frames/k3v9x0aq7m2d/1a4c-0f3c21ab.webp',
    thumb: 'frames/k3v9x0aq7m2d/1a4c-0f3c21ab-480.webp',
  })
  expect([toImageKey(names.image), toImageKey(names.thumb)]).toEqual([keys.image, keys.thumb])
  expect([frameIdOfImage(names.image), frameIdOfImage(names.thumb)]).toEqual([FRAME, FRAME])
})

test('any other name has no key and no frame', () => {
  for (const name of ['', 'a.webp', `${FRAME}.webp`, `../${FRAME}-0f3c21ab.webp`, `${FRAME}-0f3c21ab.webp.txt`])
    expect([toImageKey(name), frameIdOfImage(name)]).toEqual([undefined, undefined])
})
