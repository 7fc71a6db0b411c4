import { nameKey } from './tokens.ts'

/**
 * Words of texts that mean the same, as people ask for pictures: one line each. A question with one of them is also met
 * by a text with another. Only what can be exchanged in nearly every question stands here. A typo, another form of a
 * word or a spelling that differs in a letter (colour, color) needs no line. What stands before a `>` is a wider or
 * rarer word: texts meet it with the words behind, but not the other way round.
 */
const SAME = `
  phone, smartphone, mobile phone, mobile, cell phone, cellphone, iphone
  laptop, macbook, notebook computer
  tablet, ipad
  headphones, headset, earphones, earbuds
  tv, television
  man, guy, male, gentleman
  woman, lady, female, girl
  child, children, kid
  colleague, coworker, co worker, teammate
  developer, programmer, coder
  scientist, researcher
  robot, android, robotic
  cityscape, skyline
  cityscape, urban > city
  futuristic, sci fi, scifi, science fiction
  lab, laboratory
  office, workplace
  shop, store
  street, road
  car, automobile
  truck, lorry
  bike, bicycle
  plane, airplane, aeroplane, aircraft
  sneaker, trainers, running shoe
  cup, mug
  sofa, couch
  sea, ocean
  forest, woods, woodland
  sunset, dusk, golden hour
  dog, puppy
  cat, kitten
  film, movie
  photo, photograph
  drawing, sketch, sketchy, doodle, hand drawn, illustration
  handwritten, handwriting, written by hand
  minimal, minimalist, minimalistic
  negative space, white space, whitespace, empty space
  colourful, vibrant, vivid, multicoloured
  grey, gray
  big, large, huge, giant, oversized
  small, tiny, little
  applause, applauding, clapping, cheering
  smile, smiling, grin, laughing
  explosion, exploding, blast
  countdown, timer, stopwatch
  price, pricing
  cursor, mouse cursor, mouse pointer, pointer, mouse
  spinner, loader, loading bar, progress bar, loading
  popup, pop up, modal, dialog
  dropdown, drop down
  notification, alert, toast
  sign in, signin, log in, login
  ai, artificial intelligence
  chatbot, chat bot, assistant
  lightbulb, light bulb
  globe, world map
  rubbish, trash, garbage
  beverage, drink > coffee, tea, juice
  vehicle > car, truck, bus, bike
  animal > dog, cat, bird, horse, fish
  plant > flower, tree, leaf
  nature > flower, tree, leaf, forest, sea, mountain
  buildings > tower, house, skyscraper
  liquid > water, coffee, tea, juice, milk
  food > bread, pizza, fruit, cake
`

const OTHERS: ReadonlyMap<string, readonly string[]> = othersOf(
  SAME.trim()
    .split('\n')
    .map((line) => line.split('>').map((part) => part.split(',').map((phrase) => nameKey(phrase)))),
)

/** What means the same as these words in a row, as words in a row; also for a plural. */
export function sameAs(phrase: string): string[][] {
  const others = OTHERS.get(phrase) ?? (/[a-z]{3}s$/.test(phrase) ? OTHERS.get(phrase.slice(0, -1)) : undefined)
  return (others ?? []).map((other) => other.split(' '))
}

/** Every phrase of the list, and its plural. */
export const sameWords = (): string[] => [...OTHERS.keys()].flatMap((phrase) => [phrase, pluralOf(phrase) ?? []].flat())

/** What is asked for, with what else meets it. A line without `>` is both. */
function othersOf(lines: readonly (readonly (readonly string[])[])[]): Map<string, readonly string[]> {
  const others = new Map<string, readonly string[]>()
  for (const [asked = [], meeting = asked] of lines)
    for (const phrase of asked) {
      const same = meeting.filter((other) => other !== phrase).flatMap((other) => [other, pluralOf(other) ?? []].flat())
      others.set(phrase, [...new Set([...(others.get(phrase) ?? []), ...same])])
    }
  return others
}

/** Of a noun of one word; undefined for what has none. */
function pluralOf(phrase: string): string | undefined {
  if (!/^[a-z]+$/.test(phrase) || /(?:s|ic|ist|al|ul|ing|children)$/.test(phrase)) return undefined
  return /[^aeiou]y$/.test(phrase) ? `${phrase.slice(0, -1)}ies` : `${phrase}s`
}
