/** What the doctor says about addresses and about a proxy in front is what the gateway then does. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { currentSettings, startOAuth2 } from '../login/oauth2/support.ts'
import { startIdentityProvider } from '../support/identity-provider.ts'
import { startSamlIdentityProvider } from '../support/saml-identity-provider.ts'
import { about, examineSettings } from './support.ts'

const publicUrl = 'https://gate.example.com'
const oauth2 = {
  security: {
    oauth2: {
      client: {
        clientId: 'gw',
        clientSecret: 's',
        userAuthorizationUri: 'http://127.0.0.1:1/a',
        accessTokenUri: 'http://127.0.0.1:1/t',
      },
      resource: { userInfoUri: 'http://127.0.0.1:1/u' },
    },
  },
}

test('redirect addresses of both generations are listed', async (t) => {
  const older = await examineSettings(t, oauth2, { publicUrl })
  assert.deepEqual(
    older.addresses.map(({ url, needed }) => [url, needed]),
    [
      [`${publicUrl}/login`, true],
      [`${publicUrl}/login/oauth2/code/oauth2`, false],
    ],
  )
  const current = await examineSettings(t, currentSettings({ url: 'http://127.0.0.1:1' }), {
    publicUrl,
  })
  assert.deepEqual(
    current.addresses.map(({ url, needed }) => [url, needed]),
    [
      [`${publicUrl}/login/oauth2/code/corp`, true],
      [`${publicUrl}/login`, false],
    ],
  )
})

test('addresses of SAML are listed for the public address', async (t) => {
  const { metadata } = await startSamlIdentityProvider(t)
  const { addresses } = await examineSettings(
    t,
    { saml: { enabled: true, metadataUrl: metadata } },
    { publicUrl: `${publicUrl}/` },
  )
  const needed = addresses.filter((one) => one.needed).map(({ what, url }) => [what, url])
  assert.deepEqual(needed, [
    ['entity ID', `${publicUrl}/saml2/metadata`],
    ['ACS URL', `${publicUrl}/saml/SSO`],
    ['metadata', `${publicUrl}/saml/metadata?registrationId=SSO`],
  ])
  assert.ok(
    addresses.some(
      ({ url, needed: isNeeded }) => !isNeeded && url === `${publicUrl}/login/saml2/sso/SSO`,
    ),
  )
})

test('an untrusted proxy breaks the scheme, and the doctor explains it', async (t) => {
  const findings = about(await examineSettings(t, oauth2, { publicUrl }), 'Balancer')
  assert.deepEqual(
    findings.map(({ verdict }) => verdict),
    ['warning', 'warning', 'warning', 'problem'],
  )
  const complete = findings.at(-1)
  assert.match(
    complete?.found ?? '',
    /redirect URI http:\/\/gate\.example\.com\/login .*scheme http instead of https/,
  )
  assert.match(complete?.found ?? '', /the cookie lacks Secure/)
  assert.match(complete?.advice ?? '', /server\.forward-headers-strategy: native/)
  assert.match(
    findings[0]?.found ?? '',
    /host 127\.0\.0\.1 instead of gate\.example\.com.*port 8084 instead of 443/,
  )
})

test('trusted headers are valid; a proxy without them is reported', async (t) => {
  const settings = { ...oauth2, server: { 'forward-headers-strategy': 'native' } }
  const findings = about(await examineSettings(t, settings, { publicUrl }), 'Balancer')
  assert.deepEqual(
    findings.map(({ verdict }) => verdict),
    ['warning', 'warning', 'ok', 'ok'],
  )
  assert.match(findings[1]?.advice ?? '', /add proxy_set_header X-Forwarded-Proto \$scheme/)
  assert.match(findings[3]?.found ?? '', /cookie SESSION=…; Path=\/; Secure; HttpOnly$/)
})

const cases = [
  {
    what: 'a proxy outside of the trusted addresses',
    settings: { server: { 'forward-headers-strategy': 'native' } },
    options: { publicUrl, proxyAddress: '198.51.100.9' },
    found: /scheme http/,
    advice: /internal-proxies match 198\.51\.100\.9/,
  },
  {
    what: 'a prefix that the gateway does not know',
    settings: { server: { 'forward-headers-strategy': 'native' } },
    options: { publicUrl: `${publicUrl}/gate` },
    found: /prefix "" instead of "\/gate"/,
    advice: /server\.servlet\.context-path: \/gate/,
  },
  {
    what: 'a port that the proxy does not pass on',
    settings: {
      server: {
        'forward-headers-strategy': 'native',
        tomcat: { remoteip: { 'host-header': 'X-Nothing' } },
      },
    },
    options: { publicUrl: 'http://gate.example.com:8443' },
    index: 1,
    found: /port 80 instead of 8443/,
    advice: /X-Forwarded-Port/,
  },
  {
    what: 'a cookie for another domain',
    settings: {
      http: { publicUrl },
      server: { servlet: { session: { cookie: { domain: 'example.org' } } } },
    },
    options: {},
    found: /the cookie is for example\.org/,
    advice: /./,
  },
] as const

for (const { what, settings, options, found, advice, ...rest } of cases) {
  test(`${what} is found`, async (t) => {
    const findings = about(
      await examineSettings(t, { ...oauth2, ...settings }, options),
      'Balancer',
    )
    const finding = findings.at('index' in rest ? rest.index : -1)
    assert.match(finding?.found ?? '', found)
    assert.match(finding?.advice ?? '', advice)
  })
}

const patterns = [
  '10\\.0\\.0\\.(?:11|12)',
  '203\\.0\\.113\\.\\d{1,3}',
  '198\\.51\\..*',
  '127\\.0\\.0\\.1|::1',
  'fd12:3::[0-9a-f]+',
  '192\\.0\\.2\\.7',
]

for (const pattern of patterns) {
  test(`the proxies that ${pattern} names are the ones that are tried`, async (t) => {
    const server = {
      'forward-headers-strategy': 'native',
      tomcat: { remoteip: { 'internal-proxies': pattern } },
    }
    const findings = about(
      await examineSettings(t, { ...oauth2, server }, { publicUrl }),
      'Balancer',
    )
    assert.equal(findings.at(-1)?.verdict, 'ok')
  })
}

test('the findings about each proxy match the responses', async (t) => {
  const provider = await startIdentityProvider(t)
  const settings = {
    ...currentSettings(provider),
    server: { 'forward-headers-strategy': 'native' },
  }
  const gateway = await startOAuth2(t, settings)
  const findings = about(
    await examineSettings(t, settings, { publicUrl, proxyAddress: '127.0.0.1' }),
    'Balancer',
  )
  const sent = [
    { host: 'gate.example.com' },
    { host: 'gate.example.com', 'x-forwarded-proto': 'https', 'x-forwarded-for': '203.0.113.7' },
    {
      host: 'gate.example.com',
      'x-forwarded-proto': 'https',
      'x-forwarded-host': 'gate.example.com',
      'x-forwarded-port': '443',
    },
  ]
  for (const [index, headers] of sent.entries()) {
    const { request } = await import('node:http')
    const answer = await new Promise<{ location: string; cookie: string }>((resolve, reject) => {
      request(`${gateway.url}/login`, { headers }, (response) => {
        response.resume()
        resolve({
          location: response.headers.location ?? '',
          cookie: response.headers['set-cookie']?.[0] ?? '',
        })
      })
        .once('error', reject)
        .end()
    })
    const { found = '' } = findings[index + 1] ?? {}
    assert.ok(
      found.includes(`redirect URI ${new URL(answer.location).searchParams.get('redirect_uri')} (`),
      found,
    )
    assert.equal(
      /cookie SESSION=…; Path=\/; Secure; HttpOnly/.test(found),
      /; Path=\/; Secure; HttpOnly/.test(answer.cookie),
      found,
    )
  }
})
