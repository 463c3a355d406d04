/** Life of an instance as a table: what each event leads to, without a process or a timer. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RunRecord } from '../../packages/agent/instance-files.ts'
import {
  firstState,
  type InstanceEffect,
  type InstanceState,
  type LifeEvent,
  next,
} from '../../packages/agent/instance-step.ts'
import type { Probe } from '../../packages/base/net/agent-protocol.ts'
import { toInstance } from '../support/agent.ts'

const readiness: Probe = {
  kind: 'tcp',
  host: '127.0.0.1',
  port: 80,
  intervalMs: 1_000,
  timeoutMs: 1_000,
}
const desired = toInstance('web', ['serve'], { readiness, stopGraceMs: 5_000 })
const job = { ...desired, restart: 'once' } as const
const run: RunRecord = {
  id: 'r',
  pid: 7,
  start: 's',
  pump: { pid: 8, start: 's' },
  startedAt: 0,
  controlGroup: undefined,
}

const wanted: LifeEvent = { kind: 'desired', desired }
const nothing: LifeEvent = { kind: 'found', isRunning: false, hasLeft: false }
const remains: LifeEvent = { ...nothing, hasLeft: true }
const cleared: LifeEvent = {
  kind: 'cleared',
  left: 0,
  wasKilledForMemory: false,
  hasLostPump: false,
  status: undefined,
}
const spawned: LifeEvent = { kind: 'spawned', run }
const launched: LifeEvent = { kind: 'launched' }
const healthy: LifeEvent = { kind: 'probed', result: { kind: 'healthy' }, ageMs: 40 }
const refused: LifeEvent = {
  ...healthy,
  result: { kind: 'unhealthy', refused: true, reason: 'nothing listens' },
}
const exited: LifeEvent = {
  kind: 'exited',
  end: { exitCode: 3, signal: undefined },
  endedAt: 2_000,
  ranMs: 2_000,
}
const persisted: LifeEvent = { kind: 'persisted' }
const waited: LifeEvent = { kind: 'waited' }
const tooMuch: LifeEvent = { kind: 'exceeded', reason: 'It used too much.' }
const newer: LifeEvent = { kind: 'desired', desired: { ...desired, generation: 2 } }

const started = [wanted, nothing, spawned, launched]
const startedJob: LifeEvent[] = [{ kind: 'desired', desired: job }, ...started.slice(1)]
const again = [exited, cleared, persisted, waited, spawned, launched]

interface Row {
  readonly title: string
  readonly known?: Partial<InstanceState['record']>
  readonly events: readonly LifeEvent[]
  /** Of the last event, in turn. */
  readonly effects: string
  readonly shows: Partial<Pick<InstanceState, 'phase' | 'reason' | 'isDown' | 'end'>>
  readonly notes?: string
  readonly record?: Partial<InstanceState['record']>
}

