/** Builds of the connected servers, for other capabilities and for the routes. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { JsonObject } from '@fairlead/base/json/values.ts'
import type { Build, Builds } from '@fairlead/ports/builds.ts'
import type { Caller } from '@fairlead/ports/caller.ts'
import { PortError } from '@fairlead/ports/port-error.ts'
import type { BuildServer } from './build-server.ts'

export type Servers = ReadonlyMap<string, BuildServer>

/** Build servers archive files some time after the end of a build. */
const lookups = 5

export class BuildService implements Builds {
  readonly #servers: Servers
  readonly #lookupMs: number

  /** @param lookupMs Pause between two lookups of a file, in milliseconds */
  constructor(servers: Servers, lookupMs: number) {
    this.#servers = servers
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

  async file({ host, job, number }: Build, path: string, { user }: Caller): Promise<Buffer | undefined> {
    // Below the files of the build, with the credentials of its server.
    if (path.startsWith('/') || path.split('/').includes('..')) {
      const form = 'without ".." and "/" at its beginning'
      throw new PortError(400, `The path "${path}" must lead to a file of the build: ${form}.`)
    }
    return this.server(host).file?.(job, number, path, user || undefined)
  }

  async properties({ host, job, number }: Build, fileName: string, { user }: Caller): Promise<JsonObject | undefined> {
    const server = this.server(host)
    if (fileName === '') return {}
    for (let attempt = 1; ; attempt++) {
      const properties = await server.properties(job, number, fileName, user || undefined)
      if (properties !== undefined || server.archivesLate !== true || attempt === lookups) return properties
      await sleep(this.#lookupMs)
    }
  }

  /** No package registry is connected. */
  async package(): Promise<undefined> {}

  isRunning(id: string): boolean {
    return this.#servers.values().some((server) => server.isRunning?.(id) === true)
  }
}
