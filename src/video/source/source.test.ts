import { describe, expect, test } from 'vitest'
import { deepLink, findPasted, findSource, needsYtDlp } from './source.ts'

const YT = 'https://www.youtube.com/watch?v=dQw4w9WgXcQ'
const X = 'https://x.com/i/status/1712345678901234567'
const VIMEO = 'https://vimeo.com/76979871'
const LI = 'https://www.linkedin.com/feed/update/urn:li:activity:7123456789012345678'

const TIKTOK = 'https://www.tiktok.com/@_/video/7023491746608712966'
const REEL = 'https://www.instagram.com/p/CDUMkliABpa/'
const LOOM = 'https://www.loom.com/share/43d05f362f734614a2e81b4694a3a523'

const TABLE: Array<[string, string, string]> = [
  ['https://www.youtube.com/watch?v=dQw4w9WgXcQ', 'youtube', YT],
  ['http://youtube.com/watch?v=dQw4w9WgXcQ', 'youtube', YT],
  ['youtube.com/watch?v=dQw4w9WgXcQ', 'youtube', YT],
  ['  https://www.youtube.com/watch?v=dQw4w9WgXcQ&t=42s  ', 'youtube', YT],
  ['https://www.youtube.com/watch?list=PL123&v=dQw4w9WgXcQ&index=2', 'youtube', YT],
  ['https://www.youtube.com/watch?v=dQw4w9WgXcQ#t=10', 'youtube', YT],
  ['https://m.youtube.com/watch?v=dQw4w9WgXcQ&feature=share', 'youtube', YT],
  ['https://music.youtube.com/watch?v=dQw4w9WgXcQ&si=abc', 'youtube', YT],
  ['https://youtu.be/dQw4w9WgXcQ', 'youtube', YT],
  ['https://youtu.be/dQw4w9WgXcQ?si=Zz1_x&t=90', 'youtube', YT],
  ['youtu.be/dQw4w9WgXcQ', 'youtube', YT],
  ['https://youtu.be/dQw4w9WgXcQ&t=30', 'youtube', YT],
  ['https://www.youtube.com/?v=dQw4w9WgXcQ', 'youtube', YT],
  ['https://www.youtube.com/shorts/dQw4w9WgXcQ?feature=share', 'youtube', YT],
  ['https://www.youtube.com/embed/dQw4w9WgXcQ?start=30', 'youtube', YT],
  ['https://www.youtube-nocookie.com/embed/dQw4w9WgXcQ', 'youtube', YT],
  ['https://www.youtube.com/live/dQw4w9WgXcQ?si=1', 'youtube', YT],
  ['https://www.youtube.com/v/dQw4w9WgXcQ', 'youtube', YT],
  ['HTTPS://WWW.YOUTUBE.COM/watch?v=dQw4w9WgXcQ', 'youtube', YT],
  ['https://www.youtube.com/attribution_link?u=%2Fwatch%3Fv%3DdQw4w9WgXcQ%26feature%3Dshare', 'youtube', YT],
  ['https://gaming.youtube.com/watch?v=dQw4w9WgXcQ', 'youtube', YT],
  ['https://youtube.com/watch?v=dQw4w9WgXcQ?t=3', 'youtube', YT],
  ['https://x.com/someone/status/1712345678901234567', 'x', X],
  ['https://X.com/Someone/Status/1712345678901234567', 'x', X],
  ['https://fixvx.com/someone/status/1712345678901234567', 'x', X],
  ['https://x.com/someone/status/1712345678901234567?s=20&t=abc', 'x', X],
  ['https://x.com/someone/status/1712345678901234567/video/1', 'x', X],
  ['https://twitter.com/someone/status/1712345678901234567', 'x', X],
  ['https://mobile.twitter.com/someone/status/1712345678901234567', 'x', X],
  ['https://www.twitter.com/someone/statuses/1712345678901234567', 'x', X],
  ['https://x.com/i/web/status/1712345678901234567', 'x', X],
  ['https://x.com/i/status/1712345678901234567', 'x', X],
  ['x.com/someone/status/1712345678901234567', 'x', X],
  ['https://vimeo.com/76979871', 'vimeo', VIMEO],
  ['https://vimeo.com/en/76979871', 'vimeo', VIMEO],
  ['https://www.vimeo.com/76979871#t=30s', 'vimeo', VIMEO],
  ['https://player.vimeo.com/video/76979871?autoplay=1', 'vimeo', VIMEO],
  ['https://vimeo.com/channels/staffpicks/76979871', 'vimeo', VIMEO],
  ['https://vimeo.com/groups/shortfilms/videos/76979871', 'vimeo', VIMEO],
  ['https://vimeo.com/showcase/12345/video/76979871', 'vimeo', VIMEO],
  ['https://vimeo.com/user123/review/76979871/0123abcdef', 'vimeo', `${VIMEO}/0123abcdef`],
  ['https://vimeo.com/reviews/1b2c-3d/videos/76979871', 'vimeo', VIMEO],
  ['https://vimeo.com/76979871/0123abcdef', 'vimeo', `${VIMEO}/0123abcdef`],
  ['https://player.vimeo.com/video/76979871?h=0123abcdef', 'vimeo', `${VIMEO}/0123abcdef`],
  ['https://www.linkedin.com/feed/update/urn:li:activity:7123456789012345678/', 'linkedin', LI],
  ['https://www.linkedin.com/feed/update/urn%3Ali%3Aactivity%3A7123456789012345678', 'linkedin', LI],
  ['https://www.linkedin.com/posts/acme_launch-day-activity-7123456789012345678-AbCd?utm_source=share', 'linkedin', LI],
  ['https://de.linkedin.com/posts/acme_launch-activity-7123456789012345678-AbCd', 'linkedin', LI],
  ['https://www.linkedin.com/feed/?highlightedUpdateUrn=urn%3Ali%3Aactivity%3A7123456789012345678', 'linkedin', LI],
  [
    'https://www.linkedin.com/embed/feed/update/urn:li:ugcPost:7123456789012345679',
    'linkedin',
    LI.replace('activity:7123456789012345678', 'ugcPost:7123456789012345679'),
  ],
  ['https://www.tiktok.com/@acme.inc/video/7023491746608712966?lang=en&is_from_webapp=1', 'web', TIKTOK],
  ['https://m.tiktok.com/v/7023491746608712966.html', 'web', TIKTOK],
  ['https://www.tiktok.com/embed/v2/7023491746608712966', 'web', TIKTOK],
  ['tiktok.com/@/video/7023491746608712966', 'web', TIKTOK],
  ['https://www.tiktok.com/player/v1/7023491746608712966?music_info=1', 'web', TIKTOK],
  ['https://vm.tiktok.com/ZSe4FqkKd/?utm_source=copy', 'web', 'https://vm.tiktok.com/ZSe4FqkKd/'],
  ['https://www.tiktok.com/@acme.inc', 'web', 'https://www.tiktok.com/@acme.inc'],
  ['https://www.instagram.com/reel/CDUMkliABpa/?igshid=abc', 'web', REEL],
  ['https://www.instagram.com/reels/CDUMkliABpa/', 'web', REEL],
  ['https://instagram.com/p/CDUMkliABpa', 'web', REEL],
  ['https://www.instagram.com/acme.inc/reel/CDUMkliABpa/', 'web', REEL],
  ['http://instagram.com/tv/CDUMkliABpa/embed/', 'web', REEL],
  ['instagr.am/p/CDUMkliABpa/', 'web', REEL],
  ['https://www.instagram.com/reels/audio/1234567890/', 'web', 'https://www.instagram.com/reels/audio/1234567890/'],
  ['https://www.loom.com/share/43d05f362f734614a2e81b4694a3a523?sid=1', 'web', LOOM],
  ['https://www.loom.com/share/How-we-ship-43d05f362f734614a2e81b4694a3a523', 'web', LOOM],
  ['https://www.loom.com/embed/43d05f362f734614a2e81b4694a3a523?hide_owner=true', 'web', LOOM],
  ['https://cdn.example.com/films/launch.mp4', 'web', 'https://cdn.example.com/films/launch.mp4'],
  ['http://CDN.Example.com:80/films/launch.mp4', 'web', 'https://cdn.example.com/films/launch.mp4'],
  [
    'https://cdn.example.com/films/launch.mp4?utm_source=x&v=3#t=9',
    'web',
    'https://cdn.example.com/films/launch.mp4?v=3',
  ],
  ['https://cdn.example.com:8443/launch.webm', 'web', 'https://cdn.example.com:8443/launch.webm'],
  [
    'https://youtube.com.evil.example/watch?v=dQw4w9WgXcQ',
    'web',
    'https://youtube.com.evil.example/watch?v=dQw4w9WgXcQ',
  ],
  ['https://notyoutube.com/watch?v=dQw4w9WgXcQ', 'web', 'https://notyoutube.com/watch?v=dQw4w9WgXcQ'],
  ['https://www.youtube.com/@somebody', 'youtube', 'https://www.youtube.com/@somebody'],
]

