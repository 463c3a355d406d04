/** A gateway with many server groups on record, and an agent that reports their instances as running without any process. */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { ObservedLedger } from '../src/agent/observed-lines.ts'
import { agentProtocol, type DesiredState, type ObservedInstance } from '../src/agent/protocol.ts'
import type { LocalGroup, LocalInstance } from '../src/backends/infrastructure/local/desired.ts'
import type { GroupProgram } from '../src/backends/infrastructure/local/program.ts'
import { formatJson } from '../src/json/json.ts'
import { socketPathFor } from '../src/storage/socket-path.ts'
import { logIn, startGateway, type Target } from './targets.ts'

export interface FleetSize {
  readonly groups: number
  readonly instancesEach: number
}

/** An agent of another version would be asked to hand over. */
const { version } = JSON.parse(readFileSync(resolve(import.meta.dirname, '../package.json'), 'utf8')) as { version: string }

const place = { account: 'local', region: 'local' }
const program: GroupProgram = {
  command: ['node', 'server.mjs'],
  environment: { GREETING: 'hello' },
  secrets: [],
  ready: { path: '/health' } as GroupProgram['ready'],
  limits: {},
  stopMs: 10_000,
  overrides: {},
}

export async function startRecordedFleet(
  dir: string,
  dist: boolean,
  size: FleetSize,
): Promise<{ target: Target; close(): Promise<void> }> {
  // The first start creates the tables.
  const first = await startGateway({ dir, dist })
  await first.process.stop()
  const dataDir = join(dir, 'data')
  const instances = record(dataDir, size)
  const agent = startSilentAgent(dataDir, instances)
  const target = await logIn(await startGateway({ dir, dist }))
  return {
    target,
    async close() {
      await target.process.stop()
      agent.close()
      agent.closeAllConnections()
    },
  }
}

/** @returns the ids of the instances */
function record(dataDir: string, { groups, instancesEach }: FleetSize): string[] {
  const db = new DatabaseSync(join(dataDir, 'backends.db'))
  const write = db.prepare('INSERT INTO infrastructure_local VALUES (?, ?, ?)')
  const ids: string[] = []
  db.exec('BEGIN')
  for (let index = 0; index < groups; index++) {
    const group = toGroup(index, instancesEach)
    write.run('groups', `local:local:${group.name}`, formatJson(group))
    for (let each = 0; each < instancesEach; each++) {
      const id = `i-${index}-${each}`
      ids.push(id)
      write.run('instances', id, formatJson(toInstance(id, group, 10_000 + ids.length)))
    }
  }
  write.run('revision', '', '1')
  db.exec('COMMIT')
  db.close()
  return ids
}

/** Ten versions of each of many clusters. */
function toGroup(index: number, desired: number): LocalGroup {
  const version = String(index % 10).padStart(3, '0')
  return {
    ...place,
    name: `shop-s${Math.floor(index / 10)}-v${version}`,
    zones: ['local'],
    createdMs: 1_700_000_000_000 + index,
    isDisabled: index % 10 < 8,
    capacity: { min: desired, max: desired, desired },
    image: { id: 'shop:1.0.0', name: 'shop', version: '1.0.0', digest: '0'.repeat(64) },
    buildInfo: undefined,
    program,
    instanceType: 'default',
    loadBalancers: [],
    securityGroups: [],
    tags: {},
    labels: {},
    suspendedProcesses: [],
    isLeaving: false,
    activities: [],
  }
}

function toInstance(id: string, group: LocalGroup, port: number): LocalInstance {
  return {
    ...place,
    id,
    zone: 'local',
    group: group.name,
    host: '127.0.0.1',
    port,
    launchMs: group.createdMs,
    generation: 1,
    isOut: false,
    isOutOfDiscovery: false,
    deregistered: [],
    registered: [],
    program: { ...program, digest: '0'.repeat(64), instanceType: 'default', startedFor: group.name },
    leaving: undefined,
  }
}

/** Speaks for an agent whose instances are all ready. */
function startSilentAgent(dataDir: string, ids: readonly string[]): ReturnType<typeof createServer> {
  const instances = ids.map(toObserved)
  const ledger = new ObservedLedger()
  let revision = 0
  const server = createServer(async (request, response) => {
    const answer = (body: object) => response.end(JSON.stringify(body))
    const head = { protocol: agentProtocol, version, pid: process.pid }
    if (request.method === 'PUT') {
      const pieces = (await request.toArray()) as Buffer[]
      revision = (JSON.parse(Buffer.concat(pieces).toString()) as DesiredState).revision
      answer({ revision })
    } else if (request.url?.startsWith('/observed-changes')) {
      const after = Number(new URL(request.url, 'http://agent').searchParams.get('after'))
      const changes = () => {
        ledger.update({ ...head, sequence: revision + 1, revision, standby: undefined, instances, loadBalancers: [] })
        response.end(ledger.linesSince(after))
      }
      setTimeout(changes, after === revision + 1 ? 1000 : 0)
    } else {
      answer(head)
    }
  })
  return server.listen(socketPathFor(dataDir, 'agent.sock'))
}

function toObserved(id: string): ObservedInstance {
  return {
    id,
    generation: 1,
    phase: 'ready',
    pid: process.pid,
    startedAt: 1_700_000_000_000,
    endedAt: undefined,
    exitCode: undefined,
    signal: undefined,
    failedStarts: 0,
    restarts: 0,
    reason: undefined,
    enforcement: { memory: 'none', processes: 'none', openFiles: 'none', disk: 'none' },
    events: [{ at: 1_700_000_000_000, text: 'Started as process 1.' }],
  }
}
