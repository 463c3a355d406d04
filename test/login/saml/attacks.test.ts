/** Answers that nobody may be logged in by: forged, wrapped, replayed, meant for others, out of time, or no answers at all. */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { DOMParser } from '../../../packages/gateway/login/saml/xml-libraries.js'
import {
  type Answer,
  formatAnswer,
  newId,
  signElement,
} from '../../support/saml-identity-provider.ts'
import { keyPairOf } from '../../support/self-signed.ts'
import { startUpstream } from '../../support/upstream.ts'
import type { Browser } from '../browser.ts'
import {
  login,
  post,
  postRaw,
  reasonsOf,
  type SamlGateway,
  startLogin,
  startSaml,
} from './support.ts'
import { wrappings } from './wrapping.ts'

const minute = 60_000

interface Attack {
  name: string
  /** What the answer says. */
  answer?: Answer
  /** What is done to it afterwards. */
  change?: (xml: string) => string
  /** What the log says. */
  reason: RegExp
}

/** Posts the answer of a started login and makes sure that it ends at a page, with nobody logged in. */
async function checkRefused(
  gateway: SamlGateway,
  browser: Browser,
  xml: string,
  reason: RegExp,
): Promise<void> {
  const before = gateway.log.length
  const answer = await post(browser, xml)
  assert.equal(answer.status, 401)
  assert.equal(answer.location, null)
  assert.match(answer.text, /href="\/login">Start again</)
  assert.equal(await browser.user(), undefined)
  const [line, ...others] = reasonsOf({ ...gateway, log: gateway.log.slice(before) })
  assert.match(line ?? '', reason)
  assert.deepEqual(others, [])
}

/** Counts the characters that the XML library is given from now on. */
function countParsed(t: TestContext): () => number {
  const { mock } = t.mock.method(DOMParser.prototype, 'parseFromString')
  return () => mock.calls.reduce((sum, { arguments: [text] }) => sum + text.length, 0)
}

async function runTable(
  t: TestContext,
  gateway: SamlGateway,
  attacks: readonly Attack[],
): Promise<void> {
  for (const { name, answer = {}, change = (xml: string) => xml, reason } of attacks) {
    await t.test(name, async () => {
      const browser = gateway.open()
      const inResponseTo = await startLogin(browser)
      const good = gateway.provider.answer({ inResponseTo, ...answer })
      const xml = change(good)
      await checkRefused(gateway, browser, xml, reason)
    })
  }
}

const attacker = keyPairOf('idp-of-somebody-else')

