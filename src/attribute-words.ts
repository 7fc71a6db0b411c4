import type { Kind, Platform, Shot, Subject, Surface, Tone, Zone } from './vocabulary.ts'

/**
 * The words that people use for the values of attributes, with their synonyms and forms: one table for every search.
 * A phrase that holds a function word ("on black") is met in full. Any other is also met with function words between
 * ("talking to the camera" for "talking camera"). Plurals in -s need no entry of their own.
 */

/** The names of colours in a palette. */
export const COLOR_NAMES = [
  'black',
  'grey',
  'white',
  'red',
  'orange',
  'yellow',
  'green',
  'teal',
  'blue',
  'purple',
  'pink',
  'brown',
] as const
export type ColorName = (typeof COLOR_NAMES)[number]

interface AttributeWords {
  subject: Record<Subject, string>
  surface: Record<Surface, string>
  shot: Record<Shot, string>
  technique: Record<string, string>
  zone: Record<Exclude<Zone, 'none'>, string>
  tone: Record<Tone, string>
  kind: Record<Kind, string>
  platform: Record<Platform, string>
  color: Record<ColorName, string>
}
export type NamedAttribute = keyof AttributeWords

const FACE = 'face, faces, '
const LEFT = 'left, left side, '
const RIGHT = 'right, right side, '
const CENTER = 'center, centre, centered, centred, '
const TOP = 'top, upper, '
const MIDDLE = 'middle, '
const BOTTOM = 'bottom, lower, '

export const ATTRIBUTE_WORDS: AttributeWords = {
  subject: {
    presenter: `presenter, person, people, man, men, woman, women, human, host, speaker, narrator, spokesperson,
      talking, talks, speaking, speaks, talking head, talking camera, talks camera, speaking camera, speaks camera,
      looking camera, facing camera, addressing camera, to camera`,
    ui: `ui, user interface, interface, app, app screen, application, dashboard, software, website, web page, webpage,
      web app, gui, screen`,
    product: 'product, product shot, device, gadget, hardware',
    terminal: 'terminal, command line, commandline, command prompt, console, shell, cli, bash',
    'text-card': `text card, textcard, card, title card, title, headline, heading, tagline, slogan, statement, text,
      big text, large text, text on screen, on screen text, on screen words, words on screen, typography, lettering`,
    'b-roll': 'b roll, broll, footage, stock footage, cutaway',
    chart: `chart, graph, plot, line chart, bar chart, pie chart, line graph, bar graph, data visualization,
      data visualisation, dataviz, infographic, histogram`,
    logo: 'logo, logotype, wordmark, brand mark, brandmark',
    crowd: 'crowd, crowded, audience, people, spectators',
  },
  surface: {
    camera: 'camera, live action, filmed, real footage',
    'screen-recording': `screen recording, screen capture, screencast, screengrab, screen grab, recorded screen,
      captured screen, screen`,
    'motion-graphics': 'motion graphics, motion graphic, motion design, mograph, animation, animated, 2d animation',
    '3d-render': '3d render, 3d rendering, 3d, 3d animation, cgi, render, rendered, rendering',
    slide: 'slide, presentation slide, slide deck, deck, powerpoint',
    mixed: 'mixed media, mixed, composite',
  },
  shot: {
    'no-face': 'no face, no faces, without face, without faces, faceless, no person, no people, nobody, no presenter',
    'corner-inset': `${FACE} corner inset, inset, face cam, facecam, webcam bubble, webcam corner, face corner,
      person corner, presenter corner, in corner, in the corner, in a corner, picture in picture, pip`,
    'wide-presenter': `${FACE} wide shot, wide, wide presenter, wide angle, long shot, full body, full shot`,
    'medium-presenter': `${FACE} medium shot, medium, medium presenter, mid shot, waist up, half body`,
    'close-presenter': `${FACE} close up, closeup, close shot, close presenter, tight shot, headshot, head shot,
      extreme close up`,
  },
  technique: {
    'big-number': 'big number, huge number, large number, stat card, statistic',
    'burned-in-captions': 'burned in captions, subtitles, subtitle, open captions',
    'code-reveal': 'code, code reveal, code walkthrough, source code, code editor',
    'customer-testimonial': 'testimonial, customer testimonial, customer story',
    'drone-establishing': 'aerial, aerial shot, aerial view, drone, drone shot, from above, birds eye',
    'end-card':
      'end card, end screen, outro, closing card, closing shot, call to action card, call to action, cta, ' +
      'final frame, last frame, final shot, last shot',
    'fade-through-black': `fade through black, fades through black, fade to black, fades to black, fading to black,
      dip to black`,
    'hero-product-shot': 'hero shot, product shot, beauty shot, packshot, pack shot',
    'kinetic-type': `kinetic type, kinetic typography, animated typography, animated text, animated type, moving text,
      moving type`,
    'logo-reveal': 'logo reveal, logo animation, animated logo, logo sting, logo intro, animation logo',
    'logo-wall': 'logo wall, customer logos, wall of logos, grid of logos, logo grid',
    'macro-detail': 'macro, macro shot, macro detail, extreme close up',
    'picture-in-picture': 'picture in picture, pip, webcam bubble, corner inset, face cam, facecam, webcam corner',
    'quote-card': 'quote, quote card, quotation, pull quote',
    'screen-walkthrough': 'walkthrough, walk through, screen walkthrough, product tour, screencast, demo recording',
    'split-screen': 'split screen, splitscreen, side by side, two halves',
    'stage-keynote': 'keynote, stage keynote, on stage, on a stage, conference talk, conference stage',
    'street-interview': 'street interview, interview street, vox pop, man on the street',
    'talking-head': `talking head, talking camera, talks camera, speaking camera, speaks camera, direct address,
      to camera`,
    'terminal-typing': 'terminal typing, cli demo, command line demo, typing commands',
    'time-lapse': 'time lapse, timelapse, hyperlapse',
    'title-card': 'title card, title, headline, chapter title, intertitle',
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
      on dark, on a dark, low key, dim, dimly lit, moody, night`,
    bright: `bright, brighter, bright background, light, light background, light mode, light theme, white background,
      on white, on a white, over white, on light, on a light, high key, sunlit, sunny, brightly lit`,
  },
  kind: {
    cut: 'cut, hard cut, shot change, scene change',
    beat: 'beat, time sample',
    intro: `intro, opening, opener, opens, opening frame, opening shot, opening scene, opening title, first frame,
      beginning`,
  },
  platform: {
    youtube: 'youtube, yt, on youtube, from youtube',
    x: 'twitter, tweet, on x, from x, x post, on twitter, from twitter',
    linkedin: 'linkedin, on linkedin, from linkedin',
    vimeo: 'vimeo, on vimeo, from vimeo',
    web: 'on the web, from the web',
  },
  color: {
    black: 'black',
    grey: 'grey, gray, silver',
    white: 'white',
    red: 'red, crimson, scarlet',
    orange: 'orange, amber',
    yellow: 'yellow, gold, golden',
    green: 'green, mint, lime',
    teal: 'teal, cyan, turquoise',
    blue: 'blue, navy',
    purple: 'purple, violet, lilac',
    pink: 'pink, magenta',
    brown: 'brown, beige, tan',
  },
}
