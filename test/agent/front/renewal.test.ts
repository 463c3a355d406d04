/** Certificates by ACME on a front that serves: challenges, the first certificate, and a renewal under load. */
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { DesiredCertificate } from '../../../packages/base/net/agent-protocol.ts'
import type { CertificateFront } from '../../../packages/providers/local/certificates/front.ts'
import { toHosts } from '../../support/certificate-front.ts'
import { startCertificates } from '../../support/certificates.ts'
import { needsPebble } from '../../support/kubernetes-programs.ts'
import { startPebble } from '../../support/pebble.ts'
import { createFolder } from '../../support/temporary-folder.ts'
import { type FrontRig, openFront } from './support.ts'

const dayMs = 86_400_000
const hosts = ['shop.example', 'blog.example']

function connect(rig: FrontRig, folder: string): CertificateFront {
  const certificates = new Map<string, DesiredCertificate>()
  const challenges = {
    http: {} as Record<string, string>,
    tls: {} as Record<string, { certificate: string; key: string }>,
  }
  const apply = () => rig.apply([...certificates.values()], structuredClone(challenges))
  return {
    hosts: () => toHosts(hosts),
    serve: (name, { hosts: names, chain, key }) => {
      const path = join(folder, hash('sha256', chain))
      writeFileSync(`${path}.crt`, chain)
      writeFileSync(`${path}.key`, key)
      certificates.set(name, {
        hosts: names,
        certificateFile: `${path}.crt`,
        keyFile: `${path}.key`,
      })
      apply()
    },
    withdraw: (name) => {
      certificates.delete(name)
      apply()
    },
    setHttpChallenge: (token, content) => {
      challenges.http[token] = content
      apply()
    },
    setTlsChallenge: (host, certificate, key) => {
      challenges.tls[host] = { certificate, key }
      apply()
    },
    clearChallenge: (kind, name) => {
      delete challenges[kind === 'http-01' ? 'http' : 'tls'][name]
      apply()
    },
    isTaken: async () => true,
  }
}

for (const challenge of ['http-01', 'tls-alpn-01'] as const) {
  test(`app-scenario 110: a renewal by ${challenge} under load fails no handshake`, async (t) => {
    const programs = needsPebble(t)
    if (programs === undefined) return
    const rig = await openFront(
      t,
      hosts.map((host) => ({ owner: host.split('.')[0] ?? '', rules: [{ host }] })),
    )
    const pebble = await startPebble(t, programs, {
      httpPort: rig.httpPort,
      tlsPort: rig.httpsPort,
    })
    const { directory, roots, resolver } = pebble
    const clock = { now: Date.now() }
    const folder = createFolder('certificates')
    const settings = {
      ...{ directory, roots, challenge, profile: 'default', dnsHookMs: 1000 },
      ...{ addresses: [], resolvers: [resolver] },
    }
    const { certificates, close } = startCertificates({
      ...{ dataDir: folder, settings, clock },
      front: connect(rig, folder),
    })
    t.after(close)
    await certificates.settled()
    const serials = async () => {
      const sockets = await Promise.all(hosts.map((servername) => rig.handshake({ servername })))
      return sockets.map((socket) => socket.getPeerCertificate().serialNumber)
    }
    const before = await serials()

    let isRenewing = true
    let answered = 0
    const load = async () => {
      while (isRenewing) {
        const { status, body } = await rig.getSecurely('shop.example')
        assert.deepEqual([status, body], [200, 'shop /'])
        answered++
      }
    }
    const clients = Array.from({ length: 5 }, load)
    clock.now += 62 * dayMs
    certificates.step()
    await certificates.settled()
    isRenewing = false
    await Promise.all(clients)

    assert.ok(answered > 0)
    const after = await serials()
    assert.ok(after.every((serial, index) => serial !== before[index]))
    assert.deepEqual(
      certificates.hosts().map(({ state }) => state),
      ['valid', 'valid'],
    )
  })
}
