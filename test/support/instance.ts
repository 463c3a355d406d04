/** Starts a standalone instance as an operator does, as a process with an empty data directory. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { chownSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { stopAgent } from '../../packages/agent/stop-agent.ts'
import { freePort } from './free-port.ts'
import { waitUntil } from './wait-until.ts'

export interface Instance {
  /** Address without a trailing slash. */
  readonly url: string
  readonly port: number
  /** Of the process: its home, its data directory, its port. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** The end of what it has printed. */
  log(): string
}

export interface InstanceOptions {
  /** Run by bash. */
  command: string
  /** Working directory. */
  cwd: string
  /** Another user than that of the tests, by number; only root can choose. */
  uid?: number | undefined
  env?: Record<string, string>
}

/** Resolves once `/health` answers with 200; the instance ends with the test. */
export async function startInstance(t: TestContext, options: InstanceOptions): Promise<Instance> {
  const { command, cwd, uid } = options
  const dir = mkdtempSync(join(tmpdir(), 'fairlead-instance-'))
  if (uid !== undefined) chownSync(dir, uid, uid)
  const port = await freePort()
  const env = {
    ...process.env,
    HOME: dir,
    SERVER_PORT: String(port),
    SERVER_DRAINMS: '0',
    FAIRLEAD_DATA_DIR: join(dir, 'data'),
    ...options.env,
  }
  const child = spawn('bash', ['-c', command], {
    cwd,
    env,
    ...(uid !== undefined && { uid, gid: uid }),
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  const keep = (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-4000)
  }
  child.stdout.on('data', keep)
  child.stderr.on('data', keep)
  t.after(async () => {
    await stop(child)
    // What it has deployed outlives it.
    await stopAgent(join(dir, 'data'), { info() {}, warn() {}, error() {} })
    rmSync(dir, { recursive: true, force: true })
  })
  const url = `http://127.0.0.1:${port}`
  const isUp = async () => {
    assert.equal(child.exitCode, null, `it has ended:\n${output}`)
    const answer = await fetch(`${url}/health`).catch(() => undefined)
    await answer?.arrayBuffer()
    return answer?.status === 200
  }
  await waitUntil(isUp, () => `${url}/health:\n${output}`)
  return { url, port, env, log: () => output }
}

/** A shell may have started npm, and that the instance: all of them are one process group. */
async function stop(child: ChildProcess): Promise<void> {
  const { pid } = child
  if (pid === undefined) return
  const ended = new Promise((resolve) => child.once('close', resolve))
  if (!signal(pid, 'SIGTERM')) return
  const kill = setTimeout(() => signal(pid, 'SIGKILL'), 60_000)
  await ended
  clearTimeout(kill)
}

/** Whether there was a process of the group left to be told. */
function signal(group: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(-group, name)
  } catch {
    return false
  }
}
