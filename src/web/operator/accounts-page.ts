import { z } from 'zod'
import { operationOf } from '../../api/endpoints.ts'
import { AppError } from '../../errors.ts'
import {
  type AccountOverview,
  findAccountByEmail,
  listAccountOverviews,
  parseEmail,
  setDisabled,
} from '../../library/accounts/accounts.ts'
import { createSignInCode } from '../../library/accounts/sessions.ts'
import { endShare } from '../../library/collections/board-settings.ts'
import type { Parameters } from '../../parameters.ts'
import { PLANS } from '../../vocabulary.ts'
import { type Actions, field } from '../actions.ts'
import { textToCopy } from '../connect-page.ts'
import type { Visitor } from '../guard.ts'
import { capitalized, counted, formToken, type Html, hidden, html, numberedPages, options, trusted } from '../html.ts'
import type { PageDeps } from '../page-deps.ts'
import { signInUrl } from '../sign-in.ts'
import { ago, operatorHead } from './parts.ts'

const PAGE = 50
const parameters = {
  q: { schema: z.string().max(254), description: 'A part of the address.' },
  ended: { schema: z.literal('1'), description: 'Told: a share link was ended.' },
  page: { schema: z.coerce.number().int().min(1).max(100_000), description: `Page of ${PAGE} accounts.` },
} as const satisfies Parameters

/** `/operator/accounts`: plan, keys, last use, and who may come in. */
export function addAccountPages(actions: Actions, deps: PageDeps): void {
  const { db } = deps
  actions.page('/operator/accounts', 'operator', { parameters }, async ({ visitor, query }) => {
    const { q, page = 1, ended } = query
    const { accounts, total } = await listAccountOverviews(db, { like: q, limit: PAGE, skip: (page - 1) * PAGE })
    const body = accountsPage({ visitor, accounts, total, q, page, ended })
    return { title: 'Accounts', current: 'operator', wide: true, body }
  })

  const invite = { path: '/web/accounts/invite', who: 'operator', body: z.object({ email: field.text }) } as const
  actions.action(invite, async ({ visitor, body }) => {
    const { email, url } = await inviteMember(deps, body.email)
    const byHand = await sendInvitation(deps, { to: email, ...invitationMail(url, visitor.account.email) })
    const shown = invitedPage(email, byHand === undefined ? undefined : { url, byHand })
    return { page: { title: 'Invitation', current: 'operator', body: shown }, status: 201 }
  })

  const plan = {
    path: '/web/accounts/:id/plan',
    of: operationOf('setAccountPlan'),
    body: z.object({ plan: field.text }),
  }
  actions.operation(plan, () => '/operator/accounts')

  const access = {
    path: '/web/accounts/:id/disable',
    who: 'operator',
    body: z.object({ disabled: field.choice }),
  } as const
  actions.action(access, async ({ visitor, body, param }) => {
    await setDisabled(db, { accountId: param('id'), ...body, by: visitor.account.id })
    return { json: body, to: '/operator/accounts' }
  })

  const share = { path: '/web/shares/end', who: 'operator', body: z.object({ link: field.text }) } as const
  actions.action(share, async ({ body }) => {
    await endShare(db, body.link)
    return { json: { ok: true }, to: '/operator/accounts?ended=1' }
  })
}

const INVITATION_DAYS = 7

/** A link that creates the member's account. @throws AppError invalid_request, conflict for one that there is. */
async function inviteMember({ db, config, publicUrl }: PageDeps, given: string) {
  const email = parseEmail(given)
  if (await findAccountByEmail(db, email))
    throw new AppError('conflict', `${email} has an account. They ask for a link on the sign-in page themselves.`)
  const made = await createSignInCode(db, { email, newPlan: config.defaultPlan, lifetimeSec: INVITATION_DAYS * 86_400 })
  return { email, url: signInUrl(publicUrl, made!.code) }
}

/** The reason why the operator must pass the link on; undefined where the mail is sent. */
async function sendInvitation(
  { mailer, logger }: PageDeps,
  mail: { to: string; subject: string; text: string },
): Promise<string | undefined> {
  if (!mailer) return 'No mail server is set'
  try {
    await mailer.send(mail)
    return undefined
  } catch (error) {
    logger.error({ err: error }, 'invitation mail not sent')
    return 'The mail could not be sent'
  }
}

