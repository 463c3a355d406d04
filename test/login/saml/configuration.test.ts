/** The keys of all generations of Gate, the addresses that they mean, and configurations that do not start. */
import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { parseIdpMetadata } from '../../../packages/gateway/login/saml/idp-metadata.ts'
import { DOMParser } from '../../../packages/gateway/login/saml/xml-libraries.js'
import { checkConfig } from '../../config/given.ts'
import { keytoolStore, tripleDesStore } from '../../http/key-stores.ts'
import { runGateway } from '../../support/gateway.ts'
import {
  formatMetadata,
  readRedirect,
  type SamlIdentityProvider,
  startSamlIdentityProvider,
} from '../../support/saml-identity-provider.ts'
import { keyPairOf } from '../../support/self-signed.ts'
import { Browser } from '../browser.ts'
import { gatewayUrl, proxyHeaders, ui } from '../support.ts'
import { currentStore, outdatedStore } from './key-stores.ts'
import { login, post, startLogin, startSaml, writeFiles } from './support.ts'

const storedKeys = { 'saml.p12': Buffer.from(currentStore, 'base64') }

/** Starts with these settings alone, behind the proxy. */
async function start(
  t: TestContext,
  settings: Record<string, unknown>,
): Promise<{ open: () => Browser }> {
  const server = {
    'forward-headers-strategy': 'native',
    ...(settings['server'] as object | undefined),
  }
  const running = await runGateway(t, { services: { deck: { baseUrl: ui } }, ...settings, server })
  return { open: () => new Browser(running.url, proxyHeaders) }
}

interface Expected {
  entityId: string
  consumer: string
}

/** The request announces this address and name, and the answer there logs in. */
async function checkLogin(
  open: () => Browser,
  provider: SamlIdentityProvider,
  { entityId, consumer }: Expected,
): Promise<void> {
  const browser = open()
  const { xml, id } = readRedirect((await browser.visit('/login')).location ?? '')
  assert.ok(xml.includes(` AssertionConsumerServiceURL="${consumer}"`), xml)
  assert.ok(xml.includes(`>${entityId}</saml:Issuer>`), xml)
  const path = new URL(consumer).pathname
  assert.equal(
    (
      await post(
        browser,
        provider.answer({ inResponseTo: id, audience: entityId, consumer }),
        {},
        path,
      )
    ).status,
    302,
  )
  assert.equal((await browser.user())?.['username'], 'alice@example.com')
}

test('auth-scenario 141: generation A names the address of answers by its parts', async (t) => {
  const provider = await startSamlIdentityProvider(t)
  const folder = writeFiles(t, storedKeys)
  const gateway = await start(t, {
    saml: {
      enabled: true,
      metadataUrl: provider.url,
      issuerId: 'spinnaker',
      keyStore: join(folder, 'saml.p12'),
      keyStorePassword: 'changeit',
      keyStoreAliasName: 'mykey',
      keyStoreType: 'PKCS12',
      redirectProtocol: 'https',
      redirectHostname: 'gate.example.com',
      redirectBasePath: '/',
      maxAuthenticationAge: 7200,
      signatureDigest: 'SHA256',
    },
  })
  await checkLogin(gateway.open, provider, {
    entityId: 'spinnaker',
    consumer: `${gatewayUrl}/saml/SSO`,
  })
})

test('auth-scenario 141: generation B has a registration name and path', async (t) => {
  const provider = await startSamlIdentityProvider(t)
  const plain = await start(t, { saml: { enabled: true, metadataUrl: provider.url } })
  await checkLogin(plain.open, provider, {
    entityId: `${gatewayUrl}/saml2/metadata`,
    consumer: `${gatewayUrl}/saml/SSO`,
  })

  const saml = {
    enabled: true,
    metadataUrl: provider.url,
    issuerId: '{baseUrl}/name',
    registrationId: 'corp',
    signRequests: false,
  }
  const named = await start(t, { saml })
  await checkLogin(named.open, provider, {
    entityId: `${gatewayUrl}/name`,
    consumer: `${gatewayUrl}/saml/corp`,
  })

  const moved = await start(t, {
    saml: { ...saml, loginProcessingUrl: '/sso/here/{registrationId}' },
  })
  await checkLogin(moved.open, provider, {
    entityId: `${gatewayUrl}/name`,
    consumer: `${gatewayUrl}/sso/here/corp`,
  })
})

function springSaml(registration: Record<string, unknown>) {
  return { spring: { security: { saml2: { relyingparty: { registration } } } } }
}

