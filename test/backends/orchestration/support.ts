/** Starts the engine with a clock that tests move, and has short names for what scenarios do all the time. */
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  defaultOutsideSettings,
  type OutsideSettings,
} from '../../../packages/base/outside/settings.ts'
import type { PipelineLimits } from '../../../packages/engine/limits.ts'
import type { Execution, Stage, Task } from '../../../packages/engine/orchestration/model.ts'
import type { ManifestSettings } from '../../../packages/engine/orchestration/settings.ts'
import type { ScriptSettings } from '../../../packages/engine/orchestration/stages/builds/settings.ts'
import { orchestrationBackend } from '../../../packages/engine/orchestration-backend.ts'
import type { Backend } from '../../../packages/ports/backend.ts'
import type { CallService, ServiceAnswer } from '../../../packages/ports/service-call.ts'
import { defaults } from '../../support/backend-settings.ts'
import { type Backends, startBackends } from '../../support/backends.ts'

/** The task view (docs/contracts/orchestration.md#task-view). */
export interface TaskView {
  id: string
  name: string
  application: string
  status: string
  buildTime: number
  startTime?: number
  endTime?: number
  variables: { key: string; value: unknown }[]
  steps: Task[]
  execution: Execution
}

/** The value of a variable of a task. */
export function variable(view: TaskView, key: string): unknown {
  return view.variables.find((each) => each.key === key)?.value
}

/** A value deep inside JSON: `at(stage, 'context', 'exception', 'details')`. */
export function at(value: unknown, ...path: (string | number)[]): unknown {
  return path.reduce<unknown>(
    (found, key) => (found as Record<string | number, unknown> | undefined)?.[key],
    value,
  )
}

export interface Clock {
  now: () => number
  /** What has passed by it, unless it is set. */
  steady?: (() => number) | undefined
  /** Moves the clock forward. */
  pass(seconds: number): void
  /** Lets the engine do what is due now. */
  settled(): Promise<void>
}

export interface SettableClock extends Clock {
  /** Somebody sets it; no time passes. */
  jump(seconds: number): void
}

export function createClock(start = Date.UTC(2031, 4, 6, 12)): SettableClock {
  let [now, jumped] = [start, 0]
  const pass = (seconds: number) => {
    now += seconds * 1000
  }
  const jump = (seconds: number) => {
    pass(seconds)
    jumped += seconds * 1000
  }
  return { now: () => now, steady: () => now - jumped, pass, jump, settled: () => sleep(20) }
}

export interface TestEngine {
  clock: Clock
  backends: Backends
  ask(method: string, path: string, body?: unknown, user?: string): Promise<ServiceAnswer>
  /** Starts a pipeline of application `app` named `p` and returns its id. */
  run(definition: Record<string, unknown>, user?: string): Promise<string>
  /** Submits jobs and returns the id of the task. */
  task(...jobs: Record<string, unknown>[]): Promise<string>
  execution(id: string): Promise<Execution>
  view(id: string): Promise<TaskView>
  /** The stage with a reference, of the execution as it is now. */
  stage(id: string, refId: string): Promise<Stage>
  /** Asks until `read` gives something true. */
  eventually<T>(read: () => Promise<T>): Promise<T>
  /** Waits until the execution has the status. */
  ends(id: string, status: string): Promise<Execution>
  /** As `ends`, for a task. */
  taskEnds(id: string, status: string): Promise<TaskView>
}

export interface EngineOptions {
  others?: CallService
  dataDir?: string
  clock?: Clock
  backends?: readonly Backend[]
  /** Whether a permission service decides. */
  authorization?: boolean
  /** Bounds of pipelines, where they differ from the defaults. */
  limits?: Partial<PipelineLimits>
  /** Calls to addresses of authors, where they differ from the defaults. */
  outside?: Partial<OutsideSettings>
  /** Stages of manifests, where they differ from the defaults. */
  manifests?: Partial<ManifestSettings> | undefined
  /** The job of `script` stages. */
  script?: ScriptSettings
  /** Longest time of one attempt of a task, where it differs from the default. */
  attemptMs?: number
}

/** What the services answer when the test says nothing about them: nothing is known. */
const nothingKnown: CallService = async () => ({ status: 404, body: undefined })

