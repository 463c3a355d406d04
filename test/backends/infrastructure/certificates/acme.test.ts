/** Certificates of the front by ACME, against Pebble. */
import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, beforeEach, type TestContext, test } from 'node:test'
import { checkCertificates } from '../../../../packages/app/doctor/check-certificates.ts'
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
import { type AcmeRequest, blockedHost, type Pebble, startPebble } from '../../../support/pebble.ts'
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
  return {
    directory,
    roots,
    profile: 'default',
    dnsHookMs: 5000,
    addresses: [],
    resolvers: [resolver],
    ...more,
  }
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

/** Without those that were refused for their nonce. */
function ordered(): readonly AcmeRequest[] {
  return pebble.requests.filter(({ path, status }) => path === '/order-plz' && status !== 400)
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

function writeHook(script: string): string {
  const hook = join(createFolder('hook'), 'hook')
  writeFileSync(
    hook,
    `#!/usr/bin/env node\nconst [, , verb, name, value] = process.argv\n${script}`,
  )
  chmodSync(hook, 0o700)
  return hook
}

acme('a wildcard by DNS-01 and a hook; its records are cleared (app-scenario 100)', async (t) => {
  const dnsHook = writeHook(
    `
    const body = JSON.stringify({ host: name + '.', ...(verb === 'set' && { value }) })
    await fetch('${pebble.namesUrl}/' + verb + '-txt', { method: 'POST', body })
    require('node:fs').appendFileSync(__filename + '.log', verb + ' ' + name + '\\n')
  `
      .replace('await fetch', 'fetch')
      .replace('require(', 'process.getBuiltinModule('),
  )
  const { host } = start(t, ['*.wild.example'], { settings: settingsOf({ dnsHook }) })

  const { state, cause } = await host()

  assert.deepEqual([state, cause], ['valid', undefined])
  assert.equal(servedOf('*.wild.example')?.checkHost('shop.wild.example'), '*.wild.example')
  const name = '_acme-challenge.wild.example'
  assert.equal(readFileSync(`${dnsHook}.log`, 'utf8'), `set ${name}\nclear ${name}\n`)
})

for (const [what, script, problem] of [
  ['fails', 'if (verb === "set") process.exit(3)', /failed with exit code 3/],
  ['hangs', 'if (verb === "set") setInterval(() => {}, 1000)', /did not end within 1 seconds/],
] as const) {
  acme(`a hook that ${what} is a failure, and clears (app-scenario 100)`, async (t) => {
    const dnsHook = writeHook(
      `process.getBuiltinModule('node:fs').appendFileSync(__filename + '.log', verb)\n${script}`,
    )
    const settings = settingsOf({ dnsHook, dnsHookMs: 1000 })
    const { host } = start(t, [`*.${what}.example`], { settings })

    const { state, cause = '' } = await host()

    assert.equal(state, 'failing')
    assert.match(cause, problem)
    assert.equal(readFileSync(`${dnsHook}.log`, 'utf8'), 'setclear')
  })
}

acme('a restart serves the same certificate without an order (app-scenario 101)', async (t) => {
  const first = start(t, ['again.example'])
  await first.host()
  const before = servedOf('again.example')?.fingerprint256
  await first.close()
  front.served.clear()
  pebble.requests.length = 0
  pebble.intercept = () => 'cut'

  const second = start(t, ['again.example'], { dataDir: first.dataDir, clock: first.clock })
  const { state } = await second.host()

  assert.equal(state, 'valid')
  assert.equal(servedOf('again.example')?.fingerprint256, before)
  assert.equal(ordered().length, 0)
})

acme(
  'nothing is ordered for a wrong A record; a right one is noticed (app-scenario 102)',
  async (t) => {
    await pebble.dns('add-a', { host: 'late.example', addresses: ['192.0.2.1'] })
    const { host, move } = start(t, ['late.example'])

    const waiting = await host()
    assert.equal(waiting.state, 'waiting-dns')
    assert.match(
      waiting.cause ?? '',
      /The A record of late\.example is 192\.0\.2\.1, which is not this/,
    )
    assert.deepEqual(pebble.requests, [])

    await pebble.dns('clear-a', { host: 'late.example' })
    move(2 * minuteMs)
    assert.equal((await host()).state, 'valid')
  },
)

acme('an AAAA record elsewhere is named as the cause (app-scenario 103)', async (t) => {
  await pebble.dns('add-aaaa', { host: 'six.example', addresses: ['2001:db8::5'] })
  const { host } = start(t, ['six.example'])

  const { state, cause } = await host()

  assert.equal(state, 'waiting-dns')
  assert.match(cause ?? '', /The AAAA record of six\.example is 2001:db8::5/)
})

acme(
  'an authority that is away at the renewal: served, warned, ended (app-scenario 104)',
  async (t) => {
    const { host, move, lines, dataDir, clock } = start(t, ['old.example'])
    const { certificate } = await host()
    pebble.intercept = () => 'cut'

    move(62 * dayMs)
    const failing = await host()
    assert.equal(failing.state, 'failing')
    assert.match(failing.cause ?? '', /^The authority cannot be reached/)
    assert.equal(front.served.size, 1)

    move(6 * dayMs)
    assert.match((await host()).cause ?? '', /^The certificate ends on /)
    assert.ok(lines.some((line) => line.includes('a certificate ends soon')))
    const [check] = checkCertificates({ backends: { dataDir } }, clock.now)
    const [finding] = (await check?.run()) ?? []
    assert.equal(finding?.verdict, 'problem')
    assert.match(finding?.found ?? '', /^failing, the present one ends on .*cannot be reached/)

    move((certificate?.notAfterMs ?? 0) - Date.now() - 67 * dayMs)
    assert.equal((await host()).state, 'expired')
    assert.equal(front.served.size, 0)
  },
)

acme('after a 429 nothing is asked before its Retry-After (app-scenario 105)', async (t) => {
  const limit = { type: 'urn:ietf:params:acme:error:rateLimited', detail: 'too many certificates' }
  pebble.intercept = ({ path }) =>
    path === '/order-plz'
      ? { status: 429, headers: { 'retry-after': '7200' }, body: limit }
      : undefined
  const { host, hosts, move, clock } = start(t, ['limited.example'])
  const { state, cause, nextMs } = await host()
  assert.deepEqual([state, nextMs], ['limited', clock.now + 2 * hourMs])
  assert.match(cause ?? '', /too many certificates/)
  pebble.intercept = () => undefined
  pebble.requests.length = 0

  front.wanted = toHosts(['limited.example', 'www.limited.example'])
  move(2 * hourMs - 1)
  assert.deepEqual(
    (await hosts()).map((each) => each.state),
    ['limited', 'limited'],
  )
  assert.equal(ordered().length, 0)

  move(1)
  assert.deepEqual(
    (await hosts()).map((each) => each.state),
    ['valid', 'valid'],
  )
})

/** Requests of an order, by what their paths begin with. */
const steps = ['/sign-me-up', '/order-plz', '/chalZ', '/finalize-order', '/certZ']

for (const step of steps) {
  acme(
    `killed at ${step}, another process ends with one certificate (app-scenario 106, 111)`,
    async (t) => {
      const host = `${step.slice(1).toLowerCase()}.example`
      const dataDir = createFolder('certificates')
      const task = JSON.stringify({ dataDir, settings: settingsOf(), hosts: toHosts([host]) })
      const begin = () => {
        const child = fork(
          testProgram('backends/infrastructure/certificates/certificates-process'),
          [task],
        )
        t.after(() => child.kill('SIGKILL'))
        child.on('message', ({ name, args }: { name: keyof TestFront; args: unknown[] }) => {
          if (name === 'isTaken') child.send('taken')
          else (front[name] as (...all: unknown[]) => void)(...args)
        })
        return child
      }
      const killed = Promise.withResolvers<void>()
      let child: ChildProcess | undefined
      pebble.beforeAnswer = async ({ path }) => {
        if (!path.startsWith(step)) return
        pebble.beforeAnswer = () => undefined
        child?.kill('SIGKILL')
        if (child !== undefined) await once(child, 'exit')
        killed.resolve()
      }
      child = begin()
      await killed.promise
      assert.equal(front.served.size, 0)

      begin()
      await waitUntil(() => servedOf(host) !== undefined, 'the certificate')

      const finalized = pebble.requests.filter(({ path }) => path.startsWith('/finalize-order'))
      assert.ok(new Set(finalized.map(({ path }) => path)).size === 1)
      await waitUntil(() => front.challenged.size === 0, 'the end of the challenge')
    },
  )
}

acme('an authority that has forgotten the account gets it again (app-scenario 107)', async (t) => {
  const { host, hosts } = start(t, ['one.example'])
  assert.equal((await host()).state, 'valid')
  await pebble.restart()

  front.wanted = toHosts(['one.example', 'two.example'])

  assert.deepEqual(
    (await hosts()).map(({ state }) => state),
    ['valid', 'valid'],
  )
})

for (const [profile, days] of [
  ['default', 60],
  ['shortlived', 3],
] as const) {
  acme(
    `the profile ${profile} is renewed after ${days} days, with a new key (app-scenario 108)`,
    async (t) => {
      pebble.intercept = ({ path }) => (path.includes('renewalInfo') ? { status: 404 } : undefined)
      const { host, move } = start(t, ['life.example'], { settings: settingsOf({ profile }) })
      await host()
      const first = servedOf('life.example')

      move(days * dayMs - hourMs)
      await host()
      assert.equal(servedOf('life.example')?.serialNumber, first?.serialNumber)

      move(2 * hourMs)
      assert.equal((await host()).state, 'valid')
      const second = servedOf('life.example')
      assert.notEqual(second?.serialNumber, first?.serialNumber)
      assert.notDeepEqual(
        second?.publicKey.export({ format: 'jwk' }),
        first?.publicKey.export({ format: 'jwk' }),
      )
    },
  )
}

acme(
  'a renewal window that has come is used, and the order replaces (app-scenario 108)',
  async (t) => {
    const { host, move, clock } = start(t, ['ari.example'])
    await host()
    const [first] = front.served.values()
    const at = (ms: number) => new Date(clock.now + ms).toISOString()
    const suggestedWindow = { start: at(-hourMs), end: at(0) }
    await pebble.manage('set-renewal-info/', {
      certificate: first?.chain,
      ariResponse: JSON.stringify({ suggestedWindow }),
    })

    move(26 * hourMs)
    assert.equal((await host()).state, 'valid')

    assert.notEqual(
      servedOf('ari.example')?.serialNumber,
      new X509Certificate(first?.chain ?? '').serialNumber,
    )
    const replaces = ordered().map(({ payload }) => payload['replaces'])
    assert.equal(replaces.length, 2)
    assert.match(String(replaces[1]), /^[\w-]+\.[\w-]+$/)
  },
)

acme('200 hosts are ordered, at most 20 at once (app-scenario 109)', async (t) => {
  const open = new Set<string>()
  let most = 0
  let begun = 0
  pebble.beforeAnswer = ({ path, status }) => {
    if (path === '/order-plz' && status === 201) open.add(String(begun++))
    if (path.startsWith('/certZ') && status === 200) open.delete([...open][0] ?? '')
    most = Math.max(most, open.size)
  }
  const names = Array.from({ length: 200 }, (_, index) => `www.site${index}.example`)
  const { hosts } = start(t, names, { settings: settingsOf({ challenge: 'http-01' }) })

  const all = await hosts()

  assert.deepEqual(new Set(all.map(({ state }) => state)), new Set(['valid']))
  assert.equal(front.served.size, 200)
  assert.ok(most <= 20, `${most} orders at once`)
})

acme(
  'many hosts of one registered domain share certificates by service (app-scenario 109)',
  async (t) => {
    await pebble.dns('add-a', { host: 'bad.crowd.example', addresses: ['192.0.2.1'] })
    const names = Array.from({ length: 12 }, (_, index) => `a${index}.crowd.example`)
    const others = Array.from({ length: 12 }, (_, index) => `b${index}.crowd.example`)
    const { hosts } = start(t, [])
    front.wanted = [...toHosts([...names, 'bad.crowd.example'], 'one'), ...toHosts(others, 'two')]

    const states = Map.groupBy(await hosts(), ({ state }) => state)

    assert.equal(states.get('valid')?.length, 24)
    assert.deepEqual(
      states.get('waiting-dns')?.map(({ host }) => host),
      ['bad.crowd.example'],
    )
    assert.deepEqual(
      ordered().map(({ payload }) => (payload['identifiers'] as object[]).length),
      [12, 12],
    )
  },
)

acme('orders beyond the budget wait (app-scenario 109)', async (t) => {
  const limits = { domain: { count: 2, windowMs: 7 * dayMs } }
  const { hosts, move } = start(t, ['a.few.example', 'b.few.example', 'c.few.example'], { limits })

  const all = await hosts()
  assert.deepEqual(all.map(({ state }) => state).toSorted(), ['limited', 'valid', 'valid'])
  assert.match(
    all.find(({ state }) => state === 'limited')?.cause ?? '',
    /registered domain \(few\.example\)/,
  )

  move(7 * dayMs + 1)
  assert.deepEqual(new Set((await hosts()).map(({ state }) => state)), new Set(['valid']))
})

acme('an external account binding is needed, and works (app-scenario 112)', async (t) => {
  const hmac = Buffer.alloc(48, 5).toString('base64url')
  await pebble.restart({ bindings: { 'kid-1': hmac } })
  t.after(() => pebble.restart())

  const without = await start(t, ['bound.example']).host()
  assert.equal(without.state, 'failing')
  assert.match(
    without.cause ?? '',
    /set local\.front\.acme\.binding\.kid and local\.front\.acme\.binding\.hmac/,
  )

  const settings = settingsOf({ binding: { kid: 'kid-1', hmac } })
  assert.equal((await start(t, ['bound.example'], { settings }).host()).state, 'valid')
})

acme('no private key is in the database, the log or a view (app-scenario 113)', async (t) => {
  const { host, dataDir, lines, close } = start(t, ['secret.example'])
  const view = await host()
  const [{ key } = { key: '' }] = front.served.values()
  await close()

  const files = readdirSync(dataDir).map((name) => readFileSync(join(dataDir, name), 'latin1'))
  const all = [...files, ...lines, JSON.stringify(view)].join('\n')
  assert.ok(key.includes('PRIVATE KEY'))
  assert.ok(!all.includes('PRIVATE KEY'))
  assert.ok(!all.includes(key.split('\n')[1] ?? ''))
})

acme(
  'a blocked name fails with the text of the authority, less and less often (app-scenario 114)',
  async (t) => {
    const { host, clock, move } = start(t, [blockedHost])
    const pauses: number[] = []
    for (let failures = 0; failures < 3; failures++) {
      const { state, cause, nextMs } = await host()
      assert.equal(state, 'failing')
      assert.match(cause ?? '', /rejectedIdentifier: .*blocked-domain\.example/)
      pauses.push((nextMs - clock.now) / minuteMs)
      move(nextMs - clock.now)
    }
    // A tenth is left to chance.
    for (const [at, least] of [1, 5, 30].entries())
      assert.ok((pauses[at] ?? 0) >= least && (pauses[at] ?? 0) <= least * 1.1, String(pauses))
  },
)

acme('a host that is gone for a while keeps its certificate', async (t) => {
  const { host, hosts } = start(t, ['gone.example'])
  await host()
  front.wanted = []
  assert.deepEqual(await hosts(), [])
  assert.equal(front.served.size, 0)

  front.wanted = toHosts(['gone.example'])
  assert.equal((await host()).state, 'valid')
  assert.equal(front.served.size, 1)
  assert.equal(ordered().length, 1)
})
