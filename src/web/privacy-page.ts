import { priced } from '../http/rate-limit/rate-limits.ts'
import { openRoutes, type Routes } from '../http/routes.ts'
import { html, table } from './html.ts'
import type { PageDeps } from './page-deps.ts'

/** `/privacy`: what the service keeps about a person. The table is that of docs/operations.md, Personal data. */
export function privacyRouter({ pages, limits }: PageDeps): Routes {
  const router = openRoutes()
  router.get('/privacy', priced(limits), (req, res) => pages.sendFixed(req, res, { title: 'Privacy', body: BODY }))
  return router
}

const KEPT = [
  ['Your e-mail address, role and plan; your name for shared boards, if you gave one', 'Until your account is deleted'],
  [
    'Names, last four characters and times of your keys; of a key itself only a fingerprint',
    '30 days after a key ended',
  ],
  ['Your saves; your boards with names and notes', 'Until you delete them, or your account'],
  ['Apps that you let in, and what they may do', 'Until you disconnect them or their tokens expire; a day if unused'],
  ['First responses to requests that your programs may repeat', '24 hours'],
  ['Sessions; unused sign-in links and invitations, with the address', '30 days; 7 days at most'],
  ['What you removed lately, so that it can be taken back', '24 hours'],
  [
    'What was done when, with names of boards, under a random id',
    'For ever; nothing leads to you once your account is deleted',
  ],
  ['Your network address, to share the service fairly', '15 minutes at most'],
] as const

const BODY = html`<h1>Privacy</h1>
<p class="lead">What this service keeps about you, and for how long. Only apps that you let in get any of it,
  and programs of its operator.</p>
${table(
  ['What', 'How long'],
  KEPT.map(([what, long]) => html`<tr><td>${what}</td><td>${long}</td></tr>`),
)}
<p>Searches are counted by their words, not by who asked. An assistant sees what its tools return: the frames it asked
  for, and with your consent your saves and boards. Cookies: for your session and for the way back after a sign-in, none
  of others. Play on a film’s page may load YouTube or Vimeo, who then see your
  network address.</p>
<p>You see and end keys and apps on <a href="/keys">your keys page</a>, where you also delete your account. For a copy
  of everything that is kept about you, ask the operator of this service.</p>`
