/** DBOS with PostgreSQL, for comparison: what a workflow of five durable steps costs there. */
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findProgram } from '../test/support/debian.ts'
import { print, round } from './measure.ts'
import { MeasuredProcess } from './measured-process.ts'
import type { BenchOptions } from './options.ts'
import type { Scratch } from './targets.ts'

const debianFolder = '/usr/lib/postgresql'
const runs = 2000
const longestStartMs = 60_000

export async function measureDbos({ isShort }: BenchOptions, scratch: Scratch): Promise<void> {
  const [initdb, postgres] = [findPostgres('initdb'), findPostgres('postgres')]
  if (initdb === undefined || postgres === undefined) {
    console.log('PostgreSQL is not installed (apt-get install postgresql); DBOS is left out.')
    return
  }
  const dir = scratch.dir('postgres')
  const data = join(dir, 'data')
  const as = serverUser()
  if (as !== undefined) chownSync(dir, as.uid, as.gid)
  chmodSync(resolve(dir, '..'), 0o755)
  const init = ['--pgdata', data, '--auth', 'trust', '--username', 'bench', '--encoding', 'UTF8']
  execFileSync(initdb, init, { ...as, cwd: dir, stdio: 'ignore' })
  const server = new MeasuredProcess({
    command: postgres,
    args: ['-D', data, '-k', dir, '-c', 'listen_addresses='],
    dir,
    ...as,
  })
  try {
    await untilSocket(dir)
    const url = `postgresql://bench@localhost/bench?host=${encodeURIComponent(dir)}`
    const before = serverMs(server)
    const args = [resolve(import.meta.dirname, 'dbos-runs.ts'), url, String(isShort ? 400 : runs)]
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
    if (status !== 0) throw new Error(`DBOS failed: ${stderr}${stdout}`)
    const measured = JSON.parse(stdout.trim().split('\n').at(-1) ?? '')
    print('DBOS with PostgreSQL: workflows of five durable steps', [
      {
        'runs/s': round(measured.perSecond),
        'CPU ms/run': measured.cpuMs.toFixed(2),
        'with PostgreSQL': (measured.cpuMs + (serverMs(server) - before) / measured.runs).toFixed(
          2,
        ),
      },
    ])
  } finally {
    await server.stop()
  }
}

const msPerTick = 10

/** Milliseconds of processor time, those of connections that have ended included. */
function serverMs(server: MeasuredProcess): number {
  const fields = readFileSync(`/proc/${server.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return server.cpuUs() / 1000 + (Number(fields[13]) + Number(fields[14])) * msPerTick
}

function findPostgres(program: string): string | undefined {
  const versions = existsSync(debianFolder) ? readdirSync(debianFolder) : []
  return [findProgram(program), ...versions.map((one) => join(debianFolder, one, 'bin', program))]
    .filter((path) => path !== undefined)
    .find(existsSync)
}

/** PostgreSQL refuses to run as root. */
function serverUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  const idOf = (flag: string) => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }))
  return { uid: idOf('-u'), gid: idOf('-g') }
}

async function untilSocket(dir: string): Promise<void> {
  for (const endMs = performance.now() + longestStartMs; performance.now() < endMs; await sleep(50))
    if (existsSync(join(dir, '.s.PGSQL.5432'))) return
  throw new Error('PostgreSQL does not start.')
}
