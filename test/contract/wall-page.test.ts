import { expect, test } from 'vitest'
import type { LibrarySearch } from '../../src/search/library-search.ts'
import { openTestApi } from '../accounts/app.ts'
import { useOpened } from '../support/closing.ts'
import { seedVideo } from '../support/seed.ts'
import { sessionOf } from '../support/session.ts'
import { openContractLibrary } from './library.ts'

/** The wall for people: the address is the state, and everything in it can be seen and taken back. */

const library = useOpened(() => openContractLibrary('postgres'))

const open = (query: string) => fetch(`${library.service.url}/${query}`, { redirect: 'manual' })
const textOf = async (query: string) => (await open(query)).text()
/** Links by what they say. */
function links(page: string): Map<string, string> {
  const found = [...page.matchAll(/<a [^>]*?href="([^"]*)"[^>]*>(.*?)<\/a>/gs)]
  return new Map(found.map(([, to, label]) => [label!.replace(/<[^>]*>/g, '').trim(), to!.replaceAll('&amp;', '&')]))
}

test('the address of a video leads to its frames; one that is not in the library finds nothing', async () => {
  const known = await open(`?q=${encodeURIComponent('https://youtu.be/dQw4w9WgXcQ?t=3')}`)
  expect([known.status, known.headers.get('location')]).toEqual([302, `/videos/${library.videos.youtube}`])
  const unknown = await open(`?q=${encodeURIComponent('https://youtu.be/aaaaaaaaaaa')}`)
  expect(unknown.status).toBe(200)
  expect(await unknown.text()).toContain('Check the spelling')
})

test('a wall without frames names only what can be changed', async () => {
  expect(await textOf('?q=xylophone')).toContain(
    '<p>No text, film or brand has these words. Check the spelling, or try another word',
  )
  expect(await textOf('?q=xylophone&tone=dark')).toContain('<p>Remove a filter or try another word.</p>')
  expect(await textOf('?author=Unknown')).toContain('<p>Remove a filter.</p>')
  expect(await textOf('?page=99')).toContain('<p>There are fewer pages than that.</p>')
  const ways = links(await textOf('?q=heron&author=Short&tone=dark'))
  expect(ways.get('Without the words')).toBe('/?tone=dark&author=Short')
  expect(links(await textOf('?author=Unknown&tone=dark')).get('Without brand')).toBe('/?tone=dark')
})

test('what is called as all that was typed is named above the frames, and nothing else', async () => {
  const named = async (query: string) => links(/<ul class="named".*?<\/ul>/s.exec(await textOf(query))![0])
  expect((await named('?q=SHOR')).get('Short brand')).toBe('/brands/Short')
  expect([...(await named('?q=paper+lant')).keys()]).toEqual(['Paper lantern workshop film'])
  for (const query of ['', '?q=short+lantern', '?q=shart', `?q=${'short+'.repeat(20)}`])
    expect([query, [...(await named(query)).keys()]]).toEqual([query, []])
})

test('a filter by the name of something that every object has is a filter like any other', async () => {
  for (const name of ['constructor', 'toString', '__proto__'])
    for (const filter of ['technique', 'author']) {
      const answer = await open(`?${filter}=${name}`)
      expect([filter, name, answer.status]).toEqual([filter, name, 200])
      const words = name.replaceAll('_', '')
      const label = filter === 'author' ? name : words[0]!.toUpperCase() + words.slice(1)
      const shown = [...links(await answer.text()).keys()]
      expect(shown).toEqual(expect.arrayContaining([`Without ${label}×`, `${label} 0`]))
    }
})