function invitationMail(url: string, from: string): { subject: string; text: string } {
  return {
    subject: 'You are invited to Frame Library',
    text: `\
${from} invites you to a library of video frames. Open this link to sign in. It works once, for ${INVITATION_DAYS} days.

${url}
`,
  }
}

function invitedPage(email: string, link: { url: string; byHand: string } | undefined): Html {
  return html`<section class="narrow card"><h1>${email} is invited</h1>
${
  link === undefined
    ? html`<p>The mail is sent. Its link works once, for ${INVITATION_DAYS} days.</p>`
    : html`<p>${link.byHand}, so pass this link on. It works once, for ${INVITATION_DAYS} days.</p>
${textToCopy('Link', link.url)}`
}
<p><a class="button" href="/operator/accounts">Back to the accounts</a></p></section>`
}

interface AccountsData {
  visitor: Visitor
  accounts: readonly AccountOverview[]
  total: number
  q: string | undefined
  page: number
  ended: '1' | undefined
}

function accountsPage({ visitor, accounts, total, q, page, ended }: AccountsData): Html {
  const link = (to: number) => `/operator/accounts?page=${to}${q === undefined ? '' : `&q=${encodeURIComponent(q)}`}`
  return html`${operatorHead('accounts', 'Accounts')}
${ended && html`<p class="notice done" role="status">The share link is ended.</p>`}
<div class="row loose"><form class="row apart line" method="post" action="/web/accounts/invite">${formToken(visitor)}
<label for="invite">Invite</label>
<input id="invite" name="email" type="email" required autocomplete="off" placeholder="ann@example.org">
<button class="primary">Invite</button></form>
<form class="row apart line" action="/operator/accounts" role="search"><label for="q">Find</label>
<input id="q" name="q" type="search" value="${q}" autocomplete="off"><button>Find</button></form></div>
<p class="lead">${counted(total, 'account')}. A plan applies from the next request on.</p>
<table class="videos"><thead><tr><th scope="col">Account</th><th scope="col">Plan</th><th scope="col">Keys</th>
<th scope="col">Collected</th><th scope="col">Access</th></tr></thead>
<tbody>${accounts.map((account) => accountRow(visitor, account, link(page)))}</tbody></table>
${numberedPages(page, Math.ceil(total / PAGE), link)}
<form class="row apart line" method="post" action="/web/shares/end">${formToken(visitor)}
<label for="link">Share link</label>
<input id="link" name="link" required autocomplete="off" placeholder="/shared/…"><button>End this link</button></form>`
}

/** `here`: the list as it is shown, which its forms lead back to. */
function accountRow(visitor: Visitor, account: AccountOverview, here: string): Html {
  const { id, email, role, plan, created_at, disabled_at, keys, last_used_at, saves, boards } = account
  return html`<tr${disabled_at !== null && trusted(' class="gone"')}>
<th scope="row">${email}<span class="hint">${role} · added ${ago(created_at)}</span></th>
<td><form class="row tight" method="post" action="/web/accounts/${id}/plan">${formToken(visitor)}
${hidden('back', here)}
<select name="plan" aria-label="Plan of ${email}">${options(
    PLANS.map((one) => [one, capitalized(one)]),
    plan,
  )}</select>
<button class="quiet" aria-label="Save the plan of ${email}">Save</button></form></td>
<td>${counted(keys, 'key')}<span class="hint">${last_used_at === null ? 'never used' : html`used ${ago(last_used_at)}`}
</span></td>
<td>${counted(saves, 'save')}<span class="hint">${counted(boards, 'board')}</span></td>
<td>${accessForm(visitor, account, here)}</td></tr>`
}

function accessForm(visitor: Visitor, { id, email, disabled_at }: AccountOverview, here: string): Html {
  if (id === visitor.account.id) return html`<span class="hint">you</span>`
  const enable = disabled_at !== null
  const label = enable ? 'Enable' : 'Disable'
  return html`<form method="post" action="/web/accounts/${id}/disable">${formToken(visitor)}
${hidden('back', here)}
${hidden('disabled', enable ? '0' : '1')}
${enable && html`<span class="hint">disabled ${ago(disabled_at)}</span>`}
<button class="quiet" aria-label="${label} ${email}">${label}</button></form>`
}
