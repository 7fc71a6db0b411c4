// Frames of a tool's result as a wall inside a chat (MCP Apps, SEP-1865). It talks to its host by messages alone.
// Everything of a frame is set as text: captions and titles come from videos, models and people.

const PROTOCOL = '2026-01-26'
/** Pictures that one wall asks for, and in one call. */
const MOST_PICTURES = 60
const PICTURES_AT_ONCE = 20

const $ = (id) => document.getElementById(id)
const wall = $('wall')
const large = $('large')

/** What stands on the wall now, and what stood there before. */
let shown = { heading: 'Frames', frames: [], videos: new Map() }
const earlier = []
/** Data addresses of pictures by frame. */
const pictures = new Map()
let open = -1
let host = { capabilities: {} }

// Messages

const waiting = new Map()
let lastId = 0

const send = (message) => parent.postMessage({ jsonrpc: '2.0', ...message }, '*')
const tell = (method, params = {}) => send({ method, params })

/** The result of a request. Rejects with the host's message. */
function ask(method, params = {}) {
  const id = ++lastId
  send({ id, method, params })
  return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }))
}

/** The result of a tool. Rejects with its text where it refuses. */
async function callTool(name, args) {
  const result = await ask('tools/call', { name, arguments: args })
  if (result.isError) throw new Error(result.content?.[0]?.text ?? 'The library refused.')
  return result
}

const heard = {
  'ui/notifications/tool-input': ({ arguments: given = {} }) => {
    if (given.query) shown.heading = String(given.query)
  },
  'ui/notifications/tool-result': (result) => show(wallOf(result, shown.heading)),
  'ui/notifications/tool-cancelled': () => say('The call was cancelled.'),
  'ui/notifications/host-context-changed': dress,
}

addEventListener('message', ({ source, data }) => {
  if (source !== parent || data?.jsonrpc !== '2.0') return
  const { id, method, params = {}, result, error } = data
  if (method === undefined) {
    const asked = waiting.get(id)
    waiting.delete(id)
    if (error) asked?.reject(new Error(error.message))
    else asked?.resolve(result)
  } else if (id === undefined) heard[method]?.(params)
  else if (method === 'ping' || method === 'ui/resource-teardown') send({ id, result: {} })
  else send({ id, error: { code: -32601, message: `Method not found: ${method}` } })
})

/** Takes the theme and the variables of the host. */
function dress({ theme, styles }) {
  const root = document.documentElement
  if (theme) root.dataset.theme = theme
  for (const [name, value] of Object.entries(styles?.variables ?? {}))
    if (name.startsWith('--') && value) root.style.setProperty(name, value)
}

// The wall

/** The frames of a result. One that was asked for as text alone has none. */
function wallOf({ structuredContent: data, content = [] }, heading) {
  const text = content.find(({ type }) => type === 'text')?.text ?? ''
  const frames = data?.frames ?? []
  const videos = new Map((data?.videos ?? []).map((video) => [video.id, video]))
  return { heading: data?.board?.name ?? heading, frames, videos, note: frames.length > 0 ? '' : text.split('\n')[0] }
}

function titleOf(frame) {
  const video = shown.videos.get(frame.video_id ?? String(frame.id).split('-')[0])
  const time = frame.t_sec === undefined ? '' : `${Math.floor(frame.t_sec / 60)}:${clock(frame.t_sec % 60)}`
  return [video?.author, video?.title, time].filter(Boolean).join(' · ')
}
const clock = (seconds) => String(Math.floor(seconds)).padStart(2, '0')

const captionOf = (frame) => frame.caption || titleOf(frame) || 'A frame without a caption'

function show(next) {
  shown = next
  close()
  $('heading').textContent = next.heading
  $('back').hidden = earlier.length === 0
  const { length } = next.frames
  say(next.note || `${length} ${length === 1 ? 'frame' : 'frames'}`)
  wall.replaceChildren(...next.frames.map(tileOf))
  void loadPictures(next)
}

