import { expect, test } from 'vitest'
import { openIntake } from './intake.ts'

/** A clock that the test turns by hand. */
function openTimed() {
  const time = { now: 0 }
  const intake = openIntake({ bytesPerSec: 100_000, companyMs: 1_000, clock: () => time.now })
  return { intake, time }
}

test('an upload waits while another address asks, and goes on at once when none does', async () => {
  const { intake, time } = openTimed()
  const pace = intake.paceOf('192.0.2.1')
  intake.note('192.0.2.1')
  expect(pace(5_000)).toBeUndefined()
  intake.note('192.0.2.2')
  intake.note('192.0.2.1')
  const waits = pace(5_000)
  expect(waits).toBeInstanceOf(Promise)
  time.now = 900
  intake.note('192.0.2.1')
  const waitsToo = pace(5_000)
  expect(waitsToo).toBeInstanceOf(Promise)
  time.now = 1_100
  expect(pace(5_000)).toBeUndefined()
  await Promise.all([waits, waitsToo])
})

test('uploads of one address wait together, those of another do not wait for them', async () => {
  const { intake } = openTimed()
  const [first, second, other] = [intake.paceOf('192.0.2.1'), intake.paceOf('192.0.2.1'), intake.paceOf('192.0.2.2')]
  intake.note('192.0.2.1')
  intake.note('192.0.2.2')
  // Pauses are saved up until they are worth one.
  expect(first(1_500)).toBeUndefined()
  const waits = second(1_500)
  expect(waits).toBeInstanceOf(Promise)
  expect(other(1_500)).toBeUndefined()
  await waits
})
