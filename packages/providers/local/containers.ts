/** Containers on this machine: which runtime an account has, which image is meant, and how an instance of it is started. */
import { basename, join } from 'node:path'
import { list, or, shape } from '@fairlead/base/json/shape.ts'
import { definedOf, objectOf, textOf, textsOf } from '@fairlead/base/json/values.ts'
import type { ProgramLimits } from '@fairlead/base/net/agent-protocol.ts'
import { findOnPath, isExecutable } from '@fairlead/base/runtime/find-program.ts'
import { callRuntime, type RuntimeCaller } from '@fairlead/base/sandbox/container-runtime.ts'
import { looksSecret } from '@fairlead/model/secrets/secret-names.ts'
import type { ContainerFile } from '@fairlead/ports/image-file.ts'
import type { LocalInstance } from './desired.ts'
import type { GroupContainer } from './program.ts'
import type { LocalAccountSettings } from './settings.ts'
import type { AccountUsers } from './users.ts'

/** Looked for in this order. */
const runtimes = ['podman', 'docker'] as const
/** Port of a program whose archived image does not say one. */
const usualPort = 8080
/** Keeps what is not running from `image prune`. */
const archivedName = 'localhost/fairlead'
const pullMs = 20 * 60_000
/** What both read from their environment: where their service, storage and logins are, and proxies. */
const runtimeVariable =
  /^(PATH|LANG|HOME|TMPDIR|XDG_\w+|DOCKER_\w+|CONTAINERS?_\w+|STORAGE_\w+|REGISTRY_AUTH_FILE|\w+_PROXY)$/i
/** Variables of a user. */
const ownVariable = /^(HOME|TMPDIR|XDG_\w+)$/

/** An image that a registry may have: named in full, so that no search decides which one is meant. */
export function isContainerImage(id: string): boolean {
  return /^[a-z0-9][a-z0-9.:-]*(\/[a-z0-9._-]+)+(:[\w.-]+)?(@sha256:[0-9a-f]{64})?$/i.test(id)
}

/** The path of the configured runtime, or of the first that is installed; undefined: none is. */
export function findRuntime(configured: string | undefined): string | undefined {
  const path = process.env['PATH'] ?? ''
  const find = (name: string) =>
    name.includes('/') ? (isExecutable(name) ? name : undefined) : findOnPath(name, path)
  return (configured === undefined ? runtimes : [configured])
    .map(find)
    .find((found) => found !== undefined)
}

interface ResolvedContainer {
  readonly container: GroupContainer
  readonly digest: string
  /** Id of the image, if it is here for Fairlead only. */
  readonly pulledId: string | undefined
}

interface ContainersOptions {
  readonly accounts: readonly Pick<LocalAccountSettings, 'name' | 'containerRuntime'>[]
  readonly users: AccountUsers
  /** Identifies the data directory in labels. */
  readonly agentMark: string
}

export class Containers {
  readonly #options: ContainersOptions
  #holders = 0
  /** The last removal; looking for an image waits for it. */
  #removal: Promise<unknown> = Promise.resolve()

  constructor(options: ContainersOptions) {
    this.#options = options
  }

  problemOf(account: string): string | undefined {
    const configured = this.#configured(account)
    if (findRuntime(configured) !== undefined) return undefined
    return configured === undefined
      ? 'This machine has no container runtime: install podman (apt-get install podman) or Docker, or deploy a program.'
      : `The container runtime of the account ${account}, ${configured}, is not installed. Install it (apt-get install podman or docker.io), or correct container-runtime.`
  }

  /**
   * Pulls or loads an image unless it is here, and says what exactly it is.
   *
   * @param folder Has its archive
   * @throws {Error} that says what to do
   */
  async resolve(
    account: string,
    file: ContainerPlan,
    { signal, folder }: { readonly signal: AbortSignal; readonly folder: string | undefined },
  ): Promise<ResolvedContainer> {
    await this.#removal
    const caller = this.toCaller(account)
    const { archive } = file
    const image = archive?.id ?? withoutTag(file.image)
    const before = await inspect(caller, image)
    const isFixed = image.includes('@') || /^(localhost\/|sha256:)/.test(image)
    if (archive !== undefined && before === undefined)
      await load(caller, { file: join(folder ?? '', archive.file), image: file.image }, signal)
    else if (before === undefined || !isFixed) await pull(caller, image, signal)
    const found = await inspect(caller, image)
    if (found === undefined) throw new Error(`${caller.runtime} does not show the image ${image}.`)
    if (archive !== undefined)
      await callRuntime(caller, ['tag', found.id, `${archivedName}:${found.id.slice(7, 19)}`])
    const [repository] = withoutTag(`${image}@`).split('@')
    const reference =
      archive === undefined
        ? (found.digests.find((each) => each.startsWith(`${repository}@`)) ??
          (image.includes('@') ? image : (found.digests[0] ?? found.id)))
        : found.id
    const isOwn = file.network === 'own'
    const container = {
      image: file.image,
      reference,
      port: portOf(file, found.ports),
      ...(isOwn && { network: 'own' as const }),
      ...definedOf({ files: file.files }),
    }
    return {
      container,
      digest: reference.split('@')[1] ?? found.id,
      pulledId: archive === undefined && before?.id === found.id ? undefined : found.id,
    }
  }