export async function startEngine(
  t: TestContext,
  options: EngineOptions = {},
): Promise<TestEngine> {
  const clock = options.clock ?? createClock()
  const backends = await startBackends(t, [orchestrationBackend, ...(options.backends ?? [])], {
    now: clock.now,
    steady: clock.steady,
    others: options.others ?? nothingKnown,
    dataDir: options.dataDir,
    settings: {
      authorization: options.authorization,
      attemptMs: options.attemptMs,
      ...(options.script !== undefined && { script: options.script }),
      limits: { ...defaults.limits, ...options.limits },
      outside: { ...defaultOutsideSettings, ...options.outside },
      manifests: { ...defaults.manifests, ...options.manifests },
    },
  })
  const ask: TestEngine['ask'] = (method, path, body, user) =>
    backends.ask('orca', method, path, body, user === undefined ? {} : { 'x-spinnaker-user': user })
  const started = (answer: ServiceAnswer): string => {
    const ref = at(answer.body, 'ref')
    if (answer.status !== 200 || ref === undefined)
      throw new Error(`refused: ${answer.status} ${JSON.stringify(answer.body)}`)
    return String(ref).split('/').at(-1) as string
  }
  const execution = async (id: string) => (await ask('GET', `/pipelines/${id}`)).body as Execution
  const view = async (id: string) => (await ask('GET', `/tasks/${id}`)).body as TaskView
  const eventually: TestEngine['eventually'] = async (read) => {
    const until = performance.now() + 120_000
    for (let pauseMs = 5; ; pauseMs = Math.min(pauseMs * 1.5, 100)) {
      const value = await read()
      if (value || performance.now() > until) return value
      await sleep(pauseMs)
    }
  }
  const reaches = async <T extends { status: string }>(
    read: () => Promise<T>,
    status: string,
  ): Promise<T> => {
    const found = await eventually(async () => {
      const value = await read()
      return value.status === status ? value : undefined
    })
    if (found !== undefined) return found
    throw new Error(`never ${status}: ${JSON.stringify(await read(), undefined, 1)}`)
  }
  // Any request makes the engine look at what is due.
  clock.settled = async () => {
    for (let round = 0; round < 3; round++) {
      await ask('GET', '/executions/activeByInstance')
      await sleep(5)
    }
  }
  return {
    clock,
    backends,
    ask,
    run: async (definition, user) =>
      started(
        await ask('POST', '/orchestrate', { application: 'app', name: 'p', ...definition }, user),
      ),
    task: async (...job) =>
      started(await ask('POST', '/ops', { application: 'app', description: 'd', job })),
    execution,
    view,
    stage: async (id, refId) => {
      const found = (await execution(id)).stages.find((stage) => stage.refId === refId)
      if (found === undefined) throw new Error(`no stage ${refId}`)
      return found
    },
    eventually,
    ends: (id, status) => reaches(() => execution(id), status),
    taskEnds: (id, status) => reaches(() => view(id), status),
  }
}

/** A stage that waits. */
export function W(
  refId: string,
  waitTime: number,
  ...requisiteStageRefIds: string[]
): Record<string, unknown> {
  return { refId, type: 'wait', waitTime, requisiteStageRefIds }
}

/** A stage that waits for a person. */
export function J(refId: string, ...requisiteStageRefIds: string[]): Record<string, unknown> {
  return { refId, type: 'manualJudgment', requisiteStageRefIds }
}

/** A stage that fails. */
export function F(
  refId: string,
  requisiteStageRefIds: string[] = [],
  options: Record<string, unknown> = {},
): Record<string, unknown> {
  const preconditions = [{ type: 'expression', context: { expression: 'false' } }]
  return { refId, type: 'checkPreconditions', requisiteStageRefIds, preconditions, ...options }
}

/** A stage that evaluates variables. */
export function V(
  refId: string,
  variables: Record<string, unknown>,
  ...requisiteStageRefIds: string[]
): Record<string, unknown> {
  const entries = Object.entries(variables).map(([key, value]) => ({ key, value }))
  return { refId, type: 'evaluateVariables', requisiteStageRefIds, variables: entries }
}