test('every filter is to be seen and to be taken back by itself', async () => {
  const page = await textOf(
    `?subject=ui&subject=chart&author=Words&author=Acme%2C+Inc.+%22Labs%22&video=${library.videos.words}&color=f2aa4c`,
  )
  const found = links(page)
  expect(found.get('Without Chart×')).toBe(
    `/?subject=ui&author=Words&author=Acme%2C+Inc.+%22Labs%22&video=${library.videos.words}&color=f2aa4c`,
  )
  expect(found.get('Without UI×')).toContain('subject=chart&author=')
  expect(found.get('Clear all')).toBe('/')
  // What a name stands for has its page behind the word.
  expect(found.get('Acme, Inc. &quot;Labs&quot;')).toBe('/brands/Acme%2C%20Inc.%20%22Labs%22')
  expect(found.get('Without Acme, Inc. &quot;Labs&quot;×')).toContain('author=Words&video=')
  expect(found.get('Without #f2aa4c×')).not.toContain('color')
  expect(links(await textOf(`?video=${library.videos.words}`)).get('Without Paper lantern workshop×')).toBe('/')
  expect(await textOf('')).not.toContain('Without')
})

test('every value is a link that adds it, with the number of frames behind it', async () => {
  const { json } = await library.get('/api/frames?subject=ui&facets=1')
  const found = links(await textOf('?subject=ui&page=2'))
  expect(found.get(`Chart ${json.facets.subject.chart}`)).toBe('/?subject=ui&subject=chart')
  expect(found.get(`UI ${json.facets.subject.ui}`)).toBe('/')
  expect(found.get(`Dark ${json.facets.tone.dark}`)).toBe('/?subject=ui&tone=dark')
  expect(found.get('Most saved and strongest')).toBe('/?subject=ui&sort=strength')
  expect(found.get('Each by itself')).toBe('/?subject=ui&variety=off')
  // Further pages of the same wall show the same counts.
  expect([...links(await textOf('?page=2')).keys()]).toEqual(
    expect.arrayContaining([...links(await textOf('')).keys()].filter((label) => /^Dark \d/.test(label))),
  )
})

test.each([
  ['anyone', 'Sign in'],
  ['an operator', 'Account'],
])('the places of %s are three, on every page', async (who, corner) => {
  const { stores, url } = library.service
  const { name, value } = await sessionOf(stores.db, url, 'operator@example.com')
  const headers = { cookie: who === 'anyone' ? '' : `${name}=${value}` }
  for (const path of ['/', '/techniques', '/brands', '/techniques/whip-pan', '/brands/Short']) {
    const page = await (await fetch(url + path, { headers })).text()
    const places = links(/<nav aria-label="Main">.*?<\/nav>/s.exec(page)![0])
    expect([path, ...places.keys()]).toEqual([path, 'Wall', 'Films', 'Boards'])
    const account = /<div class="account">.*?<\/header>/s.exec(page)![0]
    expect([path, /<(?:a|summary)[^>]*>(.*?)</.exec(account)![1]]).toEqual([path, corner])
    expect(links(account).get('Operator console')).toBe(who === 'anyone' ? undefined : '/operator')
  }
})

test('pages lead to each other and keep what was asked', async () => {
  expect(links(await textOf('?q=over')).get('Page 2 →')).toBe('/?q=over&page=2')
  expect(links(await textOf('?sort=strength&page=2')).get('← Page 1')).toBe('/?sort=strength')
})

test('a link that was passed on opens the page it names; a parameter that is none is refused', async () => {
  const page = await open('?subject=ui&utm_source=newsletter&fbclid=abc')
  expect(page.status).toBe(200)
  expect(links(await page.text())).toEqual(links(await textOf('?subject=ui')))
  const { json } = await library.get('/api/frames')
  for (const path of ['docs?gclid=1', `frames/${json.frames[0].id}?utm_medium=email`])
    expect([path, (await open(path)).status]).toEqual([path, 200])
  expect((await open('?colour=red')).status).toBe(400)
  expect((await open('api/frames?utm_source=x')).status).toBe(400)
})

test('one question in two orders is one page and one search', async () => {
  const asked: string[] = []
  const counting = (search: LibrarySearch) =>
    new Proxy(search, {
      get(target, name: keyof LibrarySearch) {
        asked.push(name)
        return target[name]
      },
    })
  await using api = await openTestApi({ overrides: { search: counting } })
  const { text: page } = await api.call('/?subject=ui&author=Words')
  expect((await api.call('/?author=Words&subject=ui')).text).toBe(page)
  expect(asked.filter((name) => name === 'frames')).toHaveLength(1)
})

