/** Presets of known providers. */

/** Names of attributes of the provider; undefined: not mapped. */
export interface UserMapping {
  readonly username: string | undefined
  readonly email: string | undefined
  readonly firstName: string | undefined
  readonly lastName: string | undefined
  readonly serviceAccountEmail: string | undefined
  readonly roles: string | undefined
}

export interface Endpoints {
  readonly authorizationUri?: string
  readonly tokenUri?: string
  readonly userInfoUri?: string
  readonly jwkSetUri?: string
  readonly issuer?: string
}

/** The chosen addresses, and those of `others` where none is chosen. */
export function completeEndpoints(chosen: Endpoints, others: Endpoints | undefined): Endpoints {
  return {
    ...others,
    ...Object.fromEntries(Object.entries(chosen).filter(([, uri]) => uri !== undefined)),
  }
}

export type ClientAuthentication =
  | 'client_secret_basic'
  | 'client_secret_post'
  | 'client_secret_jwt'
  | 'private_key_jwt'
  /** Identifier and secret in the address of the token request, as early releases could. */
  | 'query'
  | 'none'

export type TokenPlace = 'header' | 'form' | 'query'

export interface Preset {
  readonly label: string
  readonly endpoints: Endpoints
  readonly scopes: readonly string[]
  readonly mapping?: Partial<UserMapping>
  readonly clientAuthentication?: ClientAuthentication
  readonly tokenPlace?: TokenPlace
}

interface Tenants {
  readonly azureTenantId: string | undefined
  readonly idcsTenantId: string | undefined
}

export const defaultMapping: UserMapping = {
  username: 'email',
  email: 'email',
  firstName: 'given_name',
  lastName: 'family_name',
  serviceAccountEmail: 'client_email',
  roles: undefined,
}

const openIdScopes = ['openid', 'profile', 'email']

/**
 * The preset of a name in any case; undefined for names that are the operator's own.
 *
 * @param older The configuration uses the keys of early releases, whose presets speak plain OAuth 2.0
 * @see docs/contracts/authentication.md#oauth-20-and-openid-connect
 */
export function findPreset(name: string, older: boolean, tenants: Tenants): Preset | undefined {
  switch (name.toLowerCase()) {
    case 'google':
      return google(older)
    case 'github':
      return github(older)
    case 'gitlab':
      return gitlab
    case 'azure':
      return older
        ? olderAzure(tenants.azureTenantId)
        : { label: 'Microsoft', endpoints: {}, scopes: openIdScopes }
    case 'okta':
      return { label: 'Okta', endpoints: {}, scopes: openIdScopes }
    case 'keycloak':
      return { label: 'Keycloak', endpoints: {}, scopes: openIdScopes }
    case 'oracle':
      return oracle(tenants.idcsTenantId)
    case 'facebook':
      return facebook
    default:
      return undefined
  }
}

/** Profiles of Gate that bring a preset along. */
export const presetProfiles: Readonly<Record<string, string>> = {
  googleOAuth: 'google',
  githubOAuth: 'github',
  azureOAuth: 'azure',
}

function google(older: boolean): Preset {
  return {
    label: 'Google',
    endpoints: {
      authorizationUri: 'https://accounts.google.com/o/oauth2/v2/auth',
      tokenUri: 'https://www.googleapis.com/oauth2/v4/token',
      userInfoUri: 'https://www.googleapis.com/oauth2/v3/userinfo',
      jwkSetUri: 'https://www.googleapis.com/oauth2/v3/certs',
      issuer: 'https://accounts.google.com',
    },
    scopes: older ? ['profile', 'email'] : openIdScopes,
  }
}

function github(older: boolean): Preset {
  return {
    label: 'GitHub',
    endpoints: {
      authorizationUri: 'https://github.com/login/oauth/authorize',
      tokenUri: 'https://github.com/login/oauth/access_token',
      userInfoUri: 'https://api.github.com/user',
    },
    scopes: [older ? 'user:email' : 'read:user'],
    mapping: { username: 'login', firstName: undefined, lastName: 'name' },
  }
}

const gitlab: Preset = {
  label: 'GitLab',
  endpoints: {
    authorizationUri: 'https://gitlab.com/oauth/authorize',
    tokenUri: 'https://gitlab.com/oauth/token',
    userInfoUri: 'https://gitlab.com/oauth/userinfo',
    jwkSetUri: 'https://gitlab.com/oauth/discovery/keys',
    issuer: 'https://gitlab.com',
  },
  scopes: openIdScopes,
}

/** The user-info address belongs to an interface that Microsoft has retired; tenants that still have it keep working. */
function olderAzure(tenant: string | undefined): Preset {
  const base = `https://login.microsoftonline.com/${tenant}/oauth2`
  return {
    label: 'Microsoft',
    endpoints:
      tenant === undefined
        ? {}
        : {
            authorizationUri: `${base}/authorize?resource=https://graph.windows.net`,
            tokenUri: `${base}/token`,
            userInfoUri: 'https://graph.windows.net/me?api-version=1.6',
          },
    scopes: ['profile'],
    clientAuthentication: 'query',
    mapping: {
      username: 'userPrincipalName',
      email: 'userPrincipalName',
      firstName: 'givenName',
      lastName: 'surname',
    },
  }
}

function oracle(tenant: string | undefined): Preset {
  const base = `https://idcs-${tenant}.identity.oraclecloud.com/oauth2/v1`
  return {
    label: 'Oracle',
    endpoints:
      tenant === undefined
        ? {}
        : {
            authorizationUri: `${base}/authorize`,
            tokenUri: `${base}/token`,
            userInfoUri: `${base}/userinfo`,
          },
    scopes: ['openid', 'urn:opc:idm:__myscopes__'],
    mapping: { username: 'preferred_username', email: undefined },
  }
}

const facebook: Preset = {
  label: 'Facebook',
  endpoints: {
    authorizationUri: 'https://www.facebook.com/v2.8/dialog/oauth',
    tokenUri: 'https://graph.facebook.com/v2.8/oauth/access_token',
    userInfoUri: 'https://graph.facebook.com/me?fields=id,name,email,first_name,last_name',
  },
  scopes: ['public_profile', 'email'],
  mapping: { firstName: 'first_name', lastName: 'last_name' },
  clientAuthentication: 'client_secret_post',
}
