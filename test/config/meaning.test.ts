/** What the keys amount to: where services are, who is let in, what listens; and that the defaults are the safe ones. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { settingGroups } from '../../packages/app/config/capabilities.ts'
import { type Config, loadConfig } from '../../packages/app/config/config.ts'
import { checkOutsideAddress } from '../../packages/base/outside/call-outside.ts'
import { serviceNames } from '../../packages/base/services/services.ts'
import { formMethod } from '../../packages/gateway/login/form/method.ts'
import { methodSettingsOf } from '../../packages/gateway/login/settings.ts'
import type { LocalSettings } from '../../packages/providers/local/settings.ts'
import { formatSettingsReference } from '../../scripts/reference/settings.ts'
import { type Given, load, problemsOf, write } from './given.ts'

test('users of the form that replicas do not share are a notice', async (t) => {
  const redis = { 'anonymous.enabled': false, 'redis.connection': 'redis://r.example' }
  const about = async (settings: Record<string, unknown>) =>
    (await load(t, { settings })).notices.filter((notice) =>
      notice.startsWith('Sessions are shared by Redis, users of the form are not'),
    )
  assert.equal((await about(redis)).length, 1)
  assert.equal(
    (await about({ ...redis, 'spring.security.user.password': 'correct-horse-battery' })).length,
    0,
  )
})

test('the audit log in Redis of earlier versions is one in the data directory', async (t) => {
  const { config, notices } = await load(t, { settings: { 'audit.sink': 'redis' } })
  assert.equal(config.audit?.sink.kind, 'sqlite')
  assert.match(
    notices.join('\n'),
    /^audit\.sink: redis has no effect: .*set audit\.sink: stdout and collect/,
  )
})

test('load balancers and instances get no port that Fairlead listens on', async (t) => {
  const { config } = await load(t, { settings: { 'server.port': 8099 } })
  assert.deepEqual(
    (config.backends.infrastructure?.providers['local'] as LocalSettings | undefined)?.ownPorts,
    [8099],
  )
})

test('variables of the environment name domains and hosts that stages must not call', async (t) => {
  const { config } = await load(t, {
    'config/gate-local.yml':
      'user-configured-url-restrictions:\n' +
      '  excludedDomainsFromEnvironment: [POD_NAMESPACE, NOT_SET]\n' +
      '  extraExcludedPatternsFromEnvironment: [PATTERN]\n',
    env: { POD_NAMESPACE: 'apps', PATTERN: 'git.*' },
  })
  const { outside } = config.backends
  for (const host of ['front50.apps', 'git.x.example'])
    await assert.rejects(checkOutsideAddress(outside, 'Stages', `https://${host}/`), /is excluded/)
})

test('by default everything is embedded, protected and local', async (t) => {
  const { config, notices, sources } = await load(t, {})

  assert.equal(config.http.address, '127.0.0.1')
  assert.deepEqual(
    config.login.methods.map(({ type }) => type.name),
    ['form'],
  )
  assert.equal(methodSettingsOf(config.login, formMethod)?.configuredUser, undefined)
  assert.equal(config.login.anonymous, false)
  assert.deepEqual([notices, sources], [[], []])
  assert.deepEqual(
    serviceNames.map((name) => `${name} ${config.upstreams.services[name].kind}`),
    [
      'clouddriver embedded',
      'echo embedded',
      'fiat embedded',
      'flex disabled',
      'front50 embedded',
      'igor embedded',
      'kayenta embedded',
      'keel disabled',
      'mahe disabled',
      'mine disabled',
      'orca embedded',
      'rosco embedded',
      'swabbie disabled',
    ],
  )
})

const addresses: [title: string, yaml: string, kind: string, baseUrl: string | undefined][] = [
  ['an address', 'baseUrl: "http://o:1/"', 'external', 'http://o:1'],
  ['an address with a path', 'baseUrl: https://o/api//', 'external', 'https://o/api'],
  ['the word embedded', 'baseUrl: embedded', 'embedded', undefined],
  ['nothing but enabled', 'enabled: true', 'embedded', undefined],
  ['enabled: false', 'enabled: false', 'disabled', undefined],
  [
    'an address and enabled: false',
    '{baseUrl: "http://o:1", enabled: false}',
    'disabled',
    'http://o:1',
  ],
  ['host and port', '{host: o, port: 2}', 'external', 'http://o:2'],
  ['a port', 'port: 2', 'external', 'http://localhost:2'],
  ['host, port and protocol', '{host: o, port: 2, protocol: https}', 'external', 'https://o:2'],
  [
    'an address besides host and port',
    '{host: 0.0.0.0, port: 2, baseUrl: "http://o:1"}',
    'external',
    'http://o:1',
  ],
  [
    'shards',
    'shards: {baseUrls: [{baseUrl: "http://s:1"}, {baseUrl: "http://s:2", priority: 2}]}',
    'external',
    'http://s:1',
  ],
  ['an empty entry', '', 'embedded', undefined],
]

for (const [title, yaml, kind, baseUrl] of addresses) {
  test(`a service with ${title} is ${kind}`, async (t) => {
    const entry = yaml.startsWith('{') || yaml === '' ? yaml : `{${yaml}}`

    const { config } = await load(t, { 'config/gate.yml': `services: {orca: ${entry}}\n` })

    const { kind: actual, baseUrl: address } = config.upstreams.services.orca
    assert.deepEqual([actual, address], [kind, baseUrl])
  })
}

test('embedded services beside external ones are named', async (t) => {
  const { config, notices } = await load(t, {
    'config/gate.yml':
      'services: {orca: {baseUrl: "http://o:1"}, igor: {enabled: true}, fiat.enabled: false}\nsecurity.basicform.enabled: true\n',
  })

  assert.equal(config.http.address, '0.0.0.0')
  assert.match(
    notices[0] ?? '',
    /^orca is external; clouddriver, echo, front50, igor, rosco without an address stay embedded\./,
  )
})

const refused: [yaml: string, key: string][] = [
  ['services.keel.enabled: true', 'services.keel.enabled'],
  ['services.mine.baseUrl: embedded', 'services.mine.baseUrl'],
  ['server.ssl.enabled: true', 'server.ssl.enabled'],
  ['server.ssl.keyStore: /a.p12', 'server.ssl.key-store'],
  ['okHttpClient.keyStore: /a.p12', 'okHttpClient.keyStore'],
  ['okHttpClient.trustStore: /etc/hostname', 'okHttpClient.trustStore'],
  ['ldap: {enabled: true, userDnPattern: "uid={0}"}', 'ldap.url'],
  ['saml.enabled: "true"', 'saml.metadataUrl'],
  ['x509.enabled: yes', 'x509.enabled'],
  ['google.iap.enabled: true', 'google.iap.audience'],
  ['api-tokens.token-random-bytes: 4', 'api-tokens.token-random-bytes'],
  ['security.basicform.enabled: false', 'security.basicform.enabled'],
  [
    'server.servlet.session.cookie: {same-site: none, secure: false}',
    'server.servlet.session.cookie.same-site',
  ],
  [
    'server.servlet.session.cookie: {name: __Secure-S, secure: false}',
    'server.servlet.session.cookie.secure',
  ],
  [
    'server.servlet.session.cookie: {name: __Host-S, domain: x.io}',
    'server.servlet.session.cookie.domain',
  ],
  ['server.servlet.session.timeout: soon', 'server.servlet.session.timeout'],
  ['cors.allowed-origins-pattern: "(a"', 'cors.allowed-origins-pattern'],
  ['cors.allowed-origins-pattern: "a++b"', 'cors.allowed-origins-pattern'],
  ["cors.allowed-origins-pattern: '\\p{Alpha}+'", 'cors.allowed-origins-pattern'],
  ["cors.allowed-origins-pattern: '[a[bc]]'", 'cors.allowed-origins-pattern'],
  ['okHttpClient.readTimeoutMs: 3000000000', 'okHttpClient.readTimeoutMs'],
  ['services.deck.baseUrl: ui.example.com', 'services.deck.baseUrl'],
  ['default.timezone: Mars/Olympus', 'default.timezone'],
  ['service-accounts: [{name: a}, {name: A}]', 'service-accounts'],
  ['service-accounts: [{memberOf: [a]}]', 'service-accounts[0].name'],
  ['quiet-period.start-iso: tomorrow', 'quiet-period.start-iso'],
  ['quiet-period.start-iso: "2026-12-24T00:00:00"', 'quiet-period.start-iso'],
  [
    'quiet-period: {start-iso: "2026-12-25T00:00:00Z", end-iso: "2026-12-24T00:00:00Z"}',
    'quiet-period.end-iso',
  ],
  ['http.maxBodyBytes: lots', 'http.maxBodyBytes'],
  ['redis.connection: localhost:6379', 'redis.connection'],
  ['server.servlet.context-path: "/a/../b c"', 'server.servlet.context-path'],
]

for (const [yaml, key] of refused) {
  test(`the start is refused with "${yaml}"`, async (t) => {
    const problems = await problemsOf(t, { 'config/gate.yml': `${yaml}\n` })

    assert.equal(problems.length, 1, problems.join('\n'))
    assert.ok(problems[0]?.startsWith(`config/gate.yml:1: ${key}: `), problems.join())
  })
}

test('anonymous access and a login form exclude each other', async (t) => {
  const both: Given = {
    'config/gate.yml': 'anonymous.enabled: true\nsecurity.basicform.enabled: true\n',
  }

  assert.match(
    (await problemsOf(t, both))[0] ?? '',
    /^config\/gate\.yml:1: anonymous\.enabled: .* exclude each other/,
  )
})

const notices: [title: string, given: Given, notice: RegExp][] = [
  [
    'accounts of Kubernetes without the flag',
    { 'config/gate.yml': 'kubernetes.accounts: [{name: k}]' },
    /^kubernetes\.accounts has no effect: write kubernetes\.enabled: true/,
  ],
  [
    'a port for certificates is not opened where TLS is switched off',
    { 'config/gate.yml': 'default.apiPort: 8085' },
    /^default\.apiPort is not opened, for it is a port with TLS/,
  ],
  [
    'anonymous access',
    { env: { ANONYMOUS_ENABLED: 'true' } },
    /^Warning: anonymous\.enabled serves every client/,
  ],
  [
    'users that replicas do not share',
    { 'config/gate.yml': 'redis.connection: redis://r:1' },
    /users of the form are not/,
  ],
  [
    'no login method before Spinnaker',
    { 'config/gate.yml': 'services.orca.baseUrl: http://o' },
    /^No login method is configured/,
  ],
  [
    'one embedded service beside external ones',
    {
      'config/gate.yml': `services: {${['clouddriver', 'echo', 'front50', 'igor', 'orca', 'rosco'].map((name) => `${name}.baseUrl: "http://a:1"`).join(', ')}}`,
    },
    /; fiat without an address stays embedded\./,
  ],
  [
    'a delimiter of roles that names of groups may hold',
    {
      'config/gate.yml':
        'saml: { enabled: true, metadataUrl: https://idp.example/metadata, userAttributeMapping: { rolesDelimiter: "[;,]" } }',
    },
    /rolesDelimiter splits roles at ","/,
  ],
  [
    'a balancer that nobody has named',
    { 'config/gate.yml': 'server.forward-headers-strategy: native' },
    /^Warning: forwarded headers are trusted from every private address.*internal-proxies\.$/,
  ],
  [
    'a pattern of proxies that fits everybody',
    { 'config/gate.yml': 'server: { use-forward-headers: true, tomcat.internalProxies: ".*" }' },
    /^Warning: forwarded headers are trusted from every address/,
  ],
  ['limits', { 'config/gate.yml': 'rate-limit.enabled: true' }, /^rate-limit\.learning is on/],
]

test('a balancer that is named is worth no word', async (t) => {
  const remoteip = String.raw`server: { forward-headers-strategy: native, tomcat.remoteip.internal-proxies: '10\.1\.2\.\d{1,3}' }`
  const said = (await load(t, { 'config/gate.yml': remoteip })).notices

  assert.ok(!said.join().includes('forwarded headers'), said.join())
})

for (const [title, given, notice] of notices) {
  test(`${title} is worth a word at each start`, async (t) => {
    const said = (await load(t, given)).notices

    assert.ok(
      said.some((line) => notice.test(line)),
      said.join('\n'),
    )
  })
}

const proxies: [yaml: string, trusted: boolean][] = [
  ['{}', false],
  ['server.forward-headers-strategy: NATIVE', true],
  ['server.forward-headers-strategy: framework', true],
  ['server.forward-headers-strategy: none', false],
  ['server.use-forward-headers: true', true],
  ['server.tomcat.protocolHeader: X-Forwarded-Proto', true],
  ['server.tomcat.remoteip.remote-ip-header: X-Real-IP', true],
]

for (const [yaml, trusted] of proxies) {
  test(`forwarded headers are ${trusted ? 'believed' : 'ignored'} with "${yaml}"`, async (t) => {
    const { origin } = (await load(t, { 'config/gate.yml': yaml })).config.http

    assert.equal(origin.trustForwarded, trusted)
    assert.deepEqual(
      [
        '10.1.2.3',
        '172.16.0.1',
        '172.32.0.1',
        '192.168.1.1',
        '127.0.0.1',
        '::1',
        'fd00::1',
        '8.8.8.8',
        '110.1.2.3',
      ].filter((address) => origin.trustedProxies.test(address)),
      ['10.1.2.3', '172.16.0.1', '192.168.1.1', '127.0.0.1', '::1', 'fd00::1'],
    )
  })
}

test('every setting is described, and may be left out', () => {
  for (const keys of Object.values(settingGroups)) {
    for (const [key, schema] of Object.entries(keys.shape)) {
      assert.ok(schema.meta()?.description, `${key} has no description`)
      assert.ok(schema.safeParse(undefined).success, `${key} has to be written`)
    }
  }
})

test('no key belongs to two capabilities', () => {
  const keys = Object.values(settingGroups).flatMap((group) => Object.keys(group.shape))

  assert.deepEqual(
    keys.filter((key, index) => keys.indexOf(key) !== index),
    [],
  )
})

test('the reference names every setting once, with its variable and default', () => {
  const reference = formatSettingsReference()

  assert.match(
    reference,
    /^\| `server\.port` \| number \| `8084` \| `SERVER_PORT` \| Port of the listener/m,
  )
  assert.match(reference, /^\| `services\.<name>\.baseUrl` \| address or `embedded` \|/m)
  assert.match(reference, /^\| `data\.dir` .* `FAIRLEAD_DATA_DIR` \|/m)
  const keys = [...reference.matchAll(/^\| (`[^`]+`) \|/gm)].map((match) => match[1])
  assert.equal(new Set(keys).size, keys.length)
})

test('settings of the back ends can be handed to a worker', async (t) => {
  const { config } = await load(t, {
    'config/gate.yml': 'service-accounts: [{name: deploy, memberOf: [ops]}]\n',
  })

  const backends: Config['backends'] = structuredClone(config.backends)
  assert.deepEqual(backends.serviceAccounts, [{ name: 'deploy', memberOf: ['ops'] }])
})

test('a time longer than any timer leaves room for what is added', async (t) => {
  const { http } = (
    await load(t, {
      settings: {
        'spring.lifecycle.timeout-per-shutdown-phase': '365d',
        'server.drain-ms': '365d',
      },
    })
  ).config
  for (const ms of [http.shutdownGraceMs, http.drainMs]) {
    assert.ok(ms > 24 * 86_400_000)
    // The primary of several workers ends them after this time and ten seconds.
    assert.ok(ms + 60_000 < 2 ** 31)
  }
})

for (const [where, places, settings, drainMs, always] of [
  ['on a machine of its own', {}, {}, 0, false],
  ['in a container', { inContainer: true }, {}, 5000, false],
  ['in Kubernetes', { env: { KUBERNETES_SERVICE_HOST: '10.0.0.1' } }, {}, 5000, true],
  ['behind a balancer', {}, { 'server.forward-headers-strategy': 'native' }, 5000, true],
  ['in a container with a terminal', { inContainer: true, onTerminal: true }, {}, 0, false],
  [
    'with an immediate shutdown',
    { inContainer: true },
    { 'server.shutdown': 'immediate' },
    0,
    false,
  ],
  ['with a time of its own', { onTerminal: true }, { 'server.drain-ms': '20s' }, 20_000, true],
] as const) {
  test(`a gateway ${where} drains for ${drainMs} ms`, async (t) => {
    const { config } = await loadConfig({ ...write(t, { settings }), ...places })
    assert.deepEqual([config.http.drainMs, config.http.drainsAlways], [drainMs, always])
  })
}

test('unknown keys can be warnings for the time of a change', async (t) => {
  const files = { 'config/gate.yml': 'server: { prot: 1 }\nconfig.unknown-keys: warn' }
  const { notices } = await load(t, files)
  assert.ok(
    notices.includes(
      'Warning: config/gate.yml:1: server.prot: is not a known key; did you mean server.port?',
    ),
  )
  const given: Given = {
    'config/gate.yml': 'server: { prot: 1 }',
    env: { FAIRLEAD_UNKNOWN_KEYS: 'warn' },
  }
  const { notices: same } = await load(t, given)
  assert.equal(same.filter((notice) => notice.startsWith('Warning: ')).length, 1)
})

test('settings without effect are named', async (t) => {
  const yaml =
    'snakeyaml.maxAliasesForCollections: 9\nurl-handler.other: true\nmcp.server.enabled: true\nserver.ssl.protocol: TLS'
  const { notices } = await load(t, { 'config/gate.yml': yaml })
  const [line = ''] = notices.filter((notice) => notice.startsWith('Ignored, as'))
  for (const key of ['snakeyaml', 'url-handler', 'mcp.server.enabled', 'server.ssl.protocol'])
    assert.ok(line.includes(key), line)
})

test('settings without effect are named when they come from variables', async (t) => {
  const { notices } = await load(t, { env: { MCP_SERVER_ENABLED: 'true' } })
  assert.ok(
    notices.some((notice) => /^Ignored, as .*mcp\.server\.enabled/.test(notice)),
    notices.join(' '),
  )
})

test('the timeout of Spring Session wins over the others', async (t) => {
  const yaml = 'server.servlet.session.timeout: 10m\nserver.session.timeoutInSeconds: 5\n'
  assert.equal((await load(t, { 'config/gate.yml': yaml })).config.sessions.idleMs, 600_000)
  const { config } = await load(t, {
    'config/gate.yml': `${yaml}spring.session: { timeout: 20m, store-type: redis }`,
  })
  assert.equal(config.sessions.idleMs, 1_200_000)
})
