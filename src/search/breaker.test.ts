import { expect, test } from 'vitest'
import { AppError } from '../errors.ts'
import { Late, openBreaker } from './breaker.ts'

/** An engine that a test breaks, and a clock that it turns. */
function setUp() {
  const state = { time: 0, down: false, hang: false, asked: 0, told: [] as string[] }
  const ask = openBreaker({
    patienceMs: 20,
    now: () => state.time,
    onLeft: () => state.told.push('left'),
    onBack: () => state.told.push('back'),
  })
  const answer = () =>
    ask(async () => {
      state.asked++
      if (state.hang) await new Promise(() => {})
      if (state.down) throw new Error('connection refused')
      return 'answer'
    })
  return { state, ask, answer }
}

test('an engine that fails is not asked, until one question tries it and brings it back', async () => {
  const { state, answer } = setUp()
  expect(await answer()).toBe('answer')
  state.down = true
  for (let n = 0; n < 5; n++) expect(await answer()).toBeUndefined()
  expect([state.asked, state.told]).toEqual([2, ['left']])
  state.time = 5_000
  state.hang = true
  const trial = answer()
  expect(await Promise.all([answer(), answer()])).toEqual([undefined, undefined])
  expect(await trial).toBeUndefined()
  expect(state.asked).toBe(3)
  Object.assign(state, { down: false, hang: false })
  expect(await answer()).toBeUndefined()
  state.time = 10_000
  expect(await answer()).toBe('answer')
  expect(await answer()).toBe('answer')
  expect(state.told).toEqual(['left', 'back'])
})

test('a bad request is no failure', async () => {
  const { ask, answer, state } = setUp()
  const refuse = async () => {
    throw new AppError('invalid_request', 'too deep')
  }
  await expect(ask(refuse)).rejects.toMatchObject({ code: 'invalid_request' })
  expect([await answer(), state.told]).toEqual(['answer', []])
})

test('one late answer costs its own question only; two in a row, or three of six, end it', async () => {
  for (const lates of [
    [1, 1],
    [1, 0, 1, 0, 0, 1],
  ]) {
    const { state, ask, answer } = setUp()
    const late = async () => {
      throw new Late('a part of an answer')
    }
    for (const isLate of lates) {
      expect(state.told).toEqual([])
      expect(await (isLate ? ask(late) : answer())).toBe(isLate ? undefined : 'answer')
    }
    expect(state.told).toEqual(['left'])
    // Still slow when it is back: one late answer is enough, until many were in time.
    state.time = 5_000
    await answer()
    await ask(late)
    expect(state.told).toEqual(['left', 'back', 'left'])
    state.time = 10_000
    for (let n = 0; n < 5; n++) await answer()
    await ask(late)
    expect(await answer()).toBe('answer')
  }
})

test('many that wait in vain are one failure', async () => {
  const { state, answer } = setUp()
  state.hang = true
  expect(new Set(await Promise.all(Array.from({ length: 10 }, () => answer())))).toEqual(new Set([undefined]))
  expect(state.told).toEqual(['left'])
  state.hang = false
  state.time = 5_000
  expect(await answer()).toBe('answer')
})