test('the page says plainly what it shows instead of what was typed', async () => {
  const reading = async (query: string) => {
    const line = /<p class="reading">(.*?)<\/p>/s.exec(await textOf(query))
    return (
      line && [
        line[1]!
          .replace(/<[^>]*>/g, '')
          .replace(/\s+/g, ' ')
          .trim(),
        links(line[1]!),
      ]
    )
  }
  expect(await reading('?q=dark+terminal+of+a+unicorn')).toEqual(['No frame has all of these. Closest:', new Map()])
  expect(await reading('?q=tromboene')).toEqual([
    'Showing trombone. Only “tromboene”',
    new Map([['Only “tromboene”', '/?q=%22tromboene%22']]),
  ])
  expect(await reading('?q=presnter')).toEqual([
    'Showing presenter. Only “presnter”',
    new Map([['Only “presnter”', '/?q=%22presnter%22']]),
  ])
  for (const query of ['?q=heron', '', '?q=chart+-dark', '?q=xylophone']) expect(await reading(query)).toBeNull()
})

test('links to a frame, a video and a technique unfurl where they are pasted', async () => {
  const { json } = await library.get('/api/frames?author=Words&technique=marionette-walk')
  const [frame] = json.frames
  for (const path of [`/frames/${frame.id}`, `/videos/${frame.video_id}`, '/techniques/marionette-walk']) {
    const page = await textOf(path.slice(1))
    const meta = (name: string) => new RegExp(`<meta property="og:${name}" content="([^"]*)">`).exec(page)?.[1]
    expect([path, meta('url')]).toEqual([path, `http://frames.test${path}`])
    expect(meta('image')).toMatch(/^http:\/\/frames\.test\/media\/.+\.webp$/)
  }
})

test('an empty library and one that is filling say what goes on and what to do next', async () => {
  await using api = await openTestApi()
  const { text: empty } = await api.call('/')
  expect(empty).toContain('The library is empty')
  expect(empty).toContain('An operator <a href="/sign-in">signs in</a> and adds one')
  await seedVideo(api.db, { ready: false, frames: [{}, {}] })
  await expect.poll(async () => (await api.call('/')).text).toContain('The first frames are on their way')
  await seedVideo(api.db, { ready: false })
  await expect.poll(async () => (await api.call('/')).text).toContain('2 videos are being read')
})

test('the colours to pick from are those of the whole library, not of the frames that are shown', async () => {
  const { service } = library
  const [color, addedAt] = ['#0a7d32', new Date(0)]
  await seedVideo(service.stores.db, { author: 'Last', addedAt, frames: [{ palette: [color] }] })
  await service.drain()
  const colors = async (query: string) => {
    const [menu] = /<ul class="swatches">.*?<\/ul>/s.exec(await textOf(query))!
    return [...menu.matchAll(/title="(#\w+)"/g)].map(([, one]) => one)
  }
  const all = await colors('')
  expect(all).toEqual(expect.arrayContaining([color, '#f2aa4c']))
  for (const query of ['?page=2', '?author=Short', '?author=Last', '?color=0a7d32'])
    expect([query, await colors(query)]).toEqual([query, all])
})

test('a brand tells of all its videos, and leads to those that its page has no room for', async () => {
  const { service } = library
  for (let n = 0; n < 61; n++) await seedVideo(service.stores.db, { author: 'Prolific' })
  await service.drain()
  const page = await textOf('brands/Prolific')
  expect(page).toContain('content="61 frames of 61 videos by Prolific."')
  expect(links(page).get('All 61 films')).toBe('/films?author=Prolific')
  expect([...links(await textOf('brands/Short')).keys()].some((label) => /^All \d/.test(label))).toBe(false)
})
