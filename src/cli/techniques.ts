import type { Command } from 'commander'
import { asc } from 'drizzle-orm'
import { type TechniqueRow, techniques } from '../db/schema/techniques.ts'
import { adoptProposals, dismissSuggestion, listSuggestions } from '../library/frames/technique-suggestions.ts'
import {
  addTechnique,
  editTechnique,
  mergeTechnique,
  renameTechnique,
  retireTechnique,
} from '../library/techniques/techniques.ts'
import { type CommandContext, print, withContext } from './context.ts'

/** `frames techniques …`: the governed vocabulary. */
export function addTechniqueCommands(program: Command): void {
  const group = program
    .command('techniques')
    .description('the vocabulary of techniques: list, add, edit, rename, merge, retire, review what models proposed')

  group
    .command('list', { isDefault: true })
    .description('the whole vocabulary')
    .option('--json', 'one JSON object')
    .action((options: { json?: boolean }) =>
      withContext(async ({ db }) => {
        const rows = await db.select().from(techniques).orderBy(asc(techniques.slug))
        print(options.json, { techniques: rows.map(toEntry) }, () =>
          rows.map(
            (row) => `${row.slug.padEnd(28)} ${row.retiredAt ? '(retired) ' : ''}${row.name}: ${row.description}`,
          ),
        )
      }),
    )

  const change = (
    usage: string,
    description: string,
    act: (context: CommandContext, args: string[], options: Edit) => Promise<TechniqueRow>,
    setup: (command: Command) => Command = (command) => command,
  ) =>
    setup(group.command(usage).description(description).option('--json', 'one JSON object')).action(
      (...given: unknown[]) => {
        const command = given.at(-1) as Command
        const options = command.opts<Edit & { json?: boolean }>()
        return withContext(async (context) => {
          const row = await act(context, command.args, options)
          const adopted = await adoptProposals(context.db)
          print(options.json, { technique: toEntry(row), adopted_frames: adopted }, () => [
            `${row.slug}: ${row.name}${row.retiredAt ? ' (retired)' : ''}`,
            ...(adopted > 0 ? [`${adopted} frames take the technique that their model proposed`] : []),
          ])
        })
      },
    )

  interface Edit {
    name?: string
    description?: string
    recognise?: string
    alias?: string[]
  }
  const edits = (command: Command) =>
    command
      .option('--name <text>', 'its name')
      .option('--description <text>', 'what it is')
      .option('--recognise <text>', 'how to see it in one frame')
      .option('--alias <slug...>', 'other words for it')
  const toEdit = ({ name, description, recognise, alias }: Edit) => ({
    ...(name === undefined ? {} : { name }),
    ...(description === undefined ? {} : { description }),
    ...(recognise === undefined ? {} : { recognise }),
    ...(alias === undefined ? {} : { aliases: alias }),
  })

  change(
    'add <slug>',
    'a new technique; frames whose model proposed it take it',
    ({ db }, [slug], options) =>
      addTechnique(db, {
        slug: slug!,
        name: options.name ?? slug!,
        description: options.description ?? options.name ?? slug!,
        ...toEdit(options),
      }),
    edits,
  )
  change(
    'edit <slug>',
    'change name, description, how to recognise it, aliases',
    ({ db }, [slug], options) => editTechnique(db, slug!, toEdit(options)),
    edits,
  )
  change('rename <slug> <new-slug>', 'frames follow; the old slug goes on working', ({ db }, [slug, to]) =>
    renameTechnique(db, slug!, to!),
  )
  change(
    'merge <slug> <into>',
    'all frames of one become frames of the other; the old slug leads there',
    ({ db }, [slug, into]) => mergeTechnique(db, slug!, into!),
  )
  change('retire <slug>', 'takes no new frames', ({ db }, [slug]) => retireTechnique(db, slug!))
  change('restore <slug>', 'takes frames again', ({ db }, [slug]) => retireTechnique(db, slug!, false))

  group
    .command('suggestions')
    .description('what models proposed outside the vocabulary, most frequent first')
    .option('--dismiss <slug>', 'turn one down')
    .option('--json', 'one JSON object')
    .action((options: { dismiss?: string; json?: boolean }) =>
      withContext(async ({ db }) => {
        if (options.dismiss) await dismissSuggestion(db, options.dismiss)
        const list = await listSuggestions(db)
        print(options.json, { suggestions: list }, () =>
          list.length === 0
            ? 'Nothing waits for review.'
            : list.map(
                (entry) =>
                  `${String(entry.count).padStart(5)}  ${entry.slug}  ${entry.frame_ids.slice(0, 3).join(' ')}`,
              ),
        )
      }),
    )
}

function toEntry(row: TechniqueRow) {
  return {
    slug: row.slug,
    name: row.name,
    description: row.description,
    recognise: row.recognise,
    aliases: row.aliases,
    retired: row.retiredAt !== null,
  }
}