function tileOf(frame, at) {
  const item = document.createElement('li')
  const tile = document.createElement('button')
  tile.type = 'button'
  tile.className = 'tile'
  const caption = document.createElement('span')
  caption.textContent = captionOf(frame)
  tile.append(pictureOf(frame), caption)
  tile.addEventListener('click', () => openAt(at))
  item.append(tile)
  return item
}

function pictureOf({ id }) {
  const data = pictures.get(id)
  const picture = document.createElement(data ? 'img' : 'div')
  if (data) Object.assign(picture, { src: data, alt: '' })
  else picture.className = 'blank'
  return picture
}

/** Asks for thumbnails in pieces: an answer holds some 100 kB. */
async function loadPictures(of) {
  let wanted = of.frames.slice(0, MOST_PICTURES).filter(({ id }) => !pictures.has(id))
  try {
    while (wanted.length > 0 && shown === of) {
      const left = await takePictures(wanted.slice(0, PICTURES_AT_ONCE).map(({ id }) => id))
      // One that is gone, or too large, is not asked for again.
      const tried = new Set(wanted.slice(0, PICTURES_AT_ONCE).flatMap(({ id }) => (left.includes(id) ? [] : id)))
      for (const [at, frame] of of.frames.entries())
        if (tried.has(frame.id) && shown === of) wall.children[at]?.firstChild.firstChild.replaceWith(pictureOf(frame))
      wanted = wanted.filter(({ id }) => !tried.has(id))
    }
  } catch (error) {
    if (shown === of) say(`The pictures could not be loaded. ${error.message}`)
  }
}

/** Keeps the pictures of these frames. Returns those to ask for again. */
async function takePictures(ids) {
  const { serverTools, serverResources } = host.capabilities
  if (serverTools && !isWithoutTool) {
    try {
      const { structuredContent: found } = await callTool('frame_pictures', { frame_ids: ids })
      for (const { of: id, data } of found.pictures) pictures.set(id, data)
      return found.left
    } catch (error) {
      // Without a key, or for a host of an older revision, it is not there: frames are read one by one.
      if (!serverResources) throw error
      isWithoutTool = true
    }
  }
  if (!serverResources) throw new Error('This chat lets no pictures through.')
  for (const { contents } of await Promise.all(ids.map((id) => ask('resources/read', { uri: `frame://${id}` })))) {
    const picture = contents.find(({ blob }) => blob)
    if (picture) pictures.set(picture.uri.slice('frame://'.length), `data:${picture.mimeType};base64,${picture.blob}`)
  }
  return []
}
let isWithoutTool = false

const say = (text) => {
  $('status').textContent = text
}

// One frame

function openAt(at) {
  const frame = shown.frames[at]
  if (!frame) return
  open = at
  const picture = $('picture')
  picture.removeAttribute('src')
  if (pictures.has(frame.id)) picture.src = pictures.get(frame.id)
  // A host that lets pictures of the library through shows the large one; the others keep the small one.
  const full = new Image()
  full.addEventListener('load', () => open === at && picture.setAttribute('src', full.src))
  full.src = frame.image_url
  picture.alt = captionOf(frame)
  $('caption').textContent = captionOf(frame)
  $('facts').textContent = [titleOf(frame), frame.subject, frame.technique].filter(Boolean).join(' · ')
  $('place').textContent = `${at + 1} of ${shown.frames.length}`
  $('previous').disabled = at === 0
  $('next').disabled = at === shown.frames.length - 1
  $('told').textContent = ''
  $('boards').hidden = true
  if (large.hidden) {
    large.hidden = false
    wall.hidden = true
    $('close').focus()
  }
}

function close() {
  if (large.hidden) return
  large.hidden = true
  wall.hidden = false
  wall.children[open]?.firstChild.focus()
  open = -1
}

/** Runs an action of the large view and tells how it ended. */
async function act(button, run) {
  button.disabled = true
  $('told').textContent = 'One moment …'
  try {
    $('told').textContent = (await run(shown.frames[open])) ?? ''
  } catch (error) {
    $('told').textContent = error.message
  }
  button.disabled = false
}

