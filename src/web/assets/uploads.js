// Sends files in parts. Each file is hashed first, so that a duplicate is told before a byte is sent. An interrupted
// upload goes on where it stopped, also after a reload. Without this script the form sends one file at a time.
import { byId, on, send, tell, whoAmI } from './core.js'

const form = /** @type {HTMLFormElement} */ (byId('files'))
const input = /** @type {HTMLInputElement} */ (byId('file'))
const list = /** @type {HTMLElement} */ (byId('uploads'))
const MAX = Number(form.dataset.max)
/** Parts of one file that travel at a time. */
const LANES = 3
const ATTEMPTS = 7

/**
 * @typedef {{ id: string, part_bytes: number, parts: number, received: number[] }} Upload
 * @typedef {{ say: (text: string, share?: number) => void, fail: (text: string) => void, signal: AbortSignal,
 *   end: (text: string, href?: string, follows?: boolean) => void }} Line
 */

form.querySelector('button')?.setAttribute('hidden', '')
input.multiple = true
input.required = false
input.addEventListener('change', () => {
  addFiles(input.files)
  input.value = ''
})
on('dragover', '.dropzone', (event, drop) => {
  event.preventDefault()
  drop.classList.add('over')
})
on('dragleave', '.dropzone', (_event, drop) => drop.classList.remove('over'))
on('drop', '.dropzone', (/** @type {DragEvent} */ event, drop) => {
  event.preventDefault()
  drop.classList.remove('over')
  addFiles(event.dataTransfer?.files)
})

/** One file after the other: each already uses the line's width. */
let turn = Promise.resolve()

/** @param {FileList | null | undefined} files */
function addFiles(files) {
  for (const file of files ?? []) {
    const line = addLine(file)
    turn = turn.then(() => upload(file, line)).catch((error) => line.fail(error.message))
  }
}

/**
 * A line of the list with its progress and its cancel button.
 * @param {File} file
 * @returns {Line}
 */
function addLine(file) {
  const item = document.createElement('li')
  const name = document.createElement('span')
  name.textContent = file.name
  const bar = document.createElement('progress')
  bar.max = 1
  bar.value = 0
  bar.setAttribute('aria-label', file.name)
  const state = document.createElement('span')
  state.className = 'hint'
  state.textContent = 'waits'
  const cancel = document.createElement('button')
  cancel.type = 'button'
  cancel.className = 'quiet'
  cancel.textContent = 'Cancel'
  cancel.setAttribute('aria-label', `Cancel: ${file.name}`)
  const stop = new AbortController()
  cancel.addEventListener('click', () => stop.abort())
  item.append(name, bar, state, cancel)
  list.append(item)
  const end = (/** @type {string} */ text) => {
    state.textContent = text
    bar.remove()
    cancel.remove()
  }
  return {
    signal: stop.signal,
    say(text, share) {
      state.textContent = text
      if (share !== undefined) bar.value = share
    },
    end(text, href) {
      end('')
      const link = document.createElement('a')
      link.textContent = text
      if (href) link.href = href
      state.append(link)
    },
    fail(text) {
      end(text)
      item.classList.add('failed')
    },
  }
}

/** Kinds of files that a browser knows to be something else. */
const NO_VIDEO = /^(image|audio|font)\/|^application\/(pdf|zip|json)$/

/**
 * @param {File} file
 * @param {Line} line
 */
async function upload(file, line) {
  if (line.signal.aborted) return line.fail('cancelled')
  if (file.size === 0) return line.fail('empty: choose a video file')
  if (NO_VIDEO.test(file.type)) return line.fail('not a video: choose MP4, MOV, WebM, Matroska, AVI or MPEG-TS')
  if (file.size > MAX) return line.fail(`larger than the ${Math.floor(MAX / 1024 / 1024)} MB allowed`)
  const sha256 = await hashOf(file, line)
  const begun = await send('/web/uploads', { filename: file.name, bytes: String(file.size), sha256 })
  if (begun.known) return line.end(`in the library already: ${begun.known.title}`, `/operator/videos/${begun.known.id}`)
  const given = /** @type {Upload} */ (begun.upload)
  // It goes on: nothing asks for it any more.
  byId(`unfinished-${given.id}`)?.remove()
  const place = `/web/uploads/${given.id}`
  try {
    await sendParts(file, given, line)
    line.say('is checked', 1)
    const { video, created } = await patiently(line.signal, () => send(`${place}/finish`, {}))
    line.end(created ? 'queued' : 'in the library already', `/operator/videos/${video.id}`)
    document.dispatchEvent(new Event('queued'))
  } catch (error) {
    if (!line.signal.aborted) throw error
    await send(`${place}/cancel`, {})
    line.fail('cancelled')
  }
}

/**
 * @param {File} file
 * @param {Line} line
 * @returns {Promise<string>}
 */
function hashOf(file, line) {
  const worker = new Worker(form.dataset.worker ?? '', { type: 'module' })
  return new Promise((resolve, reject) => {
    worker.addEventListener('message', ({ data }) => {
      if (data.done !== undefined) line.say('is read', data.done)
      if (data.sha256) resolve(data.sha256)
      if (data.error) reject(new Error(data.error))
    })
    worker.addEventListener('error', () => reject(new Error('The file cannot be read.')))
    line.signal.addEventListener('abort', () => reject(new Error('cancelled')))
    worker.postMessage(file)
  }).finally(() => worker.terminate())
}

