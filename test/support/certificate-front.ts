/** A front of tests: it answers challenges where Pebble looks for them, and keeps the certificates that it is given. */
import { createServer } from 'node:http'
import { createSecureContext, createServer as createTlsServer } from 'node:tls'
import type {
  CertificateFront,
  CertificateHost,
  CertificateToServe,
} from '../../packages/providers/local/certificates/front.ts'
import type { TestEnd } from './test-end.ts'

export interface TestFront extends CertificateFront {
  wanted: CertificateHost[]
  readonly served: Map<string, CertificateToServe>
  readonly tokens: Map<string, string>
  readonly challenged: Map<string, { readonly cert: string; readonly key: string }>
}

/** @param service Of all hosts */
export function toHosts(names: readonly string[], service = 'shop'): CertificateHost[] {
  return names.map((host) => ({ host, service }))
}

export async function startCertificateFront(
  t: TestEnd,
  { httpPort, tlsPort }: { readonly httpPort: number; readonly tlsPort: number },
): Promise<TestFront> {
  const front: TestFront = {
    wanted: [],
    served: new Map(),
    tokens: new Map(),
    challenged: new Map(),
    hosts: () => front.wanted,
    serve: (name, certificate) => front.served.set(name, certificate),
    withdraw: (name) => front.served.delete(name),
    setHttpChallenge: (token, content) => front.tokens.set(token, content),
    setTlsChallenge: (host, cert, key) => front.challenged.set(host, { cert, key }),
    clearChallenge: (kind, name) =>
      (kind === 'http-01' ? front.tokens : front.challenged).delete(name),
    isTaken: async () => true,
  }
  const http = createServer((request, response) => {
    const content = front.tokens.get((request.url ?? '').split('/').at(-1) ?? '')
    response.writeHead(content === undefined ? 404 : 200).end(content)
  })
  const tls = createTlsServer(
    {
      ALPNProtocols: ['acme-tls/1'],
      SNICallback: (host, use) => {
        const found = front.challenged.get(host)
        if (found === undefined) use(new Error(`no challenge for ${host}`))
        else use(null, createSecureContext(found))
      },
    },
    (socket) => socket.end(),
  )
  tls.on('tlsClientError', () => {})
  await Promise.all([
    new Promise<void>((resolve) => http.listen(httpPort, '127.0.0.1', resolve)),
    new Promise<void>((resolve) => tls.listen(tlsPort, '127.0.0.1', resolve)),
  ])
  t.after(() => {
    http.closeAllConnections()
    http.close()
    tls.close()
  })
  return front
}
