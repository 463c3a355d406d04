/** Readings of server groups are made again after a report or a change. */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import type { ObservedInstance, ObservedMember } from '../../../packages/base/net/agent-protocol.ts'
import { versionOf } from '../../../packages/providers/infrastructure/versions.ts'
import { writeServerGroupSummary } from '../../../packages/providers/infrastructure/views.ts'
import {
  Desired,
  desiredMigrations,
  type LocalBalancer,
  type LocalGroup,
  type LocalInstance,
} from '../../../packages/providers/local/desired.ts'
import { Readings } from '../../../packages/providers/local/readings.ts'
import type { Observation } from '../../../packages/providers/local/reconciler.ts'

const place = { account: 'dev', region: 'east' }
const program = {
  command: ['node'],
  environment: {},
  secrets: [],
  ready: { intervalSeconds: 1, timeoutSeconds: 1 },
  limits: {},
  stopMs: 0,
  overrides: {},
}

const group: LocalGroup = {
  ...place,
  name: 'shop-v000',
  zones: ['a'],
  createdMs: 1,
  isDisabled: false,
  capacity: { min: 2, max: 2, desired: 2 },
  image: { id: 'shop:1', name: 'shop', version: '1', digest: 'd' },
  buildInfo: undefined,
  program,
  instanceType: 'small',
  loadBalancers: ['front'],
  securityGroups: [],
  tags: {},
  labels: {},
  suspendedProcesses: [],
  isLeaving: false,
  activities: [],
}

const balancer: LocalBalancer = {
  ...place,
  name: 'front',
  createdMs: 1,
  listeners: [],
  health: {
    kind: 'tcp',
    path: '',
    intervalMs: 1,
    timeoutMs: 1,
    unhealthyThreshold: 1,
    healthyThreshold: 1,
  },
  isInternal: false,
  vpcId: undefined,
  securityGroups: [],
}

const toInstance = (id: string): LocalInstance => ({
  ...place,
  id,
  zone: 'a',
  group: group.name,
  host: '127.0.0.1',
  port: 1,
  launchMs: 1,
  generation: 0,
  isOut: false,
  isOutOfDiscovery: false,
  deregistered: [],
  registered: [],
  program: { ...program, digest: 'd', instanceType: 'small', startedFor: group.name },
  leaving: undefined,
})

const toObserved = (id: string, phase: ObservedInstance['phase'], reason: string | undefined) =>
  ({
    id,
    phase,
    generation: 0,
    startedAt: 5,
    restarts: 0,
    enforcement: {},
    events: [],
    reason,
  }) as unknown as ObservedInstance

const toMember = (
  instanceId: string,
  inFlight: number,
  refusal: string | undefined,
): ObservedMember => ({
  instanceId,
  health: refusal === undefined ? 'up' : 'down',
  inService: true,
  inFlight,
  reason: refusal,
})

interface Report {
  readonly phases?: readonly [ObservedInstance['phase'], ObservedInstance['phase']]
  readonly inFlight?: number
  /** Why instances are not ready. */
  readonly reason?: string
  /** Why the health checks of the load balancer fail. */
  readonly refusal?: string
}

function toObservation({
  phases = ['ready', 'ready'],
  inFlight = 0,
  reason,
  refusal,
}: Report): Observation {
  return {
    revision: 1,
    instances: new Map(
      phases.map((phase, index) => [`i-${index}`, toObserved(`i-${index}`, phase, reason)]),
    ),
    members: new Map([
      [
        'dev:east:front',
        new Map(['i-0', 'i-1'].map((id) => [id, toMember(id, inFlight, refusal)])),
      ],
    ]),
    closed: new Map(),
  }
}

