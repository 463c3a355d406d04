/** Commands of bakes that the agent runs, so that a restart of Fairlead does not end them. */
import { join } from 'node:path'
import type { AgentClient } from '../../../../agent/client.ts'
import { BackendError } from '../../../backend.ts'
import { ImageFile } from '../../../images/image-file.ts'
import type { BuilderOrder, Builders } from '../../baker.ts'
import type { LocalJob } from './desired.ts'
import type { OperationParts } from './operations/parts.ts'
import { toProgram } from './program.ts'

/** Beside its memory, a bake takes what it needs; this is no instance type of the configuration. */
const unlimited = 'build'
const stopSeconds = 5
/** Size of a log. */
const logBytes = 1024 * 1024

interface BuilderParts {
  readonly agent: AgentClient
  readonly dataDir: string
  readonly parts: OperationParts
}

export function createBuilders({ agent, dataDir, parts }: BuilderParts): Builders {
  const { desired, reconciler, images } = parts

  const find = (id: string): LocalJob | undefined => {
    const job = desired.get('jobs', id)
    return job?.isBuild === true && job.leavingRevision === undefined ? job : undefined
  }

  return {
    images,
    ids: () => [...desired.all('jobs')].filter(({ id }) => find(id) !== undefined).map(({ id }) => id),
    start(id, order) {
      const job = toJob(id, order, parts)
      if (find(id) === undefined) reconciler.change(() => desired.put('jobs', job))
    },
    look(id) {
      const job = find(id)
      if (job === undefined) return undefined
      const folder = join(dataDir, 'instances', id, 'work')
      if (job.end !== undefined) return { hasEnded: true, exitCode: job.end.exitCode, reason: job.end.reason, folder }
      const observed = reconciler.observation.instances.get(id)
      const hasEnded = observed?.phase === 'ended' || observed?.phase === 'failed'
      return { hasEnded, exitCode: undefined, reason: observed?.reason ?? agent.problem(), folder }
    },
    console: async (id) => (find(id) && (await agent.console(id, logBytes).catch(() => undefined))) ?? '',
    remove(id) {
      const job = find(id)
      if (job !== undefined) {
        reconciler.change(() => desired.put('jobs', { ...job, leavingRevision: desired.revision + 1 }))
      }
    },
  }
}

/** @throws {BackendError} 400 when the account cannot run it */
function toJob(id: string, order: BuilderOrder, { settings, users, context }: OperationParts): LocalJob {
  const { account, image, command, environment, timeLimitMs, memoryMb, diskMb } = order
  const place = settings.accounts.find(({ name }) => name === account)
  if (place === undefined) throw new BackendError(400, `The account "${account}" does not exist.`)
  const problem = users.problemOf(account)
  if (problem !== undefined) throw new BackendError(400, problem)
  const limits = { memoryMb, diskMb }
  return {
    id,
    name: id,
    account,
    region: place.regions[0]?.name ?? '',
    application: '',
    createdMs: context.now(),
    timeLimitMs,
    image: image?.id,
    program: toProgram(ImageFile.parse({ command }), { environment, stopSeconds, limits }),
    digest: image?.digest,
    instanceType: unlimited,
    labels: {},
    end: undefined,
    isBuild: true,
    leavingRevision: undefined,
  }
}