const firstLine = ({ content }) => content?.find(({ type }) => type === 'text')?.text.split('\n')[0] ?? 'Done.'

$('save').addEventListener('click', (event) =>
  act(event.target, async ({ id }) => firstLine(await callTool('save_frame', { frame_ids: [id] }))),
)

$('pin').addEventListener('click', (event) =>
  act(event.target, async () => {
    const { structuredContent: found } = await callTool('get_board', { limit: 100 })
    const choices = [...found.boards.map(({ id, name }) => new Option(name, id)), new Option('A new board …', '')]
    $('board').replaceChildren(...choices)
    $('boards').hidden = false
    nameNew()
    $('board').focus()
  }),
)

function nameNew() {
  const isNew = $('board').value === ''
  for (const part of [$('name'), $('name-label')]) part.hidden = !isNew
}
$('board').addEventListener('change', nameNew)

// Not a form: the sandbox of a host sends none.
$('pin-now').addEventListener('click', (event) =>
  act(event.target, async ({ id }) => {
    const chosen = $('board').value
    const name = $('name').value.trim()
    if (!chosen && !name) {
      $('name').focus()
      return 'The new board needs a name.'
    }
    const board = chosen || (await callTool('edit_board', { name })).structuredContent.board.id
    const answer = firstLine(await callTool('pin_frame', { board_id: board, frame_ids: [id] }))
    $('boards').hidden = true
    $('pin').focus()
    return answer
  }),
)
$('name').addEventListener('keydown', (event) => event.key === 'Enter' && $('pin-now').click())

$('more').addEventListener('click', (event) =>
  act(event.target, async (frame) => {
    const found = await callTool('find_similar_frames', { frame_id: frame.id })
    earlier.push({ ...shown, at: open })
    const heading = `More like “${captionOf(frame)}”`
    show(wallOf(found, heading))
    wall.querySelector('button')?.focus()
    if (host.capabilities.updateModelContext) {
      const text = `The person now looks at frames like ${frame.id}: ${shown.frames.map(({ id }) => id).join(', ')}.`
      await ask('ui/update-model-context', { content: [{ type: 'text', text }] })
    }
  }),
)

$('show').addEventListener('click', (event) =>
  act(event.target, async ({ id, image_url: image }) => {
    const url = new URL(`/frames/${id}`, image).href
    const { isError } = await ask('ui/open-link', { url })
    return isError ? `This chat does not open ${url}` : ''
  }),
)
$('back').addEventListener('click', () => {
  const before = earlier.pop()
  if (!before) return
  show(before)
  wall.children[before.at]?.firstChild.focus()
})
$('close').addEventListener('click', close)
$('previous').addEventListener('click', () => openAt(open - 1))
$('next').addEventListener('click', () => openAt(open + 1))

addEventListener('keydown', (event) => {
  if (event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement) return
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
  if (!large.hidden) {
    if (event.key === 'Escape') close()
    else if (step) openAt(open + step)
    return
  }
  const tiles = [...wall.querySelectorAll('.tile')]
  const at = tiles.indexOf(document.activeElement)
  if (step && at >= 0) tiles[at + step]?.focus()
})

// The beginning

new ResizeObserver(() => {
  const { width, height } = document.documentElement.getBoundingClientRect()
  tell('ui/notifications/size-changed', { width: Math.ceil(width), height: Math.ceil(height) })
}).observe(document.documentElement)

const begun = await ask('ui/initialize', {
  appInfo: { name: 'frame-library-gallery', version: '1' },
  appCapabilities: { availableDisplayModes: ['inline', 'fullscreen'] },
  protocolVersion: PROTOCOL,
})
host = { capabilities: begun.hostCapabilities ?? {} }
dress(begun.hostContext ?? {})
$('actions').hidden = !host.capabilities.serverTools
tell('ui/notifications/initialized')
