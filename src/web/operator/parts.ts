import { span } from '../../clean-text.ts'
import { type Html, html, trusted } from '../html.ts'

/** What the operator's pages share. */

type OperatorTab = 'videos' | 'review' | 'techniques' | 'accounts' | 'analytics' | 'system'

const TABS: readonly (readonly [id: OperatorTab, href: string, label: string])[] = [
  ['videos', '/operator', 'Videos'],
  ['review', '/operator/review', 'Review'],
  ['techniques', '/operator/techniques', 'Techniques'],
  ['accounts', '/operator/accounts', 'Accounts'],
  ['analytics', '/operator/analytics', 'Analytics'],
  ['system', '/operator/system', 'System'],
]

/** The top of an operator's page, with the way to the others. `tools`: what is done with the whole. */
export function operatorHead(tab: OperatorTab, title: string, tools?: Html): Html {
  const links = TABS.map(
    ([id, href, label]) =>
      html`<li><a href="${href}"${id === tab && trusted(' aria-current="page"')}>${label}</a></li>`,
  )
  // The tab tells it.
  const isTold = TABS.some(([, , label]) => label === title)
  return html`<header class="entity"><nav aria-label="Operator"><ul class="row loose lists tabs">${links}</ul></nav>
<h1${isTold && trusted(' class="visually-hidden"')}>${title}</h1>
${tools && html`<div class="row tools">${tools}</div>`}</header>`
}

/** A time as people say it, exact under the pointer. */
export function ago(at: string | Date): Html {
  const time = new Date(at)
  const text = `${span((Date.now() - time.getTime()) / 1_000)} ago`
  return html`<time datetime="${time.toISOString()}" title="${time.toISOString()}">${text}</time>`
}

export function dollars(usd: number): string {
  return usd === 0 ? '$0' : `$${usd < 0.01 ? usd.toFixed(4) : usd.toFixed(2)}`
}
