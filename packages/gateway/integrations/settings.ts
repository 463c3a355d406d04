/** Settings of services outside the platform that Fairlead calls for the web UI. */

import {
  httpAddress,
  milliseconds,
  off,
  optionalText,
  type SettingsOf,
  type SettingsReport,
  setting,
  settings,
  withoutEffect,
} from '@fairlead/base/settings/setting.ts'
import {
  loadAuthorities,
  loadKeyStoreIdentity,
  readTlsFile,
  TlsFileError,
  toStoreFile,
} from '@fairlead/base/tls/key-material.ts'
import { z } from 'zod'

const methods = ['GET', 'POST', 'PUT', 'DELETE'] as const

const ProxyEntry = z.strictObject({
  id: z
    .string()
    .regex(/^[^/\s]+$/)
    .describe('Name in the path; upper and lower case do not matter.'),
  uri: httpAddress
    .refine(
      (uri) => !uri.includes('@'),
      'must not hold a user or password, since every user may read it',
    )
    .describe('Address to which the rest of the path is appended.'),
  methods: z
    .array(z.enum(methods))
    .default([])
    .describe('Methods that are forwarded. Default: GET, POST, PUT and DELETE.'),
  skipHostnameVerification: off.describe('Accept a certificate for another host name.'),
  keyStore: optionalText.describe('Key store with the client certificate: PKCS #12, JKS or PEM.'),
  keyStoreType: withoutEffect('The format is recognised.'),
  keyStorePassword: optionalText.describe('Its password.'),
  keyStorePasswordFile: optionalText.describe('File with its password.'),
  trustStore: optionalText.describe('Authorities to trust, in place of the usual ones.'),
  trustStoreType: withoutEffect('The format is recognised.'),
  trustStorePassword: optionalText.describe('Its password.'),
  trustStorePasswordFile: optionalText.describe('File with its password.'),
  connectTimeoutMs: milliseconds
    .default(30_000)
    .describe('Milliseconds to establish a connection.'),
  readTimeoutMs: milliseconds.default(59_000).describe('Milliseconds without a byte.'),
  writeTimeoutMs: withoutEffect('`readTimeoutMs` bounds the whole exchange.'),
  additionalAttributes: withoutEffect('Only extensions of Gate read them.'),
})
type ProxyEntry = z.infer<typeof ProxyEntry>

export const integrationKeys = settings(
  {
    proxies: setting('proxies', z.array(ProxyEntry).default([])).describe(
      'Outside services to which `/proxies/{id}/**` is forwarded for all users.',
    ),
    slack: {
      token: setting('slack.token', optionalText).describe(
        'Token with which the channels of Slack are listed.',
      ),
      baseUrl: setting('slack.baseUrl', httpAddress.default('https://slack.com/api')).describe(
        'Address of the API of Slack.',
      ),
      keptMs: setting(
        'slack.channel-refresh-interval-millis',
        milliseconds.default(1_200_000),
      ).describe('Milliseconds for which the list is kept.'),
    },
    pagerDuty: {
      token: setting('pager-duty.token', optionalText).describe(
        'Token with which services and people on call of PagerDuty are listed.',
      ),
      baseUrl: setting(
        'pager-duty.baseUrl',
        httpAddress.default('https://api.pagerduty.com'),
      ).describe('Address of the API of PagerDuty.'),
    },
    gremlin: {
      enabled: setting('integrations.gremlin.enabled', off).describe(
        'Lists the templates of Gremlin.',
      ),
      baseUrl: setting(
        'integrations.gremlin.baseUrl',
        httpAddress.default('https://api.gremlin.com/v1'),
      ).describe('Address of the API of Gremlin.'),
    },
  },
  {
    'mcp.server.enabled': 'The endpoint `/mcp` of Gate is not offered: it answers 404.',
    'mcp.server.read-only': 'The endpoint `/mcp` of Gate is not offered.',
  },
)

export type IntegrationSettings = ReturnType<typeof toIntegrationSettings>
export type ProxySettings = ReturnType<typeof toProxy>

export function toIntegrationSettings(
  values: SettingsOf<typeof integrationKeys>,
  report: SettingsReport,
) {
  const ids = new Set<string>()
  for (const { id } of values.proxies) {
    if (ids.has(id.toLowerCase())) report.problem('proxies', `the id "${id}" is used twice`)
    ids.add(id.toLowerCase())
  }
  const { slack, pagerDuty, gremlin } = values
  return {
    proxies: values.proxies.map((proxy, index) => toProxy(proxy, `proxies.${index}`, report)),
    slack: slack.token ? { ...slack, token: slack.token } : undefined,
    pagerDuty: pagerDuty.token ? { ...pagerDuty, token: pagerDuty.token } : undefined,
    gremlin: gremlin.enabled ? gremlin : undefined,
  }
}

function toProxy(proxy: ProxyEntry, key: string, report: SettingsReport) {
  const identity = readStore(proxy, 'keyStore', key, report, (store) =>
    loadKeyStoreIdentity(store, undefined),
  )
  const authorities = readStore(proxy, 'trustStore', key, report, loadAuthorities)
  const offered: readonly string[] = methods
  return {
    id: proxy.id,
    uri: proxy.uri,
    methods: proxy.methods.length > 0 ? proxy.methods : offered,
    idleMs: Math.max(proxy.connectTimeoutMs, proxy.readTimeoutMs) || 59_000,
    tls: {
      ...(identity && { key: identity.key, cert: identity.certificates }),
      ...(authorities && { ca: authorities.map(String) }),
      ...(proxy.skipHostnameVerification && { checkServerIdentity: () => undefined }),
    },
  }
}

function readStore<T>(
  proxy: ProxyEntry,
  name: 'keyStore' | 'trustStore',
  key: string,
  report: SettingsReport,
  load: (store: ReturnType<typeof toStoreFile>) => T,
): T | undefined {
  const file = proxy[name]
  if (!file) return undefined
  const passwordFile = proxy[`${name}PasswordFile`]
  try {
    const password = passwordFile
      ? readTlsFile(`${key}.${name}PasswordFile`, passwordFile).toString('utf8').trim()
      : undefined
    return load(toStoreFile(`${key}.${name}`, file, password ?? proxy[`${name}Password`] ?? ''))
  } catch (error) {
    if (!(error instanceof TlsFileError)) throw error
    report.problem(error.key, error.message)
    return undefined
  }
}
