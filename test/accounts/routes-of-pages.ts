import type { Scope } from '../../src/library/accounts/key-checks.ts'

/** What a route asks of its caller. */
export type Access =
  /** Nothing: Authorization is not even looked at. */
  | 'open'
  /** Nothing, but a key that comes along must work. */
  | 'open, or a working key'
  /** A person's session; without one to the sign-in. */
  | 'session'
  /** A form that signs in, or works without a session. */
  | 'form'
  /** A key or an app's token; without one a challenge. */
  | 'signed in'
  | Scope

/**
 * Pages that many share, and signing in and out. Endpoints, and the pages and actions of a person, say themselves what
 * they ask. A route that does neither fails the first test.
 */
export const PAGES: Record<string, Access> = {
  'GET /docs': 'open',
  'GET /robots.txt': 'open',
  'GET /sitemap.xml': 'open',
  'GET /privacy': 'open',
  'GET /connect': 'open',
  'GET /connect/skills/:file': 'open',
  'GET /': 'open',
  'GET /frames/:id': 'open',
  'GET /videos/:id': 'open',
  'GET /films': 'open',
  'GET /compare': 'open',
  'GET /brands': 'open',
  'GET /brands/:name': 'open',
  'GET /techniques': 'open',
  'GET /techniques/:slug': 'open',
  'GET /assets/:name': 'open',
  'GET /sign-in': 'open',
  'GET /sign-in/confirm': 'open',
  'GET /shared/:token': 'open',
  'GET /web/me': 'open',
  'GET /sign-out': 'session',
  'POST /web/sign-in': 'form',
  'POST /web/sign-in/confirm': 'form',
  'POST /web/sign-out': 'session',
  'POST /web/sign-out-everywhere': 'session',
  'POST /mcp': 'signed in',
  'GET /.well-known/oauth-protected-resource/mcp': 'open',
  'GET /.well-known/oauth-authorization-server': 'open',
  'GET /.well-known/openid-configuration': 'open',
  'GET /oauth/keys': 'open',
  'GET /oauth/authorize': 'open',
  'GET /oauth/authorize/:uid': 'open',
  'POST /oauth/token': 'form',
  'POST /oauth/revoke': 'form',
  'POST /oauth/register': 'form',
}
