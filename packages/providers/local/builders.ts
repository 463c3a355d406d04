/** Commands of bakes and builds that the agent runs, so that a restart of Fairlead does not end them. */

import { definedOf } from '@fairlead/base/json/values.ts'
import type { Agent, ConsolePart, ConsoleWish } from '@fairlead/base/net/agent-protocol.ts'
import { workFolderOf } from '@fairlead/base/outside/builder-process.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { ImageFile } from '@fairlead/ports/image-file.ts'
import type { BuilderOrder, BuilderState, MachineBuilders } from '@fairlead/ports/machine.ts'
import type { LocalJob } from './desired.ts'
import type { OperationParts } from './operations/parts.ts'
import { toProgram } from './program.ts'
import { ProgramSecrets, sealEnvironment } from './program-secrets.ts'

/** Limits a builder by its own bounds only; it is no instance type of the configuration. */
const unlimited = 'build'
const stopSeconds = 5
const logBytes = 1024 * 1024

export class Builders implements MachineBuilders {
  readonly #agent: Agent
  readonly #parts: OperationParts
  readonly #secrets: ProgramSecrets

  constructor(agent: Agent, parts: OperationParts) {
    this.#agent = agent
    this.#parts = parts
    this.#secrets = new ProgramSecrets(parts.context, parts.variables)
  }

  ids(owner: 'bake' | 'build'): string[] {
    const builders = [...this.#parts.desired.all('jobs')].filter(isBuilder)
    return builders.map(({ id }) => id).filter((id) => id.startsWith(`${owner}-`))
  }

  start(id: string, order: BuilderOrder): void {
    const { desired, reconciler } = this.#parts
    const job = toJob(id, order, this.#parts)
    if (this.#find(id) === undefined) reconciler.change(() => desired.put('jobs', job))
  }

  /** Its working directory, also before it begins. */
  folderOf(id: string): string {
    return workFolderOf(this.#parts.dataDir, id)
  }

  look(id: string): BuilderState | undefined {
    const job = this.#find(id)
    if (job === undefined) return undefined
    const folder = this.folderOf(id)
    const { end } = job
    if (end !== undefined)
      return { hasEnded: true, hasBegun: true, exitCode: end.exitCode, reason: end.reason, folder }
    const observed = this.#parts.reconciler.observation.instances.get(id)
    const hasEnded = observed?.phase === 'ended' || observed?.phase === 'failed'
    const hasBegun = hasEnded || observed?.phase === 'ready'
    return {
      hasEnded,
      hasBegun,
      exitCode: undefined,
      reason: observed?.reason ?? this.#agent.problem(),
      folder,
    }
  }

  async console(id: string): Promise<string> {
    const job = this.#find(id)
    if (job === undefined) return ''
    return this.#secrets.mask(
      (await this.#agent.console(id, logBytes).catch(() => undefined)) ?? '',
      job,
    )
  }

  async consolePart(
    id: string,
    wish: ConsoleWish,
    maxBytes: number,
  ): Promise<ConsolePart | undefined> {
    return (
      this.#find(id) && (await this.#agent.consolePart(id, wish, maxBytes).catch(() => undefined))
    )
  }

  async logPart(id: string, offset: number, maxBytes: number): Promise<ConsolePart | undefined> {
    return this.#find(id) && (await this.#agent.consolePartFrom(id, offset, maxBytes))
  }

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

/** @throws {PortError} 400 when the account cannot run it */
function toJob(
  id: string,
  order: BuilderOrder,
  { settings, users, context }: OperationParts,
): LocalJob {
  const {
    account,
    image,
    command,
    environment,
    timeLimitMs,
    memoryMb,
    diskMb,
    processes,
    content,
    consoleBytes,
  } = order
  const place = settings.accounts.find(({ name }) => name === account)
  if (place === undefined) throw new PortError(400, `The account "${account}" does not exist.`)
  const problem = users.problemOf(account)
  if (problem !== undefined) throw new PortError(400, problem)
  const limits = { memoryMb, diskMb, processes }
  const sealed =
    order.revealed &&
    sealEnvironment(environment, order.revealed, { account, secrets: context.ports.secrets })
  return {
    id,
    name: id,
    account,
    region: place.regions[0]?.name ?? '',
    application: order.application ?? '',
    createdMs: context.now(),
    timeLimitMs,
    image: image?.id,
    program: toProgram(ImageFile.parse({ command }), {
      environment: sealed === undefined ? environment : {},
      stopSeconds,
      limits,
    }),
    digest: image?.digest,
    instanceType: unlimited,
    labels: {},
    end: undefined,
    isBuild: true,
    leavingRevision: undefined,
    ...definedOf({ content, consoleBytes, sealed }),
  }
}
