/** Builds of the connected servers, for other capabilities and for the routes. */
import { setTimeout as sleep } from 'node:timers/promises'
import { asGiven, maybeTexts, objectList, or, shape } from '@fairlead/base/json/shape.ts'
import { fieldOf, type JsonObject, textOf } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { ownNames } from '@fairlead/base/services/services.ts'
import type { PermissionRecord } from '@fairlead/model/rights/permissions.ts'
import type { Access } from '@fairlead/ports/access.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import {
  type Build,
  type BuildOrder,
  type Builds,
  type QueuedBuild,
  type QueueItem,
  type SourceFileQuery,
  toQueueItem,
} from '@fairlead/ports/builds.ts'
import { anonymous, type Caller } from '@fairlead/ports/caller.ts'
import { requireAccess } from '@fairlead/ports/rights/access.ts'
import type { SecretHolder } from '@fairlead/ports/secrets.ts'
import type { BuildServer } from './build-server.ts'
import { BuildStarts } from './build-starts.ts'

export type Servers = ReadonlyMap<string, BuildServer>

/** Build servers archive files some time after the end of a build. */
const lookups = 5

export class BuildService implements Builds {
  readonly name = ownNames.igor
  readonly takesReferences = true
  readonly offersFiles = true
  /** Many builds may be in the queue, and a free queue hands a build out at once. */
  readonly pauses = { least: 250, most: 2000, queued: 5000, order: 250 }
  readonly #context: BackendContext
  readonly #servers: Servers
  readonly #starts: BuildStarts
  readonly #lookupMs: number

  /** @param lookupMs Pause between two lookups of a file, in milliseconds */
  constructor(context: BackendContext, servers: Servers, lookupMs: number) {
    this.#context = context
    this.#servers = servers
    this.#starts = new BuildStarts(context.db, context.now)
    this.#lookupMs = lookupMs
  }

