/** Certificates of the front by ACME, against Pebble. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, beforeEach, type TestContext, test } from 'node:test'
import type { HostCertificate } from '../../../../packages/providers/local/certificates/certificates.ts'
import type { AcmeSettings } from '../../../../packages/providers/local/certificates/settings.ts'
import {
  startCertificateFront,
  type TestFront,
  toHosts,
} from '../../../support/certificate-front.ts'
import {
  type CertificatesRig,
  type RunningCertificates,
  startCertificates,
} from '../../../support/certificates.ts'
import { needsPebble } from '../../../support/kubernetes-programs.ts'
import { blockedHost, type Pebble, startPebble } from '../../../support/pebble.ts'
import { testProgram } from '../../../support/program.ts'
import { createFolder } from '../../../support/temporary-folder.ts'
import { waitUntil } from '../../../support/wait-until.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs

let pebble: Pebble
let front: TestFront

const programs = needsPebble({ skip: () => {} })
const acme = (name: string, run: (t: TestContext) => Promise<void>) =>
  test(name, async (t) => {
    if (needsPebble(t) !== undefined) await run(t)
  })

const ends: (() => unknown)[] = []
const whole = { after: (end: () => unknown) => void ends.push(end) }

before(async () => {
  if (programs === undefined) return
  pebble = await startPebble(whole, programs)
  front = await startCertificateFront(whole, pebble)
})

after(async () => {
  for (const end of ends.reverse()) await end()
})

beforeEach(() => {
  if (programs === undefined) return
  front.wanted = []
  front.served.clear()
  pebble.requests.length = 0
  pebble.intercept = () => undefined
  pebble.beforeAnswer = () => undefined
})

function settingsOf(more: Partial<AcmeSettings> = {}): AcmeSettings {
  const { directory, roots, resolver } = pebble
  return { directory, roots, dnsHookMs: 5000, addresses: [], resolvers: [resolver], ...more }
}

interface Started extends RunningCertificates {
  readonly clock: { now: number }
  readonly lines: string[]
  readonly dataDir: string
  /** Once nothing is due any more. */
  hosts(): Promise<HostCertificate[]>
  /** The only host. */
  host(): Promise<HostCertificate>
  move(ms: number): void
}

function start(
  t: TestContext,
  hosts: readonly string[],
  more: Partial<CertificatesRig> = {},
): Started {
  front.wanted = toHosts(hosts)
  const clock = more.clock ?? { now: Date.now() }
  const dataDir = more.dataDir ?? createFolder('certificates')
  const lines: string[] = []
  const log = (line: string) => lines.push(line)
  const running = startCertificates({ settings: settingsOf(), front, clock, dataDir, log, ...more })
  let isOpen = true
  const close = async () => {
    if (isOpen) await running.close()
    isOpen = false
  }
  t.after(close)
  const { certificates } = running
  const states = async () => {
    certificates.step()
    await certificates.settled()
    return certificates.hosts()
  }
  const host = async () => (await states())[0] as HostCertificate
  const move = (ms: number) => {
    clock.now += ms
  }
  return { certificates, close, clock, lines, dataDir, hosts: states, host, move }
}

function orders(): number {
  return pebble.requests.filter(({ path }) => path === '/order-plz').length
}

function servedOf(name: string): X509Certificate | undefined {
  const found = [...front.served.values()].find(({ hosts }) => hosts.includes(name))
  return found && new X509Certificate(found.chain)
}

for (const challenge of ['http-01', 'tls-alpn-01'] as const) {
  for (const badNonces of [5, 50]) {
    acme(`${challenge} with ${badNonces} % bad nonces (app-scenario 99)`, async (t) => {
      await pebble.restart({ badNonces })
      const { host } = start(t, ['shop.example'], { settings: settingsOf({ challenge }) })

      const { state, cause } = await host()

      assert.deepEqual([state, cause], ['valid', undefined])
      assert.equal(servedOf('shop.example')?.checkHost('shop.example'), 'shop.example')
      assert.equal(front.tokens.size + front.challenged.size, 0)
    })
  }
}
