import { afterAll, beforeAll, expect } from 'vitest'

// Files of this project share a process. Each must leave it as it was found.

// Vitest ends it by a signal. Chromium, which they share, is ended and cleared away by a process that exits.
if (process.listenerCount('SIGTERM') === 0) process.once('SIGTERM', () => process.exit())

// Without 'exit': pino listens to it for every logger and stops only when the logger is garbage-collected.
const EVENTS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'uncaughtException', 'unhandledRejection'] as const
const listeners = () => Object.fromEntries(EVENTS.map((name) => [name, process.listenerCount(name)]))
const environment = () => ({ ...process.env })
let before: { listeners: object; environment: object; directory: string }

beforeAll(() => {
  before = { listeners: listeners(), environment: environment(), directory: process.cwd() }
})

afterAll(() => {
  expect({ listeners: listeners(), environment: environment(), directory: process.cwd() }).toEqual(before)
})
