// What is wrong with a field is told beside it, in the page's own way: browsers' bubbles leave at once.

/** @param {ParentNode | null} form */
export function clearFaults(form) {
  form?.querySelector('.told')?.remove()
  for (const field of form?.querySelectorAll('[aria-invalid]') ?? []) {
    field.removeAttribute('aria-invalid')
    const own = field.getAttribute('aria-describedby')?.replace(/ ?told$/, '')
    if (own) field.setAttribute('aria-describedby', own)
    else field.removeAttribute('aria-describedby')
  }
}

/**
 * Tells a fault behind a field, or at the end of its form.
 * @param {HTMLFormElement} form
 * @param {Element | null} field
 * @param {string} text
 * @returns {HTMLElement} what is told
 */
export function tellFault(form, field, text) {
  // One at a time, also where there are several forms.
  clearFaults(document)
  const told = document.createElement('p')
  told.className = 'error told'
  told.id = 'told'
  told.setAttribute('role', 'alert')
  told.append(text)
  if (!(field instanceof HTMLElement)) {
    form.append(told)
    return told
  }
  field.setAttribute('aria-invalid', 'true')
  field.setAttribute('aria-describedby', `${field.getAttribute('aria-describedby') ?? ''} ${told.id}`.trim())
  field.after(told)
  field.focus()
  return told
}

addEventListener(
  'invalid',
  (event) => {
    const field = /** @type {HTMLInputElement} */ (event.target)
    event.preventDefault()
    // Each field is told of in turn: the first is the one to mend.
    if (!field.form || field !== field.form.querySelector('input:invalid, select:invalid, textarea:invalid')) return
    tellFault(field.form, field, field.validity.valueMissing ? 'Fill this in.' : field.validationMessage)
  },
  { capture: true },
)
addEventListener('input', ({ target }) => {
  if (target instanceof HTMLElement && target.ariaInvalid === 'true') clearFaults(target.closest('form'))
})
