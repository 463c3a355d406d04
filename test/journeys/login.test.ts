/** Journeys of a real browser from the web UI, on an origin of its own, through the login and back. */
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { currentSettings } from '../login/oauth2/support.ts'
import { startCertifiedProvider } from '../support/certified-provider.ts'
import { openChromium } from '../support/chromium.ts'
import { freePort } from '../support/free-port.ts'
import { type GatewaySettings, startGateway } from '../support/gateway.ts'
import { clientId, clientSecret } from '../support/identity-provider.ts'
import {
  formatAnswer,
  formatMetadata,
  readRedirect,
  signOnUrl,
} from '../support/saml-identity-provider.ts'
import { keyPairOf } from '../support/self-signed.ts'
import { Reply, startUpstream } from '../support/upstream.ts'
import { callFrom, isLoggedInAs, signIn, startWebUi } from './support.ts'

const place = '/#/applications/web/clusters?q=a%20b'

/** Where the gateway will listen, and the settings of its login. */
type Method = (t: TestContext, gateUrl: string) => Promise<GatewaySettings>

const providers: [name: string, username: string, method: Method][] = [
  ['OpenID Connect', 'alice@example.com', withCertifiedProvider],
  [
    'SAML, with a request by redirect',
    'alice@example.com',
    (t, gateUrl) => withSaml(t, gateUrl, 'Redirect'),
  ],
  [
    'SAML, with a request by form',
    'alice@example.com',
    (t, gateUrl) => withSaml(t, gateUrl, 'POST'),
  ],
]

for (const [name, username, method] of providers) {
  test(`auth-scenario 14: the UI logs in by ${name} and returns`, async (t) => {
    const browser = await (await openChromium(t))?.newContext()
    if (browser === undefined) return
    const ui = await startWebUi(t)
    const port = await freePort()
    ui.gateUrl = `http://127.0.0.1:${port}`
    const settings = await method(t, ui.gateUrl)
    await startGateway(t, {
      ...settings,
      server: { port },
      services: { deck: { baseUrl: ui.url } },
    })
    const page = await browser.newPage()

    await page.goto(ui.url + place)

    await isLoggedInAs(page, ui, place, username)
    const raw = await callFrom(page, '/auth/rawUser')
    assert.ok(typeof raw !== 'string' && raw.status === 200, JSON.stringify(raw))
    assert.equal(raw.url, `${ui.gateUrl}/auth/rawUser`)
  })
}

test('auth-scenario 14: the UI shows the login form, its errors, and returns', async (t) => {
  const browser = await (await openChromium(t))?.newContext()
  if (browser === undefined) return
  const ui = await startWebUi(t)
  ui.gateUrl = await startGateway(t, {
    security: { basicform: { enabled: true } },
    spring: { security: { user: { name: 'alice', password: 'secret' } } },
    services: { deck: { baseUrl: ui.url } },
  })
  const page = await browser.newPage()
  const complaints: string[] = []
  page.on(
    'console',
    (message) => void (message.type() === 'error' && complaints.push(message.text())),
  )

  await page.goto(ui.url + place)
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  assert.equal(page.url(), `${ui.gateUrl}/login`)
  await takeScreenshot(page, 'login')
  assert.equal(await page.evaluate('document.activeElement.id'), 'username')
  await signIn(page, 'wrong')
  await page.getByRole('alert').waitFor()
  assert.match(
    String(await page.getByRole('alert').textContent()),
    /User name or password is wrong/,
  )
  await takeScreenshot(page, 'refused')
  await signIn(page, 'secret')

  await isLoggedInAs(page, ui, place, 'alice')
  assert.deepEqual(complaints, [])
})

async function takeScreenshot(page: import('playwright-core').Page, name: string): Promise<void> {
  const folder = process.env['FAIRLEAD_SCREENSHOTS']
  if (folder !== undefined) await page.screenshot({ path: `${folder}/${name}.png` })
}

async function withCertifiedProvider(t: TestContext, gateUrl: string): Promise<GatewaySettings> {
  const provider = await startCertifiedProvider(t, {
    client_id: clientId,
    client_secret: clientSecret,
    redirect_uris: [`${gateUrl}/login/oauth2/code/corp`],
    response_types: ['code'],
    grant_types: ['authorization_code'],
  })
  return currentSettings(provider)
}

/** The provider is another site than the gateway, so that the browser brings its answer across. */
async function withSaml(
  t: TestContext,
  gateUrl: string,
  binding: 'Redirect' | 'POST',
): Promise<GatewaySettings> {
  const entityId = 'https://idp.example.com/metadata'
  const provider = await startUpstream(t, ({ method, path, query, body }) => {
    if (path === '/metadata')
      return new Reply(200, metadata, { 'content-type': 'application/samlmetadata+xml' })
    const inResponseTo =
      method === 'POST' ? idOfForm(body) : readRedirect(`${url}${path}?${query}`).id
    const answer = formatAnswer({ inResponseTo, consumer: `${gateUrl}/saml/SSO` })
    return new Reply(200, formatAnswerPage(`${gateUrl}/saml/SSO`, answer), {
      'content-type': 'text/html',
    })
  })
  const url = provider.url.replace('127.0.0.1', 'localhost')
  const metadata = formatMetadata(entityId, [keyPairOf('idp')], { bindings: [binding] }).replaceAll(
    signOnUrl,
    `${url}/sso`,
  )
  return { saml: { enabled: true, metadataUrl: `${provider.url}/metadata`, issuerId: 'spinnaker' } }
}

function idOfForm(body: string): string {
  const xml = Buffer.from(new URLSearchParams(body).get('SAMLRequest') ?? '', 'base64').toString()
  return / ID="([^"]+)"/.exec(xml)?.[1] ?? ''
}

function formatAnswerPage(consumer: string, answer: string): string {
  return `<!doctype html><link rel="icon" href="data:,">
<form method="post" action="${consumer}"><input name="SAMLResponse" value="${Buffer.from(answer).toString('base64')}"></form>
<script>document.forms[0].submit()</script>`
}
