import type { LibrarySearch, ReadAs } from '../search/library-search.ts'
import { tokenize } from '../search/text/tokens.ts'
import { capitalized, type Html, html } from './html.ts'

/** What the wall says about the words that were typed. */

/** Of each kind. */
const MOST_NAMED = 3
/** Longer texts are no beginnings of names. */
const LONGEST_NAME = 80

interface Named {
  kind: 'technique' | 'brand' | 'film'
  name: string
  href: string
}

/** Techniques, brands and films whose names have every word that was typed, or its beginning. */
export async function findNamed(search: LibrarySearch, q: string): Promise<Named[]> {
  const typed = tokenize(q).map(({ word }) => word)
  if (typed.length === 0 || q.length > LONGEST_NAME) return []
  const { techniques, brands, videos } = await search.search({ q, limit: MOST_NAMED, namesOnly: true })
  const named: Named[] = [
    ...techniques.flatMap(({ document: { slug, name, frame_count } }): Named[] => {
      return frame_count > 0 ? [{ kind: 'technique', name: capitalized(name), href: `/techniques/${slug}` }] : []
    }),
    ...brands.map(({ document: { name } }): Named => {
      return { kind: 'brand', name, href: `/brands/${encodeURIComponent(name)}` }
    }),
    ...videos.map(({ document: { id, title } }): Named => ({ kind: 'film', name: title, href: `/videos/${id}` })),
  ]
  return named.filter(({ name }) => {
    const words = tokenize(name).map(({ word }) => word)
    return typed.every((one) => words.some((word) => word.startsWith(one)))
  })
}

/** One line above the frames: it covers none of them. */
export function namedLine(named: readonly Named[]): Html {
  const links = named.map(
    ({ kind, name, href }) =>
      html`<li><a class="choice" href="${href}">${name} <span class="n">${kind}</span></a></li>`,
  )
  return html`<ul class="named" id="named" aria-label="Called so">${links}</ul>`
}

/** How a search tells that it found another word for one that the library lacks. */
const GUESS = /^(?:typo|beginning|part) of (.+)$/

/** What was looked for instead of what was typed, and whether no frame has it all. `exact`: an address. */
export function readingLine({ words, without, let_go }: ReadAs, exact: (q: string) => string): Html | false {
  const guesses = words.flatMap(({ word, as }) => {
    const meant = as.map((one) => GUESS.exec(one)?.[1]).find((one) => one !== undefined)
    return meant === undefined ? [] : [{ word, meant }]
  })
  const isClose = let_go.some((word) => !guesses.some((one) => one.word === word))
  if (guesses.length === 0 && !isClose) return false
  const quoted = (word: string) => (word.startsWith('"') ? word : `"${word}"`)
  const asTyped = [...words.map(({ word }) => quoted(word)), ...without.map((word) => `-${quoted(word)}`)].join(' ')
  return html`<p class="reading">${
    guesses.length > 0 &&
    html`Showing ${guesses.map(({ meant }, n) => html`${n > 0 && ', '}<b>${meant}</b>`)}.
<a href="${exact(asTyped)}">Only ${guesses.map(({ word }) => `“${word}”`).join(', ')}</a> `
  }${isClose && 'No frame has all of these. Closest:'}</p>`
}

/** Why meaning adds nothing to the words. */
export const WORDS_ALONE: Record<string, Html> = {
  unavailable: html`<p class="reading">Found by words alone. <a href="">Search again</a> by meaning too.</p>`,
  'english only': html`<p class="reading">Found by words alone: the text model reads English.</p>`,
}