test('auth-scenario 141: generation C is that of Spring', async (t) => {
  const provider = await startSamlIdentityProvider(t)
  const gateway = await start(t, {
    saml: { enabled: true },
    ...springSaml({ corp: { assertingparty: { 'metadata-uri': provider.url } } }),
  })
  const entityId = `${gatewayUrl}/saml2/service-provider-metadata/corp`
  await checkLogin(gateway.open, provider, {
    entityId,
    consumer: `${gatewayUrl}/login/saml2/sso/corp`,
  })

  const full = await start(t, {
    saml: { enabled: true, loginProcessingUrl: '/saml/SSO' },
    ...springSaml({
      corp: {
        'entity-id': 'spinnaker',
        'name-id-format': 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress',
        acs: { location: '{baseUrl}/saml/SSO', binding: 'POST' },
        identityprovider: { 'metadata-uri': provider.url },
      },
    }),
  })
  await checkLogin(full.open, provider, {
    entityId: 'spinnaker',
    consumer: `${gatewayUrl}/saml/SSO`,
  })
  assert.match(
    readRedirect((await full.open().visit('/login')).location ?? '').xml,
    /Format="urn:oasis:names:tc:SAML:1\.1:nameid-format:emailAddress"/,
  )
})

test('generation C works without metadata', async (t) => {
  const provider = await startSamlIdentityProvider(t)
  const pair = keyPairOf('gateway')
  const folder = writeFiles(t, {
    'idp.pem': keyPairOf('idp').certificate,
    'key.pem': pair.keyPem,
    'cert.pem': pair.certificate,
  })
  const gateway = await start(t, {
    saml: { enabled: true },
    ...springSaml({
      corp: {
        'entity-id': 'spinnaker',
        signing: {
          credentials: [
            {
              'private-key-location': `file:${folder}/key.pem`,
              'certificate-location': `file:${folder}/cert.pem`,
            },
          ],
        },
        assertingparty: {
          'entity-id': provider.entityId,
          singlesignon: {
            url: 'https://idp.example.com/sso',
            binding: 'redirect',
            'sign-request': true,
          },
          verification: { credentials: [{ 'certificate-location': join(folder, 'idp.pem') }] },
        },
      },
    }),
  })
  const { location } = await gateway.open().visit('/login')
  assert.ok(location?.startsWith('https://idp.example.com/sso?SAMLRequest='))
  assert.match(location ?? '', /&Signature=/)
  await checkLogin(gateway.open, provider, {
    entityId: 'spinnaker',
    consumer: `${gatewayUrl}/login/saml2/sso/corp`,
  })
})

test('generation C wins over the older keys', async (t) => {
  const provider = await startSamlIdentityProvider(t)
  const gateway = await start(t, {
    saml: {
      enabled: true,
      metadataUrl: provider.url,
      issuerId: 'old',
      redirectHostname: 'gate.example.com',
    },
    ...springSaml({ corp: { 'entity-id': 'new' } }),
  })
  await checkLogin(gateway.open, provider, { entityId: 'new', consumer: `${gatewayUrl}/saml/SSO` })
})

test('auth-scenario 141: responses arrive at the addresses of every generation', async (t) => {
  const gateway = await startSaml(t, { registrationId: 'corp' })
  for (const path of ['/saml/SSO', '/saml/corp', '/login/saml2/sso', '/login/saml2/sso/corp']) {
    const browser = gateway.open()
    const inResponseTo = await startLogin(browser)
    const answer = await post(
      browser,
      gateway.provider.answer({ inResponseTo, consumer: gatewayUrl + path }),
      {},
      path,
    )
    assert.equal(answer.status, 302, path)
  }
  const elsewhere = gateway.open()
  const inResponseTo = await startLogin(elsewhere)
  const answer = await post(elsewhere, gateway.provider.answer({ inResponseTo }), {}, '/saml/other')
  assert.deepEqual([answer.status, answer.location], [302, `${gatewayUrl}/login`])
})

test('a configured address counts, whatever host the request names', async (t) => {
  const provider = await startSamlIdentityProvider(t)
  const gateway = await startSaml(t, { redirectHostname: 'gate.example.com' }, { provider })
  const headers = { ...proxyHeaders, 'x-forwarded-host': 'evil.example.com' }
  const browser = gateway.open()
  const inResponseTo = await startLogin(browser)
  const xml = provider.answer({ inResponseTo, consumer: 'https://evil.example.com/saml/SSO' })
  const body = new URLSearchParams({ SAMLResponse: Buffer.from(xml).toString('base64') })
  const answer = await browser.visit('/saml/SSO', {
    method: 'POST',
    body,
    headers: { ...headers, accept: 'text/html' },
  })
  assert.equal(answer.status, 401)
})