  /** @throws {PortError} 404 */
  server(host: string): BuildServer {
    const server = this.#servers.get(host)
    if (server !== undefined) return server
    const names = [...this.#servers.keys()]
    const [state, advice] =
      names.length > 0
        ? ['', `Connected: ${names.join(', ')}.`]
        : [
            ': none is connected',
            'Connect one by its settings, or a build integration service (services.igor.baseUrl) that has some.',
          ]
    throw new PortError(404, `The build server "${host}" does not exist${state}. ${advice}`)
  }

  get sourceServer(): string | undefined {
    return this.#sourceServer()?.name
  }

  async sourceFile(
    { application, source, path, maxBytes }: SourceFileQuery,
    { user = anonymous }: Caller,
  ): Promise<Buffer | undefined> {
    const { sources } = this.#sourceServer() ?? {}
    await sources?.checkWrite(application, user)
    return sources?.store.file(application, source, { path, maxBytes })
  }

  async keepSource(
    { application, archive }: { readonly application: string; readonly archive: Buffer },
    { user = anonymous }: Caller,
  ): Promise<string> {
    const { sources } = found(this.#sourceServer(), 'build server of folders')
    if (sources === undefined) throw new PortError(404, 'This instance builds no folders.')
    await sources.checkWrite(application, user)
    return sources.store.keepArchive(application, archive)
  }

  #sourceServer(): BuildServer | undefined {
    return this.#servers.values().find(({ sources }) => sources !== undefined)
  }

  async services(): Promise<PermissionRecord[]> {
    return [...this.#servers.values()].map(({ name, permissions = {} }) => ({
      name,
      permissions,
      requiredGroupMembership: [],
    }))
  }

  async start(
    { host, job, parameters, startTime }: BuildOrder,
    as: Caller,
  ): Promise<string | undefined> {
    const server = this.server(host)
    await this.checkChange(server, as)
    const { identity } = as
    const [user, application] = [as.user || anonymous, identity['x-spinnaker-application']]
    const order = {
      server: server.name,
      job,
      executionId: identity['x-spinnaker-execution-id'] ?? '',
      startTime,
      parameters,
    }
    return this.#starts.run(order, async () => {
      const config = found(
        await server.job(job, as.user || undefined),
        `job "${job}" of "${server.name}"`,
      )
      checkOrder(job, config, parameters)
      const place = `build ${server.name}/${job}`
      const { value } =
        server.keepsReferences === true
          ? { value: parameters }
          : await this.#context.ports.secrets.reveal(parameters, { application, user, place })
      return server.start(job, { parameters: value, user, application, config })
    })
  }

  async stop({ host, job, item, number }: Build & QueuedBuild, as: Caller): Promise<void> {
    const server = this.server(host)
    await this.checkChange(server, as)
    await server.stop(job, item, number, as.user || undefined)
  }

  /** Reads are the gateway's to check; changes come from stages. @throws {PortError} 403, 503 */
  async checkChange(server: BuildServer, as: Caller): Promise<void> {
    if (this.#context.settings.authorization !== true || !isRestricted(server)) return
    const user = as.user || anonymous
    if (mayOnServer(await requireAccess(this.#context, user), server, 'WRITE')) return
    throw new PortError(
      403,
      `This needs WRITE on the build server "${server.name}"; ${user} has none of its roles. An operator can add one to its permissions.`,
      { exception: 'AccessDenied' },
    )
  }

  async queueItem({ host, job, item }: QueuedBuild): Promise<QueueItem | undefined> {
    const waiting = await this.server(host).queueItem(item, job)
    return waiting && toQueueItem(waiting)
  }

  async build({ host, job, number }: Build, { user }: Caller): Promise<JsonObject | undefined> {
    return this.server(host).build(job, number, user || undefined)
  }

  async artifacts(
    { host, job, number }: Build,
    _propertyFile: unknown,
    { user }: Caller,
  ): Promise<readonly JsonObject[] | undefined> {
    return this.server(host).artifacts(job, number, user || undefined)
  }

  async file(
    { host, job, number }: Build,
    path: string,
    { user }: Caller,
  ): Promise<Buffer | undefined> {
    // Below the files of the build, with the credentials of its server.
    if (path.startsWith('/') || path.split('/').includes('..')) {
      const form = 'without ".." and "/" at its beginning'
      throw new PortError(400, `The path "${path}" must lead to a file of the build: ${form}.`)
    }
    return this.server(host).file?.(job, number, path, user || undefined)
  }

  async properties(
    { host, job, number }: Build,
    fileName: string,
    { user }: Caller,
  ): Promise<JsonObject | undefined> {
    const server = this.server(host)
    if (fileName === '') return {}
    for (let attempt = 1; ; attempt++) {
      const properties = await server.properties(job, number, fileName, user || undefined)
      if (properties !== undefined || server.archivesLate !== true || attempt === lookups)
        return properties
      await sleep(this.#lookupMs)
    }
  }

  /** No package registry is connected. */
  async package(): Promise<undefined> {}

  isRunning(id: string): boolean {
    return this.#servers.values().some((server) => server.isRunning?.(id) === true)
  }

  secretHolders(): SecretHolder[] {
    return [...this.#servers.values()].flatMap((server) => server.secretHolders?.() ?? [])
  }
}

/** @throws {PortError} 404 */
export function found<Thing>(thing: Thing | undefined, name: string): Thing {
  if (thing === undefined) throw new PortError(404, `The ${name} does not exist.`)
  return thing
}

const toJobConfig = shape({
  buildable: asGiven,
  parameterDefinitionList: objectList(shape({ name: or(textOf, ''), choices: maybeTexts })),
})

/** @throws {PortError} 400 when the job is disabled, or a value is not one of the choices of its parameter */
function checkOrder(
  job: string,
  config: JsonObject,
  parameters: Readonly<Record<string, string>>,
): void {
  const { buildable, parameterDefinitionList } = toJobConfig(config)
  if (buildable === false)
    throw new PortError(400, `The job "${job}" cannot be built: it is disabled. Enable it there.`)
  for (const { name, choices } of parameterDefinitionList) {
    const value = fieldOf(parameters, name)
    if (typeof value !== 'string' || choices === undefined || choices.includes(value)) continue
    throw new PortError(
      400,
      `"${value}" is not a choice of the parameter "${name}" of the job "${job}". Use one of ${choices.join(', ')}.`,
    )
  }
}

/** One without permissions is open to all users. */
function isRestricted({ permissions = {} }: BuildServer): boolean {
  return Object.keys(permissions).length > 0
}

export function mayOnServer(
  access: Access,
  server: BuildServer,
  authorization: 'READ' | 'WRITE',
): boolean {
  if (access.isAdmin || !isRestricted(server)) return true
  return access.hasRole(
    (server.permissions?.[authorization] ?? []).map((role) => role.toLowerCase()),
  )
}
