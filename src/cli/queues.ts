import { setTimeout as sleep } from 'node:timers/promises'
import { Argument, type Command } from 'commander'
import { plural } from '../clean-text.ts'
import { spaceOf } from '../config.ts'
import { findHeldBack } from '../events/read.ts'
import { listOutages } from '../events/waiting.ts'
import { findAnnotatorStatus } from '../library/annotator/active-annotator.ts'
import { describeVectors, findVectorStatus } from '../library/frames/vectors.ts'
import { countJobs, type JobCounts, remaining } from '../queue/job-counts.ts'
import { QUEUES, type QueueName } from '../queue/jobs.ts'
import type { Queues } from '../queue/queues.ts'
import { answers, type CommandContext, type Result } from './context.ts'
import { addExamples, ageOf, type Line } from './terminal.ts'
import { describeAnnotator } from './videos.ts'

/** Readers of the event log wait for the oldest open transaction. Up to this time that is usual and not shown. */
const USUAL_WAIT_MS = 10_000

export function defineQueues(command: Command): void {
  answers(
    addExamples(command, 'queues', 'queues --drain').option('--drain', 'wait until every queue is empty'),
    showQueues,
  )
}

export const definePause = (command: Command) => defineSwitch(command, 'pause')
export const defineResume = (command: Command) => defineSwitch(command, 'resume')

function defineSwitch(command: Command, name: 'pause' | 'resume'): void {
  answers(
    addExamples(command, name, `${name} ingest ingest-backfill`).addArgument(
      new Argument('[queue...]', 'queues (default: all)').choices(QUEUES),
    ),
    async ({ openQueues }, given: QueueName[]) => {
      const queues = await openQueues()
      const names = given.length > 0 ? given : [...QUEUES]
      await queues.ready()
      for (const queue of names) await (name === 'pause' ? queues.get(queue).pause() : resume(queues, queue))
      const done = name === 'pause' ? 'Paused' : 'Resumed'
      return [{ queues: names, paused: name === 'pause' }, () => `${done}: ${names.join(', ')}`]
    },
  )
}

async function resume(queues: Queues, name: QueueName): Promise<void> {
  await queues.get(name).resume()
  // Also ends the delay after a refused key or a spent budget.
  await queues.get(name).removeRateLimitKey()
}

async function showQueues({ db, config, openQueues }: CommandContext, { drain }: { drain?: boolean }): Promise<Result> {
  const queues = await openQueues()
  await queues.ready()
  let counts = await countJobs(queues)
  while (drain && counts.some((queue) => remaining(queue) > 0)) {
    await sleep(500)
    counts = await countJobs(queues)
  }
  const annotator = await findAnnotatorStatus(db)
  const { embed } = config
  const meaning = embed ? await findVectorStatus(db, spaceOf(embed), embed.price) : null
  const outages = await listOutages(db)
  const held = await findHeldBack(db)
  const heldBack = held && { events: held.events, since: held.since.toISOString() }
  const lines = () => [
    ...counts.map(toLine),
    ...describeAnnotator(annotator, config),
    ...(meaning ? describeVectors(meaning) : []),
    ...outages.map(describeOutage),
    ...(held && Date.now() - held.since.getTime() > USUAL_WAIT_MS ? [describeHeldBack(held)] : []),
  ]
  return [{ queues: counts, annotator, meaning, outages: outages.map(toOutage), events_held_back: heldBack }, lines]
}

function toLine(counts: JobCounts): string {
  const parts = [`${String(remaining(counts)).padStart(6)} to do`, `${counts.active} running`]
  if (counts.failed > 0) parts.push(`${counts.failed} failed`)
  if (counts.paused) parts.push('paused')
  if (counts.rests_ms > 0) parts.push(`waits ${Math.ceil(counts.rests_ms / 1000)} s`)
  return `${counts.queue.padEnd(18)} ${parts.join(', ')}`
}

type Outage = Awaited<ReturnType<typeof listOutages>>[number]

function toOutage({ consumer, of, since, lastAttempt, attempts }: Outage) {
  return { consumer, of, since, last_attempt: lastAttempt, attempts }
}

function describeOutage({ consumer, of, since, lastAttempt, attempts }: Outage): Line {
  const tried = `${plural(attempts, 'attempt')}, the last ${ageOf(lastAttempt)} ago`
  return [{ text: `! ${of} unavailable since ${since}, ${tried}. ${consumer} waits for it.`, style: 'yellow' }]
}

function describeHeldBack({ events, since }: { events: number; since: Date }): string {
  return (
    `! ${events} events have waited since ${since.toISOString()} for an open transaction on this PostgreSQL server.` +
    ' See pg_stat_activity (backend_xid) and pg_prepared_xacts.'
  )
}
