import type { DerivedName, DerivedValue, ListedName, StoredValue } from '../vocabulary.ts'
import { PLAIN_COLORS } from '../vocabulary.ts'

/**
 * The words that people use for the values of attributes, with their synonyms and forms: one table for every search.
 * A phrase that holds a function word ("on black") is met in full. Any other is also met with function words between
 * ("talking to the camera" for "talking camera"). Plurals in -s need no entry of their own.
 */

/** The names of colours in a palette, then what the picture as a whole is called by its colours. */
export const COLOR_NAMES = [...PLAIN_COLORS, 'warm', 'cool', 'pastel', 'vivid', 'monochrome'] as const
export type ColorName = (typeof COLOR_NAMES)[number]

/** Values that no word names are left out. */
type DerivedWords = { [N in Exclude<DerivedName, 'described'>]: Partial<Record<DerivedValue<N>, string>> }

type ListedWords = { [N in ListedName]: Record<Exclude<StoredValue<N>, 'none'>, string> }

interface AttributeWords extends DerivedWords, ListedWords {
  technique: Record<string, string>
  color: Record<ColorName, string>
}

/** A colour, and the ground that is called by it. */
function onBackground(...colors: readonly string[]): string {
  return colors.flatMap((color) => [color, `${color} background`, `${color} backdrop`, `on ${color}`]).join(', ')
}

const FACE = 'face, faces, '
const LEFT = 'left, left side, '
const RIGHT = 'right, right side, '
const CENTER = 'center, centre, centered, centred, '
const TOP = 'top, upper, '
const MIDDLE = 'middle, '
const BOTTOM = 'bottom, lower, '

