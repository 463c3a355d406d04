/** Checks the expiry of certificates that other servers present. */
import type { X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import { connect } from 'node:tls'
import type { Config } from '../config/config.ts'
import { isAddress } from '../login/saml/identity-provider-source.ts'
import { judgeExpiry } from './expiry.ts'
import { type Check, findingsOn, type Timeouts } from './finding.ts'

interface Peer {
  readonly host: string
  readonly port: number
}

/** Whether they are trusted shows where they are used; here only their dates are looked at. */
export function checkPeerCertificates(config: Config, { answerMs }: Timeouts, now: number): Check[] {
  const peers = new Map(peersOf(config).map((peer) => [`${peer.host}:${peer.port}`, peer]))
  const advice = 'ask the operator of the server to replace it'
  return [...peers].map(([name, peer]) => {
    const subject = `Certificate of ${name}`
    const run = async () => {
      const certificate = await loadCertificate(peer, answerMs).catch(() => undefined)
      const what = 'the certificate that it shows'
      return certificate === undefined ? [] : [judgeExpiry(findingsOn(subject), { what, certificate, advice }, now)]
    }
    return { subject, run }
  })
}

function peersOf({ login, upstreams }: Config): Peer[] {
  const urls = [
    ...Object.values(upstreams.services).flatMap(({ kind, baseUrl }) => (kind === 'external' ? [baseUrl] : [])),
    ...(login.oauth2?.registrations ?? []).flatMap(({ issuerUri, endpoints }) => [issuerUri, ...Object.values(endpoints)]),
    ...(login.saml?.registrations ?? []).flatMap(({ identityProvider }) =>
      identityProvider.kind === 'metadata' && isAddress(identityProvider.location) ? [identityProvider.location] : [],
    ),
  ]
  const directories = (login.ldap?.servers ?? []).filter(({ secure }) => secure).map(({ host, port }) => ({ host, port }))
  return [...urls.flatMap((url) => (url === undefined ? [] : toPeer(url))), ...directories]
}

function toPeer(url: string): Peer[] {
  const { protocol, hostname, port } = new URL(url)
  return protocol === 'https:' ? [{ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 443) }] : []
}

function loadCertificate({ host, port }: Peer, answerMs: number): Promise<X509Certificate | undefined> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, rejectUnauthorized: false, ...(isIP(host) === 0 && { servername: host }) })
    socket.setTimeout(answerMs, () => socket.destroy(new Error('no answer')))
    socket.once('error', reject)
    socket.once('secureConnect', () => {
      resolve(socket.getPeerX509Certificate())
      socket.destroy()
    })
  })
}
