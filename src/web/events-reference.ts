import { type Html, html } from './html.ts'
import { exampleOf, propertiesOf, prose, type Schema, slug } from './schema-view.ts'

/** What the page needs of the AsyncAPI document. */
export interface EventsDocument {
  asyncapi: string
  info: { description: string }
  components: {
    messages: Record<string, Message>
    schemas: Record<string, unknown>
  }
}

interface Message {
  name: string
  summary: string | undefined
  examples: readonly { payload: { version: number; dataschema: string } }[]
}

/** What the first part of a type says it is about. */
const GROUPS: Record<string, string> = {
  frame: 'Frames',
  board: 'Boards',
  video: 'Videos',
  frames: 'Work on videos',
  model: 'Work on videos',
  searches: 'Searches',
  technique: 'Vocabulary',
  key: 'Keys',
  account: 'Accounts',
}

/** The page `/docs/events`: how the log is read, the envelope, and every type with its data and an example. */
export function eventsReference(document: EventsDocument, publicUrl: string): Html {
  const { info, components, asyncapi } = document
  const messages = Object.values(components.messages)
  const groups = [...new Set(messages.map(groupOf))]
  return html`<h1>Events</h1>
<p class="lead">${prose(info.description)}</p>
<p>For programs: <a href="/asyncapi.json">asyncapi.json</a> (AsyncAPI ${asyncapi}). The endpoints are in the
<a href="/docs#listEvents">API reference</a>.</p>
<nav aria-label="Contents"><ul class="contents">
<li><a href="#reading">Reading</a></li><li><a href="#envelope">Envelope</a></li>
${groups.map((group) => html`<li><a href="#${slug(group)}">${group}</a></li>`)}</ul></nav>
${reading(publicUrl)}
<section id="envelope"><h2>Envelope</h2>${propertiesOf(components.schemas.CloudEvent as Schema)}</section>
${groups.map(
  (group) => html`<section id="${slug(group)}"><h2>${group}</h2>
${messages.filter((message) => groupOf(message) === group).map((message) => messageOf(message, components.schemas))}
</section>`,
)}`
}

const groupOf = ({ name }: Message) => GROUPS[name.split('.')[0]!] ?? 'Others'

function reading(publicUrl: string): Html {
  const key = `-H 'Authorization: Bearer flk_live_…'`
  return html`<section id="reading"><h2>Reading</h2>
<p>A page, oldest first. ${prose('Pass `next` back as `after`. `after=end` gives the cursor of this moment.')}</p>
<pre><code>curl '${publicUrl}/api/events?types=frame.saved' \\
  ${key}</code></pre>
<p>Live. ${prose('Each event has its cursor as `id`. Send the last one back as `Last-Event-ID` to miss nothing.')}</p>
<pre><code>curl -N '${publicUrl}/api/events?after=end' \\
  -H 'Accept: text/event-stream' ${key}</code></pre>
<p>${prose('Each event comes at least once. Drop what you have seen by its `id`, and order by `sequence`.')}</p>
</section>`
}

function messageOf({ name, summary = '', examples }: Message, schemas: Record<string, unknown>): Html {
  const { version, dataschema } = examples[0]!.payload
  return html`<details class="operation" id="${name}">
<summary><code>${name}</code> <span class="hint">${summary}</span></summary>
<p>Version ${version}. <a href="${new URL(dataschema).pathname}">JSON schema of its data</a></p>
${propertiesOf(schemas[name] as Schema)}
<h3>Example</h3>${exampleOf(examples[0]!.payload)}</details>`
}
