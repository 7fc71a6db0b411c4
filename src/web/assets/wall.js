// A changed filter searches at once; without this script the button does.
const form = document.querySelector('form.search')
form?.addEventListener('change', (event) => {
  if (event.target instanceof HTMLSelectElement) form.requestSubmit()
})
// Keep empty fields out of the address.
form?.addEventListener('submit', () => {
  for (const field of form.querySelectorAll('input[name], select[name]')) field.disabled = field.value === ''
})
window.addEventListener('pageshow', () => {
  for (const field of form?.querySelectorAll(':disabled') ?? []) field.disabled = false
})
