/** How keys may be spelt, how values become what a setting needs, and what placeholders become. */
import assert from 'node:assert/strict'
import test from 'node:test'
import type { Config } from '../../packages/app/config/config.ts'
import { formMethod } from '../../packages/gateway/login/form/method.ts'
import { methodSettingsOf } from '../../packages/gateway/login/settings.ts'
import { type Given, load, problemsOf } from './given.ts'

const orca = (config: Config) => config.upstreams.services.orca.baseUrl
const readTimeout = (config: Config) => config.upstreams.okHttpClient.readTimeoutMs
const roles = (config: Config) => config.backends.adminRoles

const spellings: [
  title: string,
  given: Given,
  read: (config: Config) => unknown,
  value: unknown,
][] = [
  ['camelCase', { 'config/gate.yml': 'okHttpClient: {readTimeoutMs: 7}' }, readTimeout, 7],
  ['kebab-case', { 'config/gate.yml': 'ok-http-client: {read-timeout-ms: 7}' }, readTimeout, 7],
  ['snake_case', { 'config/gate.yml': 'ok_http_client: {read_timeout_ms: 7}' }, readTimeout, 7],
  ['upper case', { 'config/gate.yml': 'OKHTTPCLIENT: {READTIMEOUTMS: 7}' }, readTimeout, 7],
  ['dots in a key', { 'config/gate.yml': 'services.orca.baseUrl: http://o:1' }, orca, 'http://o:1'],
  [
    'dots in the middle',
    { 'config/gate.yml': 'services: {orca.base-url: "http://o:1"}' },
    orca,
    'http://o:1',
  ],
  [
    'dots beside a map',
    { 'config/gate.yml': 'services: {echo: {}}\nservices.orca.baseUrl: http://o:1' },
    orca,
    'http://o:1',
  ],
  ['brackets', { 'config/gate.yml': '"services[orca].baseUrl": http://o:1' }, orca, 'http://o:1'],
  [
    'indexes',
    { 'config/gate.yml': 'fiat.admin.roles[1]: b\nfiat.admin.roles[0]: a' },
    roles,
    ['a', 'b'],
  ],
  ['a list as text', { 'config/gate.yml': 'fiat.admin.roles: a, B ,' }, roles, ['a', 'b']],
  ['an environment variable', { env: { SERVICES_ORCA_BASEURL: 'http://o:1' } }, orca, 'http://o:1'],
  [
    'a variable with an underscore per word',
    { env: { OK_HTTP_CLIENT_READ_TIMEOUT_MS: '7' } },
    readTimeout,
    7,
  ],
  ['a variable with dots', { env: { 'services.orca.base-url': 'http://o:1' } }, orca, 'http://o:1'],
  [
    'a variable for elements',
    { env: { FIAT_ADMIN_ROLES_0_: 'a', FIAT_ADMIN_ROLES_1: 'b' } },
    roles,
    ['a', 'b'],
  ],
  [
    'elements that replace a list',
    { 'config/gate.yml': 'fiat.admin.roles: [x, y, z]', env: { FIAT_ADMIN_ROLES_0: 'a' } },
    roles,
    ['a'],
  ],
  [
    'JSON',
    { env: { SPRING_APPLICATION_JSON: '{"fiat":{"admin":{"roles":["a"]}}}' } },
    roles,
    ['a'],
  ],
  ['given settings', { settings: { 'fiat.admin.roles': ['a'] } }, roles, ['a']],
  [
    'a variable within a list of maps',
    {
      env: {
        SERVICES_ORCA_SHARDS_BASEURLS_0_BASEURL: 'http://o:1',
        SERVICES_ORCA_SHARDS_BASEURLS_0_PRIORITY: '5',
      },
    },
    (config) => config.upstreams.services.orca.shards,
    [{ baseUrl: 'http://o:1', priority: 5, config: {} }],
  ],
  [
    'a variable for an open map',
    { env: { SERVICES_FIAT_CONFIG_DYNAMICENDPOINTS_LOGIN: 'http://l:1' } },
    (config) => config.upstreams.services.fiat.config,
    { dynamicEndpoints: { login: 'http://l:1' } },
  ],
  [
    'ANONYMOUS_ENABLED',
    { env: { ANONYMOUS_ENABLED: 'true' } },
    (config) => config.login.anonymous,
    true,
  ],
  [
    'FAIRLEAD_ADMIN_PASSWORD',
    { env: { FAIRLEAD_ADMIN_PASSWORD: 'x y$' } },
    (config) => methodSettingsOf(config.login, formMethod)?.firstAdmin,
    { name: 'admin', password: 'x y$' },
  ],
]

