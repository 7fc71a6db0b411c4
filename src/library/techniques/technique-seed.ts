import type { TechniqueTerm } from '../../vision/annotator.ts'

/**
 * The vocabulary of a new library: moves of launch and product films. Operators add, rename, merge and retire them.
 * Three lines each: slug, name and aliases; what it is; how to recognise it in a single frame.
 */
const TABLE = `
title-card | Title card | text-card-title, chapter-title, intertitle
  A full-screen card that carries only a title or a short line, used to open, to close or to divide a film.
  Flat or softly graded background, one to a few lines of large type, no interface and no person.
kinetic-type | Kinetic type | kinetic-typography, animated-text, moving-type
  Words that move, scale or swap in time with the voice or the music, so that the type itself is the picture.
  Large type caught in motion: words at different sizes or angles, partly entered, blurred or stacked.
one-word-punch | One-word punch | single-word, big-word
  A single word or number fills the screen for a beat, for emphasis.
  One word or figure, very large, centred, on an empty background.
big-number | Big number | stat-card, metric-callout, number-reveal
  A key figure set very large with a short label, to make one result stick.
  A number takes a fifth of the height or more, with a small caption below or beside it.
quote-card | Quote card | testimonial-card, pull-quote
  A customer's or reviewer's words set as a quotation with a name.
  Quotation marks or an attributed sentence with a name, a role or a portrait.
lower-third | Lower third | name-strap, name-super, chyron
  A caption across the lower part of the picture that names the speaker or the place.
  Name and role in two lines over the lower left or lower centre of a filmed picture.
burned-in-captions | Burned-in captions | subtitles, open-captions, karaoke-captions
  The spoken words as subtitles that belong to the picture, for viewers without sound.
  A sentence or a few words near the lower edge or the middle of a filmed picture, often with one word highlighted.
checklist-build | Checklist build | bullet-build, feature-list
  Points that appear one under another, each ticked or revealed as it is named.
  A short vertical list with bullets, ticks or numbers, the last entry newer or brighter than the rest.
end-card | End card | outro-card, call-to-action-card, closing-card
  The last picture: logo, call to action and address.
  Logo with a web address, a button or the words try, join, available, on a plain background.
logo-reveal | Logo reveal | logo-animation, logo-sting
  The brand's mark enters, draws itself or assembles.
  A logo alone, often partly drawn, glowing or assembling, on an empty background.
logo-wall | Logo wall | customer-logos, social-proof-wall
  Many customers' or partners' logos in a grid, as proof.
  Six or more different logos in rows, usually in one colour.
cold-open | Cold open | hook-open, in-medias-res
  The film starts in the middle of a scene or with a strong claim, before any title.
  An opening frame without a title that already shows an action, a problem or a face speaking.
picture-in-picture | Picture in picture | corner-cam, face-cam, webcam-bubble, pip
  A small moving picture, mostly a speaker's face, in a corner of a screen recording.
  A rectangle or circle with a face in a corner over an interface or slide.
talking-head | Talking head | direct-address, to-camera
  One person speaks straight to the camera.
  One face looking into the lens, head and shoulders, with little else in the picture.
founder-address | Founder address | founder-story, ceo-message
  The maker presents the product in person, in a plain setting.
  A presenter in an office, a home or a studio speaking to the camera, sometimes with a name strap.
interview-offset | Interview offset | off-camera-interview, documentary-interview
  A speaker at one side looks past the camera towards an interviewer.
  A face in the left or right third, eyes off the lens, an empty side in the direction of the look.
stage-keynote | Stage keynote | keynote-stage, conference-stage
  A presenter on a stage in front of a large screen.
  A small standing figure before a large projected picture, often with an audience in the foreground.
two-hander | Two-hander | co-presenters, duo
  Two people present together, in one picture.
  Two faces of like size side by side, both facing the camera or each other.
customer-testimonial | Customer testimonial | case-study-clip, user-story
  A user tells what the product did for them.
  A person filmed at their place of work with a name, role and company on screen.
street-interview | Street interview | vox-pop, man-on-the-street
  Passers-by answer a question on camera.
  A person outdoors with a hand-held microphone in front of the face.
reaction-shot | Reaction shot | reaction-cut
  A face that reacts to what was just shown.
  A close face with a strong expression and no product in the picture.
screen-walkthrough | Screen walkthrough | product-tour, screencast, demo-recording
  A steady recording of the interface in use, step by step.
  A whole application window, unaltered, with a cursor near the element in use.
cursor-choreography | Cursor choreography | animated-cursor, smooth-cursor
  An oversized or smoothed cursor leads the eye through the interface.
  A large, clean cursor on or near a control, often with a click ring.
zoom-to-detail | Zoom to detail | ui-zoom, punch-in, detail-zoom
  The picture pushes into one control or field so that it fills the screen.
  An interface element enlarged far beyond its natural size, its edges running out of the picture.
spotlight-dim | Spotlight dim | focus-dim, highlight-mask
  All but one part of the interface is darkened or blurred.
  One bright, sharp region of an interface with the rest dimmed or blurred.
callout-annotation | Callout annotation | arrow-callout, annotation-overlay
  Arrows, circles or labels point at parts of the picture.
  A drawn arrow, ring, underline or label laid over a screen or a product.
floating-ui-card | Floating interface card | isolated-component, ui-card, component-lift
  A piece of interface lifted out of its window and set on an empty background with a shadow.
  One panel or component with rounded corners and a shadow, alone on a flat or graded background.
isometric-ui | Tilted interface | perspective-ui, tilted-screens, 3d-ui
  Screens shown in perspective or isometric, as planes in space.
  Interface planes at an angle, with visible perspective or parallel slanted edges.
device-mockup | Device mock-up | device-frame, phone-mockup, laptop-mockup
  The interface inside a drawn or rendered phone, tablet or laptop.
  A device frame with a screen, on an empty background.
in-hand-device | Device in hand | hands-on-device, over-the-shoulder-device
  A real device used by real hands.
  Hands hold or touch a phone, tablet or laptop in a filmed picture.
over-the-shoulder | Over the shoulder | ots, behind-user
  The camera looks past a person at the screen they use.
  Back of a head or a shoulder in the foreground, a screen beyond.
split-screen | Split screen | side-by-side, multi-panel
  Two or more pictures side by side at the same time.
  A straight dividing line with different pictures on its sides.
before-after | Before and after | comparison-split, then-now
  The old way and the new way set against each other.
  Two halves with contrasting states, often labelled before and after, old and new.
grid-of-screens | Grid of screens | screen-wall, mosaic, tile-wall
  Many screens or clips tiled to show breadth.
  Six or more small screens or clips in rows and columns.
feature-bento | Feature bento | bento-grid, feature-grid
  Features in a mosaic of rounded tiles of different sizes.
  Rounded rectangles of different sizes in a tight grid, each with a short title or picture.
typing-prompt | Typing prompt | prompt-typing, search-typing, chat-prompt
  A sentence is typed into a field, as a question or a command.
  A text field with a half-written sentence and a caret, large in the picture.
terminal-typing | Terminal typing | command-line-demo, cli-demo
  Commands appear in a terminal as if typed live.
  A dark window in fixed-pitch type with a prompt sign and a caret at the end of a line.
code-reveal | Code reveal | code-walkthrough, code-typing
  Source code appears or is highlighted line by line.
  An editor with coloured syntax, one part brighter or newly written.
chat-thread | Chat thread | message-bubbles, conversation-ui
  A story told by messages in a conversation.
  Message bubbles left and right, or an assistant's answer streaming under a question.
notification-cascade | Notification cascade | notification-stack, alert-flood
  Alerts or messages pile up, to show noise or success.
  Several stacked or overlapping notification cards.
chart-growth | Growing chart | animated-chart, graph-draw-on
  A line or bars grow as the point is made.
  A chart with a partly drawn line or bars, little else in the picture.
architecture-diagram | Architecture diagram | system-diagram, flow-diagram, node-graph
  Boxes and arrows explain how the parts work together.
  Labelled boxes joined by lines or arrows.
map-flyover | Map or globe | globe-arcs, map-animation
  A map or globe shows reach or route.
  A map, globe or arcs between places.
timeline-scrub | Timeline | roadmap, timeline-graphic
  Progress or history along a line with marks.
  A horizontal or vertical line with dated or numbered points.
exploded-view | Exploded view | explode-view, component-breakdown
  A product taken apart in the air, its parts in line.
  Parts of one object floating apart along an axis.
turntable | Turntable | product-spin, 360-spin
  The product turns before the camera.
  A product alone, evenly lit, at an angle, on a seamless background.
hero-product-shot | Hero product shot | beauty-shot, packshot
  The product alone, lit to impress.
  One product in the middle, with strong light and shade or a reflection, on a clean background.
macro-detail | Macro detail | extreme-close-up, macro-shot
  A very close view of material or mechanism.
  Texture or a small part fills the picture, with a very shallow zone of sharpness.
shallow-focus-b-roll | Shallow-focus b-roll | bokeh-b-roll, lifestyle-b-roll
  Atmospheric pictures with a soft background between the statements.
  A filmed scene with one sharp plane and a blurred background, no text and no speaker.
hands-at-work | Hands at work | hands-close-up, craft-shot
  Hands make, type or build, to show craft.
  Hands close up with a tool, a keyboard or a material, no face.
time-lapse | Time-lapse | hyperlapse, speed-ramp
  Hours pass in seconds.
  Streaks of light, many people or clouds smeared by speed.
drone-establishing | Aerial establishing shot | drone-shot, aerial-view
  A high view that sets the place.
  A landscape, a city or a building from far above.
match-cut | Match cut | graphic-match
  Two shots joined by the same shape or movement.
  A shape in the same place and size as in the neighbouring frame, in another scene.
whip-pan | Whip pan | swish-pan, blur-transition
  A very fast swing that hides a cut.
  The whole picture streaked in one direction.
fade-through-black | Fade through black | dip-to-black, fade-to-black
  One shot sinks to black and the next rises from it.
  A black or nearly black picture between two shots.
gradient-wash | Gradient wash | aurora-background, mesh-gradient
  Soft moving colour as the background of type or interface.
  A large smooth gradient of two or more strong colours behind little else.
particle-field | Particle field | particles, data-points
  Points, lines or dust suggest data or intelligence.
  Many small bright points or threads on a dark ground.
stop-motion | Stop motion | claymation, paper-animation
  Objects or puppets move picture by picture.
  Handmade objects, paper or puppets with visible material, lit as a small set.
problem-montage | Problem montage | pain-montage, problem-setup
  Short pictures of the pain before the product appears.
  Cluttered screens, frustrated faces or piles of paper before the first product shot.`

export const TECHNIQUE_SEED: readonly TechniqueTerm[] = TABLE.trim()
  .split(/\n(?=\S)/)
  .map((term) => {
    const [head, description, recognise] = term.split('\n').map((line) => line.trim()) as [string, string, string]
    const [slug, name, aliases] = head.split(' | ') as [string, string, string]
    return { slug, name, description, recognise, aliases: aliases.split(', ') }
  })