const signatureAttacks: readonly Attack[] = [
  {
    name: 'auth-scenario 126: nothing is signed',
    answer: { signed: 'neither' },
    reason: /neither the response nor the assertion is signed/,
  },
  {
    name: 'auth-scenario 127: another key has signed, and its certificate comes along',
    answer: { signer: attacker },
    reason: /made by no key/,
  },
  {
    name: 'auth-scenario 127: another key has signed the response',
    answer: { signer: attacker, signed: 'response' },
    reason: /made by no key/,
  },
  {
    name: 'auth-scenario 127: the name was changed after signing',
    change: (xml) => xml.replace('>alice@', '>admin@'),
    reason: /content, which was changed/,
  },
  {
    name: 'auth-scenario 127: the signature was changed',
    change: (xml) =>
      xml.replace(
        /(<ds:SignatureValue>)(.)/,
        (_all, tag, first) => tag + (first === 'A' ? 'B' : 'A'),
      ),
    reason: /made by no key/,
  },
  {
    name: 'auth-scenario 127: the digest was adjusted to a changed name, so that the signature does not fit it',
    change: (xml) => {
      const forged = xml.replace('>alice@', '>admin@')
      const other = signElement(
        /<saml:Assertion .*<\/saml:Assertion>/s
          .exec(forged)?.[0]
          .replace(/<ds:Signature .*?<\/ds:Signature>/s, '') ?? '',
        'Assertion',
        attacker,
        'sha256',
      )
      const digest = /<ds:DigestValue>[^<]*/.exec(other)?.[0] ?? ''
      return forged.replace(/<ds:DigestValue>[^<]*/, digest)
    },
    reason: /made by no key/,
  },
  {
    name: 'the response is signed by a stranger, the assertion by the identity provider',
    change: (xml) => signElement(xml, 'Response', attacker, 'sha256'),
    reason: /signature of the Response was made by no key/,
  },
  {
    name: 'the response is signed by the identity provider, the assertion by a stranger',
    answer: { signed: 'neither' },
    change: (xml) => {
      const bare = /<saml:Assertion .*<\/saml:Assertion>/s.exec(xml)?.[0] ?? ''
      return signElement(
        xml.replace(bare, () => signElement(bare, 'Assertion', attacker, 'sha256')),
        'Response',
        keyPairOf('idp'),
        'sha256',
      )
    },
    reason: /signature of the Assertion was made by no key/,
  },
  { name: 'SHA-1 in the signature of the assertion', answer: { hash: 'sha1' }, reason: /too weak/ },
  {
    name: 'SHA-1 in the signature of the response',
    answer: { hash: 'sha1', signed: 'response' },
    reason: /too weak/,
  },
  {
    name: 'a message authentication code whose key is the public key of the identity provider',
    change: (xml) => {
      const hmac = 'http://www.w3.org/2000/09/xmldsig#hmac-sha1'
      const changed = xml.replace('http://www.w3.org/2001/04/xmldsig-more#rsa-sha256', hmac)
      const info =
        /<ds:SignedInfo>.*<\/ds:SignedInfo>/s
          .exec(changed)?.[0]
          .replace(
            '<ds:SignedInfo>',
            '<ds:SignedInfo xmlns:ds="http://www.w3.org/2000/09/xmldsig#">',
          ) ?? ''
      const code = createHmac('sha1', keyPairOf('idp').certificate).update(info).digest('base64')
      return changed.replace(/<ds:SignatureValue>[^<]*/, `<ds:SignatureValue>${code}`)
    },
    reason: /hmac-sha1" is not supported/,
  },
  {
    name: 'two SignedInfo elements',
    change: (xml) => xml.replace(/<ds:SignedInfo>.*?<\/ds:SignedInfo>/s, (info) => info + info),
    reason: /no SignatureValue where it belongs/,
  },
  {
    name: 'a second SignedInfo behind the signature value',
    change: (xml) => {
      const info = /<ds:SignedInfo>.*?<\/ds:SignedInfo>/s.exec(xml)?.[0] ?? ''
      return xml.replace('</ds:SignatureValue>', `</ds:SignatureValue>${info}`)
    },
    reason: /more in it than it may/,
  },
  {
    name: 'two references',
    change: (xml) =>
      xml.replace(/<ds:Reference .*?<\/ds:Reference>/s, (reference) => reference + reference),
    reason: /more in it than it may/,
  },
  {
    name: 'two digest values',
    change: (xml) =>
      xml.replace(/<ds:DigestValue>.*?<\/ds:DigestValue>/s, (value) => value + value),
    reason: /more in it than it may/,
  },
  {
    name: 'a comment in the digest value',
    change: (xml) =>
      xml.replace('>alice@', '>admin@').replace(/(<ds:DigestValue>)/, '$1<!--AAAA-->'),
    reason: /content, which was changed/,
  },
  {
    name: 'a reference to the whole document instead of the assertion',
    change: (xml) => xml.replace(/URI="#[^"]*"/, 'URI=""'),
    reason: /refers to another element/,
  },
  {
    name: 'a transformation that selects a part',
    change: (xml) =>
      xml.replace(
        'http://www.w3.org/2001/10/xml-exc-c14n#"/></ds:Transforms>',
        'http://www.w3.org/TR/1999/REC-xpath-19991116"/></ds:Transforms>',
      ),
    reason: /unknown transforms/,
  },
  {
    name: 'the same identifier twice',
    change: (xml) => {
      const id = /<saml:Assertion [^>]*ID="([^"]*)"/.exec(xml)?.[1] ?? ''
      return xml.replace(
        '<samlp:Status>',
        `<samlp:Extensions><x ID="${id}"/></samlp:Extensions><samlp:Status>`,
      )
    },
    reason: /identifier occurs twice/,
  },
  {
    name: 'two signatures of the assertion',
    change: (xml) =>
      xml.replace(/<ds:Signature .*?<\/ds:Signature>/s, (signature) => signature + signature),
    reason: /several Signature elements/,
  },
  {
    name: 'auth-scenario 129: a second assertion without signature',
    change: (xml) =>
      xml.replace(
        '</samlp:Response>',
        () =>
          `${/<saml:Assertion .*<\/saml:Assertion>/s.exec(formatAnswer({ signed: 'neither', nameId: 'admin' }))?.[0]}</samlp:Response>`,
      ),
    reason: /2 assertions instead of one/,
  },
  {
    name: 'the signature is taken away',
    change: (xml) => xml.replace(/<ds:Signature .*?<\/ds:Signature>/s, ''),
    reason: /neither the response nor the assertion is signed/,
  },
]

