// Sends a form and shows a refusal inside it, so what was typed stays.
import { ask, on, readPage } from './core.js'

on('submit', 'form[data-here]', async (event, form) => {
  if (!(form instanceof HTMLFormElement)) return
  event.preventDefault()
  if (form.ariaBusy === 'true') return
  form.ariaBusy = 'true'
  try {
    const body = new URLSearchParams()
    for (const [name, value] of new FormData(form)) body.append(name, String(value))
    // After another sign-in the token in the page is no longer valid.
    const me = await (await ask('/web/me', { headers: { accept: 'application/json' } })).json()
    if (!me) return tellIn(form, 'You are no longer signed in. Sign in in another tab, then send this form again.')
    body.set('form', me.form)
    const response = await ask(form.action, { method: 'POST', body, headers: { accept: 'text/html' } })
    if (response.ok) return location.assign(response.url)
    await readPage(response)
  } catch (error) {
    tellIn(form, /** @type {Error} */ (error).message)
  } finally {
    form.ariaBusy = null
  }
})

/** @param {HTMLFormElement} form @param {string} text */
function tellIn(form, text) {
  const told = form.querySelector('[role="alert"]') ?? document.createElement('p')
  told.className = 'error'
  told.setAttribute('role', 'alert')
  told.textContent = text
  form.append(told)
}
