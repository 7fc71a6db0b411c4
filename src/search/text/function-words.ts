import { fold } from './fold.ts'
import { foreignFunctionWords, particles } from './foreign-words.ts'

/** Words that carry no meaning by themselves, and how people ask for pictures: they weigh nothing in a question. */

const WORDS = `
  a an the this that these those it its he she they them his her their we us our you your i me my
  is are was were be been being am do does did has have had can could will would should may might
  of on in at to for from by with into onto as and or so than then
  which who whom whose what where when how why there here
  some any every each please just also very only someone somebody anyone
`
/** What the library holds, and what is asked of it. */
const REQUESTS = `
  show, show me, show us, find, find me, give me, get me, search for, look for, looking for, i want, i need,
  something, something like, example of, examples of, example, examples, frame of, frames of, frame with, frames with,
  frames where, frames that, shot of, shots of, shot with, shots with, image of, images of, picture of, pictures of,
  screenshot of, screenshots of, scene with, scenes with, scene of, scenes of, video of, videos of, clip of, clips of,
  frames, shots, scenes, clips, videos, films, images, pictures, stills, film stills, in frame, in the frame, in shot,
  in the shot, in the picture, launch video, launch videos, launch film, launch films, product video, product videos,
  product film, product films, lots of, a lot of, plenty of, in front of, look like,
  looks like, showing, featuring, containing, using, van een, van het, van de
`

/** What follows a word that names an attribute and adds nothing: a macro shot, a dark background. */
const GENERIC_WORDS = 'shot|frame|scene|clip|image|picture|still|background|backdrop|bg|tone|hue|shade|colou?r'
const GENERIC_ELSEWHERE = 'hintergrund|fond|fondo|fundo|sfondo|achtergrond|tlo|背景|배경'
const GENERIC = new RegExp(`^(?:(?:${GENERIC_WORDS})s?|${GENERIC_ELSEWHERE})$`)

const FUNCTION_WORDS: ReadonlySet<string> = new Set([...WORDS.trim().split(/\s+/), ...foreignFunctionWords().map(fold)])
const PARTICLES = new RegExp(`^(?:${particles().join('|')})+$`)
const REQUEST_PHRASES: ReadonlySet<string> = new Set(REQUESTS.trim().split(/,\s+/))

export const isFunctionWord = (word: string): boolean => FUNCTION_WORDS.has(word) || PARTICLES.test(word)

export const isGeneric = (word: string): boolean => GENERIC.test(word)

/** Longest request phrase, in words. */
export const MAX_REQUEST = 3
export const isRequest = (phrase: string): boolean => REQUEST_PHRASES.has(phrase)
