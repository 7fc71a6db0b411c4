import type { Command } from 'commander'
import { techniqueEndpoints } from '../api/techniques.ts'
import type { TechniqueRow } from '../db/schema/techniques.ts'
import { describeTechnique } from '../library/techniques/techniques.ts'
import { loadVocabulary } from '../library/techniques/vocabulary.ts'
import { answers } from './context.ts'
import { defineOperations } from './operations.ts'
import { addExamples, type Column, table } from './terminal.ts'

const TEXTS = ['name', 'description', 'recognise', 'aliases']

/** `frames techniques …`: the governed vocabulary. */
export function defineTechniques(group: Command): void {
  answers(group.command('list', { isDefault: true }).description('list all techniques'), async ({ db }) => {
    const rows = [...(await loadVocabulary(db)).bySlug.values()]
    return [{ techniques: rows.map(describeTechnique) }, () => table(rows, COLUMNS)]
  })
  const updates = { of: 'updateTechnique', options: [] }
  defineOperations(group, techniqueEndpoints, {
    add: { of: 'addTechnique', args: ['slug'] },
    edit: {
      of: 'updateTechnique',
      description: 'change the name, the description, how to recognise it or the aliases',
      options: TEXTS,
    },
    rename: {
      ...updates,
      description: 'change the slug, also on frames (the old slug redirects to the new one)',
      args: ['slug'],
    },
    merge: { of: 'mergeTechnique', args: ['into'] },
    retire: { ...updates, description: 'give the technique to no more frames', fixed: { retired: true } },
    restore: { ...updates, description: 'undo retire', fixed: { retired: false } },
    suggestions: { of: 'listTechniqueSuggestions', columns: ['count', 'slug', SUCH_AS] },
    dismiss: { of: 'dismissTechniqueSuggestion', said: 'dismissed' },
  })
  addExamples(group, ...EXAMPLES)
}

const EXAMPLES = [
  'techniques list --json',
  'techniques add split-screen --name "Split screen" --aliases side-by-side',
  'techniques edit split-screen --description "Two pictures side by side"',
  'techniques rename old-slug new-slug',
  'techniques merge old-slug kept-slug',
  'techniques retire old-slug',
  'techniques restore old-slug',
  'techniques suggestions',
  'techniques dismiss some-proposal',
]

const COLUMNS: Column<TechniqueRow>[] = [
  { heading: 'SLUG', cell: ({ slug, retiredAt }) => ({ text: slug, style: retiredAt ? 'dim' : undefined }) },
  {
    heading: 'NAME',
    cell: ({ name, description, retiredAt }) => `${retiredAt ? '(retired) ' : ''}${name}: ${description}`,
  },
]

const SUCH_AS: Column<{ frame_ids: string[] }> = {
  heading: 'SUCH AS',
  cell: ({ frame_ids }) => frame_ids.slice(0, 3).join(' '),
}
