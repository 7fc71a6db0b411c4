import { judgedLines, type Phrase } from './judged-phrases.ts'

/** Frames of the sample clips described by hand, and queries with the frames they want. */

export interface JudgedFrame {
  key: string
  caption: string
  composition: string
  steal: string
  onScreenText: string | null
}

/** `key: caption`, then the composition, what to steal, and mostly what is on screen. */
export const JUDGED_FRAMES: JudgedFrame[] = `
hammock: A stop-motion paper character swings in a hammock between two palm trees
  Toy-like set, centered subject, mint background | Build the brand world from folded paper
relay-card: White slide that lists three selling points under a product name
  Left-aligned list with generous white space | Say price and promise on one card
  Relay 2.0 Faster sync across teams Offline mode, on by default One price for everyone
close-man: A man speaks straight to the camera in a close-up
  Face fills the center, plain grey wall | Cut to a face before the first claim
blocks: Hands stack wooden toy blocks on a table
  Shallow focus on the hands | Show craft by touching the material | Built by hand, checked twice SAM
gitui: A terminal program lists staged and unstaged git changes
  Two dark panes side by side, monospaced type | Let the real tool speak instead of a mock-up
  Status [1] Unstaged Changes Staged Changes Commit
signing: A woman signs the word sorry in sign language
  Medium shot, hands and face in frame, green wall | Gesture carries the line without sound
balancer: Animated network diagram of a client, a load balancer and two servers
  Before and after halves on a dark ground | Split the frame to compare two architectures
  Before After Client Load Balancer Instance A
flower: A bee visits an orange flower in a summer meadow
  Macro shot with soft background blur | Give the eye a rest between two screens
globe: A colorful browser logo spins above a paper city
  Logo in the upper third | Turn the logo into an object of the scene
pendulum: A line chart races as a pendulum swings
  Plot over a white ground, legend at the right | Let data move before it is explained
  Simple pendulum animation, L=0.4m Amplitudes angle ang_vel ang_acc
webcam: A bearded presenter talks into a webcam at home
  Close framing, bookshelf behind | Keep the room visible to look honest
chat: A chat interface answers a question while a presenter sits in the corner
  Screen recording with a corner inset at the bottom left | Put the person beside the product, not before it
  ChatGPT-like clone import streamlit as st Hello there! How can I assist you today?
chrome-card: A headline on white asks viewers to open a new browser
  Single line of type, centered | End on five words | Open a new browser. Chrome fast.
coffee: Coffee is poured into a blue enamel mug
  Top light on steam, dark table | Use steam as motion in a still frame
battle: Soldiers run from a giant robot across a bridge in Amsterdam
  Wide shot with strong diagonals | Scale sells the threat
available: Closing card with an address on black
  Small type at the center of a black frame | Name one place to go | Available today relay.example
atlas-title: Opening title introduces a product on a navy gradient
  Large wordmark above a subtitle | Name the product in the first second | Meet Atlas Launch notes, written for you
two-people: Two people share one webcam window during a call
  Presenter at the right, colleague behind | Let a second face react
line-code: A prompt asks for a line chart and code appears below
  Screen recording, face inset bottom right | Type slowly enough to be read
  Write a streamlit app that displays a line chart using st.line_chart
ship: Bright card with one bold promise
  Huge type, edge to edge | Make the promise a deadline | Ship in one afternoon
classroom: Students look up in a crowded classroom
  Rows of faces, wide view | Show an audience to imply demand
atlas-logo: Logo and call to action end the film
  Centered logo over white | Hold the last frame two beats longer | ATLAS Try it today
canal: Tears of steel: a couple argue on a canal bridge at dusk
  Two-shot, warm street lamps | Start in the middle of a quarrel
hologram: A scientist studies a glowing blue hologram of a brain
  Rim light from the hologram, black room | Let the interface light the face
cafe: Un serveur apporte une crème brûlée dans un café à Zürich
  Table in the foreground | Everyday detail before the product
keyboard: Fingers type on a backlit mechanical keyboard
  Macro, shallow depth of field, neon rim | Sound design starts with keys | npm install hyperdrive
`
  .trim()
  .split(/\n(?! )/)
  .map((text) => {
    const [, key, told] = /^(\S+): (.*)$/s.exec(text)!
    const [caption, composition, steal, onScreenText = null] = told!.split(/\s+\| |\n\s+/)
    return { key: key!, caption: caption!, composition: composition!, steal: steal!, onScreenText }
  })

/** The last are as people ask: other forms of a word, words run together, whole sentences, synonyms. */
export const JUDGED_QUERIES: readonly Phrase[] = judgedLines(`
terminal | 3: gitui
presnter | 3: webcam chat; 2: two-people
presenter | 3: webcam chat; 2: two-people
presenter webcam | 3: webcam; 2: two-people; 1: chat
coffee | 3: coffee
cofee mug | 3: coffee
blue mug | 3: coffee; 1: hologram
line chart | 3: pendulum line-code
"line chart" | 3: pendulum line-code
pendulm | 3: pendulum
load balancer | 3: balancer
before after | 3: balancer
git changes | 3: gitui
unstaged | 3: gitui
nstaged chan | 3: gitui
sign language | 3: signing
sorry | 3: signing
hammok | 3: hammock
stop motion | 3: hammock
paper | 3: hammock globe
paper city | 3: globe; 1: hammock
browser | 3: globe chrome-card
open a new browser | 3: chrome-card; 1: globe
chrome fast | 3: chrome-card
offline mode | 3: relay-card
faster sync | 3: relay-card
"one price for everyone" | 3: relay-card
relay | 3: relay-card available
available today | 3: available; 1: atlas-logo
try it today | 3: atlas-logo; 1: available
atlas | 3: atlas-title atlas-logo
meet atlas | 3: atlas-title; 1: atlas-logo
launch notes | 3: atlas-title
ship in one afternoon | 3: ship
afternon | 3: ship
robot bridge | 3: battle; 1: canal
giant robot | 3: battle
amsterdam | 3: battle
canal bridge | 3: canal; 1: battle
tears of steel | 3: canal
hologram | 3: hologram
holgram brain | 3: hologram
creme brulee | 3: cafe
ZURICH cafe | 3: cafe
perdrive | 3: keyboard
npm instal | 3: keyboard
mechanical keybord | 3: keyboard
macro shot | 3: flower; 2: keyboard
bee flower | 3: flower
wooden blocks | 3: blocks
built by hand | 3: blocks
corner inset | 3: chat; 1: line-code
streamlit | 3: chat line-code
assist you | 3: chat
crowded classroom | 3: classroom
studnets | 3: classroom
call to action | 3: atlas-logo
logo | 3: globe atlas-logo
pouring coffee | 3: coffee
robots | 3: battle
stopmotion | 3: hammock
colourful logo | 3: globe; 1: atlas-logo
typing on a keyboard | 3: keyboard
person talking to camera | 3: close-man webcam
dark git terminal with two panes | 3: gitui
soldiers running from a robot | 3: battle
student crowd | 3: classroom
swinging palm tree | 3: hammock
animated chart | 3: pendulum; 2: balancer; 1: line-code
command line | 3: gitui; 1: keyboard
video call | 3: two-people; 1: webcam
beverage | 3: coffee
end card with url | 3: available; 1: atlas-logo
network diagrams | 3: balancer
`)
