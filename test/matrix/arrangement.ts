/** One gateway of the provider matrix: a login method, perhaps with certificates beside it, perhaps behind a balancer. */
import type { TestContext } from 'node:test'
import { Agent } from 'undici'
import { openTokens } from '../../packages/gateway/login/tokens/tokens.ts'
import { Browser } from '../login/browser.ts'
import { audience, type KeyServer, startKeyServer } from '../login/iap/key-server.ts'
import { currentSettings, olderSettings } from '../login/oauth2/support.ts'
import { basic } from '../login/support.ts'
import { createFiles, type Files } from '../login/x509/support.ts'
import { type Clock, silentLog } from '../sessions/support.ts'
import { type Authority, createAuthority, type Issued } from '../support/authority.ts'
import { startBalancer } from '../support/balancer.ts'
import { type DirectoryServer, startDirectory } from '../support/directory.ts'
import { freePort } from '../support/free-port.ts'
import { type GatewaySettings, runGateway } from '../support/gateway.ts'
import { type IdentityProvider, startIdentityProvider } from '../support/identity-provider.ts'
import {
  type SamlIdentityProvider,
  startSamlIdentityProvider,
} from '../support/saml-identity-provider.ts'
import type { Client, Companion, Front, Method } from './expected.ts'

/** Everything that gateways rely on; started once for all of them. */
export interface Surroundings {
  readonly clock: Clock
  /** Undefined when OpenLDAP is not installed. */
  readonly directory: DirectoryServer | undefined
  readonly provider: IdentityProvider
  readonly saml: SamlIdentityProvider
  readonly iap: KeyServer
  readonly authority: Authority
  readonly server: Issued
  readonly service: Issued
  readonly files: Files
}

export interface Arrangement {
  readonly method: Method
  readonly front: Front
  /** As clients see the gateway, without a trailing slash. */
  readonly url: string
  readonly surroundings: Surroundings
  /** A client with its credential and no cookie. */
  open(client: Client): Promise<Browser>
}

const certificateHeader = 'X-SSL-Client-Cert'
const prefix = '/gate/api'
const program = { accept: 'application/json' }

export async function startSurroundings(t: TestContext, clock: Clock): Promise<Surroundings> {
  const provider = await startIdentityProvider(t)
  provider.now = clock.now
  provider.person = { sub: 'subject-1', email: 'alice@example.com' }
  const authority = await createAuthority('O=Acme, CN=CA-1')
  return {
    clock,
    directory: await startDirectory(t),
    provider,
    saml: await startSamlIdentityProvider(t),
    iap: await startKeyServer(t, clock.now),
    authority,
    server: await authority.issue({
      subject: 'CN=localhost',
      hosts: ['localhost', '127.0.0.1'],
      usage: 'server',
    }),
    service: await authority.issue({ subject: 'CN=svc' }),
    files: createFiles(t),
  }
}

