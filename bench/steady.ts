/** What is measured of steadiness: goodput under overload, requests without login for a minute, and a soak. */
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { freePort } from '../test/support/free-port.ts'
import { formatMetadata } from '../test/support/saml-identity-provider.ts'
import { keyPairOf } from '../test/support/self-signed.ts'
import { type AttackKind, attackKinds } from './attack-kinds.ts'
import { type AttackedPorts, attackOnce } from './attacks.ts'
import { type LoadRequest, load } from './load.ts'
import { print, round } from './measure.ts'
import type { BenchOptions } from './options.ts'
import {
  logIn,
  password,
  type Scratch,
  startGateway,
  startService,
  type Target,
} from './targets.ts'

const smallPath = '/networks/small'
const run = promisify(execFile)

async function withGateway(
  { dist }: BenchOptions,
  scratch: Scratch,
  use: (gateway: Target) => Promise<void>,
  env: Record<string, string> = {},
): Promise<void> {
  const service = await startService(scratch.dir('service'))
  const gateway = await startGateway({ dir: scratch.dir('fairlead'), dist, service, env })
  try {
    await use(await logIn(gateway))
  } finally {
    await gateway.process.stop()
    await service.process.stop()
  }
}

/**
 * Offers three times what the gateway can answer, on many connections: what is still answered with 200. The load needs a core of its
 * own, so the gateway gets one of two. Answers for each second of the gateway's processor time count what else runs out.
 */
export async function measureOverload(options: BenchOptions, scratch: Scratch): Promise<void> {
  await withGateway(options, scratch, async ({ port, headers, process: measured }) => {
    measured.pin(0)
    const ask = { port, headers, path: smallPath, tolerated: [503] }
    await load({ ...ask, connections: 50, seconds: 8 })
    const seconds = options.secondsEach * 3
    const run = async (request: LoadRequest) => {
      const before = measured.cpuUs()
      const result = await load(request)
      const cpuSeconds = (measured.cpuUs() - before) / 1e6
      const allSeconds = seconds + (request.settleSeconds ?? 0)
      return {
        ...result,
        perCpuSecond: (result.requestsPerSecond * allSeconds) / cpuSeconds,
        busy: cpuSeconds / allSeconds,
      }
    }
    const peak = await run({ ...ask, connections: 50, seconds })
    const offered = peak.requestsPerSecond * 3
    const healthTimes: number[] = []
    const probing = probe(port, '/health', {}, healthTimes, (settleSeconds + seconds) * 1000)
    const over = await run({ ...ask, connections: 3000, seconds, settleSeconds, rate: offered })
    await probing
    const percent = (share: number) => `${round(100 * share)} %`
    const toRow = (name: string, measuredRun: typeof peak) => ({
      load: name,
      'answers/s': round(measuredRun.requestsPerSecond),
      'rejected/s': round(measuredRun.refused / seconds),
      'p99 ms': round(measuredRun.p99),
      'of the peak': percent(measuredRun.requestsPerSecond / peak.requestsPerSecond),
      'of a processor': percent(measuredRun.busy),
      'answers per processor second': round(measuredRun.perCpuSecond),
      'those of the peak': percent(measuredRun.perCpuSecond / peak.perCpuSecond),
    })
    print('Three times the capacity, 3,000 connections', [
      toRow('as much as 50 connections get', peak),
      toRow(`${round(offered)} requests/s offered`, over),
    ])
    console.log(`/health p99 meanwhile: ${round(quantile(healthTimes, 0.99))} ms`)
  })
}

/** Times a request again and again, one after the other. Failures count as infinitely slow. */
async function probe(
  port: number,
  path: string,
  headers: Record<string, string>,
  times: number[],
  durationMs: number,
): Promise<void> {
  const endsMs = performance.now() + durationMs
  while (performance.now() < endsMs) {
    const startedMs = performance.now()
    const status = await fetch(`http://127.0.0.1:${port}${path}`, {
      headers,
      signal: AbortSignal.timeout(30_000),
    })
      .then(async (answer) => {
        await answer.arrayBuffer()
        return answer.status
      })
      .catch(() => 0)
    times.push(status === 200 ? performance.now() - startedMs : Number.POSITIVE_INFINITY)
    await sleep(20)
  }
}

