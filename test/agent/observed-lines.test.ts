/** What the agent sends of its state: what has changed, and everything to a client that has lost track. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  ObservedCopy,
  ObservedLedger,
  type ObservedLine,
} from '../../packages/agent/observed-lines.ts'
import type {
  ObservedInstance,
  ObservedLoadBalancer,
  ObservedState,
} from '../../packages/base/net/agent-protocol.ts'

const enforcement = { memory: 'none', processes: 'none', openFiles: 'none', disk: 'none' } as const

function toInstance(id: string, restarts: number): ObservedInstance {
  const nothing = {
    startedAt: undefined,
    endedAt: undefined,
    exitCode: undefined,
    signal: undefined,
    reason: undefined,
  }
  return {
    id,
    generation: 1,
    phase: 'ready',
    pid: 7,
    restarts,
    failedStarts: 0,
    enforcement,
    events: [],
    ...nothing,
  }
}

function toBalancer(
  id: string,
  members: Readonly<Record<string, number>>,
  port = 80,
): ObservedLoadBalancer {
  return {
    id,
    listeners: [{ port, open: true, reason: undefined }],
    members: Object.entries(members).map(([instanceId, inFlight]) => ({
      instanceId,
      health: 'up',
      inService: true,
      inFlight,
      reason: undefined,
    })),
  }
}

function toState(
  sequence: number,
  instances: readonly ObservedInstance[],
  loadBalancers: readonly ObservedLoadBalancer[] = [],
  pid = 1,
): ObservedState {
  return {
    protocol: 3,
    version: '1',
    pid,
    sequence,
    revision: 1,
    standby: undefined,
    instances,
    loadBalancers,
  }
}

/** Without the order of its lists, and without what JSON leaves out. */
function normalise(state: ObservedState | undefined) {
  const { instances, loadBalancers, ...head } = JSON.parse(JSON.stringify(state)) as ObservedState
  const byId = <T>(items: readonly T[], idOf: (item: T) => string) =>
    items.toSorted((one, other) => (idOf(one) < idOf(other) ? -1 : 1))
  return {
    ...head,
    instances: byId(instances, ({ id }) => id),
    loadBalancers: byId(loadBalancers, ({ id }) => id).map((balancer) => ({
      ...balancer,
      members: byId(balancer.members, ({ instanceId }) => instanceId),
    })),
  }
}

const linesOf = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as ObservedLine)

function receive(copy: ObservedCopy, text: string): ObservedState | undefined {
  let state: ObservedState | undefined
  for (const line of linesOf(text)) state = copy.receive(line)
  return state
}

test('only what has changed is sent', () => {
  const ledger = new ObservedLedger()
  const many = Array.from({ length: 100 }, (_, index) => toInstance(`i${index}`, 0))
  ledger.update(toState(5, many, [toBalancer('front', { i1: 0, i2: 0 })]))
  const copy = new ObservedCopy()
  assert.equal(linesOf(ledger.linesSince(0)).length, 1 + 100 + 1 + 2 + 1)
  receive(copy, ledger.linesSince(0))

  const after = toState(
    6,
    [...many.slice(1, 99), toInstance('i99', 1)],
    [toBalancer('front', { i2: 4 })],
  )
  ledger.update(after)
  const changes = ledger.linesSince(5)
  assert.deepEqual(
    linesOf(changes)
      .slice(1)
      .map((line) => Object.keys(line)[0]),
    ['goneInstance', 'goneMember', 'instance', 'member', 'end'],
  )
  assert.deepEqual(normalise(receive(copy, changes)), normalise(after))
  assert.equal(linesOf(ledger.linesSince(6)).length, 2)
})

test('a client that has an unknown state gets everything', () => {
  const ledger = new ObservedLedger()
  ledger.update(toState(3, [toInstance('one', 0)]))
  for (const since of [0, 4, 1000]) {
    const copy = new ObservedCopy()
    assert.deepEqual(
      normalise(receive(copy, ledger.linesSince(since))),
      normalise(toState(3, [toInstance('one', 0)])),
    )
  }
  for (let sequence = 4; sequence < 20; sequence++) {
    const ids = Array.from({ length: 1000 }, (_, index) => toInstance(`${sequence}-${index}`, 0))
    ledger.update(toState(sequence, ids))
  }
  const [head] = linesOf(ledger.linesSince(3))
  assert.equal((head as { head: { since: number } }).head.since, 0)
})

test('changes that do not follow from what was received are rejected', () => {
  const ledger = new ObservedLedger()
  ledger.update(toState(3, []))
  ledger.update(toState(4, [toInstance('one', 0)]))
  assert.throws(() => receive(new ObservedCopy(), ledger.linesSince(3)), /not received/)
  const other = new ObservedLedger()
  other.update(toState(3, [], [], 2))
  const copy = new ObservedCopy()
  receive(copy, other.linesSince(0))
  assert.throws(() => receive(copy, ledger.linesSince(3)), /not received/)
  assert.throws(() => new ObservedCopy().receive({ end: true }), /before its state/)
})

test('copies follow through lost answers, restarts and pauses', () => {
  let seed = 42
  const random = (below: number) => {
    seed = (seed * 1103515245 + 12345) % 2147483648
    return seed % below
  }
  let pid = 1
  let ledger = new ObservedLedger()
  let sequence = 1
  const clients = [1, 2, 3].map(() => ({
    copy: new ObservedCopy(),
    known: undefined as ObservedState | undefined,
  }))
  for (let step = 0; step < 2000; step++) {
    if (random(100) === 0) {
      pid++
      ledger = new ObservedLedger()
      sequence = random(5) + 1
    }
    sequence += random(3)
    const instances = Array.from({ length: random(6) }, (_, index) =>
      toInstance(`i${index}`, random(3)),
    )
    const members = () =>
      Object.fromEntries(instances.filter(() => random(2) === 0).map(({ id }) => [id, random(3)]))
    const balancers = ['a', 'b']
      .filter(() => random(4) > 0)
      .map((id) => toBalancer(id, members(), random(2)))
    const candidate = toState(sequence, instances, balancers, pid)
    ledger.update(candidate)
    for (const client of clients) {
      if (random(3) > 0) continue
      const since = client.known?.pid === pid ? client.known.sequence : 0
      const text = ledger.linesSince(since)
      // The answer is lost after it was made.
      if (random(5) === 0) continue
      const state = receive(client.copy, text)
      const whole = receive(new ObservedCopy(), ledger.linesSince(0))
      assert.deepEqual(normalise(state), normalise(whole), `step ${step}`)
      client.known = state
    }
  }
})
