// A changed filter searches at once; without this script the button does.
const form = /** @type {HTMLFormElement | null} */ (document.querySelector('form.search'))
/** @typedef {HTMLInputElement | HTMLSelectElement} Field */
form?.addEventListener('change', (event) => {
  if (event.target instanceof HTMLSelectElement) form.requestSubmit()
})
// Keep empty fields out of the address.
form?.addEventListener('submit', () => {
  for (const field of form.querySelectorAll('input[name], select[name]')) {
    const named = /** @type {Field} */ (field)
    named.disabled = named.value === ''
  }
})
window.addEventListener('pageshow', () => {
  for (const field of form?.querySelectorAll(':disabled') ?? []) /** @type {Field} */ (field).disabled = false
})