const rows: readonly Row[] = [
  {
    title: 'a new instance is launched',
    events: [wanted, nothing],
    effects: 'launch',
    shows: { phase: 'starting', isDown: true },
  },
  {
    title: 'a launched one is watched and probed at once',
    events: started,
    effects: 'watch, probe 0',
    shows: { phase: 'starting', isDown: false },
    notes: 'Started as process 7.',
  },
  {
    title: 'it is ready with its first success',
    events: [...started, healthy],
    effects: 'probe 1000',
    shows: { phase: 'ready' },
  },
  {
    title: 'it is probed soon at first',
    events: [...started, refused, refused],
    effects: 'probe 100',
    shows: { phase: 'starting', reason: 'It is not ready yet: nothing listens.' },
  },
  {
    title: 'a slow start names the port that it listens on',
    events: [...started, { ...refused, ageMs: 10_000, ports: [8080] }],
    effects: 'probe 50',
    shows: {
      reason:
        'It did not become ready within 10 s: nothing listens; it listens on port 8080 instead.',
    },
  },
  {
    title: 'two failures in a row leave it ready',
    events: [...started, healthy, refused, refused, healthy, refused, refused],
    effects: 'probe 1000',
    shows: { phase: 'ready' },
  },
  {
    title: 'the third failure in a row makes it unready',
    events: [...started, healthy, refused, refused, refused],
    effects: 'probe 1000',
    shows: { phase: 'unready', reason: 'It was ready, and now nothing listens.' },
  },
  {
    title: 'a success makes it ready again',
    events: [...started, healthy, refused, refused, refused, healthy],
    effects: 'probe 1000',
    shows: { phase: 'ready', reason: undefined },
    notes: 'Ready again.',
  },
  {
    title: 'what an ended program left behind is ended',
    events: [...started, healthy, exited],
    effects: 'onExit, clear 0',
    shows: { isDown: true },
  },
  {
    title: 'an ended program is recorded before it is started again',
    events: [...started, exited, { ...cleared, left: 2 }],
    effects: 'persist',
    shows: {
      phase: 'waiting',
      reason:
        'It ended with exit code 3, 2 s after its start and before it was ready. Processes that it had left behind were ended, too: a program ' +
        'has to stay in the foreground.',
    },
    record: { restarts: 1, quickEnds: 1 },
  },
  {
    title: 'it is started again after a pause',
    events: [...started, ...again.slice(0, 3)],
    effects: 'pause 100',
    shows: { phase: 'waiting' },
  },
  {
    title: 'each quick end doubles the pause',
    events: [...started, ...again, ...again.slice(0, 3)],
    effects: 'pause 200',
    shows: {},
  },
  {
    title: 'a program that ran for a minute is started again at once',
    events: [...started, ...again, { ...exited, ranMs: 60_000 }, cleared],
    effects: 'persist',
    shows: {},
    record: { restarts: 2, quickEnds: 0 },
  },
  {
    title: 'one that is ready again tells why it was started again',
    events: [...started, ...again, healthy],
    effects: 'probe 1000',
    shows: {
      phase: 'ready',
      reason:
        'It was started again once. It ended with exit code 3, 2 s after its start and before it was ready.',
    },
  },
  {
    title: 'a stable one forgets the reason',
    events: [...started, ...again, healthy, { kind: 'stable' }],
    effects: '',
    shows: { phase: 'ready', reason: undefined },
  },
  {
    title: 'a program beyond its limits is ended once',
    events: [...started, tooMuch],
    effects: 'terminate 0',
    shows: {},
  },
  {
    title: 'the first reason to end it counts',
    events: [...started, tooMuch, { ...tooMuch, reason: 'Another.' }, exited, cleared],
    effects: 'persist',
    shows: { reason: 'It used too much.' },
  },
  {
    title: 'the kernel ended it for its memory',
    events: [...started, exited, { ...cleared, wasKilledForMemory: true }],
    effects: 'persist',
    shows: { reason: 'It needed more memory than its limit, and the system ended it.' },
  },
  {
    title: 'a refused start is tried again',
    events: [wanted, nothing, { kind: 'refused', reason: 'The disk is full.', isFinal: false }],
    effects: 'pause 100',
    shows: { phase: 'waiting', reason: 'The disk is full. It is started again after 100 ms.' },
  },
  {
    title: 'a start that cannot succeed is final',
    events: [wanted, nothing, { kind: 'refused', reason: 'No such program.', isFinal: true }],
    effects: '',
    shows: { phase: 'failed', reason: 'No such program.' },
  },
  {
    title: 'the next generation stops the program',
    events: [...started, newer],
    effects: 'stop 5000',
    shows: { phase: 'stopping' },
  },
  {
    title: 'a generation that comes while it is launched stops it, too',
    events: [...started.slice(0, 3), newer, launched],
    effects: 'watch, stop 5000',
    shows: { phase: 'stopping' },
  },
  {
    title: 'the next generation starts with no restarts',
    events: [...started, ...again, newer, exited, cleared, remains, cleared],
    effects: 'launch',
    shows: { phase: 'starting', end: undefined },
    record: { generation: 2, restarts: 0, quickEnds: 0, run: undefined },
  },
  {
    title: 'a generation does not wait for the pause',
    events: [...started, ...again.slice(0, 3), newer],
    effects: 'inspect',
    shows: {},
  },
  {
    title: 'the same generation changes nothing',
    events: [...started, healthy, { ...wanted, desired: { ...desired, stopGraceMs: 1 } }],
    effects: '',
    shows: { phase: 'ready' },
  },
  {
    title: 'one that is removed is stopped',
    events: [...started, { kind: 'unwanted' }],
    effects: 'stop 5000',
    shows: { phase: 'stopping' },
  },
  {
    title: 'a removed one is released at its end',
    events: [...started, { kind: 'unwanted' }, exited, cleared],
    effects: 'release',
    shows: { end: { exitCode: 3, signal: undefined, endedAt: 2_000 } },
    notes: 'It was stopped: it ended with exit code 3.',
  },
  {
    title: 'a process of an agent before is adopted',
    known: { generation: 1, run },
    events: [wanted, { ...remains, isRunning: true }],
    effects: 'watch, probe 0',
    shows: { isDown: false },
    notes: 'Adopted process 7, which had been started before.',
  },
  {
    title: 'a program that ended without an agent is started again',
    known: { generation: 1, run },
    events: [wanted, remains, cleared],
    effects: 'launch',
    shows: {},
    notes: 'It ended while no agent watched it.',
    record: { restarts: 1 },
  },
  {
    title: 'processes of an older generation end before the next starts',
    known: { generation: 0, run, stopGraceMs: 300 },
    events: [wanted, remains],
    effects: 'clear 300',
    shows: { phase: 'stopping' },
  },
  {
    title: 'a command ends with the code that its shell reports',
    events: [...startedJob, exited, { ...cleared, status: { code: 0, endedAt: 9 } }, persisted],
    effects: '',
    shows: { phase: 'ended', reason: 'It ended with exit code 0, 2 s after its start.' },
  },
  {
    title: 'the outcome of a command is known to the next agent',
    known: {
      generation: 1,
      run,
      outcome: { exitCode: 0, signal: undefined, endedAt: 9, reason: 'It ended well.' },
    },
    events: [{ kind: 'desired', desired: job }, remains, cleared],
    effects: '',
    shows: { phase: 'ended', reason: 'It ended well.' },
  },
  {
    title: 'a command that had not begun is started by the next agent',
    known: { generation: 1, run },
    events: [{ kind: 'desired', desired: job }, remains, { ...cleared, status: 'unstarted' }],
    effects: 'launch',
    shows: {},
  },
  {
    title: 'after a fault of the agent it looks what is there',
    events: [...started, { kind: 'failed', message: 'EMFILE' }, waited],
    effects: 'inspect',
    shows: {},
    notes: 'The agent failed: EMFILE.',
  },
]

for (const { title, known, events, effects, shows, notes, record = {} } of rows) {
  test(title, () => {
    let state = firstState(undefined)
    state = { ...state, record: { ...state.record, ...known } }
    let done: readonly InstanceEffect[] = []
    for (const event of events) ({ state, effects: done } = next(state, event, 1_000))

    assert.equal(done.map((effect) => Object.values(effect).join(' ')).join(', '), effects)
    assert.deepEqual({ ...state, ...shows }, state)
    assert.deepEqual({ ...state.record, ...record }, state.record)
    if (notes !== undefined) assert.equal(state.record.events.at(-1)?.text, notes)
  })
}
