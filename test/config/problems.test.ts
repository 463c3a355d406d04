/** Every mistake is told at once, with its place and the key that was probably meant, and without secrets. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { checkConfig, type Given, load, problemsOf, write } from './given.ts'

test('all errors of all sources are reported at once', async (t) => {
  const problems = await problemsOf(t, {
    'config/spinnaker.yml':
      'services:\n  orca:\n    baseUrl: orca:8083\n    enabled: maybe\n  fait:\n    baseUrl: http://o\n',
    'config/gate.yml':
      'server.port: 70000\nserver:\n  adress: 0.0.0.0\ncors.allow-mode: both\nsaml.enabled: true\n',
    env: { OKHTTPCLIENT_READTIMEOUTMS: 'long' },
  })

  assert.deepEqual(problems, [
    'config/gate.yml:1: server.port: must be 65535 or less, is 70000',
    'config/gate.yml:3: server.adress: is not a known key; did you mean server.address?',
    'config/gate.yml:4: cors.allow-mode: must be one of regex, list, is "both"',
    'config/gate.yml:5: saml.metadataUrl: SAML needs the metadata of the identity provider: give its address or a file',
    'config/spinnaker.yml:3: services.orca.baseUrl: must be an absolute address such as http://orca.example:8083, ' +
      'or the word embedded, is "orca:8083"',
    'config/spinnaker.yml:4: services.orca.enabled: must be true or false, is "maybe"',
    'config/spinnaker.yml:5: services.fait: is not a known key; did you mean services.fiat?',
    'environment variable OKHTTPCLIENT_READTIMEOUTMS: okHttpClient.readTimeoutMs: must be a number, is "long"',
  ])
})

const strict = { FAIRLEAD_UNKNOWN_KEYS: 'reject' }

const suggestions: [written: string, meant: string | undefined][] = [
  ['services.orca.baseUlr: x', 'services.orca.baseUrl'],
  ['service: {orca: {baseUrl: x}}', 'services'],
  ['session: {timeoutInSeconds: 1}', 'sessions'],
  ['server.sesion.timeoutInSeconds: 1', 'server.session.timeoutInSeconds'],
  ['okHttpClient.conectTimeout: 1', 'okHttpClient.connectTimeoutMs'],
  ['fiat.admin.rolls: [a]', 'fiat.admin.roles'],
  ['redis.conection: x', 'redis.connection'],
  ['ldap.userDnPatern: x', 'ldap.userDnPattern'],
  ['server.tomcat.remoteip.portHeadr: x', 'server.tomcat.remoteip.port-header'],
  [
    'services.orca.shards.baseUrls: [{baseURI: "http://a"}]',
    'services.orca.shards.baseUrls[0].baseUrl',
  ],
  ['anonymos.enabled: true', 'anonymous.enabled'],
  ['completely.unheard.of: 1', undefined],
  ['server.max-http-headr-size: 1', 'server.max-http-header-size'],
  ['server.max-http-whatever: 1', undefined],
  ['services.fiat.session-filter.enabled: true', 'fiat.session-filter.enabled'],
  ['session-filter.enabled: true', 'fiat.session-filter.enabled'],
  ['rate-limits.enabled: true', 'rate-limit.enabled'],
  ['httpclient.timeout: 1', undefined],
  ['stat.enabled: true', undefined],
  ['insights.jobs: []', 'insights.job'],
  [
    'spring.security.oauth2.client.registration.gitHub.client-idd: x',
    'spring.security.oauth2.client.registration.gitHub.client-id',
  ],
  ['spring.security.oauth2.client.registration.gitHub.unheard: x', undefined],
  [
    'rate-limit.capacityByPrincipal: [{principle: a}]',
    'rate-limit.capacityByPrincipal[0].principal',
  ],
  ['service-account.max-http-header-size: 1', undefined],
]

for (const [written, meant] of suggestions) {
  test(`for "${written}" ${meant ?? 'nothing'} is suggested`, async (t) => {
    const problems = (await problemsOf(t, { 'config/gate.yml': `${written}\n`, env: strict })).join(
      '\n',
    )

    assert.match(problems, /^config\/gate\.yml:1: .*is not a known key/m)
    assert.equal(/did you mean (\S+)\?/.exec(problems)?.[1], meant)
  })
}

const accepted: [title: string, yaml: string][] = [
  ['a key of Spring', 'spring.datasource.url: x'],
  ['a list of Spring', 'spring: {autoconfigure: {exclude: [a.B]}}'],
  ['a key of another service in a shared file', 'services.clouddriverRo.baseUrl: http://x'],
  ['a key that another one refers to', `mine: http://m:1\nservices.orca.baseUrl: \${mine}`],
  ['a key that begins with x-', 'x-anchors: {a: 1}'],
  ['a key of the management server', 'management: {metrics: {export: {enabled: true}}}'],
  ['a method that is off', 'ldap: {enabled: false, url: "ldap://x", managerPassword: p}'],
  ['a wrong value of a method that is off', 'x509.subjectPrincipalRegex: "("'],
  ['an unknown key of one', 'x509: {subjectPrincipalRegexp: a, x: 1}'],
  ['a service that is off', 'services.swabbie: {enabled: false, baseUrl: "swabbie:8088/x y"}'],
]

for (const [title, yaml] of accepted) {
  test(`${title} is no problem`, async (t) => {
    assert.deepEqual(await problemsOf(t, { 'config/gate.yml': `${yaml}\n` }), [])
  })
}

test('what belongs to no gateway is named in one line', async (t) => {
  const { notices } = await load(t, {
    'config/spinnaker.yml': 'persistentStorage: {a: {b: 1}}\nproviders: {aws: {enabled: false}}\n',
    'config/gate.yml': 'management: {a: 1, b: 2}\nspring.jackson: {x: 1}\n',
  })

  assert.deepEqual(notices, [
    'Ignored, as Fairlead does not use it: management.a, management.b, persistentStorage, providers, spring.jackson.',
  ])
})

test('an error in a shared file is reported', async (t) => {
  const problems = await problemsOf(t, {
    'config/spinnaker.yml': 'servces: {orca: {baseUrl: "http://x"}}\n',
    env: strict,
  })

  assert.deepEqual(problems, [
    'config/spinnaker.yml:1: servces: is not a known key; did you mean services?',
  ])
})

const unknownKeys: [yaml: string, file?: string][] = [
  ['anonymos.enabled: true'],
  ['saml.enabeld: true'],
  ['server.adress: 127.0.0.1'],
  ['ldap: {enabled: true, url: "ldap://l/dc=x", userDnPattern: "uid={0}", groups: ou=x}'],
  ['security.unheard-of: 1'],
  ['kubernetes.accounts: [{name: a, permission: {READ: [x]}}]'],
  ['jenkins.masters: [{name: a, address: "http://j", permisions: {READ: [x]}}]'],
  ['fiat.admin.rolls: [a]', 'spinnaker.yml'],
]
for (const [yaml, file = 'gate.yml'] of unknownKeys) {
  test(`an unknown key that would decide who gets in prevents the start: ${yaml}`, async (t) => {
    const given = { [`config/${file}`]: `${yaml}\n` }
    assert.match((await problemsOf(t, given)).join('\n'), /is not a known key/)
    const { notices } = await load(t, { ...given, env: { FAIRLEAD_UNKNOWN_KEYS: 'warn' } })
    assert.ok(notices.some((notice) => /^Warning: .* is not a known key/.test(notice)))
  })
}

test('any other unknown key is a warning, by file and line', async (t) => {
  const { notices } = await load(t, {
    'config/gate-local.yml': 'saml:\n  enabled: false\n  metadataUrlOld: x\nserver.prot: 1\n',
    'config/fairlead.yml': 'mine: {a: 1}\nkubernetes.accounts: [{name: a, kubeconfg: b}]\n',
    'config/spinnaker.yml': 'services:\n  front50: {s3: {enabled: true}}\nfiat.getAll.x: 1\n',
  })

  assert.deepEqual(
    notices.filter((notice) => /known key|does not use/.test(notice)),
    [
      'Ignored, as Fairlead does not use it: fiat.getAll, services.front50.s3.',
      'Warning: config/fairlead.yml:1: mine: is not a known key; remove it, or correct it',
      'Warning: config/fairlead.yml:2: kubernetes.accounts[0].kubeconfg: is not a known key; remove it, or correct it',
      'Warning: config/gate-local.yml:3: saml.metadataUrlOld: is not a known key; did you mean saml.metadataUrl?',
      'Warning: config/gate-local.yml:4: server.prot: is not a known key; did you mean server.port?',
    ],
  )
})

const otherForms: [title: string, yaml: string, expected: RegExp][] = [
  [
    'a SpinnakerService',
    'apiVersion: spinnaker.io/v1alpha2\nkind: SpinnakerService\nspec: {spinnakerConfig: {profiles: {gate: {}}}}\n',
    /^config\/gate\.yml:1: is a manifest of Kubernetes \(SpinnakerService\).*gate-local\.yml/,
  ],
  [
    'a ConfigMap',
    'apiVersion: v1\nkind: ConfigMap\ndata: {gate.yml: ""}\n',
    /^config\/gate\.yml:1: is a manifest of Kubernetes \(ConfigMap\)/,
  ],
  [
    'the configuration of Halyard',
    'currentDeployment: default\ndeploymentConfigurations: [{name: default}]\n',
    /^config\/gate\.yml:1: is the configuration of Halyard/,
  ],
]
for (const [title, yaml, expected] of otherForms) {
  test(`${title} in the place of settings is one error`, async (t) => {
    const problems = await problemsOf(t, { 'config/gate.yml': yaml })
    assert.equal(problems.length, 1)
    assert.match(problems[0] as string, expected)
  })
}

test('files of other services are named', async (t) => {
  const { notices } = await load(t, {
    'config/clouddriver.yml': 'kubernetes: {enabled: true}\n',
    'config/igor-local.yml': '',
  })
  assert.match(
    notices.join('\n'),
    /^Not read, as they belong to other services: config\/clouddriver\.yml, config\/igor-local\.yml\. .*fairlead\.yml/m,
  )
})

test('two spellings that say the same are one key', async (t) => {
  const account = 'name: a, oauthScopes: [b], oAuthScopes: [c], only-namespaced-resources: true'
  const { config, notices } = await load(t, {
    'config/fairlead.yml': `kubernetes.enabled: true\nkubernetes.accounts: [{${account}, omitKinds: [pod], omit-kinds: [pod]}]\nserver: {max-http-header-size: 9000, maxHttpHeaderSize: 9000}\n`,
  })

  assert.equal(config.http.maxHeaderBytes, 9000)
  assert.match(
    notices.join('\n'),
    /^Ignored, .*kubernetes\.accounts\[0\]\.oAuthScopes, kubernetes\.accounts\[0\]\.onlyNamespacedResources\.$/m,
  )
})

test('one key in two spellings with two values is a problem', async (t) => {
  const problems = await problemsOf(t, {
    'config/gate.yml':
      'services:\n  orca:\n    baseUrl: http://a\n    base-url: http://b\nservices.orca.baseUrl: http://c\n',
  })

  assert.deepEqual(problems, [
    'config/gate.yml:4: services.orca.baseUrl: is written twice, first in line 3; keep one',
    'config/gate.yml:5: services.orca.baseUrl: is written twice, first in line 3; keep one',
  ])
})

const secret = 'hunter2'
const leaks: [title: string, given: Given][] = [
  [
    'a password of the wrong type',
    { 'config/gate.yml': `spring.security.user.password: [${secret}]` },
  ],
  ['a key store', { 'config/gate.yml': `okHttpClient.keyStorePassword: {a: ${secret}}` }],
  ['an unfinished placeholder', { 'config/gate.yml': `slack.token: "a\${${secret}"` }],
  ['a secret by reference', { 'config/gate.yml': `slack.token: "encrypted:${secret}"` }],
  [
    'a password in an address',
    { 'config/gate.yml': `services.orca.baseUrl: "x://user:${secret}@host"` },
  ],
  [
    'a password in the address of Redis',
    { 'config/gate.yml': `redis.connection: "redi://:${secret}@host"` },
  ],
  [
    'a password with odd characters in an address',
    { 'config/gate.yml': `redis.connection: "redi://:a/${secret}@b@host?p=${secret}"` },
  ],
  ['a stray bracket', { 'config/gate.yml': `a: 1\n]${secret}` }],
  [
    'a name that comes from a secret',
    { 'config/gate.yml': `services.deck.baseUrl: "\${\${S}}"`, env: { S: secret } },
  ],
  ['malformed YAML', { 'config/gate.yml': `a: "${secret}\n  b: [` }],
  ['malformed JSON', { env: { SPRING_APPLICATION_JSON: `{"a": "${secret}` } }],
]

for (const [title, given] of leaks) {
  test(`${title} is told without the secret`, async (t) => {
    const problems = await problemsOf(t, given)

    assert.ok(problems.length > 0)
    assert.ok(!problems.join('\n').includes(secret), problems.join('\n'))
  })
}

test('an unknown variable is reported with a suggestion', async (t) => {
  const env = {
    ...{
      FAIRLEAD_DATA_DIRR: 'secret',
      FAIRLEAD_OTHER: 'secret',
      FAIRLEAD_TOKEN: 'secret',
      FAIRLEAD_URL: 'secret',
    },
    ...{ SERVICES_OCRA_BASEURL: 'http://x', PATH: '/bin', HTTP_PROXY: 'http://p' },
  }
  assert.deepEqual((await load(t, { env })).notices, [
    'Ignored, as it fits no setting: environment variable FAIRLEAD_DATA_DIRR (did you mean FAIRLEAD_DATA_DIR?), ' +
      'FAIRLEAD_OTHER, SERVICES_OCRA_BASEURL (did you mean SERVICES_ORCA_BASEURL?).',
  ])
})

test('a misspelt variable of any setting or command is reported', async (t) => {
  const env = {
    SERVER_PROT: '1',
    ANONYMOUS_ENABLE: 'true',
    LDAP_ENABELD: 'true',
    SERVER_SOFTWARE: 'x',
    LOGGING_HOST: 'x',
    AUDIT_ID: '1',
    FAIRLEAD_TOKN: 'x',
    RETENTON_ENABLED: 'true',
    LOCAL_ACOUNTS: 'x',
    LOCAL_DIR: 'x',
    REDIS_PASSWORD: 'x',
  }
  assert.deepEqual(
    (await load(t, { env })).notices.flatMap((notice) =>
      [...notice.matchAll(/(\S+) \(did you mean (\S+)\?\)/g)].map(([, ...names]) => names),
    ),
    [
      ['ANONYMOUS_ENABLE', 'ANONYMOUS_ENABLED'],
      ['FAIRLEAD_TOKN', 'FAIRLEAD_TOKEN'],
      ['LDAP_ENABELD', 'LDAP_ENABLED'],
      ['LOCAL_ACOUNTS', 'LOCAL_ACCOUNTS'],
      ['RETENTON_ENABLED', 'RETENTION_ENABLED'],
      ['SERVER_PROT', 'SERVER_PORT'],
    ],
  )
})

test('variables that a cluster sets are not settings', async (t) => {
  const env = {
    SERVER_PORT: 'tcp://10.0.0.1:80',
    REDIS_PORT: 'tcp://10.0.0.1:6379',
    FIAT_PORT_7003_TCP_ADDR: '10.0.0.1',
    FAIRLEAD_SERVICE_HOST: '10.0.0.1',
    FAIRLEAD_PORT: 'tcp://10.0.0.1:8084',
    KUBERNETES_SERVICE_HOST: '10.0.0.1',
  }

  const { config, notices } = await load(t, { env })

  assert.equal(config.http.port, 8084)
  assert.equal(config.http.origin.trustForwarded, true)
  assert.deepEqual(
    notices.filter((notice) => !notice.startsWith('Warning: forwarded headers')),
    [],
  )
})

test('the check reports what it read, or every problem', async (t) => {
  const good = await checkConfig(
    write(t, { 'config/gate.yml': 'services.orca.baseUrl: http://o:1\n' }),
  )
  const bad = await checkConfig(write(t, { 'config/gate.yml': 'a: 1\n', env: strict }))

  assert.equal(good.ok, true)
  assert.match(good.text, /^Read: config\/gate\.yml$/m)
  assert.match(good.text, /^ {2}orca: http:\/\/o:1$/m)
  assert.deepEqual(bad, {
    ok: false,
    text: 'config/gate.yml:1: a: is not a known key; remove it, or correct it',
  })
})

const summarized = [
  { given: '', lines: ['Permissions: embedded, with the roles of the login', 'Rate limits: none'] },
  {
    given:
      'services.fiat.baseUrl: http://f:1\npermissions.enforce: gateway\naudit.enabled: false\n',
    lines: ['Permissions: those of fiat, checked by the gateway', 'Audit log: none'],
  },
  { given: 'services.fiat.enabled: false\n', lines: ['Permissions: no user is restricted'] },
  {
    given: 'rate-limit: {enabled: true, enforcing: [mallory]}\naudit.sink: stdout\n',
    lines: [
      'Rate limits: 60 requests in 10 seconds, learning, no request is rejected but mallory',
      'Audit log: standard output',
    ],
  },
  {
    given: 'rate-limit: {enabled: true, learning: false}\n',
    lines: ['Rate limits: 60 requests in 10 seconds, enforced'],
  },
]
for (const { given, lines } of summarized) {
  test(`the check reports permissions, limits and the audit log: ${lines.join('; ')}`, async (t) => {
    const { text } = await checkConfig(write(t, { 'config/gate.yml': given }))
    for (const line of lines)
      assert.ok(text.split('\n').includes(line), `${line} is not in:\n${text}`)
  })
}