/** Undefined when a program is not installed; the test is skipped then. */
export async function startArrangement(
  t: TestContext,
  surroundings: Surroundings,
  place: { method: Method; companion: Companion; front: Front },
): Promise<Arrangement | undefined> {
  const { method, front } = place
  const { files, authority, server, clock } = surroundings
  const certificates = method === 'X.509' || place.companion === 'beside X.509'
  const apiPort =
    certificates && front === 'direct' && method !== 'X.509' ? await freePort() : undefined
  const login = settingsOf(method, surroundings)
  if (login === undefined) {
    t.skip('slapd is not installed')
    return undefined
  }
  const contextPath = front === 'TLS balancer with path prefix' ? prefix : ''
  const ssl = {
    enabled: certificates && front === 'direct' && apiPort === undefined,
    certificate: files.write('gate.pem', server.cert),
    'certificate-private-key': files.write('gate.key', server.key),
    'trust-certificate': files.write('ca.pem', authority.certificate),
    'client-auth': certificates && front === 'direct' && apiPort === undefined ? 'want' : 'none',
  }
  const running = await runGateway(
    t,
    {
      ...login,
      'api-tokens': { enabled: true },
      ...(certificates && {
        x509: { enabled: true, ...(front !== 'direct' && { certificateHeader }) },
      }),
      ...(apiPort !== undefined && { default: { apiPort } }),
      server: {
        ...(certificates && { ssl }),
        servlet: { 'context-path': contextPath || '/' },
        ...(front !== 'direct' && {
          'forward-headers-strategy': 'native',
          tomcat: { remoteip: { 'internal-proxies': String.raw`127\.0\.0\.1` } },
        }),
      },
      services: { deck: { baseUrl: 'https://deck.example.com' } },
    },
    { now: clock.now },
  )
  const targets = [new URL(running.url).origin]
  const balancer = await (front === 'direct'
    ? { url: running.url }
    : startBalancer(t, { tls: true, prefix: contextPath, targets, clientCertificates: true }))
  if (balancer === undefined) return undefined
  const token = await createToken(running.dataDir, clock)
  const anonymous = createAgent(t, undefined)
  const certified = createAgent(t, surroundings.service)
  const openers: Readonly<Record<Client, () => Promise<Browser> | Browser>> = {
    browser: async () =>
      new Browser(balancer.url, await identityHeaders(method, surroundings), anonymous),
    bearer: () =>
      new Browser(balancer.url, { ...program, authorization: 'Bearer access-token-1' }, anonymous),
    'API token': () =>
      new Browser(balancer.url, { ...program, 'x-spinnaker-token': token }, anonymous),
    basic: () => new Browser(balancer.url, { ...program, ...basic('alice', 'pw') }, anonymous),
    certificate: () =>
      new Browser(
        apiPort === undefined ? balancer.url : `https://127.0.0.1:${apiPort}`,
        program,
        certified,
      ),
  }
  return {
    method,
    front,
    url: balancer.url,
    surroundings,
    open: async (client) => openers[client](),
  }
}

/** The keys that switch the method on; undefined when its provider is not installed. */
function settingsOf(
  method: Method,
  { directory, provider, saml, iap }: Surroundings,
): GatewaySettings | undefined {
  switch (method) {
    case 'form':
      return {
        security: { basicform: { enabled: true } },
        spring: { security: { user: { name: 'alice', password: 'pw' } } },
      }
    case 'LDAP':
      return (
        directory && {
          ldap: { enabled: true, url: directory.url, userDnPattern: 'uid={0},ou=users' },
        }
      )
    case 'OAuth 2.0':
      return olderSettings(provider)
    case 'OpenID Connect':
      return currentSettings(provider)
    case 'SAML':
      return { saml: { enabled: true, metadataUrl: saml.url, issuerId: 'spinnaker' } }
    case 'X.509':
      return {}
    case 'header':
      return { header: { enabled: true } }
    case 'IAP':
      return { google: { iap: { enabled: true, audience, iapVerifyKeyUrl: iap.url } } }
  }
}

/** What the proxy that knows who is calling writes into each request. */
async function identityHeaders(
  method: Method,
  { iap }: Surroundings,
): Promise<Record<string, string>> {
  if (method === 'header') return { 'x-spinnaker-user': 'alice@example.com' }
  if (method === 'IAP') return { 'x-goog-iap-jwt-assertion': await iap.sign() }
  return {}
}

/** Accepts every server; shows a certificate where it is asked for one. */
function createAgent(t: TestContext, client: Issued | undefined): Agent {
  const agent = new Agent({
    connect: { rejectUnauthorized: false, ...(client && { cert: client.cert, key: client.key }) },
  })
  t.after(() => agent.close())
  return agent
}

async function createToken(dataDir: string, { now }: Clock): Promise<string> {
  const tokens = openTokens({
    dataDir,
    log: silentLog,
    now,
    settings: {
      prefix: 'spk_',
      randomBytes: 30,
      redisKeyPrefix: 'api-token',
      maxUserDays: 90,
      maxServiceAccountDays: 365,
      mintingRoles: [],
      rejectWithoutRoles: false,
      rotationOverlapMs: 0,
    },
  })
  const limits = { readOnly: false, applications: undefined, operations: undefined }
  const principal = { type: 'SERVICE_ACCOUNT', id: 'robot' } as const
  const { text } = await tokens.create({ name: 'matrix', principal, createdBy: 'test', limits })
  await tokens.close()
  return text
}