for (const [title, given, read, value] of spellings) {
  test(`a setting may be written as ${title}`, async (t) => {
    assert.deepEqual(read((await load(t, given)).config), value)
  })
}

const values: [key: string, written: string, read: (config: Config) => unknown, value: unknown][] =
  [
    ['server.port', '"9000"', (config) => config.http.port, 9000],
    ['anonymous.enabled', 'yes', (config) => config.login.anonymous, true],
    ['anonymous.enabled', '"on"', (config) => config.login.anonymous, true],
    ['anonymous.enabled', '1', (config) => config.login.anonymous, true],
    ['server.servlet.session.timeout', '30m', (config) => config.sessions.idleMs, 1_800_000],
    ['server.servlet.session.timeout', 'PT1H30M', (config) => config.sessions.idleMs, 5_400_000],
    ['server.servlet.session.timeout', '90', (config) => config.sessions.idleMs, 90_000],
    ['server.session.timeoutInSeconds', '60', (config) => config.sessions.idleMs, 60_000],
    ['sessions.absoluteHours', '0', (config) => config.sessions.absoluteMs, undefined],
    ['http.maxBodyBytes', '1MB', (config) => config.http.bodies.known.maxBytes, 1_048_576],
    ['http.openPaths.maxBodyValues', '7', (config) => config.http.bodies.open.maxValues, 7],
    [
      'spring.lifecycle.timeout-per-shutdown-phase',
      '5s',
      (config) => config.http.shutdownGraceMs,
      5000,
    ],
    ['logging.level.root', 'OFF', (config) => config.telemetry.logLevel, 'silent'],
    [
      'server.servlet.session.cookie.same-site',
      'None',
      (config) => config.sessions.cookie.sameSite,
      'none',
    ],
    [
      'spring.security.user.password',
      '0123',
      (config) => methodSettingsOf(config.login, formMethod)?.configuredUser?.password,
      '0123',
    ],
    [
      'spring.security.user.password',
      '1e3',
      (config) => methodSettingsOf(config.login, formMethod)?.configuredUser?.password,
      '1e3',
    ],
    [
      'spring.security.user.password',
      '2001-01-01',
      (config) => methodSettingsOf(config.login, formMethod)?.configuredUser?.password,
      '2001-01-01',
    ],
    [
      'services.deck.redirectHostPattern',
      '(?i).*\\.example\\.com',
      (config) => config.http.cors.uiHostPattern?.test('A.EXAMPLE.COM'),
      true,
    ],
    [
      'services.deck.redirectHostPattern',
      'ui\\.example\\.com',
      (config) => config.http.cors.uiHostPattern?.test('ui.example.com.evil'),
      false,
    ],
    ['server.servlet.context-path', '/gate/', (config) => config.http.origin.contextPath, '/gate'],
  ]

for (const [key, written, read, value] of values) {
  test(`${key}: ${written} is read as ${JSON.stringify(value)}`, async (t) => {
    assert.deepEqual(
      read((await load(t, { 'config/gate.yml': `${key}: ${written}\n` })).config),
      value,
    )
  })
}

/** `$` and `{` apart, since the file is TypeScript. */
const p = (text: string) => text.replaceAll('<', '${').replaceAll('>', '}')