test('auth-scenario 62: below a context path everything carries it', async (t) => {
  const provider = await startSamlIdentityProvider(t)
  const server = { 'forward-headers-strategy': 'native', servlet: { 'context-path': '/api/v1' } }
  const gateway = await startSaml(t, {}, { provider, settings: { server } })
  const browser = gateway.open()
  assert.equal((await browser.visit('/credentials')).location, `${gatewayUrl}/api/v1/login`)
  const inResponseTo = await startLogin(browser)
  const consumer = `${gatewayUrl}/api/v1/saml/SSO`
  const answer = await post(browser, provider.answer({ inResponseTo, consumer }))
  assert.deepEqual([answer.status, answer.location], [302, `${gatewayUrl}/api/v1/credentials`])
  assert.match(
    (await browser.visit('/saml/metadata')).text,
    /Location="https:\/\/gate\.example\.com\/api\/v1\/saml\/SSO"/,
  )

  const fixed = await start(t, {
    server: { servlet: { 'context-path': '/api/v1' } },
    saml: { enabled: true, metadataUrl: provider.url },
    ...springSaml({ corp: { acs: { location: `${gatewayUrl}/api/v1/sso/done` } } }),
  })
  const other = fixed.open()
  const id = await startLogin(other)
  const audience = `${gatewayUrl}/api/v1/saml2/service-provider-metadata/corp`
  const xml = provider.answer({
    inResponseTo: id,
    consumer: `${gatewayUrl}/api/v1/sso/done`,
    audience,
  })
  assert.equal((await post(other, xml, {}, '/sso/done')).status, 302)
})

test('several registrations are offered on a page', async (t) => {
  const first = await startSamlIdentityProvider(t, { entityId: 'https://first.example.com' })
  const second = await startSamlIdentityProvider(t, {
    entityId: 'https://second.example.com',
    keys: [keyPairOf('second')],
  })
  const gateway = await start(t, {
    saml: { enabled: true },
    ...springSaml({
      first: { 'entity-id': 'spinnaker', assertingparty: { 'metadata-uri': first.url } },
      second: { 'entity-id': 'spinnaker', assertingparty: { 'metadata-uri': second.url } },
    }),
  })
  const browser = gateway.open()
  const page = await browser.visit('/login')
  assert.equal(page.status, 200)
  assert.match(
    page.text,
    /href="\/saml2\/authenticate\/first".*href="\/saml2\/authenticate\/second"/s,
  )

  const consumer = `${gatewayUrl}/login/saml2/sso/second`
  const ask = async (asking: Browser) =>
    readRedirect((await asking.visit('/saml2/authenticate/second')).location ?? '').id
  const wrong = first.answer({ inResponseTo: await ask(browser), consumer })
  assert.equal((await post(browser, wrong, {}, '/login/saml2/sso')).status, 401)
  const crossed = first.answer({
    inResponseTo: await ask(browser),
    consumer: `${gatewayUrl}/login/saml2/sso/first`,
  })
  assert.equal((await post(browser, crossed, {}, '/login/saml2/sso/first')).status, 401)
  for (const path of ['/login/saml2/sso/second', '/login/saml2/sso', '/saml/SSO']) {
    const other = gateway.open()
    const right = second.answer({ inResponseTo: await ask(other), consumer })
    assert.equal((await post(other, right, {}, path)).status, 302, path)
    assert.ok(await other.user())
  }
})

test('metadata may be a file, an address or text', async (t) => {
  const provider = await startSamlIdentityProvider(t)
  const folder = writeFiles(t, { 'idp.xml': provider.metadata })
  const aggregate = `<md:EntitiesDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata">${[
    provider.entityId,
    'https://other.example.com',
  ]
    .map((entityId) => formatMetadata(entityId, [keyPairOf('idp')]).replace(/^<\?xml.*\n/, ''))
    .join('')}</md:EntitiesDescriptor>`
  for (const metadataUrl of [
    join(folder, 'idp.xml'),
    `file:${folder}/idp.xml`,
    `file://${folder}/idp.xml`,
    provider.metadata,
  ]) {
    const gateway = await startSaml(t, { metadataUrl })
    assert.equal((await login(gateway, gateway.open())).status, 302)
  }
  const chosen = await start(t, {
    saml: { enabled: true, issuerId: 'spinnaker' },
    ...springSaml({
      SSO: {
        acs: { location: '{baseUrl}/saml/SSO' },
        assertingparty: { 'metadata-uri': aggregate, 'entity-id': provider.entityId },
      },
    }),
  })
  await checkLogin(chosen.open, provider, {
    entityId: 'spinnaker',
    consumer: `${gatewayUrl}/saml/SSO`,
  })
})

