import type { Command } from 'commander'
import { asc } from 'drizzle-orm'
import { type TechniqueRow, techniques } from '../db/schema/techniques.ts'
import {
  adoptProposals,
  dismissSuggestion,
  listSuggestions,
  type Suggestion,
} from '../library/frames/technique-suggestions.ts'
import {
  addTechnique,
  describeTechnique,
  editTechnique,
  mergeTechnique,
  renameTechnique,
  retireTechnique,
} from '../library/techniques/techniques.ts'
import { answers, type CommandContext, type Result } from './context.ts'
import { addExamples, type Column, table } from './terminal.ts'

interface Edit {
  name?: string
  description?: string
  recognise?: string
  alias?: string[]
}

interface Change {
  usage: string
  description: string
  act: (context: CommandContext, args: string[], options: Edit) => Promise<TechniqueRow>
  /** Takes --name, --description, --recognise and --alias. */
  editable?: boolean
}

const CHANGES: Change[] = [
  {
    usage: 'add <slug>',
    description: 'add a technique (frames for which a model proposed it take it)',
    editable: true,
    act: ({ db }, [slug], options) => {
      const name = options.name ?? slug!
      return addTechnique(db, { slug: slug!, name, description: options.description ?? name, ...toEdit(options) })
    },
  },
  {
    usage: 'edit <slug>',
    description: 'change the name, the description, how to recognise it or the aliases',
    editable: true,
    act: ({ db }, [slug], options) => editTechnique(db, slug!, toEdit(options)),
  },
  {
    usage: 'rename <slug> <new-slug>',
    description: 'change the slug, also on frames (the old slug redirects to the new one)',
    act: ({ db }, [slug, to]) => renameTechnique(db, slug!, to!),
  },
  {
    usage: 'merge <slug> <into>',
    description: 'move all frames of one technique to another (the old slug redirects there)',
    act: ({ db }, [slug, into]) => mergeTechnique(db, slug!, into!),
  },
  {
    usage: 'retire <slug>',
    description: 'give the technique to no more frames',
    act: ({ db }, [slug]) => retireTechnique(db, slug!),
  },
  {
    usage: 'restore <slug>',
    description: 'undo retire',
    act: ({ db }, [slug]) => retireTechnique(db, slug!, false),
  },
]

/** `frames techniques …`: the governed vocabulary. */
export function defineTechniques(group: Command): void {
  answers(group.command('list', { isDefault: true }).description('list all techniques'), list)

  for (const change of CHANGES) addChange(group, change)

  answers(
    group
      .command('suggestions')
      .description('list techniques that models proposed outside the vocabulary, most frequent first')
      .option('--dismiss <slug>', 'reject a proposal'),
    reviewSuggestions,
  )
  addExamples(group, ...EXAMPLES)
}

const EXAMPLES = [
  'techniques list --json',
  'techniques add split-screen --name "Split screen" --alias side-by-side',
  'techniques edit split-screen --description "Two pictures side by side"',
  'techniques rename old-slug new-slug',
  'techniques merge old-slug kept-slug',
  'techniques retire old-slug',
  'techniques restore old-slug',
  'techniques suggestions',
  'techniques suggestions --dismiss some-proposal',
]

function addChange(group: Command, { usage, description, act, editable }: Change): void {
  const command = group.command(usage).description(description)
  if (editable)
    command
      .option('--name <text>', 'its name')
      .option('--description <text>', 'what it is')
      .option('--recognise <text>', 'how to recognise it in one frame')
      .option('--alias <slug...>', 'other words for it')
  answers(command, async (context) => {
    const row = await act(context, command.args, command.opts<Edit>())
    const adopted = await adoptProposals(context.db)
    const lines = [
      `${row.slug}: ${row.name}${row.retiredAt ? ' (retired)' : ''}`,
      ...(adopted > 0 ? [`${adopted} frames take the technique that their model proposed`] : []),
    ]
    return [{ technique: describeTechnique(row), adopted_frames: adopted }, () => lines]
  })
}

const COLUMNS: Column<TechniqueRow>[] = [
  { heading: 'SLUG', cell: ({ slug, retiredAt }) => ({ text: slug, style: retiredAt ? 'dim' : undefined }) },
  {
    heading: 'NAME',
    cell: ({ name, description, retiredAt }) => `${retiredAt ? '(retired) ' : ''}${name}: ${description}`,
  },
]

async function list({ db }: CommandContext): Promise<Result> {
  const rows = await db.select().from(techniques).orderBy(asc(techniques.slug))
  return [{ techniques: rows.map(describeTechnique) }, () => table(rows, COLUMNS)]
}

const SUGGESTED: Column<Suggestion>[] = [
  { heading: 'FRAMES', cell: ({ count }) => String(count), align: 'right' },
  { heading: 'SLUG', cell: ({ slug }) => slug },
  { heading: 'SUCH AS', cell: ({ frame_ids }) => frame_ids.slice(0, 3).join(' ') },
]

async function reviewSuggestions({ db }: CommandContext, { dismiss }: { dismiss?: string }): Promise<Result> {
  if (dismiss) await dismissSuggestion(db, dismiss)
  const suggestions = await listSuggestions(db)
  return [{ suggestions }, () => (suggestions.length > 0 ? table(suggestions, SUGGESTED) : 'Nothing waits for review.')]
}

function toEdit({ name, description, recognise, alias }: Edit) {
  return {
    ...(name === undefined ? {} : { name }),
    ...(description === undefined ? {} : { description }),
    ...(recognise === undefined ? {} : { recognise }),
    ...(alias === undefined ? {} : { aliases: alias }),
  }
}