function openReadings() {
  const db = new DatabaseSync(':memory:')
  for (const migration of desiredMigrations) db.exec(migration)
  const desired = new Desired(db)
  desired.transact(() => {
    desired.put('groups', group)
    desired.put('balancers', balancer)
    for (const id of ['i-0', 'i-1']) desired.put('instances', toInstance(id))
  })
  const reconciler = {
    observation: toObservation({}),
    drainEndOf: () => undefined,
    closedOf: () => [],
  }
  const agent = { problem: (): string | undefined => undefined }
  const accounts = [{ name: 'dev', startLimits: { seconds: 90, failures: 3 } }]
  const readings = new Readings({
    desired,
    reconciler,
    agent,
    servedHosts: () => new Map(),
    volumes: { viewsOf: () => [], backupsOf: () => [] },
    accounts,
  })
  const read = () => {
    const reading = readings.serverGroup(desired.groupAt('dev', 'east', group.name) as LocalGroup)
    const { isDisabled, instanceCounts, instances } = JSON.parse(
      writeServerGroupSummary(reading, 10),
    )
    return {
      reading,
      instances: reading.instances,
      isDisabled,
      instanceCounts,
      shown: JSON.stringify(instances),
    }
  }
  const version = () => versionOf([read().reading], readings.loadBalancers(), [])
  return {
    desired,
    reconciler,
    agent,
    read,
    version,
    report: (report: Report) => (reconciler.observation = toObservation(report)),
  }
}

test('a server group reads the same until a report or a change', () => {
  const { desired, read, report } = openReadings()
  const first = read()
  assert.equal(first.instanceCounts.up, 2)
  assert.equal(read().instances, first.instances)
  report({ phases: ['ready', 'unready'] })
  const second = read()
  assert.equal(second.reading, first.reading)
  assert.deepEqual([second.instanceCounts.up, second.instanceCounts.down], [1, 1])
  desired.transact(() => desired.put('instances', { ...toInstance('i-1'), isOut: true }))
  assert.equal(read().instanceCounts.outOfService, 1)
})

test('lists show the image of a server group with a share of the traffic', () => {
  const { desired, read } = openReadings()
  desired.transact(() => desired.put('groups', { ...group, trafficPercent: 20 }))
  const image = { imageId: 'shop:1', name: 'shop', digest: 'd' }
  assert.deepEqual(read().reading.summary, { image, trafficPercent: 20 })
})

test('a reading follows everything that it shows', () => {
  const { desired, agent, read, report } = openReadings()
  report({ inFlight: 7 })
  assert.match(read().shown, /7 requests in flight/)

  agent.problem = () => 'The agent cannot be reached.'
  assert.match(read().shown, /The agent cannot be reached/)

  desired.transact(() => desired.put('instances', { ...toInstance('i-1'), isOut: true }))
  assert.equal(read().instanceCounts.outOfService, 1)

  desired.transact(() => desired.put('groups', { ...group, isDisabled: true }))
  assert.deepEqual([read().isDisabled, read().instanceCounts.outOfService], [true, 2])

  desired.transact(() => desired.remove('instances', toInstance('i-0')))
  assert.equal(read().instanceCounts.total, 1)
})

test('the version of an application follows health, its reasons and definitions, not traffic', () => {
  const { desired, read, version, report } = openReadings()
  const first = version()
  const shown = read().shown
  report({ inFlight: 7 })
  assert.notEqual(read().shown, shown)
  assert.equal(version(), first)

  const changes = [
    () => report({ phases: ['ready', 'unready'] }),
    () => report({ phases: ['ready', 'unready'], reason: 'GET /health answers with 503' }),
    () => report({ refusal: 'GET /health answers with 503' }),
    () => report({ refusal: 'nothing listens on port 1' }),
    () => desired.transact(() => desired.put('groups', { ...group, securityGroups: ['open'] })),
    () => desired.transact(() => desired.put('balancers', { ...balancer, isInternal: true })),
  ]
  const versions = changes.map((change) => {
    change()
    return version()
  })
  assert.equal(new Set([first, ...versions]).size, versions.length + 1)
})

test('a server group reports the start limits of its account, or its own', () => {
  const { desired, read } = openReadings()
  assert.deepEqual(read().reading.details['startLimits'], { seconds: 90, failures: 3 })
  desired.transact(() => desired.put('groups', { ...group, startLimits: { failures: 8 } }))
  assert.deepEqual(read().reading.details['startLimits'], { seconds: 90, failures: 8 })
})
