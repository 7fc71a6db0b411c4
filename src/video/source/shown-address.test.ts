import { expect, test } from 'vitest'
import { toShownAddress } from './shown-address.ts'

const FILE = 'https://cdn.example/films/launch-2024.mp4'

test.each([
  '?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Expires=900&X-Amz-Signature=0f1e',
  '?x-goog-signature=ab&part=1',
  '?AWSAccessKeyId=AKIA&Signature=x%3D&Expires=1',
  '?Policy=eyJ&Signature=abc&Key-Pair-Id=K1',
  '?sv=2024&se=2027-01-01&sp=r&sig=a%2Bb',
  '?token=1',
  '?accessToken=1',
  '?access_token=1',
  '?api_key=1',
  '?rlkey=1&dl=0',
  '?expires=1&md5=2',
  '?hdnts=exp=1~hmac=2',
  '?user=ann&quality=high',
  '?email=ann%40example.org',
  '?id=9b2c4d1e7f6a8b0c3d5e',
  '?v=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln',
  '?%73ig=1',
])('a query that lets its holder in is not shown, whatever else is in it: %s', (query) => {
  expect(toShownAddress(FILE + query)).toBe(FILE)
})

test.each([
  FILE,
  `${FILE}?version=2`,
  'https://www.youtube.com/watch?v=dQw4w9WgXcQ',
  'https://x.com/i/status/1712345678901234567',
  'https://player.example/watch?id=42&lang=de',
  'https://vimeo.com/76979871',
  'https://www.linkedin.com/feed/update/urn:li:activity:7123456789012345678',
])('any other address is shown as it is: %s', (address) => {
  expect(toShownAddress(address)).toBe(address)
})

test('the hash of an unlisted video and a signed path are not shown', () => {
  expect(toShownAddress('https://vimeo.com/76979871/0123abcdef')).toBe('https://vimeo.com/76979871')
  expect(toShownAddress('https://vimeo.com/event/76979871/0123abcdef')).toBe('https://vimeo.com/event/76979871')
  expect(toShownAddress('https://player.vimeo.com/video/76979871?h=0123abcdef')).toBe(
    'https://player.vimeo.com/video/76979871',
  )
  expect(toShownAddress('https://cdn.example/exp=1~acl=*~hmac=0f/film.mp4')).toBe('https://cdn.example/')
  expect(toShownAddress('https://cdn.example/eyJhbGciOiJI.eyJzdWIiOiIx.c2ln/film.mp4')).toBe('https://cdn.example/')
})
