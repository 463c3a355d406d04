/** Steps of long executions: what the engine takes for one, by how much the record holds. In this process, without HTTP. */
import { join } from 'node:path'
import { cpuUsage } from 'node:process'
import { setImmediate as turn } from 'node:timers/promises'
import { openDatabase } from '../packages/base/storage/database.ts'
import { GroupCommit } from '../packages/base/storage/group-commit.ts'
import { migrate } from '../packages/base/storage/migrations.ts'
import { createUlids } from '../packages/base/storage/ulid.ts'
import { Engine } from '../packages/engine/orchestration/engine.ts'
import type { EngineOptions } from '../packages/engine/orchestration/engine-parts.ts'
import type { Execution, Stage } from '../packages/engine/orchestration/model.ts'
import { orchestrationMigrations } from '../packages/engine/orchestration/schema.ts'
import type { StageType } from '../packages/engine/orchestration/stages/stage-type.ts'
import { ExecutionStore } from '../packages/engine/orchestration/store.ts'
import { median, print } from './measure.ts'
import type { BenchOptions } from './options.ts'
import type { Scratch } from './targets.ts'

const records = {
  'one stage': { stages: 1, bytes: 0 },
  '300 stages': { stages: 300, bytes: 0 },
  '300 stages, 4 MB in one that has ended': { stages: 300, bytes: 4_000_000 },
  '4 MB in the stage itself': { stages: 1, bytes: 4_000_000 },
}
const warmUpSteps = 300
const rounds = 5

export async function measureSteps({ isShort }: BenchOptions, scratch: Scratch): Promise<void> {
  const rows = []
  for (const [record, held] of Object.entries(records)) {
    const open = openEngine(join(scratch.dir('steps'), 'steps.db'), held)
    const isHeavy = held.stages === 1 && held.bytes > 0
    const count = isHeavy ? 10 : isShort ? 100 : 400
    await open.steps(isHeavy ? 2 : warmUpSteps)
    const times: number[] = []
    for (let round = 0; round < rounds; round++) {
      const before = cpuUsage()
      await open.steps(count)
      const { user, system } = cpuUsage(before)
      times.push((user + system) / 1000 / count)
    }
    await open.close()
    rows.push({
      record,
      'CPU ms/step: median': median(times).toFixed(2),
      least: Math.min(...times).toFixed(2),
    })
  }
  print('A step of an execution, by its record', rows)
}

/** Its last stage looks and records a number, as often as it is asked. */
function openEngine(file: string, held: (typeof records)['one stage']) {
  const db = openDatabase(file)
  migrate(db, 'orca', orchestrationMigrations)
  const commits = new GroupCommit(db, { log: { sync: async () => {}, close: async () => {} } })
  let [now, looks] = [Date.now(), 0]
  const look: StageType = {
    type: 'look',
    steps: [
      {
        name: 'look',
        decide: () => ({ status: 'RUNNING', pollMs: 1, context: { looks: ++looks } }),
      },
    ],
  }
  const ignore = () => undefined
  const engine = new Engine({
    commits,
    store: new ExecutionStore(db, commits),
    stageTypes: new Map([['look', look]]),
    limits: {
      stages: 1000,
      requisites: 10_000,
      entries: 1000,
      bytes: 16e6,
      versions: 1,
      depth: 1,
      descendants: 1,
    },
    now: () => now,
    steady: () => now,
    nextId: createUlids(() => now),
    ports: new Proxy({}, { get: () => ({}) }),
    attemptMs: 1000,
    log: console,
    notices: { note: () => [], send: ignore },
    publish: ignore,
    // What such a step does not use.
  } as unknown as EngineOptions)
  engine.start()
  engine.transact((unit) => unit.submit(toExecution(held, now)))
  return {
    async steps(count: number) {
      for (const end = looks + count; looks < end; await turn()) {
        now += 1000
        engine.catchUp()
      }
      await commits.stored()
    },
    async close() {
      engine.stop()
      await commits.close()
      db.close()
    },
  }
}

function toExecution({ stages, bytes }: (typeof records)['one stage'], now: number): Execution {
  const items = Array.from({ length: bytes / 100 }, (_, n) => ({ n, text: 'x'.repeat(80) }))
  const list = Array.from(
    { length: stages },
    (_, n): Stage => ({
      id: `stage-${n}-of-the-execution`,
      refId: String(n),
      type: 'look',
      name: `Stage ${n}`,
      status: n < stages - 1 ? 'SUCCEEDED' : 'NOT_STARTED',
      context: {
        account: 'prod',
        comments: 'What an author has written. '.repeat(8),
        items: n === 0 ? items : [],
      },
      outputs: {},
      tasks: [],
      requisiteStageRefIds: n === 0 ? [] : [String(n - 1)],
      engine: {},
    }),
  )
  const trigger = { type: 'manual', user: 'ann', parameters: {}, artifacts: [], notifications: [] }
  return {
    type: 'PIPELINE',
    id: 'execution',
    rootId: 'execution',
    application: 'app',
    status: 'NOT_STARTED',
    buildTime: now,
    canceled: false,
    limitConcurrent: false,
    maxConcurrentExecutions: 0,
    keepWaitingPipelines: false,
    origin: 'api',
    authentication: { user: 'ann', allowedAccounts: [] },
    trigger: { ...trigger, rebake: false, dryRun: false, strategy: false },
    stages: list,
    notifications: [],
    initialConfig: {},
    systemNotifications: [],
    spelEvaluator: 'v4',
    additionalHeaders: {},
    engine: { headers: {}, followUps: [] },
  }
}