function quantile(times: readonly number[], share: number): number {
  const sorted = times.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

const attackers = 50
const settleSeconds = 10
/** Main thread, in milliseconds, that a request without a session may take. */
const maxBlockMs = 5
const requestsOfKind = 20

interface Attacked {
  readonly gateway: Target
  readonly service: Target
  readonly ports: AttackedPorts
  /** See `loop-probe.ts`. */
  readonly iterationsFile: string
  /** Memory before any request. */
  readonly idleMegabytes: number
}

function oauthSettings(provider: string): Record<string, string> {
  const prefix = 'SPRING_SECURITY_OAUTH2_CLIENT'
  return {
    [`${prefix}_REGISTRATION_IDP_CLIENTID`]: 'fairlead',
    [`${prefix}_REGISTRATION_IDP_CLIENTSECRET`]: password,
    [`${prefix}_PROVIDER_IDP_AUTHORIZATIONURI`]: `${provider}/authorize`,
    [`${prefix}_PROVIDER_IDP_TOKENURI`]: `${provider}/token`,
    [`${prefix}_PROVIDER_IDP_USERINFOURI`]: `${provider}/user`,
  }
}

/** TLS on a port of its own, and a login that strangers reach. */
async function startAttacked(
  { dist }: BenchOptions,
  scratch: Scratch,
  login: AttackKind['login'],
): Promise<Attacked> {
  const [service, plain, tls] = await Promise.all([
    startService(scratch.dir('service')),
    freePort(),
    freePort(),
  ])
  const dir = scratch.dir('fairlead')
  const { certificate, keyPem } = keyPairOf('gateway', 'ec')
  const files = {
    certificate: join(dir, 'gate.pem'),
    key: join(dir, 'gate.key'),
    metadata: join(dir, 'idp.xml'),
  }
  writeFileSync(files.certificate, certificate)
  writeFileSync(files.key, keyPem)
  writeFileSync(
    files.metadata,
    formatMetadata('https://idp.example.com/metadata', [keyPairOf('idp')]),
  )
  const env = {
    SERVER_PORT: String(tls),
    SERVER_SSL_CERTIFICATE: files.certificate,
    SERVER_SSL_CERTIFICATEPRIVATEKEY: files.key,
    DEFAULT_LEGACYSERVERPORT: String(plain),
    ...(login === 'saml' && { SAML_ENABLED: 'true', SAML_METADATAURL: files.metadata }),
    NODE_OPTIONS: `--max-semi-space-size=16 --import=${resolve(import.meta.dirname, 'loop-probe.ts')}`,
    LOOP_PROBE_FILE: join(dir, 'loop.json'),
    ...(login === 'x509' && {
      X509_ENABLED: 'true',
      SERVER_SSL_CLIENTAUTH: 'want',
      SERVER_SSL_TRUSTCERTIFICATE: files.certificate,
    }),
    ...(login === 'oauth2' && oauthSettings(`http://127.0.0.1:${service.port}`)),
  }
  const gateway = await startGateway({ dir, dist, service, env, port: plain })
  // By then the start is over.
  await sleep(10_000)
  const idleMegabytes = gateway.process.ownMebibytes()
  return {
    gateway,
    service,
    ports: { plain, tls },
    iterationsFile: env.LOOP_PROBE_FILE,
    idleMegabytes,
  }
}

/** 50 connections without a session send whatever for a minute; logged-in users and probes must hardly notice. */
export async function measureAttacks(options: BenchOptions, scratch: Scratch): Promise<void> {
  const costs: KindCost[] = []
  for (const login of ['saml', 'oauth2', 'x509', undefined] as const) {
    const attacked = await startAttacked(options, scratch, login)
    const { gateway, service, ports } = attacked
    try {
      const kinds = attackKinds.filter((kind) => kind.login === login)
      costs.push(...(await measureKinds(gateway, ports, kinds)))
      if (login === undefined)
        await measureMinute(options, { ...attacked, gateway: await logIn(gateway) })
    } finally {
      await gateway.process.stop()
      await service.process.stop()
    }
  }
  printCosts(costs)
}

interface KindCost {
  readonly kind: AttackKind
  readonly mainMs: number
  readonly allMs: number
}

/** What one request of each kind costs, one after the other: this hardly depends on what else the machine does. */
async function measureKinds(
  { process: measured }: Target,
  ports: AttackedPorts,
  kinds: readonly AttackKind[],
): Promise<KindCost[]> {
  const costs: KindCost[] = []
  for (const kind of kinds) {
    const send = async (count: number) => {
      for (let index = 0; index < count; index++) await attackOnce(kind, ports)
    }
    await send(kind.isSlow === true ? 1 : requestsOfKind / 2)
    const count = kind.isSlow === true ? 1 : requestsOfKind
    const before = { main: measured.mainThreadUs(), all: measured.cpuUs() }
    await send(count)
    const mainMs = (measured.mainThreadUs() - before.main) / 1000 / count
    const allMs = (measured.cpuUs() - before.all) / 1000 / count
    costs.push({ kind, mainMs, allMs })
  }
  return costs
}

function printCosts(costs: readonly KindCost[]): void {
  const dearest = costs.toSorted((a, b) => b.mainMs - a.mainMs)
  print(
    'One request without a session',
    dearest.map(({ kind, mainMs, allMs }) => ({
      kind: kind.name,
      'main thread, ms': mainMs.toFixed(1),
      'all threads, ms': allMs.toFixed(1),
      target:
        kind.isSlow === true
          ? 'two seconds of a connection'
          : mainMs > maxBlockMs
            ? `missed: ≤ ${maxBlockMs}`
            : '',
    })),
  )
}

async function measureMinute(options: BenchOptions, attacked: Attacked): Promise<void> {
  const { gateway, service, ports, iterationsFile, idleMegabytes } = attacked
  const { port, headers, process: measured } = gateway
  const seconds = (options.minutes ?? 1) * 60
  await load({ port, headers, path: smallPath, connections: 4, seconds: 3, rate: 200 })
  const [health, control, reads]: [number[], number[], number[]] = [[], [], []]
  const program = [
    resolve(import.meta.dirname, 'attacks.ts'),
    ports.plain,
    ports.tls,
    attackers,
    seconds,
  ].map(String)
  process.kill(measured.pid, 'SIGUSR2')
  const work = () =>
    Promise.all([
      run(process.execPath, program),
      probe(port, '/health', {}, health, seconds * 1000),
      probe(service.port, '/health', {}, control, seconds * 1000),
      probe(port, smallPath, headers, reads, seconds * 1000),
    ])
  const {
    result: [sent],
    peak,
  } = await measured.watchMemory(work)
  process.kill(measured.pid, 'SIGUSR2')
  await sleep(Math.min(60, seconds) * 1000)
  const after = measured.ownMebibytes()
  const iterations = (JSON.parse(readFileSync(iterationsFile, 'utf8')) as number[]).map(
    (us) => us / 1000,
  )
  print(`${attackers} connections without a session for ${seconds} s`, [
    row('/health p99 ms', quantile(health, 0.99), 50),
    {
      measured: 'the same, asked of a process that is not attacked',
      value: round(quantile(control, 0.99)),
      target: '',
    },
    row('reads with a session p99 ms', quantile(reads, 0.99), 250),
    row('longest iteration of the event loop, processor time in ms', quantile(iterations, 1), 50),
    row('p99 of those of more than 0.5 ms', quantile(iterations, 0.99), 10),
    row('memory at most, MiB', peak, 400),
    { measured: 'memory before all requests, MiB', value: round(idleMegabytes), target: '' },
    row('memory a minute later, of that, %', (100 * after) / idleMegabytes, 120),
    { measured: 'requests sent', value: Number(sent.stdout), target: '' },
  ])
}

function row(measured: string, value: number, target: number) {
  return {
    measured,
    value: round(value),
    target: `${value <= target ? '' : 'missed: '}≤ ${target}`,
  }
}

/** A mix of reads, changes, logins and clients that leave, and what the process holds meanwhile. */
export async function measureSoak(options: BenchOptions, scratch: Scratch): Promise<void> {
  const seconds = (options.minutes ?? 10) * 60
  await withGateway(options, scratch, async ({ port, headers, process }) => {
    const samples: Record<
      'memory, MiB' | 'open descriptors' | 'event loop delay p99, ms',
      number[]
    > = {
      'memory, MiB': [],
      'open descriptors': [],
      'event loop delay p99, ms': [],
    }
    const ask = { port, headers, seconds, tolerated: [503] }
    const endsMs = performance.now() + seconds * 1000
    const sampling = (async () => {
      while (performance.now() < endsMs) {
        const metrics = await (await fetch(`http://127.0.0.1:${port}/spectator/metrics`)).text()
        samples['memory, MiB'].push(process.ownMebibytes())
        samples['open descriptors'].push(readdirSync(`/proc/${process.pid}/fd`).length)
        samples['event loop delay p99, ms'].push(
          1000 *
            Number(/^nodejs_eventloop_lag_p99_seconds (\S+)/m.exec(metrics)?.[1] ?? Number.NaN),
        )
        await sleep(1000)
      }
    })()
    const leaving = (async () => {
      while (performance.now() < endsMs) {
        const gone = new AbortController()
        setTimeout(() => gone.abort(), 20)
        await fetch(`http://127.0.0.1:${port}/networks/mb50`, { headers, signal: gone.signal })
          .then((answer) => answer.arrayBuffer())
          .catch(() => {})
        await logIn({ name: 'again', port, headers: {}, process })
        await sleep(200)
      }
    })()
    await Promise.all([
      load({ ...ask, path: smallPath, connections: 20, rate: 500 }),
      load({ ...ask, path: '/networks/mb1', connections: 2, rate: 10 }),
      load({ ...ask, path: '/pipelines/p1/cancel', method: 'PUT', connections: 2, rate: 20 }),
      sampling,
      leaving,
    ])
    print(
      `${seconds} s of mixed load`,
      Object.entries(samples).map(([measured, values]) => ({
        measured,
        'second quarter': round(quantile(part(values, 0.25, 0.5), 0.5)),
        'last quarter': round(quantile(part(values, 0.75, 1), 0.5)),
      })),
    )
  })
}

function part(values: readonly number[], from: number, to: number): number[] {
  return values.slice(Math.floor(values.length * from), Math.ceil(values.length * to))
}
