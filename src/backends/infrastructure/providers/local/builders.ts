/** Commands of bakes that the agent runs, so that a restart of Fairlead does not end them. */
import { join } from 'node:path'
import type { AgentClient } from '../../../../agent/client.ts'
import { BackendError } from '../../../backend.ts'
import { ImageFile } from '../../../images/image-file.ts'
import type { LocalJob } from './desired.ts'
import type { OperationParts } from './operations/parts.ts'
import { toProgram } from './program.ts'

/** Beside its memory, a bake takes what it needs; this is no instance type of the configuration. */
const unlimited = 'build'
const stopSeconds = 5
/** Size of a log. */
const logBytes = 1024 * 1024

export interface BuilderOrder {
  readonly account: string
  /** The working directory begins with its content. */
  readonly image: { readonly id: string; readonly digest: string } | undefined
  readonly command: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  readonly timeLimitMs: number
  readonly memoryMb: number
  readonly diskMb: number
}

interface BuilderState {
  readonly hasEnded: boolean
  readonly exitCode: number | undefined
  readonly reason: string | undefined
  readonly folder: string
}

export class Builders {
  readonly #agent: AgentClient
  readonly #dataDir: string
  readonly #parts: OperationParts

  constructor(agent: AgentClient, dataDir: string, parts: OperationParts) {
    this.#agent = agent
    this.#dataDir = dataDir
    this.#parts = parts
  }

  ids(): string[] {
    return [...this.#parts.desired.all('jobs')].filter(isBuilder).map(({ id }) => id)
  }

  /** Once for each id. @throws {BackendError} 400 */
  start(id: string, order: BuilderOrder): void {
    const { desired, reconciler } = this.#parts
    const job = toJob(id, order, this.#parts)
    if (this.#find(id) === undefined) reconciler.change(() => desired.put('jobs', job))
  }

  /** Undefined when it does not exist. */
  look(id: string): BuilderState | undefined {
    const job = this.#find(id)
    if (job === undefined) return undefined
    const folder = join(this.#dataDir, 'instances', id, 'work')
    if (job.end !== undefined) return { hasEnded: true, exitCode: job.end.exitCode, reason: job.end.reason, folder }
    const observed = this.#parts.reconciler.observation.instances.get(id)
    const hasEnded = observed?.phase === 'ended' || observed?.phase === 'failed'
    return { hasEnded, exitCode: undefined, reason: observed?.reason ?? this.#agent.problem(), folder }
  }

  /** The newest part of what it has written until now. */
  async console(id: string): Promise<string> {
    return (this.#find(id) && (await this.#agent.console(id, logBytes).catch(() => undefined))) ?? ''
  }

  /** Stops it and removes its folder. */
  remove(id: string): void {
    const { desired, reconciler } = this.#parts
    const job = this.#find(id)
    if (job !== undefined) reconciler.change(() => desired.dismissJob(job))
  }

  #find(id: string): LocalJob | undefined {
    const job = this.#parts.desired.get('jobs', id)
    return job !== undefined && isBuilder(job) ? job : undefined
  }
}

function isBuilder({ isBuild, leavingRevision }: LocalJob): boolean {
  return isBuild === true && leavingRevision === undefined
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
