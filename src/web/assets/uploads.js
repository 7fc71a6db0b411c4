// Sends files one after the other, each with its progress. Without this script the form sends one file.
import { announce, ask, byId, on, readAnswer } from './core.js'

const form = /** @type {HTMLFormElement} */ (byId('files'))
const input = /** @type {HTMLInputElement} */ (byId('file'))
const list = /** @type {HTMLElement} */ (byId('uploads'))
const title = /** @type {HTMLInputElement | null} */ (byId('title'))
const MAX = Number(form.dataset.max)

input.multiple = true
input.required = false
input.addEventListener('change', () => {
  addFiles(input.files)
  input.value = ''
})
on('dragover', '.dropzone', (event, drop) => {
  event.preventDefault()
  drop.classList.add('dropping')
})
on('dragleave', '.dropzone', (_event, drop) => drop.classList.remove('dropping'))
on('drop', '.dropzone', (/** @type {DragEvent} */ event, drop) => {
  event.preventDefault()
  drop.classList.remove('dropping')
  addFiles(event.dataTransfer?.files)
})

// What is left on its way is lost.
addEventListener('beforeunload', (event) => {
  if (list.querySelector('progress')) event.preventDefault()
})

/** One file after the other: each already uses the line's width. */
let turn = Promise.resolve()

/** @param {FileList | null | undefined} files */
function addFiles(files) {
  const fields = new FormData(form)
  // A title is that of a single file.
  if (files?.length !== 1) fields.delete('title')
  else if (title) title.value = ''
  for (const file of files ?? []) {
    const item = document.createElement('li')
    item.className = 'row loose'
    list.append(item)
    addInTurn(file, fields, item)
  }
}

/**
 * @param {File} file
 * @param {FormData} fields what was said of it
 * @param {HTMLLIElement} item
 */
function addInTurn(file, fields, item) {
  const line = show(item, file.name)
  const again = () => addInTurn(file, fields, item)
  turn = turn.then(() => upload(file, fields, line)).catch(({ message }) => line.fail(message, again))
}

/**
 * The line of a file, with its progress and a button that cancels it.
 * @typedef {ReturnType<typeof show>} Line
 * @param {HTMLLIElement} item
 * @param {string} filename
 */
function show(item, filename) {
  item.innerHTML = `<span></span><progress max="1" value="0"></progress><span class="hint">waits</span>`
  const [name, bar, state] = /** @type {[HTMLElement, HTMLProgressElement, HTMLElement]} */ ([...item.children])
  name.textContent = filename
  bar.ariaLabel = filename
  const stop = new AbortController()
  item.append(buttonFor('Cancel', filename, () => stop.abort()))
  return {
    signal: stop.signal,
    /** @param {string} text @param {number} share */
    say(text, share) {
      state.textContent = text
      bar.value = share
    },
    /** @param {string} text @param {string} href */
    end(text, href) {
      announce(`${filename}: ${text}`)
      const link = document.createElement('a')
      link.textContent = text
      link.href = href
      state.replaceChildren(link)
      item.replaceChildren(name, state)
    },
    /** @param {string} text @param {() => void} [again] where that may help */
    fail(text, again) {
      announce(`${filename}: ${text}`)
      state.className = 'error'
      state.textContent = text
      item.replaceChildren(name, state, ...(again ? [buttonFor('Retry', filename, again)] : []))
    },
  }
}

/** @param {string} label @param {string} filename @param {() => void} act */
function buttonFor(label, filename, act) {
  const button = document.createElement('button')
  button.type = 'button'
  button.className = 'quiet'
  button.textContent = label
  button.setAttribute('aria-label', `${label}: ${filename}`)
  button.addEventListener('click', act)
  return button
}

/** Kinds of files that a browser knows to be something else. */
const NO_VIDEO = /^(image|audio|font)\/|^application\/(pdf|zip|json)$/

/**
 * @param {File} file
 * @param {FormData} body
 * @param {Line} line
 * @throws {Error} with what to tell the person, who may try again
 */
async function upload(file, body, line) {
  if (file.size === 0) return line.fail('empty: choose a video file')
  if (NO_VIDEO.test(file.type)) return line.fail('not a video: choose MP4, MOV, WebM, Matroska, AVI or MPEG-TS')
  if (file.size > MAX) return line.fail(`larger than the ${Math.floor(MAX / 1024 / 1024)} MB allowed`)
  // The session may be another one than that of the page, or none.
  const me = await readAnswer(await ask('/web/me', { headers: { accept: 'application/json' } }))
  if (!me) throw new Error('You are no longer signed in. Sign in beside this page.')
  body.set('form', me.form)
  body.set('file', file)
  const { status, answer } = await sendForm(body, line)
  if (line.signal.aborted) throw new Error('cancelled')
  if (status === 0) throw new Error('The connection was lost.')
  if (status !== 200) throw new Error(answer?.message ?? 'That did not work.')
  const { video, created, unchanged } = answer
  const stays = unchanged.length > 0 ? ', with its details as they were' : ''
  line.end(created ? 'queued' : `in the library already: ${video.title}${stays}`, `/operator/videos/${video.id}`)
  document.dispatchEvent(new Event('queued'))
}

const mb = (/** @type {number} */ bytes) => (bytes / 1024 / 1024).toFixed(1)

/**
 * By XMLHttpRequest: `fetch` tells no progress of what is sent. Status 0: no answer came.
 * @param {FormData} body
 * @param {Line} line
 * @returns {Promise<{ status: number, answer: any }>}
 */
function sendForm(body, line) {
  const request = new XMLHttpRequest()
  request.open('POST', form.action)
  request.setRequestHeader('Accept', 'application/json')
  request.responseType = 'json'
  const began = performance.now()
  request.upload.addEventListener('progress', ({ loaded, total }) => {
    const rate = loaded / ((performance.now() - began) / 1000)
    const left = Math.ceil((total - loaded) / rate)
    const text = loaded < total ? `${mb(loaded)} of ${mb(total)} MB, ${left} s left` : 'is checked'
    line.say(text, loaded / total)
  })
  const abort = () => request.abort()
  line.signal.addEventListener('abort', abort)
  return new Promise((resolve) => {
    request.addEventListener('loadend', () => resolve({ status: request.status, answer: request.response }))
    if (line.signal.aborted) resolve({ status: 0, answer: null })
    else request.send(body)
  })
}
