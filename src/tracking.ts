import { type Parameters, readParameters, type Values } from './parameters.ts'

/** Parameters that mail and social services add to a link that is passed on. They never change what it leads to. */
export const TRACKING = /^(utm_.*|fbclid|gclid|dclid|msclkid|mc_cid|mc_eid|igshid|ref_src|ref_url|_hsenc|_hsmi)$/

/** The address without its tracking parameters: a page that is passed on answers as the original does. */
function withoutTracking(url: string): string {
  const mark = url.indexOf('?')
  if (mark < 0) return url
  const pairs = url.slice(mark + 1).split('&')
  return `${url.slice(0, mark)}?${pairs.filter((pair) => !TRACKING.test(pair.split('=', 1)[0]!)).join('&')}`
}

/** The parameters of a page, without those of tracking. A page without parameters refuses every other one. */
export function readPageParameters<P extends Parameters = Record<never, never>>(
  url: string,
  parameters: P = {} as P,
): Values<P> {
  return readParameters(withoutTracking(url), parameters)
}
