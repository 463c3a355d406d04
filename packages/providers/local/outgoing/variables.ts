/** Environment variables by which usual tools find the authorities, the proxy and the registries of an account. */
import { decodeSegment } from '@fairlead/base/net/encode-path.ts'
import { withoutUserinfo } from '@fairlead/base/outside/git-repository.ts'
import { looksSecret, passwordsIn } from '@fairlead/model/secrets/secret-names.ts'
import { referencesIn } from '@fairlead/model/secrets/secret-references.ts'
import type { Outgoing, Registry } from './settings.ts'

export interface OutgoingFiles {
  /** Authorities of the system and of the account. */
  readonly bundle: string
  readonly npmrc: string
}

/** Programs on this machine talk to each other. */
const ownHosts = ['localhost', '127.0.0.1', '::1']
/** What `npmrc` refers to: npm takes no login from a variable of its own. */
const npmLogin = 'FAIRLEAD_NPM_LOGIN_'
/** Servers that know tokens accept any name with one; those for Python want this. */
const tokenName = '__token__'

export function toVariables(
  outgoing: Outgoing,
  { bundle, npmrc }: OutgoingFiles,
): Record<string, string> {
  const { authorities, registries, variables } = outgoing
  return {
    ...(authorities !== undefined && authorityVariables(bundle)),
    ...proxyVariables(outgoing),
    ...(registries.some(({ type }) => type === 'npm') && npmVariables(registries, npmrc)),
    ...pipVariables(ofType(registries, 'pip').map(withLogin)),
    ...goVariables(registries),
    ...gitVariables(ofType(registries, 'git').filter(hasLogin)),
    ...variables,
  }
}

/** Node adds the file to what it trusts; for the others, it replaces that. */
function authorityVariables(bundle: string): Record<string, string> {
  const names = [
    'NODE_EXTRA_CA_CERTS',
    'SSL_CERT_FILE',
    'CURL_CA_BUNDLE',
    'REQUESTS_CA_BUNDLE',
    'PIP_CERT',
    'GIT_SSL_CAINFO',
  ]
  return Object.fromEntries(names.map((name) => [name, bundle]))
}

function proxyVariables({ proxy, noProxy }: Outgoing): Record<string, string> {
  if (proxy === undefined) return {}
  const values = {
    HTTP_PROXY: proxy,
    HTTPS_PROXY: proxy,
    NO_PROXY: [...ownHosts, ...noProxy].join(','),
  }
  const lower = Object.entries(values).map(([name, value]) => [name.toLowerCase(), value])
  return { ...values, ...Object.fromEntries(lower), NODE_USE_ENV_PROXY: '1' }
}

/** What users and projects set in an `.npmrc` of their own still takes precedence. */
function npmVariables(registries: readonly Registry[], npmrc: string): Record<string, string> {
  const logins = ofType(registries, 'npm').map((registry, index) => [
    `${npmLogin}${index + 1}`,
    loginOf(registry),
  ])
  return { npm_config_globalconfig: npmrc, ...Object.fromEntries(logins) }
}

/** Without a secret: npm fills the variables in. */
export function toNpmrc({ registries }: Outgoing): string {
  const lines = ofType(registries, 'npm').flatMap((registry, index) => {
    const { url, scope, token } = registry
    const address = url.replace(/(?<!\/)\/*$/, '/')
    const login = `${address.replace(/^\w+:/, '')}:${token === undefined ? '_auth' : '_authToken'}=\${${npmLogin}${index + 1}}`
    return [
      `${scope === undefined ? '' : `${scope}:`}registry=${address}`,
      ...(hasLogin(registry) ? [login] : []),
    ]
  })
  return `${lines.join('\n')}\n`
}

function pipVariables([first, ...others]: readonly string[]): Record<string, string> {
  if (first === undefined) return {}
  const more = others.join(' ')
  return {
    PIP_INDEX_URL: first,
    UV_DEFAULT_INDEX: first,
    ...(more !== '' && { PIP_EXTRA_INDEX_URL: more, UV_INDEX: more }),
  }
}

function goVariables(registries: readonly Registry[]): Record<string, string> {
  const proxies = ofType(registries, 'go').map(withLogin).join(',')
  const own = ofType(registries, 'git').map(({ url }) =>
    url.replace(/^\w+:\/\//, '').replace(/(?<!\/)\/+$/, ''),
  )
  return {
    ...(proxies !== '' && { GOPROXY: proxies }),
    ...(own.length > 0 && { GOPRIVATE: own.join(',') }),
  }
}

/** Unlike an address with a login, it stands in no file of the repository. */
function gitVariables(registries: readonly Registry[]): Record<string, string> {
  if (registries.length === 0) return {}
  const headers = registries.flatMap((registry, index) => [
    [`GIT_CONFIG_KEY_${index}`, `http.${registry.url}.extraHeader`],
    [`GIT_CONFIG_VALUE_${index}`, `Authorization: Basic ${basic(registry)}`],
  ])
  return { GIT_CONFIG_COUNT: String(registries.length), ...Object.fromEntries(headers) }
}

function ofType(registries: readonly Registry[], type: Registry['type']): Registry[] {
  return registries.filter((each) => each.type === type)
}

function hasLogin({ token, username }: Registry): boolean {
  return token !== undefined || username !== undefined
}

function loginOf(registry: Registry): string {
  return hasLogin(registry) ? (registry.token ?? basic(registry)) : ''
}

function basic({ username = tokenName, password, token = '' }: Registry): string {
  return Buffer.from(`${username}:${password ?? token}`).toString('base64')
}

function withLogin(registry: Registry): string {
  if (!hasLogin(registry)) return registry.url
  const { url, username = tokenName, password = registry.token ?? '' } = registry
  return url.replace('://', `://${encodeURIComponent(username)}:${encodeURIComponent(password)}@`)
}

export function withoutLogins({ proxy, registries, variables, ...rest }: Outgoing): Outgoing {
  return {
    ...rest,
    proxy:
      proxy === undefined || referencesIn(proxy).length > 0 ? undefined : withoutUserinfo(proxy),
    registries: registries.map(({ type, url, scope }) => ({ type, url, scope })),
    variables: Object.fromEntries(
      Object.entries(variables).filter(([name, value]) => !isSecret(name, value)),
    ),
  }
}

function isSecret(name: string, value: string): boolean {
  return looksSecret(name) || passwordsIn(value).length > 0 || referencesIn(value).length > 0
}

export function secretsIn({ proxy = '', registries, variables }: Outgoing): string[] {
  const logins = registries.flatMap(({ username, password, token }) => [
    password ?? token,
    password === undefined ? undefined : `${username}:${password}`,
  ])
  const named = Object.entries(variables).flatMap(([name, value]) =>
    looksSecret(name) ? [value] : passwordsIn(value),
  )
  const passwords = passwordsIn(proxy)
  return [...logins, ...named, ...passwords, ...passwords.map(decodeSegment)].filter(
    (value) => value !== undefined && referencesIn(value).length === 0,
  ) as string[]
}
