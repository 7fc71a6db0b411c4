import type { JudgedFrame } from './judged.ts'
import { judgedLines, type Phrase } from './judged-phrases.ts'

/**
 * Frames held apart from those that any ranking or threshold was set by, and questions about them that share no word
 * with the texts that they want: 3 what was asked for, 2 nearly so, 1 passable. Written before any model had read them.
 * `absent`: nothing in the library is about it.
 */

export const MEANING_FRAMES: JudgedFrame[] = `
kettle: Water boils in a glass kettle while steam rises
baby: A toddler takes her first steps across a living room rug
surgeon: Doctors in blue scrubs lean over an operating table
rocket: A spacecraft lifts off from its launch pad in a cloud of fire
violin: A musician tunes her violin backstage
dog: A puppy chases a tennis ball across wet grass
rain: Drops run down a car windscreen at night
bridge: Commuters cycle over a suspension bridge at sunrise
bakery: A baker pulls loaves from a stone oven
classroom: Pupils raise their hands in front of a blackboard
wedding: The bride and groom dance under strings of lights
garage: A mechanic tightens a bolt under a raised car
farm: A tractor ploughs a muddy field
chess: Two old men play chess on a park bench
gym: An athlete lifts a heavy barbell above his head
snow: Skiers race down a steep mountain slope
library: Shelves of old books reach up to the ceiling
airport: Travellers queue with suitcases at the check-in desk
ocean: Waves crash against black rocks
market: A vendor arranges tomatoes and peppers on her stall
invoice: A bill is paid with one tap on a phone | Make the boring moment feel like a win
spreadsheet: Endless rows of numbers scroll past until the eyes glaze over | Show the pain first
calendar: Meetings pile up on top of each other until no gap is left
error: A red warning says that the upload did not succeed
onboarding: A new user is asked for her name and picks a colour theme
search-box: Somebody types into an empty field and results appear at once
map: Pins drop onto a city street plan one by one
password: A padlock snaps shut over a row of dots
cart: Shoes are added to the basket and the total changes
chatbot: An assistant writes a polite reply to an angry client
encryption: Plain letters turn into gibberish and travel through a tunnel
undo: A deleted paragraph comes back with one keystroke
translate: The same sentence appears in Spanish, Arabic and Japanese
offline: The wifi icon is crossed out and the page still opens
backup: Copies of a folder fly into a cloud
team: Colleagues laugh around a meeting table covered in sticky notes
investor: A banker shakes hands with the young boss across a desk
tired: An employee rubs her eyes in front of a monitor at midnight
remote: A freelancer works from a hammock by the sea
hiring: A candidate waits nervously outside an interview room
warehouse: Robots carry parcels between tall racks
factory: Car bodies move along an assembly line among sparks
solar: Panels on a roof glitter at noon
windmill: Turbines rotate slowly on a ridge
recycle: Plastic bottles are sorted into bins
heart: A watch displays a pulse of 72
sleep: A bar graph compares how long someone rested each night
medicine: Coloured pills drop into a weekly organiser
grandmother: An elderly lady waves at her family through a tablet
deaf: Captions appear below a lecturer as he speaks
blind: A man with a white cane follows spoken directions
before-kitchen: A cluttered kitchen becomes spotless in a wipe
countdown: Digits tick from ten to zero
thanks: The words thank you fade in over a list of names
price-drop: An old price is struck through and a lower one slides in
award: A golden trophy rotates in front of a velvet curtain
review: Five stars fill up one after another
queue-bank: People stand in line at a counter and look at their clocks
paint: A roller covers a grey wall with bright yellow
puzzle: The last piece of a jigsaw clicks into place | A tidy picture of everything fitting together`
  .trim()
  .split('\n')
  .map((line) => {
    const [, key, caption, steal] = /^(\S+): ([^|]+?)(?: \| (.+))?$/.exec(line)!
    return { key: key!, caption: caption!, composition: '', steal: steal ?? '', onScreenText: null }
  })

export const MEANING_PHRASES: { wanted: readonly Phrase[]; absent: readonly string[] } = {
  wanted: judgedLines(`
making tea | 3: kettle
child learning to walk | 3: baby
hospital operation | 3: surgeon; 1: medicine
space travel | 3: rocket
classical concert | 3: violin
pet having fun outdoors | 3: dog
bad weather seen from inside a vehicle | 3: rain
going to work by bike in the morning | 3: bridge
fresh bread | 3: bakery
students in school | 3: classroom; 1: deaf
marriage celebration | 3: wedding
repairing an automobile | 3: garage; 1: factory
agriculture | 3: farm; 1: market
board game | 3: chess; 1: puzzle
strength training | 3: gym
winter sports | 3: snow
reading room full of novels | 3: library
holiday departure | 3: airport
stormy sea | 3: ocean
selling vegetables | 3: market; 1: farm
easy payment | 3: invoice; 1: cart
tedious data work | 3: spreadsheet; 1: tired
overbooked schedule | 3: calendar
something failed | 3: error; 1: offline
signing up for the first time | 3: onboarding
secure login | 3: password; 2: encryption
online shopping | 3: cart; 1: price-drop
customer support automation | 3: chatbot
several languages | 3: translate
no internet connection | 3: offline
office coworkers brainstorming | 3: team
exhausted worker late in the evening | 3: tired
digital nomad on the beach | 3: remote
job applicant | 3: hiring
logistics automation | 3: warehouse; 2: factory
renewable energy | 3: solar windmill; 1: recycle
fitness tracker measuring heartbeat | 3: heart; 1: sleep
video call with a grandparent | 3: grandmother
accessibility for people with impaired vision | 3: blind; 1: deaf
discount | 3: price-drop; 1: cart
`),
  absent: [
    'volcano eruption',
    'tax law for nonprofits',
    'dinosaur skeleton in a museum',
    'underwater coral reef with fish',
    'courtroom trial with a judge',
    'elephants in the savanna',
    'medieval castle siege',
    'tattoo artist drawing on an arm',
    'quantum physics equation',
    'firefighters putting out a blaze',
    'horse jockey at the races',
    'ballet rehearsal',
    'submarine periscope',
    'desert camel caravan',
    'brain scan of a stroke patient',
    'poker tournament in a casino',
    'spider weaving a web',
    'presidential election debate',
    'sushi chef cutting tuna',
    'bullfight in an arena',
  ],
}