test('only the relevant entity of a federation is parsed', (t) => {
  const { mock } = t.mock.method(DOMParser.prototype, 'parseFromString')
  const names = Array.from(
    { length: 1000 },
    (_, index) => `https://idp.example.com/?tenant=${index}&amp;x`,
  )
  const keys = [keyPairOf('idp')]
  const entities = names.map((name) => formatMetadata(name, keys).replace(/^<\?xml.*\?>/, ''))
  const service = entities[0]
    ?.replaceAll('IDPSSODescriptor', 'SPSSODescriptor')
    .replace(/entityID="[^"]*"/, 'entityID="service"')
  const file = `<md:EntitiesDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata"><?x?>${service}<md:EntitiesDescriptor>${entities.join('')}</md:EntitiesDescriptor></md:EntitiesDescriptor>`
  assert.equal(
    parseIdpMetadata(file, 'https://idp.example.com/?tenant=7&x').entityId,
    'https://idp.example.com/?tenant=7&x',
  )
  assert.throws(() => parseIdpMetadata(file, undefined), /several identity providers/)
  assert.throws(
    () => parseIdpMetadata(file, 'https://idp.example.com/?tenant=7'),
    /no identity provider named/,
  )
  assert.throws(() => parseIdpMetadata(file, 'service'), /no identity provider named/)
  assert.deepEqual(
    mock.calls.map(({ arguments: [text] }) => text.length < 10_000),
    [true, true, true],
  )
})

test('a key store may also be PEM', async (t) => {
  const { keyPem, certificate, base64 } = keyPairOf('gateway')
  const folder = writeFiles(t, { 'saml.pem': certificate + keyPem })
  const gateway = await startSaml(t, { keyStore: join(folder, 'saml.pem') })
  assert.ok((await gateway.open().visit('/saml/metadata')).text.includes(base64))
  assert.equal(
    (await login(gateway, gateway.open(), { encryptFor: certificate, signed: 'response' })).status,
    302,
  )
})

test('a key store may have several entries, or be encrypted with triple DES', async (t) => {
  const folder = writeFiles(t, {
    'several.p12': Buffer.from(keytoolStore, 'base64'),
    'des.p12': Buffer.from(tripleDesStore, 'base64'),
  })
  const rows = [
    ['several.p12', undefined, 'O=Acme\nCN=localhost'],
    ['several.p12', 'other', 'CN=other'],
    ['des.p12', undefined, 'O=Acme\nCN=localhost'],
  ] as const
  for (const [file, keyStoreAliasName, owner] of rows) {
    const gateway = await startSaml(t, {
      keyStore: join(folder, file),
      keyStorePassword: 'changeit',
      keyStoreAliasName,
    })
    const { text } = await gateway.open().visit('/saml/metadata')
    const base64 = /<ds:X509Certificate>([^<]*)/.exec(text)?.[1] ?? ''
    assert.equal(new X509Certificate(Buffer.from(base64, 'base64')).subject, owner)
  }
})

/** What is said when the configuration alone is wrong. */
const mistakes: [name: string, settings: Record<string, unknown>, expected: RegExp[]][] = [
  [
    'auth-scenario 262: there is no metadata',
    { saml: { enabled: true } },
    [/saml\.metadataUrl.*needs the metadata/],
  ],
  [
    'auth-scenario 262: a registration without metadata',
    { saml: { enabled: true }, ...springSaml({ corp: { assertingparty: { 'entity-id': 'x' } } }) },
    [/corp\.assertingparty.*metadata/],
  ],
  [
    'auth-scenario 260: two ways to log in with a browser',
    {
      saml: { enabled: true, metadataUrl: '/idp.xml' },
      security: { basicform: { enabled: true } },
    },
    [/SAML \(saml\.enabled\) and form \(security\.basicform\.enabled\)/],
  ],
  [
    'everyone is let in besides',
    { saml: { enabled: true, metadataUrl: '/idp.xml' }, anonymous: { enabled: true } },
    [/anonymous access and saml\.enabled exclude/],
  ],
  [
    'several mistakes at once',
    {
      saml: {
        enabled: true,
        metadataUri: 'x',
        signatureDigest: 'MD5',
        userAttributeMapping: { rolesDelimiter: '[' },
        signingCredentials: [{ privateKeyLocation: '/key.pem' }],
      },
    },
    [
      /metadataUri/,
      /signatureDigest.*SHA1, SHA256, SHA384, SHA512/,
      /rolesDelimiter.*regular expression/,
      /signingCredentials.*private key and a certificate/,
      /saml\.metadataUrl.*needs/,
    ],
  ],
  [
    'the form of installers',
    { security: { authn: { saml: { enabled: true } } } },
    [/write saml\.enabled: true/],
  ],
]

