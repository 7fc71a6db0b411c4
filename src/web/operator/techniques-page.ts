import { z } from 'zod'
import { operationOf } from '../../api/endpoints.ts'
import { toSlug } from '../../clean-text.ts'
import { listSuggestions, restoreSuggestion } from '../../library/frames/technique-suggestions.ts'
import {
  findTechniqueUsage,
  listTechniqueUsage,
  mergeTechnique,
  updateTechnique,
} from '../../library/techniques/techniques.ts'
import { loadVocabulary, requireSlug } from '../../library/techniques/vocabulary.ts'
import type { Parameters } from '../../parameters.ts'
import { type Actions, type Asked, field } from '../actions.ts'
import type { PageDeps } from '../page-deps.ts'
import { mergePage, type Pictures, techniquePage, techniquesPage } from './techniques-view.ts'

const parameters = {
  dismissed: { schema: z.string().regex(/^[a-z0-9-]{1,64}$/), description: 'Told: a suggestion that was dismissed.' },
} as const satisfies Parameters

/** `/operator/techniques`: the vocabulary and what models proposed outside of it. */
export function addTechniquePages(actions: Actions, deps: PageDeps): void {
  const { db } = deps
  actions.page('/operator/techniques', 'operator', { parameters, price: 'write' }, async ({ visitor, query }) => {
    const [usages, suggestions] = await Promise.all([listTechniqueUsage(db), listSuggestions(db)])
    const shown = suggestions.slice(0, SUGGESTIONS)
    const pictures = await picturesOf(deps, [
      ...shown.flatMap(({ frame_ids }) => frame_ids.slice(0, 6)),
      ...usages.flatMap(({ frameIds }) => frameIds.slice(0, 1)),
    ])
    const { dismissed } = query
    const more = suggestions.length - shown.length
    const given = { visitor, usages, suggestions: shown, more, pictures, dismissed }
    return { title: 'Techniques', ...shell, body: techniquesPage(given) }
  })

  actions.page(
    '/operator/techniques/:slug',
    'operator',
    { parameters: {}, price: 'search' },
    async ({ visitor, param }) => {
      const usage = await findTechniqueUsage(db, param('slug'))
      const others = (await loadVocabulary(db)).active.filter(({ slug }) => slug !== usage.technique.slug)
      const pictures = await picturesOf(deps, usage.frameIds)
      const body = techniquePage({ visitor, usage, others, pictures })
      return { title: usage.technique.name, ...shell, body }
    },
  )
  addChanges(actions, deps)
  addSuggestionActions(actions, deps)
}

const shell = { current: 'operator', wide: true } as const

/** Suggestions of one page, the most frequent first. */
const SUGGESTIONS = 50

async function picturesOf({ search, publicUrl }: PageDeps, ids: readonly string[]): Promise<Pictures> {
  const documents = await search.framesByIds([...new Set(ids)])
  return new Map(
    documents.map(({ id, thumb_path, caption }) => [id, { url: publicUrl + thumb_path, alt: caption ?? '' }]),
  )
}

/** `a, b` and one a line: other names as people write them. */
const namesOf = (text: string) => text.split(/[,\n]/).filter((name) => name.trim() !== '')

/** An empty rule of recognition stays as it is. */
const Texts = z.object({
  name: field.text,
  description: field.text,
  recognise: field.filled,
  aliases: field.text.transform(namesOf),
})
const NewTechnique = Texts.extend({ slug: field.filled }).transform(({ slug, ...texts }) => {
  return { ...texts, slug: slug ?? toSlug(texts.name) }
})
const Retire = z.object({ retired: field.choice })
const Merge = z.object({ into: field.text, sure: field.flag })

const toTechnique = (slug: string) => `/operator/techniques/${slug}`

function addChanges(actions: Actions, { db }: PageDeps): void {
  const who = 'operator'
  const [add, update] = [operationOf('addTechnique'), operationOf('updateTechnique')]
  const toSame = ({ param }: Asked) => toTechnique(param('slug'))
  actions.operation({ path: '/web/techniques', of: add, body: NewTechnique }, ({ body }) => toTechnique(body.slug))
  actions.operation({ path: '/web/techniques/:slug/edit', of: update, body: Texts }, toSame)
  actions.operation({ path: '/web/techniques/:slug/retire', of: update, body: Retire }, toSame)

  actions.action(
    { path: '/web/techniques/:slug/merge', who, price: 'heavy', body: Merge },
    async ({ visitor, body, param }) => {
      const { into, sure } = body
      const [from, target] = [await findTechniqueUsage(db, param('slug')), await findTechniqueUsage(db, into)]
      if (!sure) return { page: { title: 'Merge', current: 'operator', body: mergePage(visitor, from, target) } }
      await mergeTechnique(db, param('slug'), into)
      return { json: { into }, to: `/operator/techniques/${into}` }
    },
  )
}

function addSuggestionActions(actions: Actions, { db }: PageDeps): void {
  const who = 'operator'
  const dismissed = { path: '/web/suggestions/:slug/dismiss', of: operationOf('dismissTechniqueSuggestion') }
  actions.operation(dismissed, ({ param }) => `/operator/techniques?dismissed=${param('slug')}`)

  actions.action({ path: '/web/suggestions/:slug/restore', who }, async ({ param }) => {
    await restoreSuggestion(db, param('slug'))
    return { json: { ok: true }, to: '/operator/techniques' }
  })

  // The proposal is another name of what there is: its frames follow.
  const Of = z.object({ of: field.text.transform(toSlug) })
  actions.action({ path: '/web/suggestions/:slug/alias', who, body: Of }, async ({ body, param }) => {
    const { technique } = await findTechniqueUsage(db, body.of)
    const aliases = [...technique.aliases, requireSlug(param('slug'))]
    const { adopted } = await updateTechnique(db, technique.slug, { aliases })
    return { json: { adopted }, to: `/operator/techniques/${technique.slug}` }
  })
}