test.each(TABLE)('%s', (given, platform, canonicalUrl) => {
  expect(findSource(given)).toMatchObject({ platform, canonicalUrl })
})

test('the canonical address leads to itself, and every form of one video has one key', () => {
  for (const [given] of TABLE) {
    const source = findSource(given)!
    expect(findSource(source.canonicalUrl)).toEqual(source)
  }
  for (const [platform, count] of [
    ['youtube:', 1],
    ['x:', 1],
    ['vimeo:', 1],
    ['linkedin:', 2],
    ['tiktok:', 1],
    ['instagram:', 1],
    ['loom:', 1],
  ] as const) {
    const keys = TABLE.map(([given]) => findSource(given)!.key).filter((key) => key.startsWith(platform))
    expect(new Set(keys).size).toBe(count)
  }
})

test.each([
  [YT, true],
  [TIKTOK, true],
  ['https://vm.tiktok.com/ZSe4FqkKd/', true],
  [REEL, true],
  [LOOM, true],
  ['https://cdn.loom.com/films/launch.mp4', false],
  ['https://nottiktok.com/@a/video/7023491746608712966', false],
  ['https://tiktok.com.evil.example/@a/video/7023491746608712966', false],
])('%s needs yt-dlp: %s', (address, needs) => expect(needsYtDlp(findSource(address)!)).toBe(needs))

