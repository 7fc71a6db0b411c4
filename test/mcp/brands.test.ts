import { afterAll, beforeAll, expect, test } from 'vitest'
import { ids, openToolLibrary, type ToolLibrary } from './tool-library.ts'

/** Brands in any spelling, and what a filter leaves out. */

let library: ToolLibrary
beforeAll(async () => {
  library = await openToolLibrary()
})
afterAll(() => library[Symbol.asyncDispose]())

test('a brand is read as the library spells it, beside others, left out, and in frames like one', async () => {
  const { call, get, videoIds } = library
  // Beside brands that are spelled as the library does, and left out.
  const both = await get('/api/frames?author=Northwind&author=Ledgerly')
  const two = await call('browse_frames', { author: ['northwind', 'Ledgerly'], limit: 100 })
  expect(ids(two.structuredContent.frames)).toEqual(ids(both.frames))
  expect(two.text).toContain('(author read as "Northwind")')
  const without = await get('/api/frames?not_author=Northwind')
  for (const not of [{ author: 'NORTHWIND' }, { brand: 'northwind' }, { author: 'Northwind', tone: null }]) {
    const found = await call('browse_frames', { not, limit: 100 })
    expect(ids(found.structuredContent.frames)).toEqual(ids(without.frames))
  }
  const [first] = (await get(`/api/videos/${videoIds[3]}/frames`)).frames
  const alike = { frame_id: first.id, limit: 100, detail: 'full' }
  const spelled = await call('find_similar_frames', { ...alike, author: 'Northwind' })
  const shouted = await call('find_similar_frames', { ...alike, author: 'NORTHWIND' })
  expect(spelled.structuredContent.frames.length).toBeGreaterThan(0)
  expect(ids(shouted.structuredContent.frames)).toEqual(ids(spelled.structuredContent.frames))
})

test('many unknown brands take few searches and lines; no brand is both asked for and left out', async () => {
  const { call } = library
  const many = await call('browse_frames', { author: Array.from({ length: 50 }, (_, n) => `Nobody ${n}`) })
  expect(many.structuredContent.notes.filter((note: string) => note.includes('no brand is called'))).toHaveLength(5)
  expect(many.text).toContain('45 more names of brands are unknown as they are written')
  const both = await call('browse_frames', { author: 'Northwind', not: { author: 'NORTHWIND' } })
  expect(both.text).toContain('author asks for "Northwind", and not leaves it out')
})

test('what a filter to leave out cannot be is named, with what it may be', async () => {
  for (const [not, said] of [
    [{ mood: 'calm' }, 'not (got an object): no filter mood; subject, surface'],
    [{ faces: 1 }, 'not.faces (got 1): must be a text or a list of texts'],
    [{ subject: 'moon' }, 'not.subject (got "moon"): must be one of presenter'],
  ] as const)
    expect((await library.call('browse_frames', { not })).text).toContain(said)
})