  /** Whether an operation may have found an image that nothing uses yet. */
  get areHeld(): boolean {
    return this.#holders > 0
  }

  /** Prevents the removal of images during the work. */
  async holding<T>(work: () => Promise<T>): Promise<T> {
    this.#holders += 1
    try {
      return await work()
    } finally {
      this.#holders -= 1
    }
  }

  /** Whether it is gone. One that another container uses, or that has several names, stays. */
  removeImage(account: string, id: string): Promise<boolean> {
    const removal = this.#remove(account, id)
    this.#removal = removal.catch(() => {})
    return removal
  }

  async #remove(account: string, id: string): Promise<boolean> {
    if (this.problemOf(account) !== undefined) return false
    const caller = this.toCaller(account)
    // By its id, since a tag that has moved leaves an image without a name.
    await callRuntime(caller, ['image', 'rm', id]).catch(() => {})
    return (await inspect(caller, id)) === undefined
  }

  /** How podman and docker, which both have these options, start an instance; the environment is of the command itself. */
  commandOf(instance: ContainerOwner, container: GroupContainer, given: ContainerStart) {
    const { environment, limits, mounts, readable, stopMs, content } = given
    const { files } = container
    const { runtime, environment: runtimeEnvironment } = this.toCaller(instance.account)
    const name = `fairlead-${instance.id}`
    const options = [
      ...[
        '--name',
        name,
        '--label',
        `fairlead.instance=${instance.id}`,
        '--label',
        `fairlead.agent=${this.#options.agentMark}`,
      ],
      ...[
        '--log-driver',
        'none',
        '--stop-timeout',
        String(Math.ceil(stopMs / 1000)),
        '--security-opt',
        'no-new-privileges',
      ],
      ...networkOptions(instance, container),
      ...limitOptions(limits),
      ...Object.entries(environment).flatMap(([key, value]) => [
        '--env',
        isArgument(key, value) ? `${key}=${value}` : key,
      ]),
      // Where SELinux is on, the container may use the folder only with its label.
      ...mounts.flatMap(({ folder, path }) => ['--volume', `${folder}:${path}:z`]),
      ...(readable === undefined ? [] : ['--volume', `${readable}:${readable}:ro,z`]),
      ...(content === undefined || files === undefined
        ? []
        : ['--volume', `${content}:${files}:ro,z`, '--workdir', files]),
    ]
    return {
      command: [runtime, 'run', '--rm', ...options, container.reference, ...given.command],
      environment: Object.fromEntries(
        Object.entries(environment).filter(([key, value]) => !isArgument(key, value)),
      ),
      container: { name, runtimeEnvironment },
    }
  }

  /** Exists also where there is no runtime: its start then says so. */
  toCaller(account: string): RuntimeCaller {
    const user = this.#options.users.of(account)
    const passedOn = Object.entries(process.env).filter(
      (entry): entry is [string, string] =>
        entry[1] !== undefined &&
        runtimeVariable.test(entry[0]) &&
        !(user !== undefined && ownVariable.test(entry[0])),
    )
    const configured = this.#configured(account)
    return {
      runtime: findRuntime(configured) ?? configured ?? runtimes[0],
      environment: Object.fromEntries(passedOn),
      user,
    }
  }

  #configured(account: string): string | undefined {
    return this.#options.accounts.find(({ name }) => name === account)?.containerRuntime
  }
}

/** A container of `own` network publishes nothing. */
export type ContainerPlan = Omit<ContainerFile, 'network'> & {
  readonly network?: 'host' | 'own'
}

/** An instance, or a job, which has no port. */
type ContainerOwner = Pick<LocalInstance, 'id' | 'account'> &
  Partial<Pick<LocalInstance, 'host' | 'port'>>

