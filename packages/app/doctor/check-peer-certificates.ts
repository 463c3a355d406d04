/** Checks the expiry of certificates that other servers present. */
import type { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { isIP } from 'node:net'
import { connect } from 'node:tls'
import { checkExpiry } from '@fairlead/base/findings/expiry.ts'
import { type Check, createCheck, type Timeouts } from '@fairlead/base/findings/finding.ts'
import { listPeers } from '@fairlead/gateway/login/settings.ts'
import type { Config } from '../config/config.ts'
import { externalServices } from './check-services.ts'

interface TlsPeer {
  readonly host: string
  readonly port: number
}

/** Whether they are trusted shows where they are used; here only their dates are looked at. */
export function checkPeerCertificates(
  config: Config,
  { answerMs }: Timeouts,
  now: number,
): Check[] {
  const peers = new Map(peersOf(config).map((peer) => [`${peer.host}:${peer.port}`, peer]))
  const advice = 'ask the operator of the server to replace it'
  return [...peers].map(([name, peer]) =>
    createCheck(`Certificate of ${name}`, async (report) => {
      const certificate = await loadCertificate(peer, answerMs).catch(() => undefined)
      const what = 'the certificate that it shows'
      return certificate === undefined
        ? []
        : [checkExpiry(report, { what, certificate, advice }, now)]
    }),
  )
}

function peersOf({ login, upstreams }: Config): TlsPeer[] {
  const services = externalServices(upstreams).map((url) => ({ url }))
  return [...services, ...listPeers(login)].flatMap(({ url }) => {
    const { protocol, hostname, port } = new URL(url)
    const usualPort = usualPorts[protocol]
    return usualPort === undefined
      ? []
      : [{ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || usualPort) }]
  })
}

/** Ports of protocols with TLS. */
const usualPorts: Readonly<Record<string, number>> = { 'https:': 443, 'ldaps:': 636 }

async function loadCertificate(
  { host, port }: TlsPeer,
  answerMs: number,
): Promise<X509Certificate | undefined> {
  const socket = connect({
    host,
    port,
    rejectUnauthorized: false,
    ...(isIP(host) === 0 && { servername: host }),
  })
  socket.setTimeout(answerMs, () => socket.destroy(new Error('no answer')))
  try {
    await once(socket, 'secureConnect')
    return socket.getPeerX509Certificate()
  } finally {
    socket.destroy()
  }
}
