/** A copy of the database that Litestream keeps elsewhere: one folder for each term, so that no engine writes into that of another. */
import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, existsSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ProcessIdentity } from '@fairlead/agent/instance-files.ts'
import { isSameProcess } from '@fairlead/agent/instance-processes.ts'
import { openProcessTable, signalProcess } from '@fairlead/agent/processes.ts'
import { BackOff } from '@fairlead/base/concurrency/back-off.ts'
import { within } from '@fairlead/base/concurrency/within.ts'
import { writePrivateFile } from '@fairlead/base/storage/private-files.ts'
import { socketPathFor } from '@fairlead/base/storage/socket-path.ts'
import type { FastifyBaseLogger } from 'fastify'

/** Together, what is written is under way within this second. */
const intervals = { 'monitor-interval': '200ms', 'sync-interval': '300ms' } as const
const restartPauses = { firstMs: 500, longestMs: 30_000 }
const watchMs = { incomplete: 200, complete: 2000 } as const
const syncSeconds = 30
const stopMs = 15_000
const endPauseMs = 20
const databaseName = 'backends.db'
const metaFolder = `.${databaseName}-litestream`
const processFile = 'litestream.json'

interface CopyPlace {
  readonly dataDir: string
  readonly url: string
  readonly folder: string
  readonly env: Readonly<NodeJS.ProcessEnv>
  readonly log: Pick<FastifyBaseLogger, 'info' | 'warn' | 'error'>
}

/** @throws {Error} when Litestream is missing, or too old for its control socket */
export async function checkLitestream(env: Readonly<NodeJS.ProcessEnv>): Promise<void> {
  const version = await runLitestream(['version'], env).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code !== 'ENOENT') throw cause
    throw new Error(
      'backends.copy needs the program litestream, version 0.5.18 or later, which is not in the PATH. Install it ' +
        '(https://litestream.io/install), or remove backends.copy.',
      { cause },
    )
  })
  if (/^v?0\.[0-4]\./.test(version))
    throw new Error(`backends.copy needs Litestream 0.5.18 or later; this is ${version.trim()}.`)
}

/** Fetches the database of a copy. What the directory has of an earlier term is moved aside. @throws {Error} with the words of Litestream */
export async function restoreCopy({ dataDir, url, folder, env, log }: CopyPlace): Promise<void> {
  const fresh = join(dataDir, 'restored.db')
  for (const suffix of ['', '-wal', '-shm']) rmSync(fresh + suffix, { force: true })
  const begunMs = performance.now()
  await runLitestream(
    ['restore', '-integrity-check', 'quick', '-o', fresh, placeIn(url, folder)],
    env,
  )
  chmodSync(fresh, 0o600)
  await moveAside(dataDir, log)
  renameSync(fresh, join(dataDir, databaseName))
  log.info(
    { ms: Math.round(performance.now() - begunMs) },
    `restored the database from the copy ${folder}`,
  )
}

/** Nothing that was written is deleted: it may have what the copy lacks. */
async function moveAside(dataDir: string, log: CopyPlace['log']): Promise<void> {
  const names = readdirSync(dataDir).filter((name) => name.startsWith(databaseName))
  rmSync(join(dataDir, metaFolder), { recursive: true, force: true })
  if (names.length === 0) return
  const outdated = join(dataDir, `outdated-${new Date().toISOString().replaceAll(':', '')}`)
  await mkdir(outdated, { mode: 0o700 })
  for (const name of names) renameSync(join(dataDir, name), join(outdated, name))
  log.warn(`the database of an earlier term is outdated; it is kept in ${outdated}`)
}

export class Copy {
  readonly #place: CopyPlace
  readonly #socketPath: string
  readonly #onComplete: (atMs: number) => void
  readonly #backOff = new BackOff(restartPauses)
  #child: ChildProcess | undefined
  #isClosing = false

  /** @param onComplete Called again and again, with the moment until which the copy has everything */
  constructor(place: CopyPlace, onComplete: (atMs: number) => void) {
    this.#place = place
    this.#socketPath = socketPathFor(place.dataDir, 'litestream.sock')
    this.#onComplete = onComplete
  }