export interface ContainerStart {
  /** Replaces the command of the image, unless it is empty. */
  readonly command: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  readonly limits: ProgramLimits
  readonly mounts: readonly { readonly folder: string; readonly path: string }[]
  /** A folder that it may read, at the same path. */
  readonly readable?: string
  /** Content of the stored image, for a container that wants its files. */
  readonly content?: string
  readonly stopMs: number
}

/** Other users of the machine see arguments: what may be a secret goes by the runtime's own environment, whatever that makes of it. */
function isArgument(name: string, value: string): boolean {
  return runtimeVariable.test(name) && !looksSecret(name) && !/:\/\/[^/\s]*@/.test(value)
}

function networkOptions({ host, port }: ContainerOwner, container: GroupContainer): string[] {
  if (container.network === 'own') return []
  return container.port === undefined
    ? ['--network', 'host']
    : ['--publish', `${host}:${port}:${container.port}`]
}

function limitOptions({ memoryBytes, processes, openFiles }: ProgramLimits): string[] {
  return [
    ...(memoryBytes === undefined ? [] : ['--memory', String(memoryBytes)]),
    ...(processes === undefined ? [] : ['--pids-limit', String(processes)]),
    ...(openFiles === undefined ? [] : ['--ulimit', `nofile=${openFiles}:${openFiles}`]),
  ]
}

/** Podman rejects a tag beside a digest, which says everything. */
function withoutTag(image: string): string {
  return image.replace(/:[\w.-]+@/, '@')
}

interface FoundImage {
  readonly id: string
  /** References with a digest. */
  readonly digests: readonly string[]
  readonly ports: readonly number[]
}

const toInspected = list(
  shape({
    id: [or(textOf, ''), 'Id'],
    digests: [textsOf, 'RepoDigests'],
    config: [shape({ exposed: [objectOf, 'ExposedPorts'] }), 'Config'],
  }),
)

/** Undefined: it is not on this machine. */
async function inspect(caller: RuntimeCaller, image: string): Promise<FoundImage | undefined> {
  const printed = await callRuntime(caller, ['image', 'inspect', image]).catch((error: unknown) => {
    const { message } = error as Error
    if (/no such image|image not known|unable to inspect|failed to find image/i.test(message))
      return undefined
    throw new Error(
      `${basename(caller.runtime)} cannot be used. ${adviceOn(caller, 'info')} It reports: ${message}`,
      {
        cause: error,
      },
    )
  })
  const [found] = toInspected(JSON.parse(printed ?? '[]'))
  return (
    found && {
      id: `sha256:${found.id.replace('sha256:', '')}`,
      digests: found.digests,
      ports: Object.keys(found.config.exposed)
        .filter((port) => /^\d+(\/tcp)?$/.test(port))
        .map((port) => Number.parseInt(port, 10)),
    }
  )
}

async function pull(caller: RuntimeCaller, image: string, signal: AbortSignal): Promise<void> {
  try {
    await callRuntime(caller, ['pull', '--quiet', image], { timeoutMs: pullMs, signal })
  } catch (error) {
    if ((error as Error).name === 'AbortError') throw error
    const advice = adviceOn(caller, 'pull')
    throw new Error(
      `The image ${image} cannot be pulled: ${(error as Error).message}. Check its name. ${advice}`,
      {
        cause: error,
      },
    )
  }
}

async function load(
  caller: RuntimeCaller,
  { file, image }: { readonly file: string; readonly image: string },
  signal: AbortSignal,
): Promise<void> {
  try {
    await callRuntime(caller, ['load', '--quiet'], { timeoutMs: pullMs, signal, input: file })
  } catch (error) {
    if ((error as Error).name === 'AbortError') throw error
    const problem = (error as Error).message
    throw new Error(
      `The image ${image} cannot be loaded: ${problem}. ${adviceOn(caller, 'info')}`,
      { cause: error },
    )
  }
}

function adviceOn({ runtime }: RuntimeCaller, command: string): string {
  return `See whether "${basename(runtime)} ${command}" works for the user that runs the account's containers.`
}

/** @throws {Error} when neither the file nor the image of a registry says it */
function portOf(
  { image, port, network, archive }: ContainerPlan,
  exposed: readonly number[],
): number | undefined {
  if (network !== undefined) return undefined
  const [only, ...others] = exposed
  const chosen = port ?? (others.length === 0 ? only : undefined)
  if (chosen !== undefined) return chosen
  if (archive !== undefined) return usualPort
  const found = exposed.length === 0 ? 'exposes no port' : `exposes the ports ${exposed.join(', ')}`
  throw new Error(
    `The image ${image} ${found}: say in "container" which port its program listens on, such as { port: 8080 }.`,
  )
}
