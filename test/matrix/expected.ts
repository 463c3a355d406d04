/** What every kind of client gets at a protected path, for every login method: the provider matrix. */

export const methods = [
  'form',
  'LDAP',
  'OAuth 2.0',
  'OpenID Connect',
  'SAML',
  'X.509',
  'header',
  'IAP',
] as const
export type Method = (typeof methods)[number]

export const companions = ['alone', 'beside X.509'] as const
export type Companion = (typeof companions)[number]

/** What stands between client and gateway. `direct`: nothing; certificates are shown to the port for them. */
export const fronts = ['direct', 'TLS balancer', 'TLS balancer with path prefix'] as const
export type Front = (typeof fronts)[number]

/**
 * browser: keeps cookies, follows redirects and passes the login; with `header` and `IAP` the proxy in front has done that.
 * The others are programs that come past that proxy, with one credential each and without being redirected.
 */
export const clients = ['browser', 'bearer', 'API token', 'basic', 'certificate'] as const
export type Client = (typeof clients)[number]

/** `stale session`: the client also sends the cookie of a session that has run out. `after logout`: of one that was ended. */
export const states = ['fresh', 'stale session', 'after logout'] as const

/** 200 as whom; 302 to the login page, for the browser; a refusal as JSON; or why there is no such case. */
export type Outcome = `200 ${string}` | '302 login' | '401' | '403' | `not applicable: ${string}`

/** One outcome for each state. */
export type Outcomes = readonly [fresh: Outcome, stale: Outcome, afterLogout: Outcome]
export type Cell = Outcomes | Readonly<Record<'direct' | 'balanced', Outcomes>>
export type Row = Readonly<Record<Client, Cell>>

/** Credentials that come with each request: no session makes them better or worse. */
const always = (outcome: Outcome): Outcomes => [outcome, outcome, outcome]

/** Logs in at first, and is sent to the login page with the cookie of a session that is over. */
const withSession = (outcome: Outcome): Outcomes => [outcome, '302 login', '302 login']

const nobody = always('401')
const robot = always('200 robot')
const service = always('200 svc')
const noCertificates = always('not applicable: a port without TLS asks for no certificate')

/** What a balancer says about a certificate is ignored while login by certificate is off. */
const notAsked = (outcome: Outcome): Cell => ({ direct: noCertificates, balanced: always(outcome) })

/** Where certificates are a way in, the last word to somebody without any credential is that one is needed. */
const orCertificate = (outcome: Outcome): Cell => ({
  direct: always(outcome),
  balanced: always('403'),
})

/** Passwords are checked; a bearer token is judged by nobody. */
const passwords: Row = {
  browser: withSession('200 alice'),
  bearer: nobody,
  'API token': robot,
  basic: always('200 alice'),
  certificate: notAsked('401'),
}

/** The provider judges bearer tokens; there is no password that the gateway could check. */
const provider: Row = {
  browser: withSession('200 alice@example.com'),
  bearer: always('200 alice@example.com'),
  'API token': robot,
  basic: nobody,
  certificate: notAsked('401'),
}

const saml: Row = { ...provider, bearer: nobody }

/** No login page exists; nobody can be sent anywhere. */
const x509: Row = {
  browser: always('403'),
  bearer: always('403'),
  'API token': robot,
  basic: always('403'),
  certificate: service,
}

const header: Row = {
  browser: always('200 alice@example.com'),
  bearer: always('401'),
  'API token': robot,
  basic: always('401'),
  certificate: notAsked('401'),
}

const iap: Row = {
  browser: always('200 alice@example.com'),
  bearer: always('403'),
  'API token': robot,
  basic: always('403'),
  certificate: notAsked('403'),
}

const withCertificates = (row: Row): Row => ({ ...row, certificate: service })

const itself: Row = {
  browser: always('not applicable: this is X.509 itself'),
  bearer: always('not applicable: this is X.509 itself'),
  'API token': always('not applicable: this is X.509 itself'),
  basic: always('not applicable: this is X.509 itself'),
  certificate: always('not applicable: this is X.509 itself'),
}

export const expected: Readonly<Record<Method, Readonly<Record<Companion, Row>>>> = {
  form: { alone: passwords, 'beside X.509': withCertificates(passwords) },
  LDAP: { alone: passwords, 'beside X.509': withCertificates(passwords) },
  'OAuth 2.0': { alone: provider, 'beside X.509': withCertificates(provider) },
  'OpenID Connect': { alone: provider, 'beside X.509': withCertificates(provider) },
  SAML: { alone: saml, 'beside X.509': withCertificates(saml) },
  'X.509': { alone: x509, 'beside X.509': itself },
  header: {
    alone: header,
    'beside X.509': {
      ...withCertificates(header),
      bearer: orCertificate('401'),
      basic: orCertificate('401'),
    },
  },
  IAP: { alone: iap, 'beside X.509': withCertificates(iap) },
}
