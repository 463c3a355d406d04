/** The engine killed under load: time until the next write is answered, after a restart, and when a standby takes over. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findProgram } from '../test/support/debian.ts'
import { freePort } from '../test/support/free-port.ts'
import { findLitestream } from '../test/support/kubernetes-programs.ts'
import { median, print, type Row, round } from './measure.ts'
import { MeasuredProcess } from './measured-process.ts'
import type { BenchOptions } from './options.ts'
import { createApplication, post } from './standalone.ts'
import { logIn, password, type Scratch, type Target } from './targets.ts'

const key = 'for-the-benchmark-alone-0000'
const kinds = ['restart', 'standby by the lock', 'standby by lease and copy'] as const
type Kind = (typeof kinds)[number]
const warmWrites = 50
const writePauseMs = 5
const pollMs = 20
const startMs = 180_000

export async function measureTakeovers(options: BenchOptions, scratch: Scratch): Promise<void> {
  const rows: Row[] = []
  for (const kind of kinds) {
    if (kind === 'standby by lease and copy' && !(findProgram('redis-server') && findLitestream())) continue
    const times: number[] = []
    for (let count = 0; count < (options.isShort ? 1 : 5); count++) times.push(await takeOver(kind, options, scratch))
    const longest = Math.max(...times)
    rows.push({ kind, kills: times.length, 'first write, median ms': round(median(times)), 'longest ms': round(longest) })
  }
  print('From the end of the engine to the first write that is answered', rows)
}

async function takeOver(kind: Kind, { dist }: BenchOptions, scratch: Scratch): Promise<number> {
  const processes: MeasuredProcess[] = []
  const program = resolve(import.meta.dirname, '..', dist ? 'dist/fairlead.js' : 'bin/fairlead.js')
  const [port, ...enginePorts] = [await freePort(), await freePort(), await freePort()]
  const settings: Shared = kind === 'standby by lease and copy' ? await startLease(processes, scratch) : {}
  const start = (words: readonly string[], enginePort: number | undefined, dataDir: string) => {
    const dir = scratch.dir('takeover')
    mkdirSync(join(dir, 'config'))
    const baseUrls = enginePorts.map((each) => `http://127.0.0.1:${each}`)
    const backends = { ...settings.backends, key, port: enginePort }
    const services = words[0] === 'serve' ? { embedded: { baseUrls } } : {}
    const given = { ...settings, backends, services, server: { port, address: '127.0.0.1', 'drain-ms': 0 } }
    writeFileSync(join(dir, 'config', 'fairlead.yml'), JSON.stringify(given), { mode: 0o600 })
    const path = `${findLitestream() ?? ''}:${process.env['PATH']}`
    const env = { PATH: path, FAIRLEAD_DATA_DIR: dataDir, FAIRLEAD_ADMIN_PASSWORD: password }
    const started = new MeasuredProcess({ command: process.execPath, args: [program, ...words], env, dir })
    processes.push(started)
    return { process: started, says: (words: string) => readFileSync(join(dir, 'output.log'), 'utf8').includes(words) }
  }
  const dataDir = scratch.dir('data')
  try {
    const { process: engine } = start(['backends'], enginePorts[0], dataDir)
    const { process: gateway } = start(['serve'], undefined, scratch.dir('gateway'))
    await gateway.answers(`http://127.0.0.1:${port}/readyz`, startMs)
    const target = await logIn({ name: kind, port, process: gateway, headers: {} })
    await createApplication(target, 'load')
    const load = startWriting(target)
    const isCopied = settings.backends !== undefined
    if (kind !== 'restart') {
      const standby = start(['backends', '--standby'], enginePorts[1], isCopied ? scratch.dir('empty') : dataDir)
      while (!standby.says('standing by')) await sleep(pollMs)
    }
    while (isCopied && !(await hasCopy(enginePorts[0]))) await sleep(pollMs)
    await load.until(warmWrites)
    const killedAt = performance.now()
    const litestream = join(dataDir, 'litestream.json')
    const copier = existsSync(litestream) ? (JSON.parse(readFileSync(litestream, 'utf8')) as { pid: number }).pid : undefined
    await engine.kill()
    if (copier !== undefined) process.kill(copier, 'SIGKILL')
    if (isCopied) rmSync(dataDir, { recursive: true, force: true })
    if (kind === 'restart') start(['backends'], enginePorts[0], dataDir)
    const time = (await load.next()) - killedAt
    await load.stop()
    return time
  } finally {
    for (const each of processes.toReversed()) await each.stop()
  }
}

async function hasCopy(port: number | undefined): Promise<boolean> {
  return (await (await fetch(`http://127.0.0.1:${port}/health`)).text()).includes('copiedUntil')
}

/** Settings of engines that stand by for each other. */
interface Shared {
  readonly redis?: { readonly connection: string }
  readonly backends?: { readonly lease: string; readonly copy: string }
}

async function startLease(processes: MeasuredProcess[], scratch: Scratch): Promise<Shared> {
  const port = await freePort()
  const dir = scratch.dir('redis')
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', dir]
  processes.push(new MeasuredProcess({ command: 'redis-server', args, dir }))
  const redis = { connection: `redis://127.0.0.1:${port}` }
  return { redis, backends: { lease: 'redis', copy: `file://${scratch.dir('copy')}` } }
}

/** One client that saves definitions, one after the other. */
function startWriting(target: Target) {
  let saved = 0
  let isStopping = false
  let waiting: ((atMs: number) => void) | undefined
  const write = async () => {
    while (!isStopping) {
      const sentAt = performance.now()
      const definition = { application: 'load', name: `p${sentAt}`, stages: [], triggers: [] }
      const isSaved = await post(target, '/pipelines', definition).then(
        () => true,
        () => false,
      )
      if (isSaved) {
        saved++
        waiting?.(performance.now())
      }
      await sleep(writePauseMs)
    }
  }
  const working = write()
  return {
    async until(count: number) {
      while (saved < count) await sleep(writePauseMs)
    },
    /** When the next one is answered. */
    next: () =>
      new Promise<number>((resolve) => {
        waiting = resolve
      }),
    async stop() {
      isStopping = true
      await working
    },
  }
}