export const ATTRIBUTE_WORDS: AttributeWords = {
  subject: {
    presenter: `presenter, person, people, human, host, speaker, narrator, spokesperson, presenting, presents,
      talking, talks, speaking, speaks, talking head, talking camera, talks camera, speaking camera, speaks camera,
      looking camera, facing camera, addressing camera, to camera, portrait`,
    ui: 'ui, user interface, interface, app, app screen, application, gui, screen, screenshot, screen shot',
    product: 'product, product shot',
    terminal: 'terminal, command line, commandline, command prompt, console, shell, cli, bash',
    'text-card': `text card, textcard, card, title card, title, headline, heading, tagline, slogan, statement, text,
      big text, large text, text on screen, on screen text, on screen words, words on screen, typography, lettering`,
    'b-roll': 'b roll, broll, footage, stock footage, cutaway',
    chart: 'chart, graph, plot, data visualization, data visualisation, data viz, dataviz, infographic, diagram',
    logo: 'logo, logotype, wordmark, brand mark, brandmark',
    crowd: 'crowd, crowded, audience, people, group, group of people, many people, lots of people, spectators',
  },
  surface: {
    camera: 'camera, live action, filmed, real footage',
    'screen-recording': `screen recording, screen capture, screencast, screengrab, screen grab, recorded screen,
      captured screen, screen, screenshot, screen shot`,
    'motion-graphics':
      'motion graphics, motion graphic, motion design, mograph, animation, animated, 2d animation, cartoon',
    '3d-render': `3d render, 3d rendering, 3d rendered, 3d, 3d animation, 3 d, 3 d render, 3 d rendering, 3 d rendered,
      three dimensional, cgi, render, rendered, rendering, animation, animated, cartoon`,
    slide: 'slide, presentation slide, slide deck, deck, powerpoint',
    mixed: 'mixed media, mixed, composite',
  },
  shot: {
    'no-face': 'no face, no faces, without face, without faces, faceless, no person, no people, nobody, no presenter',
    'corner-inset': `${FACE} corner inset, inset, face cam, facecam, webcam bubble, webcam corner, face corner,
      person corner, presenter corner, in corner, in the corner, in a corner, picture in picture, pip,
      webcam overlay, camera bubble, face bubble, speaker bubble, presenter bubble, talking head bubble`,
    'wide-presenter': `${FACE} wide shot, wide, wide presenter, wide angle, long shot, full body, full shot`,
    'medium-presenter': `${FACE} medium shot, medium, medium presenter, mid shot, waist up, from the waist up,
      half body`,
    'close-presenter': `${FACE} close up, closeup, close shot, close presenter, tight shot, headshot, head shot,
      extreme close up, tight framing, tightly framed, head and shoulders, portrait`,
  },
  technique: {
    'before-after': 'before after, before and after, then and now, comparison, comparing, versus, vs',
    'big-number':
      'big number, big bold number, huge number, large number, number, percentage, stat, stat card, statistic, ' +
      'metric, kpi, key figure',
    'burned-in-captions':
      'burned in captions, subtitles, subtitle, subtitled, captioned, open captions, closed captions',
    'chart-growth': 'animated chart, animated graph, growing chart, growing graph',
    'chat-thread': 'chat, chat thread, chat bubble, message bubble, messaging, conversation',
    'checklist-build': `checklist, bullet, bullet point, bullet list, bulleted list, feature list, list of features,
      to do list`,
    'code-reveal': 'code, code reveal, code walkthrough, source code, code editor',
    'cursor-choreography': `animated cursor, moving cursor, mouse cursor, mouse pointer, cursor clicking,
      cursor movement`,
    'customer-testimonial': 'testimonial, customer testimonial, customer story, customer quote',
    'device-mockup': 'mockup, device mockup, phone mockup, laptop mockup, device frame',
    'drone-establishing':
      'aerial, aerial shot, aerial view, drone, drone shot, establishing, establishing shot, from above, birds eye',
    'end-card': `end card, end screen, end frame, end title, outro, ending, ends, at the end, closing, closing card,
      closing shot, closing title, closing screen, call to action card, call to action, cta, final frame,
      last frame, final shot,
      last shot, final second, last second`,
    'fade-through-black': `fade through black, fades through black, fade to black, fades to black, fading to black,
      dip to black`,
    'gradient-wash': 'gradient, gradient background, mesh gradient',
    'hands-at-work': 'hands, hands at work, hands close up',
    'hero-product-shot': 'hero shot, product shot, beauty shot, packshot, pack shot',
    'in-hand-device': 'phone in hand, holding phone, hand holding phone, hands on device, device in hand',
    'kinetic-type': `kinetic type, kinetic typography, animated typography, animated text, animated type, moving text,
      moving type, text animation, type animation, typing animation, typewriter effect`,
    'logo-reveal': 'logo reveal, logo animation, animated logo, logo sting, logo intro, animation logo',
    'logo-wall': 'logo wall, customer logos, wall of logos, grid of logos, logo grid',
    'lower-third': 'lower third, name tag, name strap, caption band, chyron, subtitled, captioned',
    'macro-detail': 'macro, macro shot, macro detail, extreme close up, close up, closeup, close shot, detail shot',
    'map-flyover': 'map, world map, map animation',
    'notification-cascade': 'notification, notifications, alerts',
    'picture-in-picture': `picture in picture, pip, webcam bubble, corner inset, face cam, facecam, webcam corner,
      webcam overlay, camera bubble, face bubble, speaker bubble, presenter bubble, talking head bubble`,
    'quote-card': 'quote, quote card, quotation, pull quote, customer quote',
    'reaction-shot': 'reaction, reaction shot, reacting',
    'screen-walkthrough': 'walkthrough, walk through, screen walkthrough, product tour, screencast, demo recording',
    'shallow-focus-b-roll': `shallow focus, shallow depth of field, depth of field, bokeh, soft focus,
      blurred background, blurry background, background blur, out of focus background`,
    'split-screen': 'split screen, splitscreen, side by side, two halves',
    'stage-keynote': 'keynote, stage keynote, on stage, on a stage, conference talk, conference stage',
    'stop-motion': 'stop motion, claymation, clay animation, puppet animation',
    'street-interview': 'street interview, interview street, vox pop, man on the street',
    'talking-head': `talking head, talking camera, talks camera, speaking camera, speaks camera, direct address,
      to camera`,
    'terminal-typing': 'terminal typing, cli demo, command line demo, typing, typing commands, typing animation',
    'timeline-scrub': 'timeline, roadmap',
    'time-lapse': 'time lapse, timelapse, hyperlapse',
    'title-card': 'title card, title, headline, chapter title, intertitle',
    'two-hander': 'two hander, two shot, two people, two persons, two presenters, two speakers, two hosts',
    turntable: 'turntable, rotating product, spinning product, product spin, rotating object, 360 spin',
  },
  zone: {
    'top-left': `${TOP} ${LEFT} top left, upper left`,
    'top-center': `${TOP} ${CENTER} top center, top centre, upper center`,
    'top-right': `${TOP} ${RIGHT} top right, upper right`,
    'middle-left': `${MIDDLE} ${LEFT} middle left`,
    'middle-center': `${MIDDLE} ${CENTER} middle center, middle centre, dead center`,
    'middle-right': `${MIDDLE} ${RIGHT} middle right`,
    'bottom-left': `${BOTTOM} ${LEFT} bottom left, lower left`,
    'bottom-center': `${BOTTOM} ${CENTER} bottom center, bottom centre, lower center`,
    'bottom-right': `${BOTTOM} ${RIGHT} bottom right, lower right`,
  },
  tone: {
    dark: `dark, darker, dark background, dark mode, dark theme, black background, on black, on a black, over black,
      on dark, on a dark, low key, dim, dimly lit, moody, night, nighttime, night time`,
    bright: `bright, brighter, bright background, light, light background, light mode, light theme, white background,
      on white, on a white, over white, on light, on a light, high key, sunlit, sunny, brightly lit`,
  },
  kind: {
    cut: 'cut, hard cut, shot change, scene change',
    beat: 'beat, time sample',
    intro: `intro, opening, opener, opens, opening frame, opening shot, opening scene, opening title, first frame,
      beginning, at the start, start, starts, starting, first seconds, first two seconds,
      first few seconds, first five seconds, hook`,
  },
  platform: {
    youtube: 'youtube, yt, on youtube, from youtube',
    x: 'twitter, tweet, on x, from x, x post, on twitter, from twitter',
    linkedin: 'linkedin, on linkedin, from linkedin',
    vimeo: 'vimeo, on vimeo, from vimeo',
    web: 'on the web, from the web',
  },
  color: {
    black: 'black, black background, black backdrop',
    grey: onBackground('grey', 'gray', 'silver'),
    white: 'white, white background, white backdrop',
    red: onBackground('red', 'crimson', 'scarlet'),
    orange: onBackground('orange', 'amber'),
    yellow: onBackground('yellow', 'gold', 'golden'),
    green: onBackground('green', 'mint', 'lime'),
    teal: onBackground('teal', 'cyan', 'turquoise'),
    blue: onBackground('blue', 'navy'),
    purple: onBackground('purple', 'violet', 'lilac'),
    pink: onBackground('pink', 'magenta'),
    brown: onBackground('brown', 'beige', 'tan'),
    warm: `warm, warm tones, warm palette, warm colors, warm colours, warm light, warm hues`,
    cool: `cool tones, cool palette, cool colors, cool colours, cold tones, cold colors, cold colours, cool hues`,
    pastel: `pastel, pastels, pastel colors, pastel colours, pastel palette, pastel tones, soft colors, soft colours`,
    vivid: `vivid, vivid colors, vivid colours, colorful, colourful, vibrant, saturated, bold colors, bold colours,
      bright colors, bright colours, vibrant colors, vibrant colours`,
    monochrome: `monochrome, monochromatic, black and white, black white, greyscale, grayscale, desaturated,
      without color, without colour, b w`,
  },
  part: {
    opening: 'opening, beginning, at the start, at the beginning, first seconds',
    ending: 'ending, at the end, at the very end, last seconds, final seconds, outro',
  },
  within: {
    'first-1s': 'first second, very first second, 1st second',
    'first-3s': 'first three seconds, first 3 seconds, first 3 s, first 3s',
    'first-10s': 'first ten seconds, first 10 seconds, first 10 s, first 10s',
    'last-1s': 'last second, very last second, final second',
    'last-3s': 'last three seconds, last 3 seconds, last 3 s, last 3s, final three seconds',
    'last-10s': 'last ten seconds, last 10 seconds, last 10 s, last 10s, final ten seconds',
  },
  orientation: {
    landscape: 'widescreen, landscape format, landscape orientation, horizontal video',
    portrait: 'vertical, vertical video, portrait format, portrait orientation, vertical format',
    square: 'square format, square video',
  },
  faces: {
    one: 'one face, one person, single face, single person',
    two: 'two faces, two people, two persons, two presenters, two speakers, two hosts',
    several: 'several faces, several people, many faces, three people, group of people',
  },
  space: {
    lots: `empty space, lots of empty space, lots of space, much empty space, white space, whitespace, negative space,
      lots of white space, lots of negative space`,
  },
  lettering: {
    'light-on-dark': `white on black, white on dark, light on dark, white text, white letters, light text,
      white text on black, white text on dark`,
    'dark-on-light': `black on white, dark on light, dark on white, black text, dark text, black letters,
      black text on white, dark text on white`,
  },
}