  async start(isNew: boolean): Promise<void> {
    const { dataDir, url, folder } = this.#place
    await endFormer(dataDir)
    if (isNew) rmSync(join(dataDir, metaFolder), { recursive: true, force: true })
    const replica = { url: placeIn(url, folder), 'sync-interval': intervals['sync-interval'] }
    const database = {
      path: join(dataDir, databaseName),
      'monitor-interval': intervals['monitor-interval'],
      replica,
    }
    const settings = {
      logging: { type: 'json' },
      socket: { enabled: true, path: this.#socketPath },
      dbs: [database],
    }
    // JSON is YAML.
    writePrivateFile(join(dataDir, 'litestream.yml'), JSON.stringify(settings))
    process.once('exit', () => this.kill())
    this.#run()
    void this.#watch()
  }

  async stop(): Promise<void> {
    this.#isClosing = true
    this.#backOff.cancel()
    const child = this.#child
    if (child === undefined) return
    const { promise: ended, resolve } = Promise.withResolvers<void>()
    child.once('exit', () => resolve())
    child.kill('SIGTERM')
    await within(stopMs, ended, () => {
      this.#place.log.error('Litestream has not completed the copy in time')
    })
    this.kill()
  }

  kill(): void {
    this.#isClosing = true
    this.#child?.kill('SIGKILL')
  }

  #run(): void {
    const { dataDir, env, log } = this.#place
    const child = spawn(
      'litestream',
      ['replicate', '-no-expand-env', '-config', join(dataDir, 'litestream.yml')],
      {
        env: withoutOwn(env),
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    )
    let last = ''
    const note = (chunk: Buffer) => {
      for (const line of chunk.toString().split('\n')) {
        if (/"level":"(WARN|ERROR)"|^Error/.test(line)) log.warn({ line }, 'Litestream reports')
        if (line !== '') last = line
      }
    }
    child.stdout.on('data', note)
    child.stderr.on('data', note)
    child.once('error', (error) =>
      log.error({ reason: error.message }, 'Litestream cannot be started'),
    )
    child.once('close', () => {
      this.#child = undefined
      if (this.#isClosing) return
      const pauseMs = this.#backOff.startLater(() => this.#run())
      log.error(
        { last, pauseMs },
        'Litestream ended and is started again; the copy falls behind meanwhile',
      )
    })
    this.#child = child
    const { pid = 0 } = child
    const identity: ProcessIdentity = { pid, start: openProcessTable().find(pid)?.start ?? '' }
    writePrivateFile(join(dataDir, processFile), JSON.stringify(identity), false)
  }

  async #watch(): Promise<void> {
    for (let isComplete = false; !this.#isClosing; ) {
      const sinceMs = Date.now()
      isComplete = await this.#sync().catch(() => false)
      if (isComplete) {
        this.#backOff.reset()
        this.#onComplete(sinceMs)
      }
      await sleep(isComplete ? watchMs.complete : watchMs.incomplete, undefined, { ref: false })
    }
  }

  async #sync(): Promise<boolean> {
    const asked = request({
      socketPath: this.#socketPath,
      path: '/sync',
      method: 'POST',
      timeout: syncSeconds * 1000,
    })
    const { promise, resolve, reject } = Promise.withResolvers<boolean>()
    asked.once('response', async (answer) => {
      await text(answer).catch(() => '')
      resolve(answer.statusCode === 200)
    })
    asked.once('error', reject)
    asked.once('timeout', () => asked.destroy(new Error('no answer')))
    asked.end(
      JSON.stringify({
        path: join(this.#place.dataDir, databaseName),
        wait: true,
        timeout: syncSeconds,
      }),
    )
    return promise
  }
}

/** One that has outlived its engine still writes into the copy. */
async function endFormer(dataDir: string): Promise<void> {
  const file = join(dataDir, processFile)
  if (!existsSync(file)) return
  const former = JSON.parse(readFileSync(file, 'utf8')) as ProcessIdentity
  const table = openProcessTable()
  while (isSameProcess(table, former)) {
    signalProcess(former.pid, 'SIGKILL')
    await sleep(endPauseMs)
  }
}

function placeIn(url: string, folder: string): string {
  const place = new URL(url)
  place.pathname = `${place.pathname.replace(/\/$/, '')}/${folder}`
  return place.href
}

async function runLitestream(
  args: readonly string[],
  env: Readonly<NodeJS.ProcessEnv>,
): Promise<string> {
  const child = spawn('litestream', args, {
    env: withoutOwn(env),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const { promise, resolve, reject } = Promise.withResolvers<number | null>()
  child.once('error', reject)
  child.once('close', resolve)
  const [code, output, errors] = await Promise.all([
    promise,
    text(child.stdout),
    text(child.stderr),
  ])
  if (code === 0) return output
  throw new Error(`litestream ${args[0]} failed: ${(errors || output).trim().split('\n').at(-1)}`)
}

/** Its own settings, such as the keys of the store, are in the environment, too. */
function withoutOwn(env: Readonly<NodeJS.ProcessEnv>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) =>
      value === undefined || name.startsWith('FAIRLEAD_') ? [] : [[name, value]],
    ),
  )
}
