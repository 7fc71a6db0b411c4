// Browsers never send what follows #, so the code reaches no log. Mail scanners run pages too: send nothing before the
// button is pressed.
const code = location.hash.slice(1)
const input = document.getElementById('code')
const field = document.getElementById('code-field')
if (code && field && input instanceof HTMLInputElement) {
  input.value = decodeURIComponent(code)
  field.hidden = true
  history.replaceState(null, '', location.pathname)
  input.form?.querySelector('button')?.focus()
}
