/** Where the authorization server answers. */
export const ROUTES = {
  authorization: '/oauth/authorize',
  token: '/oauth/token',
  registration: '/oauth/register',
  revocation: '/oauth/revoke',
  jwks: '/oauth/keys',
} as const

/** Our page that asks a person. */
export const CONSENT = '/oauth/consent/:uid'
export const consentPath = (uid: string) => `/oauth/consent/${uid}`

/** The resource that tokens are for, and where its metadata is (RFC 9728). */
export function protectedResource(publicUrl: string) {
  const path = '/.well-known/oauth-protected-resource/mcp'
  return { resource: `${publicUrl}/mcp`, path, metadataUrl: publicUrl + path }
}
