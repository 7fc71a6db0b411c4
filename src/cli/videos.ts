import type { Command } from 'commander'
import type { VideoRow } from '../db/schema/videos.ts'
import { AppError } from '../errors.ts'
import { cancelVideo, deleteVideo, retryVideo } from '../library/videos/lifecycle.ts'
import { type CommandContext, print, withContext } from './context.ts'

interface ChangeOptions {
  again?: boolean
  json?: boolean
}

interface Result {
  id: string
  status?: string
  error?: string
}

/** Changes one video. Gives its row, or nothing when it was deleted. */
type Change = (context: CommandContext, id: string, options: ChangeOptions) => Promise<VideoRow | undefined>

/** `frames retry | cancel | delete`: each takes several videos and goes on after one that cannot be changed. */
export function addVideoCommands(program: Command): void {
  const retry: Change = ({ db }, id, { again }) => retryVideo(db, id, { again: again ?? false })
  addChange(program, 'retry', 'put failed or cancelled videos back into the queue', retry).option(
    '--again',
    'ready videos too, for a newer detector (frames that people saved, pinned or corrected stay)',
  )
  addChange(program, 'cancel', 'stop processing videos', ({ db }, id) => cancelVideo(db, id))
  addChange(program, 'delete', 'delete videos with their frames, saves and pins', async ({ db }, id) => {
    await deleteVideo(db, id)
    return undefined
  })
}

function addChange(program: Command, name: string, description: string, change: Change): Command {
  return program
    .command(name)
    .description(description)
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
  if (!options.json) for (const result of results) if (result.error) console.error(toLine(result))
  if (options.json || changed.length > 0) print(options.json, { videos: results }, () => changed.map(toLine))
}

function toLine({ id, status, error }: Result): string {
  return `${id}  ${error ?? status}`
}
