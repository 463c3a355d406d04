/** A build service that answers each operation in turn, and an engine whose clock moves until a stage is over. */
import type { TestContext } from 'node:test'
import type { Stage } from '../../../../packages/engine/orchestration/model.ts'
import type {
  CallService,
  ServiceAnswer,
  ServiceCall,
} from '../../../../packages/ports/service-call.ts'
import { type EngineOptions, startEngine, type TestEngine } from '../support.ts'

export type Answer = readonly [status: number, body?: unknown]

export interface BuildEngine {
  readonly engine: TestEngine
  /** Calls that the build service has got. */
  readonly calls: ServiceCall[]
  /** `PUT /masters/ci/jobs/app?ENV=prod`, in order. */
  readonly log: () => string[]
  start(stage: Record<string, unknown>): Promise<string>
  /** Lets time pass until the execution has the status; its first stage. */
  ends(id: string, status: string): Promise<Stage>
  runs(stage: Record<string, unknown>, status?: string): Promise<Stage>
}

/** Results of operations by method and path; the last of several answers is repeated. */
export type Answers = Record<string, Answer[] | ((call: ServiceCall) => Promise<Answer>)>

export const build = (number: number, more: Record<string, unknown> = {}) => ({
  number,
  building: false,
  result: 'SUCCESS',
  url: `https://ci.example/app/${number}`,
  ...more,
})

/** Of a job `app` on the server `ci` whose build 7 leaves the queue as item 41. */
export const answersOfApp: Answers = {
  'PUT /masters/ci/jobs/app': [[200, 41]],
  'GET /builds/queue/ci/41': [[200, { number: 7 }]],
  'GET /builds/status/7/ci/app': [[200, build(7)]],
  'GET /builds/artifacts/7/ci/app': [[200, []]],
  'PUT /masters/ci/jobs/app/stop/41/7': [[200, true]],
  'PUT /masters/ci/jobs/app/stop/41/0': [[200, true]],
}

export const app = { type: 'jenkins', master: 'ci', job: 'app' }

export async function startBuildEngine(
  t: TestContext,
  answers: Answers,
  options: EngineOptions = {},
): Promise<BuildEngine> {
  const calls: ServiceCall[] = []
  const others: CallService = async (service, call): Promise<ServiceAnswer> => {
    if (service !== 'igor') return { status: 404, body: undefined }
    calls.push(call)
    const key = `${call.method} ${call.path.split('?')[0]}`
    const known = Object.hasOwn(answers, key) ? answers[key] : undefined
    const given =
      typeof known === 'function'
        ? await known(call)
        : (known?.length ?? 0) > 1
          ? known?.shift()
          : known?.[0]
    const [status, body] = given ?? [404, { message: `nothing has the path ${call.path}` }]
    return { status, body }
  }
  const engine = await startEngine(t, { ...options, others })
  const start = (stage: Record<string, unknown>) =>
    engine.run({ stages: [{ refId: '1', ...stage }] })
  const ends = async (id: string, status: string) => {
    await engine.eventually(async () => {
      engine.clock.pass(5)
      await engine.clock.settled()
      return (await engine.execution(id)).status === status
    })
    await engine.ends(id, status)
    return engine.stage(id, '1')
  }
  return {
    engine,
    calls,
    log: () => calls.map(({ method, path }) => `${method} ${path}`),
    start,
    ends,
    runs: async (stage, status = 'SUCCEEDED') => ends(await start(stage), status),
  }
}
