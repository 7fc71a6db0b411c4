import type { Command } from 'commander'
import type { VideoRow } from '../db/schema/videos.ts'
import { AppError } from '../errors.ts'
import { cancelVideo, deleteVideo, retryVideo, whatGoesWith } from '../library/videos/lifecycle.ts'
import { count, requireConsent } from './consent.ts'
import { type CommandContext, withContext } from './context.ts'
import { addExamples } from './examples.ts'
import { complain, print } from './terminal.ts'

interface ChangeOptions {
  again?: boolean
  yes?: boolean
  json?: boolean
}

interface Result {
  id: string
  status?: string
  error?: string
}

/** Changes one video. Gives its row, or nothing when it was deleted. */
type Change = (context: CommandContext, id: string, options: ChangeOptions) => Promise<VideoRow | undefined>

// `frames retry | cancel | delete` take several videos and go on after one that cannot be changed.

export function defineRetry(command: Command): void {
  addExamples(command, 'retry <video>', 'retry --again <video>')
  defineChange(command, ({ db }, id, { again }) => retryVideo(db, id, { again: again ?? false })).option(
    '--again',
    'ready videos too, for a newer detector (frames that people saved, pinned or corrected stay)',
  )
}

export function defineCancel(command: Command): void {
  addExamples(command, 'cancel <video>')
  defineChange(command, ({ db }, id) => cancelVideo(db, id))
}

export function defineDelete(command: Command): void {
  addExamples(command, 'delete <video>', 'delete --yes <video>')
  const remove: Change = async ({ db }, id) => {
    await deleteVideo(db, id)
    return undefined
  }
  command
    .argument('<video...>', 'video ids')
    .option('-y, --yes', 'do not ask')
    .option('--json', 'print one JSON object')
    .action((ids: string[], options: ChangeOptions) =>
      withContext(async (context) => {
        await requireConsentTo(context, ids, options)
        await changeEach(context, ids, options, remove)
      }),
    )
}

/** Deletes nothing before it was said what goes with the videos. */
async function requireConsentTo(
  context: CommandContext,
  ids: readonly string[],
  { yes }: ChangeOptions,
): Promise<void> {
  const lost = await whatGoesWith(context.db, ids)
  // None of the ids is a video: the report of each says so.
  if (lost.videos === 0) return
  const people = lost.accounts > 0 ? ` of ${count(lost.accounts, 'account')}` : ''
  const parts = `${count(lost.frames, 'frame')}, ${count(lost.saves, 'save')} and ${count(lost.pins, 'pin')}`
  await requireConsent(`${count(lost.videos, 'video')} with ${parts}${people}`, yes)
}

function defineChange(command: Command, change: Change): Command {
  return command
    .argument('<video...>', 'video ids')
    .option('--json', 'print one JSON object')
    .action((ids: string[], options: ChangeOptions) =>
      withContext((context) => changeEach(context, ids, options, change)),
    )
}

async function changeEach(
  context: CommandContext,
  ids: readonly string[],
  options: ChangeOptions,
  change: Change,
): Promise<void> {
  const results: Result[] = []
  for (const id of ids) {
    try {
      const row = await change(context, id, options)
      results.push({ id, status: row?.status ?? 'deleted' })
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      results.push({ id, error: error.message })
      process.exitCode = 1
    }
  }
  const changed = results.filter((result) => !result.error)
  if (!options.json) for (const result of results) if (result.error) complain(toLine(result))
  if (options.json || changed.length > 0) print(options.json, { videos: results }, () => changed.map(toLine))
}

function toLine({ id, status, error }: Result): string {
  return `${id}  ${error ?? status}`
}
