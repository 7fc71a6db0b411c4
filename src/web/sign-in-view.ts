import { LINK_SEC } from '../library/accounts/sessions.ts'
import { type Html, html } from './html.ts'

/** How a sign-in link reaches a person. */
export type Delivery = 'mail' | 'terminal' | 'nothing'

const LINK_MINUTES = LINK_SEC / 60

interface SignInForm {
  by: Delivery
  email?: string
  error?: string
}

export function signInForm(form: SignInForm): Html {
  return html`<section class="narrow card"><h1>Sign in</h1>
${form.by === 'nothing' ? NO_DELIVERY : emailForm(form)}
<p class="hint">Searching the library needs no account.</p></section>`
}

const NO_DELIVERY = html`<p class="notice">This service has no mail server. Ask an operator for a link:
  <code>frames accounts link &lt;email&gt;</code> makes one.</p>`

/** `npm start` makes this account. */
const OPERATOR_HINT = html`<p class="hint">The operator of a first start is <code>operator@localhost</code>.</p>`

function emailForm({ by, email, error }: SignInForm): Html {
  const invalid = error !== undefined && html` aria-invalid="true" aria-describedby="email-error"`
  const where =
    by === 'mail'
      ? 'We mail you a link.'
      : 'There is no mail server, so the link is printed in the terminal that runs the service.'
  return html`<p>${where} There is no password.</p>
<form method="post" action="/web/sign-in">
  <div class="field">
    <label for="email">E-mail address</label>
    <input id="email" name="email" type="email" autocomplete="email" required maxlength="254"
      value="${email}"${invalid}>
    ${error && html`<p class="error" id="email-error" role="alert">${error}</p>`}
    ${by === 'terminal' && OPERATOR_HINT}
  </div>
  <button class="primary">${by === 'mail' ? 'Mail me a link' : 'Print a link'}</button>
</form>`
}

export function sentTitle(by: Delivery): string {
  return by === 'mail' ? 'Look at your mail' : 'Look at the terminal'
}

/** The same page whether or not the address has an account. */
export function sentPage(by: Delivery, email: string): Html {
  const help = by === 'mail' ? 'Look in the spam folder, or try' : 'Try'
  return html`<section class="narrow card"><h1>${sentTitle(by)}</h1>
<p>If <strong>${email}</strong> can sign in here, a link is on its way. It works once, for ${LINK_MINUTES} minutes.</p>
<p class="hint">Nothing there? ${help} <a href="/sign-in">again</a>.</p></section>`
}

export function confirmForm(error?: string): Html {
  return html`<section class="narrow card"><h1>Sign in</h1>
${error && html`<p class="error" role="alert">${error}</p>`}
<form method="post" action="/web/sign-in/confirm" id="confirm">
  <div class="field" id="code-field">
    <label for="code">Code from your link <span class="hint">(the part after #)</span></label>
    <input id="code" name="code" required maxlength="200" autocomplete="off" spellcheck="false" autocapitalize="off">
  </div>
  <button class="primary">Sign in</button>
</form>
${error && html`<p><a href="/sign-in">Ask for a new link</a></p>`}</section>`
}

export function signOutForm(form: string): Html {
  return html`<section class="narrow card"><h1>Sign out</h1>
<p>Your saves, boards and keys stay. To end every session, use <a href="/keys">your keys page</a>.</p>
<form method="post" action="/web/sign-out">
  <input type="hidden" name="form" value="${form}">
  <button class="primary">Sign out of this browser</button>
</form></section>`
}

export function signInMail(url: string): { subject: string; text: string } {
  return {
    subject: 'Sign in to Frame Library',
    text: `\
Open this link to sign in to Frame Library. It works once, for ${LINK_MINUTES} minutes.

${url}

If you did not ask for it, ignore this mail: only this link signs in.
`,
  }
}