/**
 * Sends what is missing, some parts at a time, each again after a fault.
 * @param {File} file
 * @param {Upload} given
 * @param {Line} line
 */
async function sendParts(file, { id, part_bytes, parts, received }, line) {
  const missing = Array.from({ length: parts }, (_, n) => n).filter((n) => !received.includes(n))
  const sizeOf = (/** @type {number} */ n) => Math.min(part_bytes, file.size - n * part_bytes)
  const before = received.reduce((sum, n) => sum + sizeOf(n), 0)
  /** @type {Map<number, number>} */
  const sent = new Map()
  const began = performance.now()
  const tell = () => {
    const now = [...sent.values()].reduce((sum, bytes) => sum + bytes, 0)
    const rate = now / ((performance.now() - began) / 1000)
    const left = rate > 0 ? Math.ceil((file.size - before - now) / rate) : 0
    const mb = (/** @type {number} */ bytes) => (bytes / 1024 / 1024).toFixed(1)
    line.say(
      `${mb(before + now)} of ${mb(file.size)} MB, ${mb(rate)} MB a second, ${left} s left`,
      (before + now) / file.size,
    )
  }
  const lane = async () => {
    for (let n = missing.shift(); n !== undefined; n = missing.shift()) {
      const at = n
      const body = file.slice(n * part_bytes, n * part_bytes + sizeOf(n))
      await sendPart(`/web/uploads/${id}/parts/${n}`, body, line.signal, (bytes) => {
        sent.set(at, bytes)
        tell()
      })
    }
  }
  await Promise.all(Array.from({ length: LANES }, lane))
}

/**
 * @param {string} url
 * @param {Blob} body
 * @param {AbortSignal} signal
 * @param {(bytes: number) => void} progress
 */
function sendPart(url, body, signal, progress) {
  return patiently(signal, async () => {
    const { status, message } = await put(url, body, signal, progress)
    if (status >= 200 && status < 300) return
    progress(0)
    throw Object.assign(new Error(message ?? 'The connection is lost. Choose the file again.'), { status })
  })
}

/**
 * Tries again what may pass: a limit, an outage, a lost connection.
 * @template T
 * @param {AbortSignal} signal
 * @param {() => Promise<T>} act
 * @returns {Promise<T>}
 */
async function patiently(signal, act) {
  for (let attempt = 1; ; attempt++) {
    try {
      return await act()
    } catch (error) {
      const { status = 0 } = /** @type {{ status?: number }} */ (error)
      const passes = status === 0 || status === 429 || status >= 500
      if (!passes || signal.aborted || attempt === ATTEMPTS) throw error
    }
    await new Promise((resolve) => setTimeout(resolve, Math.min(30_000, 500 * 2 ** attempt)))
  }
}

/**
 * `fetch` tells no progress of what is sent.
 * @param {string} url
 * @param {Blob} body
 * @param {AbortSignal} signal
 * @param {(bytes: number) => void} progress
 * @returns {Promise<{ status: number, message?: string }>}
 */
async function put(url, body, signal, progress) {
  const token = (await whoAmI())?.form ?? ''
  return new Promise((resolve) => {
    const request = new XMLHttpRequest()
    request.open('PUT', url)
    request.setRequestHeader('Accept', 'application/json')
    request.setRequestHeader('Content-Type', 'application/octet-stream')
    request.setRequestHeader('X-Form', token)
    request.upload.addEventListener('progress', (event) => progress(event.loaded))
    const abort = () => request.abort()
    signal.addEventListener('abort', abort)
    request.addEventListener('loadend', () => {
      signal.removeEventListener('abort', abort)
      resolve({ status: request.status, message: messageOf(request.responseText) })
    })
    request.send(body)
  })
}

/** @param {string} text */
function messageOf(text) {
  try {
    return JSON.parse(text).message
  } catch {
    return undefined
  }
}

// A file cannot be read again after a reload without its person: they are told which ones to choose again.
const unfinished = await fetch('/web/uploads', { headers: { accept: 'application/json' } })
  .then((response) => (response.ok ? response.json() : { uploads: [] }))
  .catch(() => ({ uploads: [] }))
for (const { id, filename, received, parts } of unfinished.uploads) {
  const item = document.createElement('li')
  item.id = `unfinished-${id}`
  const name = document.createElement('span')
  name.textContent = filename
  const state = document.createElement('span')
  state.className = 'hint'
  state.textContent = `${received.length} of ${parts} parts are here. Choose the file again to go on.`
  const forget = document.createElement('button')
  forget.type = 'button'
  forget.className = 'quiet'
  forget.textContent = 'Forget'
  forget.setAttribute('aria-label', `Forget: ${filename}`)
  forget.addEventListener('click', async () => {
    await send(`/web/uploads/${id}/cancel`, {}).catch(tell)
    item.remove()
  })
  item.append(name, state, forget)
  list.append(item)
}
