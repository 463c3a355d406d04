/** Canary configurations: their table, and the operations of kayenta on them. */

import { randomUUID } from 'node:crypto'
import type { SQLTagStore } from 'node:sqlite'
import { formatJson, parseJson } from '@fairlead/base/json/json.ts'
import { shape } from '@fairlead/base/json/shape.ts'
import {
  fieldOf,
  type JsonObject,
  numberOf,
  objectOf,
  textOf,
  textsOf,
} from '@fairlead/base/json/values.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import { checkBody } from '@fairlead/ports/requests/check-body.ts'
import { pathValue, queryValues } from '@fairlead/ports/requests/request-values.ts'
import type { FastifyInstance } from 'fastify'
import { configurationFindings, StoredConfiguration } from './configuration-schema.ts'

export const configurationMigrations = [
  `
  CREATE TABLE canaries_configurations (
    id       TEXT PRIMARY KEY,
    -- Folded, to be found by.
    name     TEXT NOT NULL,
    document TEXT NOT NULL
  ) STRICT;
  CREATE INDEX canaries_configurations_by_name ON canaries_configurations (name);
  `,
]

export class Configurations {
  readonly #now: () => number
  readonly #sql: SQLTagStore

  constructor({ db, now }: Pick<BackendContext, 'db' | 'now'>) {
    this.#now = now
    this.#sql = db.createTagStore()
  }

  /** By name. @param applications Those of any of them; empty: all */
  list(applications: readonly string[]): JsonObject[] {
    const all = this.#sql.all`SELECT document FROM canaries_configurations ORDER BY name, id`.map(
      toDocument,
    )
    return applications.length === 0
      ? all
      : all.filter((config) => sharesApplication(config, applications))
  }

  find(id: string): JsonObject | undefined {
    const row = this.#sql.get`SELECT document FROM canaries_configurations WHERE id = ${id}`
    return row && toDocument(row)
  }

  /** @throws {PortError} 404 */
  require(id: string): JsonObject {
    const found = this.find(id)
    if (found === undefined) throw new PortError(404, `There is no canary configuration "${id}".`)
    return found
  }

  /** @returns its id @throws {PortError} 400 for one that exists, or that kayenta would not store */
  create(body: unknown): string {
    const given = checkBody(StoredConfiguration, body)
    const nowMs = this.#now()
    const { id = randomUUID(), createdTimestamp = nowMs, ...read } = readConfiguration(given)
    if (this.find(id) !== undefined)
      throw new PortError(
        400,
        `The canary configuration "${id}" exists already. Change it with PUT.`,
      )
    const { updatedTimestamp = createdTimestamp } = read
    this.#save({ ...given, id, ...stamps(createdTimestamp, updatedTimestamp) })
    return id
  }

  /** @throws {PortError} 400 */
  update(id: string, body: unknown): void {
    const given = checkBody(StoredConfiguration, body)
    const stored = this.find(id)
    // Kayenta answers so, and its clients rely on it.
    if (stored === undefined)
      throw new PortError(400, `There is no canary configuration "${id}". Create it with POST.`)
    const createdMs =
      readConfiguration(given).createdTimestamp ??
      readConfiguration(stored).createdTimestamp ??
      this.#now()
    this.#save({ ...given, id, ...stamps(createdMs, this.#now()) })
  }

  /** @throws {PortError} 404 */
  remove(id: string): void {
    this.require(id)
    this.#sql.run`DELETE FROM canaries_configurations WHERE id = ${id}`
  }

  #save(config: JsonObject): void {
    const id = String(config['id'])
    const name = String(config['name'])
    const { applications } = readConfiguration(config)
    const folded = foldName(name)
    const taken = this.#sql.all`SELECT document FROM canaries_configurations WHERE name = ${folded}`
      .map(toDocument)
      .find((other) => other['id'] !== id && sharesApplication(other, applications))
    if (taken !== undefined) {
      throw new PortError(
        400,
        `A canary configuration named "${name}" exists already in ${readConfiguration(taken).applications.join(', ')}. Choose another name.`,
      )
    }
    this.#sql
      .run`INSERT OR REPLACE INTO canaries_configurations (id, name, document) VALUES (${id}, ${folded}, ${formatJson(config)})`
  }
}

const readConfiguration = shape({
  id: textOf,
  createdTimestamp: numberOf,
  updatedTimestamp: numberOf,
  applications: textsOf,
})

function sharesApplication(config: JsonObject, applications: readonly string[]): boolean {
  const wanted = new Set(applications.map(foldName))
  return readConfiguration(config).applications.some((name) => wanted.has(foldName(name)))
}

function stamps(createdMs: number, updatedMs: number): JsonObject {
  return {
    createdTimestamp: createdMs,
    createdTimestampIso: new Date(createdMs).toISOString(),
    updatedTimestamp: updatedMs,
    updatedTimestampIso: new Date(updatedMs).toISOString(),
  }
}

function toDocument({ document }: JsonObject): JsonObject {
  return objectOf(parseJson(String(document)))
}

const listed = ['id', 'name', 'updatedTimestamp', 'updatedTimestampIso', 'applications'] as const

/** The gateway has checked rights on the applications. */
export function mountConfigurations(app: FastifyInstance, configurations: Configurations): void {
  app.get('/canaryConfig', (request) =>
    configurations
      .list(queryValues(request, 'application'))
      .map((config) => Object.fromEntries(listed.map((field) => [field, fieldOf(config, field)]))),
  )
  app.get('/canaryConfig/:id', (request) => configurations.require(pathValue(request, 'id')))
  app.post('/canaryConfig', (request) => ({ canaryConfigId: configurations.create(request.body) }))
  app.put('/canaryConfig/:id', (request) => {
    const id = pathValue(request, 'id')
    configurations.update(id, request.body)
    return { canaryConfigId: id }
  })
  app.post('/findings/canary-config', ({ body }) =>
    configurationFindings(checkBody(StoredConfiguration, body)),
  )
  app.delete('/canaryConfig/:id', (request, reply) => {
    configurations.remove(pathValue(request, 'id'))
    return reply.code(204).send()
  })
}
