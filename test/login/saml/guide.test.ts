/** The guide about SAML, followed step by step: its configurations are used as they stand, with other addresses. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { runGateway } from '../../support/gateway.ts'
import { blocksOf, readGuide } from '../../support/guide.ts'
import { readRedirect, startSamlIdentityProvider } from '../../support/saml-identity-provider.ts'
import { Browser } from '../browser.ts'
import { gatewayUrl, proxyHeaders, ui } from '../support.ts'
import { currentStore } from './key-stores.ts'
import { post, writeFiles } from './support.ts'

const guide = readGuide('login-saml')
const blocks = blocksOf(guide, 'yaml')

type Tree = Record<string, unknown>

function merge(left: Tree, right: Tree): Tree {
  const merged = { ...left }
  for (const [key, value] of Object.entries(right)) {
    const known = merged[key]
    const isMap = (one: unknown): one is Tree =>
      typeof one === 'object' && one !== null && !Array.isArray(one)
    merged[key] = isMap(known) && isMap(value) ? merge(known, value) : value
  }
  return merged
}

test('after each section of the guide a login works', async (t) => {
  const provider = await startSamlIdentityProvider(t)
  const folder = writeFiles(t, { 'saml.p12': Buffer.from(currentStore, 'base64') })
  const attributes = {
    uid: ['alice'],
    mail: ['alice@example.com'],
    givenName: ['Alice'],
    sn: ['L'],
    groups: ['Spinnaker-Users', 'dev;x'],
  }
  assert.equal(blocks.length, 4)
  let settings: Tree = {}
  for (const [index, yaml] of blocks.entries()) {
    const replaced = yaml
      .replaceAll('https://idp.example.com/metadata', provider.url)
      .replaceAll('/etc/fairlead', folder)
    settings = merge(settings, parse(replaced) as Tree)
    await t.test(`configuration ${index + 1}`, async (step) => {
      const { url } = await runGateway(step, settings)
      const browser = new Browser(url, proxyHeaders)
      const start = await browser.visit('/login')
      assert.match(start.cookies[0] ?? '', /; Secure; HttpOnly; SameSite=None$/)
      const { id, parameters } = readRedirect(start.location ?? '')
      assert.equal(parameters.has('Signature'), index >= 2)
      assert.equal(
        (await post(browser, provider.answer({ inResponseTo: id, attributes }))).status,
        302,
      )
      const user = await browser.user()
      assert.equal(user?.['username'], index === 0 ? 'alice@example.com' : 'alice')
      assert.deepEqual(user?.['roles'], index === 0 ? [] : ['spinnaker-users', 'dev;x'])
    })
  }
  await t.test('a portal login leads to the documented page', async (step) => {
    const { url } = await runGateway(step, settings)
    const browser = new Browser(url, proxyHeaders)
    const target = `${ui}/#/applications`
    const answer = await post(browser, provider.answer({ attributes }), { RelayState: target })
    assert.equal(answer.location, `${gatewayUrl}/auth/redirect?to=${encodeURIComponent(target)}`)
  })
})

test("the guide's addresses match the metadata", async (t) => {
  const provider = await startSamlIdentityProvider(t)
  const { url } = await runGateway(
    t,
    parse(blocks[0]?.replace('https://idp.example.com/metadata', provider.url) ?? '') as Tree,
  )
  const { text } = await new Browser(url, proxyHeaders).visit('/saml/metadata')
  for (const value of ['spinnaker', 'https://gate.example.com/saml/SSO']) {
    assert.ok(guide.includes(`\`${value}\``))
    assert.ok(text.includes(`"${value}"`))
  }
})

test("the guide's reasons match the code", () => {
  const sources = [
    'response.ts',
    'signed-bytes.ts',
    'saml-login.ts',
    'identity.ts',
    '../../../base/names/user-name.ts',
  ].map((name) =>
    readFileSync(
      join(resolve(import.meta.dirname, '../../../packages/gateway/login/saml'), name),
      'utf8',
    ),
  )
  const cells = [...guide.matchAll(/^\| (`[^|]*) \|/gm)].map(([, cell = '']) => cell)
  const reasons = cells.flatMap((cell) =>
    [...cell.matchAll(/`([^`]*)`/g)].map(([, reason = '']) => reason),
  )
  assert.ok(reasons.length >= 9)
  for (const reason of reasons) {
    const parts = reason
      .split('…')
      .map((part) => part.trim())
      .filter((part) => part !== '')
    for (const part of parts)
      assert.ok(
        sources.some((source) => source.includes(part)),
        part,
      )
  }
})
