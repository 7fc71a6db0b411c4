import type { Command } from 'commander'
import { dropStyle, findStyle, takeStyle } from '../library/evaluation/house-style.ts'
import { withContext } from './context.ts'
import { addExamples } from './examples.ts'
import { CliError } from './failure.ts'
import { print } from './terminal.ts'

/** `frames style`: the corrections that models are shown as examples. */
export function defineStyle(command: Command): void {
  command
    .command('take')
    .description('show models the corrections made until now, from the next start of the workers')
    .option('--json', 'print one JSON object')
    .action(({ json }: { json?: boolean }) =>
      withContext(async ({ db }) => {
        const style = await takeStyle(db)
        if (!style) throw new CliError('Nobody has corrected a frame yet. Correct some, then take the style.')
        const { version, takenAt, corrections } = style
        print(json, { version, taken_at: takenAt, frames: corrections.length }, () => [
          `${corrections.length} corrected frames are the house style now (${version}).`,
          'Restart the workers to use it. Frames are described again only on request: frames reannotate.',
        ])
      }),
    )
  command
    .command('show')
    .description('say which style is taken')
    .option('--json', 'print one JSON object')
    .action(({ json }: { json?: boolean }) =>
      withContext(async ({ db }) => {
        const style = await findStyle(db)
        const shown = style && { version: style.version, taken_at: style.takenAt, frames: style.corrections.length }
        print(json, { style: shown ?? null }, () =>
          shown ? `${shown.version}: ${shown.frames} corrected frames, taken ${shown.taken_at}.` : 'No style is taken.',
        )
      }),
    )
  command
    .command('drop')
    .description('show models no examples, from the next start of the workers')
    .option('--json', 'print one JSON object')
    .action(({ json }: { json?: boolean }) =>
      withContext(async ({ db }) => {
        const dropped = await dropStyle(db)
        print(json, { dropped }, () => (dropped ? 'Dropped. Restart the workers.' : 'No style was taken.'))
      }),
    )
  addExamples(command, ...EXAMPLES)
}

const EXAMPLES = ['style take', 'style show', 'style drop', 'evaluate --style']