for (const [name, settings, expected] of mistakes) {
  test(`${name}: this does not start`, async () => {
    const { ok, text } = await checkConfig({
      cwd: '/nonexistent',
      env: {},
      homeDir: '/nonexistent',
      systemDir: '/nonexistent',
      settings,
    })
    assert.equal(ok, false)
    for (const pattern of expected) assert.match(text, pattern)
  })
}

test('errors in keys and metadata are reported at the start', async (t) => {
  const { keyPem } = keyPairOf('gateway')
  const folder = writeFiles(t, {
    'old.jks': Buffer.from('cececece00000002', 'hex'),
    'old.p12': Buffer.from(outdatedStore, 'base64'),
    'saml.p12': Buffer.from(currentStore, 'base64'),
    'key.pem': keyPem,
    'other.pem': keyPairOf('other').certificate,
    'page.xml': '<html></html>',
    'keyless.xml': formatMetadata('x', []),
    'encrypted-key.pem':
      '-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n',
    'idp.xml': formatMetadata('https://idp.example.com', [keyPairOf('idp')], {
      wantsSignedRequests: true,
    }),
  })
  const file = (name: string) => join(folder, name)
  const rows: [settings: Record<string, unknown>, expected: RegExp[]][] = [
    [
      { metadataUrl: file('none.xml'), keyStore: file('none.p12') },
      [
        /saml\.keyStore: the file \S*none\.p12 does not exist/,
        /saml\.metadataUrl: the file \S*none\.xml does not exist/,
      ],
    ],
    [{ metadataUrl: file('page.xml') }, [/describes no identity provider/]],
    [{ metadataUrl: file('keyless.xml') }, [/no certificate for signatures/]],
    [
      { metadataUrl: 'http://127.0.0.1:1/metadata?key=secret' },
      [/metadata at http:\/\/127\.0\.0\.1:1\/metadata cannot be fetched/],
    ],
    [{ metadataUrl: file('idp.xml') }, [/wants signed requests, and there is no key/]],
    [
      { metadataUrl: file('idp.xml'), signRequests: true },
      [/requests shall be signed, and there is no key for SSO/],
    ],
    [
      { metadataUrl: file('idp.xml'), keyStore: `file:${file('old.jks')}` },
      [
        /only Java reads.* keytool -importkeystore -srckeystore \/\S*old\.jks -destkeystore \/\S*old\.jks\.p12 -deststoretype PKCS12/,
      ],
    ],
    [
      { metadataUrl: file('idp.xml'), keyStore: file('old.p12'), keyStorePassword: 'changeit' },
      [/encrypted the way that old tools did.*keytool/],
    ],
    [
      {
        metadataUrl: file('idp.xml'),
        keyStore: file('saml.p12'),
        keyStorePassword: 'changeit',
        keyStoreAliasName: 'nobody',
      },
      [/no private key with the alias "nobody"/],
    ],
    [
      {
        metadataUrl: file('idp.xml'),
        keyStore: file('saml.p12'),
        keyStorePassword: 'wrong-password',
      },
      [/the password does not open it/],
    ],
    [
      {
        metadataUrl: file('idp.xml'),
        signingCredentials: [
          { privateKeyLocation: file('key.pem'), certificateLocation: file('other.pem') },
        ],
      },
      [/does not belong to the private key/],
    ],
    [
      {
        metadataUrl: file('idp.xml'),
        signingCredentials: [
          { privateKeyLocation: file('encrypted-key.pem'), certificateLocation: file('other.pem') },
        ],
      },
      [/PEM \(BEGIN PRIVATE KEY\) and not encrypted/],
    ],
    [
      {
        metadataUrl: file('idp.xml'),
        signingCredentials: [
          { privateKeyLocation: 'classpath:key.pem', certificateLocation: file('other.pem') },
        ],
      },
      [/give a path or a file: address/],
    ],
  ]
  for (const [saml, expected] of rows) {
    await t.test(String(expected[0]), async (row) => {
      await assert.rejects(startSaml(row, saml), (error: Error) => {
        for (const pattern of expected) assert.match(error.message, pattern)
        assert.doesNotMatch(error.message, /secret|wrong-password/)
        return true
      })
    })
  }
})
