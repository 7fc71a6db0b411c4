// Browsers never send what follows #, so the code reaches no log. Mail scanners run pages too: send nothing before the
// button is pressed.
const code = location.hash.slice(1)
if (code) {
  const input = document.getElementById('code')
  input.value = decodeURIComponent(code)
  document.getElementById('code-field').hidden = true
  history.replaceState(null, '', location.pathname)
  document.querySelector('#confirm button').focus()
}