const contentAttacks: readonly Attack[] = [
  {
    name: 'auth-scenario 133: the audience is somebody else',
    answer: { audience: 'https://other.example.com' },
    reason: /meant for "https:\/\/other/,
  },
  {
    name: 'auth-scenario 133: the recipient is somebody else',
    answer: { recipient: 'https://other.example.com/saml/SSO' },
    reason: /recipient is "https:\/\/other/,
  },
  {
    name: 'auth-scenario 133: the recipient is another page of this gateway',
    answer: { recipient: 'https://gate.example.com/auth/user' },
    reason: /recipient is/,
  },
  {
    name: 'auth-scenario 133: the destination is somebody else',
    answer: { destination: 'https://other.example.com/saml/SSO' },
    reason: /response is meant for/,
  },
  {
    name: 'auth-scenario 133: assertion and response were issued by somebody else',
    answer: { issuer: 'https://evil.example.com' },
    reason: /issued by "https:\/\/evil/,
  },
  {
    name: 'auth-scenario 133: the assertion was issued by somebody else',
    answer: {
      issuer: 'https://evil.example.com',
      responseIssuer: 'https://idp.example.com/metadata',
    },
    reason: /assertion was issued by/,
  },
  {
    name: 'auth-scenario 133: the response was issued by somebody else',
    answer: { responseIssuer: 'https://evil.example.com' },
    reason: /response was issued by/,
  },
  {
    name: 'auth-scenario 134: the request is unknown',
    answer: { inResponseTo: '_unknown' },
    reason: /does not belong to this session/,
  },
  {
    name: 'auth-scenario 134: frame and assertion answer different requests',
    answer: { responseInResponseTo: '_other' },
    reason: /different requests/,
  },
  {
    name: 'auth-scenario 132: it was valid until six minutes ago',
    answer: { notOnOrAfterMs: Date.now() - 6 * minute },
    reason: /was valid until/,
  },
  {
    name: 'auth-scenario 132: it is valid in six minutes',
    answer: {
      get notBeforeMs() {
        return Date.now() + 6 * minute
      },
    },
    reason: /is valid from/,
  },
  {
    name: 'auth-scenario 139: the identity provider reports a failure',
    answer: { status: 'urn:oasis:names:tc:SAML:2.0:status:Responder' },
    reason: /answers "urn.*Responder"/,
  },
  { name: 'auth-scenario 139: nobody is named', answer: { nameIdXml: '' }, reason: /no NameID/ },
  { name: 'an empty name', answer: { nameId: ' ' }, reason: /no NameID/ },
  {
    name: 'a name with a line break',
    answer: { nameId: 'alice&#13;&#10;X-SPINNAKER-USER: root' },
    reason: /U\+000D/,
  },
  {
    name: 'a name with an invisible character',
    answer: { nameId: 'alice\u200b' },
    reason: /U\+200B/,
  },
  {
    name: 'a name in letters that Unicode takes for others',
    answer: { nameId: '\uff41lice' },
    reason: /U\+FF41/,
  },
  { name: 'a reserved name', answer: { nameId: 'Anonymous' }, reason: /is reserved/ },
  {
    name: 'no conditions',
    answer: { signed: 'neither' },
    change: (xml) => resign(xml.replace(/<saml:Conditions .*<\/saml:Conditions>/s, '')),
    reason: /no conditions/,
  },
  {
    name: 'no audience',
    answer: { signed: 'neither' },
    change: (xml) =>
      resign(xml.replace(/<saml:AudienceRestriction>.*<\/saml:AudienceRestriction>/s, '')),
    reason: /names no audience/,
  },
  {
    name: 'a condition that nobody understands',
    answer: { signed: 'neither' },
    change: (xml) =>
      resign(
        xml.replace('<saml:AudienceRestriction>', '<saml:Condition/><saml:AudienceRestriction>'),
      ),
    reason: /not understood/,
  },
  {
    name: 'no confirmation of the subject',
    answer: { signed: 'neither' },
    change: (xml) =>
      resign(xml.replace(/<saml:SubjectConfirmation .*<\/saml:SubjectConfirmation>/s, '')),
    reason: /not confirmed/,
  },
  {
    name: 'a confirmation by a key instead of the bearer',
    answer: { signed: 'neither' },
    change: (xml) => resign(xml.replace('cm:bearer', 'cm:holder-of-key')),
    reason: /not confirmed/,
  },
  {
    name: 'a confirmation without end',
    answer: { signed: 'neither' },
    change: (xml) =>
      resign(xml.replace(/(<saml:SubjectConfirmationData) NotOnOrAfter="[^"]*"/, '$1')),
    reason: /has no end/,
  },
  {
    name: 'a time that is none',
    answer: { signed: 'neither' },
    change: (xml) =>
      resign(xml.replace(/(<saml:Conditions[^>]* NotOnOrAfter=")[^"]*/, '$1tomorrow')),
    reason: /is no time/,
  },
  {
    name: 'SAML 1.1',
    answer: { signed: 'neither' },
    change: (xml) => resign(xml.replaceAll('Version="2.0"', 'Version="1.1"')),
    reason: /not of SAML 2.0/,
  },
  {
    name: 'no assertion',
    answer: { signed: 'neither' },
    change: (xml) =>
      signElement(
        xml.replace(/<saml:Assertion .*<\/saml:Assertion>/s, ''),
        'Response',
        keyPairOf('idp'),
        'sha256',
      ),
    reason: /0 assertions/,
  },
]

/** A part of a signature that is larger than SAML lets it be. The form is looked at before the key. */
const forms: readonly Attack[] = [
  ...['CanonicalizationMethod', 'SignatureMethod', 'Transform', 'DigestMethod'].map((name) => ({
    name: `an element in ${name}`,
    change: (xml: string) =>
      xml.replace(
        new RegExp(`(<ds:${name} [^>]*)/>`),
        `$1><ds:HMACOutputLength>1</ds:HMACOutputLength></ds:${name}>`,
      ),
    reason: /more in it than it may/,
  })),
  ...['SignatureValue', 'DigestValue'].map((name) => ({
    name: `an element in ${name}`,
    change: (xml: string) => xml.replace(`<ds:${name}>`, `<ds:${name}><ds:x/>`),
    reason: /more in it than it may/,
  })),
  ...['Signature', 'SignedInfo', 'Reference', 'Transforms', 'DigestMethod'].map((name) => ({
    name: `another attribute of ${name}`,
    change: (xml: string) => xml.replace(`<ds:${name}`, `<ds:${name} more=""`),
    reason: /more attributes than it may/,
  })),
  ...['SignedInfo', 'Transforms'].map((name) => ({
    name: `text in ${name}`,
    change: (xml: string) => xml.replace(`<ds:${name}>`, `<ds:${name}>text`),
    reason: /text in it/,
  })),
  {
    name: 'an object beside the content',
    change: (xml) => xml.replace('</ds:Signature>', '<ds:Object/></ds:Signature>'),
    reason: /more in it than it may/,
  },
  {
    name: 'more namespaces than a signature needs',
    change: (xml) =>
      xml.replace(
        '<ds:Reference',
        `<ds:Reference ${range(9, (index) => `xmlns:n${index}="urn:n" `)}`,
      ),
    reason: /declares too many namespaces/,
  },
  {
    name: 'a list of prefixes for an inclusive canonicalization',
    answer: { canonicalization: 'http://www.w3.org/TR/2001/REC-xml-c14n-20010315' },
    change: (xml) =>
      xml.replace(
        /(<ds:CanonicalizationMethod [^>]*)\/>/,
        `$1>${prefixList('saml')}</ds:CanonicalizationMethod>`,
      ),
    reason: /more in it than it may/,
  },
  {
    name: 'a list of prefixes without end',
    change: (xml) =>
      xml.replace(
        /(<ds:CanonicalizationMethod [^>]*)\/>/,
        `$1>${prefixList('saml '.repeat(60))}</ds:CanonicalizationMethod>`,
      ),
    reason: /too long a list of prefixes/,
  },
]

function prefixList(prefixes: string): string {
  return `<e:InclusiveNamespaces xmlns:e="http://www.w3.org/2001/10/xml-exc-c14n#" PrefixList="${prefixes}"/>`
}

function range(count: number, toText: (index: number) => string): string {
  return Array.from({ length: count }, (_, index) => toText(index)).join('')
}

function resign(xml: string): string {
  const bare = /<saml:Assertion .*<\/saml:Assertion>/s.exec(xml)?.[0] ?? ''
  return xml.replace(bare, () => signElement(bare, 'Assertion', keyPairOf('idp'), 'sha256'))
}

test('a forged signature logs nobody in', async (t) =>
  runTable(t, await startSaml(t), signatureAttacks))

test('a signature of another form logs nobody in', async (t) =>
  runTable(t, await startSaml(t), forms))

test('an assertion that does not fit logs nobody in', async (t) =>
  runTable(t, await startSaml(t), contentAttacks))

test('auth-scenario 128: a wrapped signature logs nobody in', async (t) => {
  const gateway = await startSaml(t)
  for (const { name, signed, wrap } of wrappings) {
    await t.test(name, async () => {
      const browser = gateway.open()
      const inResponseTo = await startLogin(browser)
      const good = gateway.provider.answer({ inResponseTo, signed })
      const wrapped = wrap(good)
      assert.notEqual(wrapped, good)
      assert.match(wrapped, />admin@example\.com</)
      const answer = await post(browser, wrapped)
      const user = await browser.user()
      // An unsigned extension beside the signed assertion may stay: what it says must not count.
      if (answer.status === 302) assert.equal(user?.['username'], 'alice@example.com')
      else assert.deepEqual([answer.status, user], [401, undefined])
    })
  }
})

test('auth-scenario 130: a comment does not shorten a name', async (t) => {
  const gateway = await startSaml(t)
  for (const signed of ['assertion', 'response'] as const) {
    const browser = gateway.open()
    const inResponseTo = await startLogin(browser)
    const xml = gateway.provider.answer({
      inResponseTo,
      signed,
      nameId: 'admin@example.com.evil.org',
    })
    const answer = await post(
      browser,
      xml.replace('admin@example.com.evil', 'admin@example.com<!-- -->.evil'),
    )
    assert.equal(answer.status, 302)
    assert.equal((await browser.user())?.['username'], 'admin@example.com.evil.org')
  }
  const browser = gateway.open()
  const xml = gateway.provider.answer({
    inResponseTo: await startLogin(browser),
    nameId: 'not-admin@example.com',
  })
  await checkRefused(
    gateway,
    browser,
    xml.replace('>not-admin', '><?x not-?>admin'),
    /processing instruction/,
  )
})

test('auth-scenario 131: a document type is refused unread, and nothing is fetched', async (t) => {
  const gateway = await startSaml(t)
  const bait = await startUpstream(t, { 'GET /secret': 'read' })
  const types = {
    'a document type': '<!DOCTYPE samlp:Response>',
    'an external subset': `<!DOCTYPE x SYSTEM "${bait.url}/secret">`,
    'an external entity': `<!DOCTYPE x [<!ENTITY e SYSTEM "${bait.url}/secret">]>`,
    'a file': '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>',
    'an entity bomb': `<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">${'bcdefghij'
      .split('')
      .map((name, index) => `<!ENTITY ${name} "${`&${'abcdefghij'[index]};`.repeat(10)}">`)
      .join('')}]>`,
  }
  for (const [name, type] of Object.entries(types)) {
    await t.test(name, async (t) => {
      const browser = gateway.open()
      const xml = gateway.provider.answer({ inResponseTo: await startLogin(browser) })
      const parsed = countParsed(t)
      await checkRefused(gateway, browser, type + xml, /document type/)
      await checkRefused(
        gateway,
        browser,
        `<?xml version="1.0"?>\n${type}${xml.replace('>alice', '>&e;')}`,
        /document type/,
      )
      assert.equal(parsed(), 0)
    })
  }
  assert.deepEqual(bait.requests, [])
})

test('auth-scenario 139, 145: a malformed response is rejected, never a failure', async (t) => {
  const gateway = await startSaml(t)
  const good = gateway.provider.answer()
  const rows: [name: string, parameter: string, reason: RegExp][] = [
    ['nothing', '', /no SAMLResponse/],
    ['no base64', '%%%', /not base64/],
    ['base64 that is cut off', Buffer.from(good).toString('base64').slice(0, -3), /not base64/],
    [
      'bytes that are no text',
      Buffer.from([0xff, 0xfe, 0x3c, 0x00]).toString('base64'),
      /not UTF-8/,
    ],
    ['text that is no XML', Buffer.from('hello').toString('base64'), /not well-formed/],
    [
      'XML that is cut off',
      Buffer.from(good.slice(0, -40)).toString('base64'),
      /not well-formed|cut off/,
    ],
    ['XML that is cut off in a tag', Buffer.from(good.slice(0, 100)).toString('base64'), /cut off/],
    [
      'an entity that nobody declared',
      Buffer.from(good.replace('>alice', '>&nbsp;')).toString('base64'),
      /not well-formed/,
    ],
    [
      'a null character',
      Buffer.from(good.replace('>alice', '>\0alice')).toString('base64'),
      /control characters/,
    ],
    ['another document', Buffer.from('<html/>').toString('base64'), /is no Response/],
    [
      'a response of SAML 1.1',
      Buffer.from('<Response xmlns="urn:oasis:names:tc:SAML:1.0:protocol"/>').toString('base64'),
      /is no Response/,
    ],
    [
      'deep nesting',
      Buffer.from(`${'<a>'.repeat(50_000)}${'</a>'.repeat(50_000)}`).toString('base64'),
      /nested too deeply/,
    ],
    [
      'very many tags',
      Buffer.from(`<a>${'<b/>'.repeat(100_000)}</a>`).toString('base64'),
      /too many tags/,
    ],
    [
      'very many attributes',
      Buffer.from(
        `<a ${Array.from({ length: 50_000 }, (_, index) => `a${index}=""`).join(' ')}/>`,
      ).toString('base64'),
      /too long/,
    ],
    [
      'very many comments',
      Buffer.from(`<a>${'<!---->'.repeat(5000)}</a>`).toString('base64'),
      /too many comments/,
    ],
    [
      'very many references',
      Buffer.from(`<a>${'&amp;'.repeat(200_000)}</a>`).toString('base64'),
      /too many references/,
    ],
    [
      'very many namespaces',
      Buffer.from(
        `${range(90, (depth) => `<a xmlns:a${depth}="b">`)}${'</a>'.repeat(90)}`,
      ).toString('base64'),
      /too many namespaces/,
    ],
    [
      'many attributes of many tags',
      Buffer.from(
        `<a><b>${`<c ${range(60, (index) => `a${index}="" `)}/>`.repeat(1000)}</b></a>`,
      ).toString('base64'),
      /too many attributes/,
    ],
    [
      'very many open comments',
      Buffer.from(`<a>${'<!--'.repeat(200_000)}`).toString('base64'),
      /cut off/,
    ],
  ]
  for (const [name, parameter, reason] of rows) {
    await t.test(name, async (t) => {
      const browser = gateway.open()
      const before = gateway.log.length
      const parsed = countParsed(t)
      const answer = await postRaw(browser, { SAMLResponse: parameter })
      assert.equal(answer.status, 401)
      assert.ok(parsed() < 20_000, String(parsed()))
      assert.match(reasonsOf({ ...gateway, log: gateway.log.slice(before) })[0] ?? '', reason)
    })
  }
  await t.test('five megabytes', async () => {
    // It is refused before all of it has come: a client that still sends may find the connection closed.
    const end = await postRaw(gateway.open(), { SAMLResponse: 'A'.repeat(5_000_000) }).then(
      ({ status }) => status,
      ({ code }) => code,
    )
    assert.ok([401, 413, 'EPIPE', 'ECONNRESET', 'UND_ERR_SOCKET'].includes(end), String(end))
  })
  await t.test('requests without a response or with another type', async () => {
    const browser = gateway.open()
    const html = { accept: 'text/html' }
    assert.equal((await browser.visit('/saml/SSO', { headers: html })).status, 401)
    assert.equal((await browser.visit('/saml/SSO?SAMLResponse=x', { headers: html })).status, 401)
    assert.equal((await browser.visit('/saml/SSO', { method: 'POST', headers: html })).status, 401)
    const json = await browser.visit('/saml/SSO', {
      method: 'POST',
      body: '{}',
      headers: { 'content-type': 'application/json', accept: '*/*' },
    })
    assert.equal(json.status, 401)
    const { status, error, path } = JSON.parse(json.text) as Record<string, unknown>
    assert.deepEqual([status, error, path], [401, 'Unauthorized', undefined])
  })
})

test('auth-scenario 136: a response is taken once, by whichever browser it comes', async (t) => {
  const gateway = await startSaml(t)
  const xml = gateway.provider.answer()
  const first = gateway.open()
  assert.equal((await post(first, xml)).status, 302)

  assert.equal((await post(first, xml)).status, 401)
  assert.equal((await first.user())?.['username'], 'alice@example.com')

  await checkRefused(gateway, gateway.open(), xml, /used before/)
  const framed = xml.replace(/ID="[^"]*"/, `ID="${newId()}"`)
  await checkRefused(gateway, gateway.open(), framed, /used before/)
})

test('auth-scenario 136: many copies at once log one browser in', async (t) => {
  const gateway = await startSaml(t)
  const xml = gateway.provider.answer()
  const visits = await Promise.all(Array.from({ length: 10 }, () => post(gateway.open(), xml)))
  assert.equal(visits.filter(({ status }) => status === 302).length, 1)
  assert.equal(visits.filter(({ status }) => status === 401).length, 9)
})

test('auth-scenario 137: an answered request is answered once', async (t) => {
  const gateway = await startSaml(t)
  const browser = gateway.open()
  const inResponseTo = await startLogin(browser)
  assert.equal((await post(browser, gateway.provider.answer({ inResponseTo }))).status, 302)

  const again = await post(
    browser,
    gateway.provider.answer({ inResponseTo, nameId: 'bob@example.com' }),
  )
  assert.equal(again.status, 401)
  assert.equal((await browser.user())?.['username'], 'alice@example.com')
})

test('auth-scenario 134: a response to another browser logs in neither', async (t) => {
  const gateway = await startSaml(t)
  const victim = gateway.open()
  const inResponseTo = await startLogin(victim)
  const xml = gateway.provider.answer({ inResponseTo })
  const thief = gateway.open()
  await startLogin(thief)

  await checkRefused(gateway, thief, xml, /does not belong to this session/)
  assert.equal((await post(victim, xml)).status, 302)
})

test('a rejected response leaves the request open', async (t) => {
  const gateway = await startSaml(t)
  const browser = gateway.open()
  const first = await startLogin(browser)
  const second = await startLogin(browser)
  assert.equal(
    (await post(browser, gateway.provider.answer({ inResponseTo: first, signed: 'neither' })))
      .status,
    401,
  )
  assert.equal((await post(browser, gateway.provider.answer({ inResponseTo: first }))).status, 302)
  assert.equal(
    (
      await post(
        browser,
        gateway.provider.answer({ inResponseTo: second, nameId: 'bob@example.com' }),
      )
    ).status,
    302,
  )
  assert.equal((await browser.user())?.['username'], 'bob@example.com')
})

test('a login changes the session identifier', async (t) => {
  const gateway = await startSaml(t)
  const browser = gateway.open()
  await startLogin(browser)
  const old = browser.session ?? ''
  await login(gateway, browser)
  const other = gateway.open()
  other.plant('SESSION', old)
  assert.equal(await other.user(), undefined)
})

test('a key of another kind than the signature wants verifies nothing', async (t) => {
  const gateway = await startSaml(t)
  const browser = gateway.open()
  const xml = gateway.provider.answer({ inResponseTo: await startLogin(browser) })
  const ecdsa = 'http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256'
  await checkRefused(
    gateway,
    browser,
    xml.replace('http://www.w3.org/2001/04/xmldsig-more#rsa-sha256', ecdsa),
    /made by no key/,
  )
})

/** What a stranger may make of an answer that he has signed himself, as long as answers may be. */
const excesses: Readonly<Record<string, (xml: string) => string>> = {
  'thousands of groups': (xml) => xml,
  'thousands of groups without signature': (xml) =>
    xml.replaceAll(/<ds:Signature .*?<\/ds:Signature>/gs, ''),
  'nested elements in the signature': (xml) =>
    xml.replaceAll(
      '<ds:SignatureMethod',
      () =>
        `${'<ds:x>'.repeat(80)}${'<ds:y/>'.repeat(4000)}${'</ds:x>'.repeat(80)}<ds:SignatureMethod`,
    ),
  'namespaces in the signature': (xml) =>
    xml.replaceAll(
      '<ds:SignatureMethod',
      () => `${range(500, (index) => `<ds:x xmlns:n${index}="urn:n"/>`)}<ds:SignatureMethod`,
    ),
  'namespaces around the signature': (xml) =>
    xml.replace(
      '<samlp:Response',
      `<samlp:Response ${range(60, (index) => `xmlns:n${index}="urn:n" `)}`,
    ),
  'a long list of prefixes': (xml) =>
    xml.replaceAll(
      /(<ds:CanonicalizationMethod [^>]*)\/>/g,
      `$1>${prefixList('saml '.repeat(500))}</ds:CanonicalizationMethod>`,
    ),
  'text in the signature': (xml) =>
    xml.replaceAll('<ds:SignatureMethod', `${'x'.repeat(500_000)}<ds:SignatureMethod`),
  'a chain of certificates without end': (xml) =>
    xml.replaceAll(
      '</ds:X509Data>',
      `${'<ds:X509SKI>AAAA</ds:X509SKI>'.repeat(2000)}</ds:X509Data>`,
    ),
  'thousands of children of the response': (xml) =>
    xml.replace('<samlp:Status>', `${'<samlp:Extensions/>'.repeat(5000)}<samlp:Status>`),
}

test('a stranger makes the gateway read an outline at most', async (t) => {
  const gateway = await startSaml(t)
  const memberOf = Array.from({ length: 4500 }, (_, index) => `group-${index}`)
  const xml = gateway.provider.answer({
    signer: attacker,
    signed: 'both',
    attributes: { memberOf },
  })
  for (const [name, change] of Object.entries(excesses)) {
    await t.test(name, async (t) => {
      const excess = change(xml)
      assert.ok(name === 'thousands of groups' || excess !== xml)
      const parsed = countParsed(t)
      assert.equal((await post(gateway.open(), excess)).status, 401)
      assert.ok(parsed() < 20_000, String(parsed()))
    })
  }
})

test('a form with more fields than any login has is refused', async (t) => {
  const gateway = await startSaml(t)
  const fields = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`a${index}`, '']))
  assert.equal((await post(gateway.open(), gateway.provider.answer(), fields)).status, 400)
})

test('no answer, refused or not, reaches the log', async (t) => {
  const gateway = await startSaml(t)
  const browser = gateway.open()
  await login(gateway, browser, { attributes: { memberOf: ['secret-group'] } })
  await post(gateway.open(), gateway.provider.answer({ nameId: 'mallory', signed: 'neither' }))
  await post(gateway.open(), gateway.provider.answer().slice(0, -30))
  const text = JSON.stringify(gateway.log)
  assert.doesNotMatch(text, /SAMLResponse=|<saml|secret-group|BEGIN|PHNhbWxw/)
  assert.doesNotMatch(text, new RegExp(browser.session ?? 'none'))
})