const placeholders: [written: string, value: string][] = [
  ['http://<HOST>:1', 'http://env-host:1'],
  ['http://<NONE:given>:1', 'http://given:1'],
  ['<NONE:http://a:1>', 'http://a:1'],
  ['<NONE:<ALSO_NONE:http://b:1>>', 'http://b:1'],
  ['<NONE:<HOST_URL>>', 'http://from-env:1'],
  ['http://<services.echo.host>:<services.echo.port>', 'http://echo.internal:8089'],
  ['http://<services.ECHO.host>:<services.echo.Port>', 'http://echo.internal:8089'],
  ['http://<x-own.host>:1', 'http://own:1'],
  ['<services.<x-own.which>.baseUrl>', 'http://b.internal:2'],
  ['http://<fiat.admin.roles>:1', 'http://x,y:1'],
  ['<x-own.a>', 'http://end:1'],
]

for (const [written, value] of placeholders) {
  test(`the placeholder in "${written}" is filled in`, async (t) => {
    const file = `
services:
  echo: {host: echo.internal, port: 8089}
  igor: {baseUrl: 'http://b.internal:2'}
  keel: {baseUrl: '${p(written)}'}
x-own: {host: own, which: igor, a: '<x-own.b>', b: '<x-own.c:x>', c: 'http://end:1'}
fiat.admin.roles: [x, y]
`
    const env = { HOST: 'env-host', HOST_URL: 'http://from-env:1' }

    const { config } = await load(t, { 'config/gate.yml': p(file), env })

    assert.equal(config.upstreams.services.keel.baseUrl, value)
  })
}

const passwords: [written: string, value: string][] = [
  ['a\\<b>c', 'a<b>c'],
  ['a$b', 'a$b'],
  ['a{b}c', 'a{b}c'],
  ['<NONE:{x}>', '{x}'],
  ['<NONE:>z', 'z'],
  ['a\\b', 'a\\b'],
]

for (const [written, value] of passwords) {
  test(`the password ${written} means ${value}`, async (t) => {
    const { config } = await load(t, {
      'config/gate.yml': `spring.security.user.password: '${p(written)}'\n`,
    })

    assert.equal(methodSettingsOf(config.login, formMethod)?.configuredUser?.password, p(value))
  })
}

const refused: [written: string, message: RegExp][] = [
  [
    '<NONE>',
    /refers to \$\{NONE\}, which nothing defines; define it, or give a default as in \$\{NONE:…\}$/,
  ],
  [
    '<services.keel.baseUrl>',
    /refers to itself: services\.keel\.baseUrl → services\.keel\.baseUrl$/,
  ],
  ['<x.one>', /refers to itself: x\.one → x\.two → x\.one$/],
  ['<x.big9>', /becomes longer than 65536 characters$/],
  ['<OPEN', /has "\$\{" without "\}"/],
  [
    'encrypted:s3!b:x',
    /the secret engine "s3" has no value: the region is missing; write it as !r:…$/,
  ],
  [
    'encryptedFile:k8s!n:x',
    /the secret engine "k8s" has no value: the key is missing; write it as !k:…$/,
  ],
]

for (const [written, message] of refused) {
  test(`the value ${written} is refused with what to do`, async (t) => {
    const doubling = Array.from(
      { length: 9 },
      (_, index) => `  big${index + 1}: '${'<x.big'.concat(String(index), '>').repeat(8)}'`,
    )
    const file = `services.keel.baseUrl: '${written}'\nx:\n  one: <x.two>\n  two: <x.one>\n  big0: 12345678\n${doubling.join('\n')}\nserver.port: 1\n`

    const problems = await problemsOf(t, { 'config/gate.yml': p(file) })

    assert.equal(problems.length >= 1, true)
    assert.match(problems[0] ?? '', message)
    assert.match(problems[0] ?? '', /^config\/gate\.yml:1: services\.keel\.baseUrl: /)
  })
}