test.each([
  '',
  'a red kite',
  'launch.mp4',
  'ftp://example.com/a.mp4',
  'file:///etc/passwd',
  'javascript:alert(1)',
  'https://',
  'https://user:pw@example.com/a.mp4',
  'https://localhost',
  `https://example.com/${'a'.repeat(3000)}`,
  'data:video/mp4;base64,AAAA',
  'presenter tone:dark',
])('no source: %s', (text) => {
  expect(findSource(text)).toBeUndefined()
})

test.each([
  [YT, YT],
  ['youtu.be/dQw4w9WgXcQ', YT],
  ['//youtu.be/dQw4w9WgXcQ', YT],
  ['<https://youtu.be/dQw4w9WgXcQ>', YT],
  ['(https://youtu.be/dQw4w9WgXcQ)', YT],
  ['"youtu.be/dQw4w9WgXcQ"', YT],
  ['“https://youtu.be/dQw4w9WgXcQ”', YT],
  ['[a clip](https://youtu.be/dQw4w9WgXcQ)', YT],
  ['https://youtu.be/dQw4w9WgXcQ.', YT],
  ['https://youtu.be/dQw4w9WgXcQ, …', YT],
  ['https://youtu.be/dQw4w9WgXcQ!?', YT],
  ['https%3A%2F%2Fwww.youtube.com%2Fwatch%3Fv%3DdQw4w9WgXcQ', YT],
  ['Watch this: https://youtu.be/dQw4w9WgXcQ it is good', YT],
  ['https://cdn.example.com/films/launch.mp4.', 'https://cdn.example.com/films/launch.mp4'],
  ['https://cdn.example.com/films/launch_(final).mp4?v=(2)', 'https://cdn.example.com/films/launch_(final).mp4?v=(2)'],
])('pasted as %s', (given, canonicalUrl) => {
  expect(findPasted(given)?.canonicalUrl).toBe(canonicalUrl)
})

test.each([
  '',
  'a red kite',
  '"red kite"',
  '(',
  'https%3A%2F%2F%zz',
  'dark terminal https://example.com/page',
  'and/or',
  'https://',
])('nothing pasted: %s', (text) => expect(findPasted(text)).toBeUndefined())

describe('deep links', () => {
  test('to a second, where the platform has them', () => {
    expect(deepLink('youtube', YT, 83.9)).toBe(`${YT}&t=83s`)
    expect(deepLink('vimeo', VIMEO, 12.2)).toBe(`${VIMEO}#t=12s`)
    expect(deepLink('web', 'https://cdn.example.com/launch.mp4', 5)).toBe('https://cdn.example.com/launch.mp4#t=5')
  })
  test('none elsewhere', () => {
    expect(deepLink('x', X, 5)).toBeNull()
    expect(deepLink('linkedin', LI, 5)).toBeNull()
    expect(deepLink('web', 'https://example.com/page', 5)).toBeNull()
    expect(deepLink('web', null, 5)).toBeNull()
  })
})
