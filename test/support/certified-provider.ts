/** A certified OpenID Connect provider (the package oidc-provider) on loopback, where everybody who comes is `alice`. */
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import Provider, { type Context } from 'oidc-provider'
import { signingKey, toJwk } from './identity-provider.ts'

export interface CertifiedProvider {
  readonly url: string
}

const account = {
  sub: 'alice',
  email: 'alice@example.com',
  given_name: 'Alice',
  family_name: 'Liddell',
  groups: ['dev', 'ops'],
}

/** @param client Metadata of the one client, in the names of the standard. */
export async function startCertifiedProvider(
  t: TestContext,
  client: Record<string, unknown>,
): Promise<CertifiedProvider> {
  let listener: RequestListener = (_request, response) => response.writeHead(503).end()
  const server = createServer((request, response) => listener(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  listener = createListener(createProvider(url, client))
  return { url }
}

function createProvider(url: string, client: Record<string, unknown>): Provider {
  const provider: Provider = new Provider(url, {
    clients: [client],
    claims: { openid: ['sub'], email: ['email'], profile: ['given_name', 'family_name', 'groups'] },
    cookies: { keys: ['of the tests'] },
    features: { devInteractions: { enabled: false } },
    findAccount: () => ({ accountId: account.sub, claims: () => account }),
    interactions: { url: () => '/interaction' },
    jwks: {
      keys: [
        {
          ...toJwk(signingKey(0)),
          ...(signingKey(0).privateKey.export({ format: 'jwk' }) as object),
        },
      ],
    },
    async loadExistingGrant({ oidc }: Context) {
      const grant = new provider.Grant({
        clientId: oidc.client.clientId,
        accountId: oidc.session.accountId,
      })
      grant.addOIDCScope('openid email profile')
      await grant.save()
      return grant
    },
    pkce: { required: () => true },
  })
  return provider
}

/** The page where one would log in at the provider: whoever sees it is logged in. */
function createListener(provider: Provider): RequestListener {
  const listener = provider.callback()
  return (request, response) => {
    if (request.url !== '/interaction') return void listener(request, response)
    provider
      .interactionFinished(request, response, { login: { accountId: account.sub } })
      .catch((error: unknown) => {
        response.writeHead(500).end(String(error))
      })
  }
}
