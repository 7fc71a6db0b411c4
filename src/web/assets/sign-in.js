// The code stands behind #, so that it never reaches a log. Nothing is sent before the button is pressed: mail scanners run pages too.
const code = location.hash.slice(1)
if (code) {
  const input = document.getElementById('code')
  input.value = decodeURIComponent(code)
  document.getElementById('code-field').hidden = true
  history.replaceState(null, '', location.pathname)
  document.querySelector('#confirm button').focus()
}
