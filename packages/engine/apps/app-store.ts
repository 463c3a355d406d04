/** Apps that were deployed from a file: the file, the objects made from it, versions and their runs. */

import type { DatabaseSync, SQLTagStore } from 'node:sqlite'
import { formatJson, parseJson } from '@fairlead/base/json/json.ts'
import { type JsonObject, objectOf } from '@fairlead/base/json/values.ts'
import { inTransaction } from '@fairlead/base/storage/database.ts'

export const appMigrations = [
  `
  CREATE TABLE orchestration_apps (
    application TEXT PRIMARY KEY,
    file        TEXT NOT NULL,
    digest      TEXT NOT NULL,
    is_ejected  INTEGER NOT NULL DEFAULT 0,
    last_number INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE TABLE orchestration_app_objects (
    application TEXT NOT NULL,
    key         TEXT NOT NULL,
    compiled    TEXT NOT NULL,
    seen        TEXT NOT NULL,
    PRIMARY KEY (application, key)
  ) STRICT;
  CREATE TABLE orchestration_app_runs (
    application  TEXT NOT NULL,
    execution_id TEXT NOT NULL,
    environment  TEXT NOT NULL,
    kind         TEXT NOT NULL,
    version      TEXT NOT NULL,
    image        TEXT NOT NULL,
    file         TEXT NOT NULL,
    message      TEXT,
    user         TEXT NOT NULL,
    created_ms   INTEGER NOT NULL,
    PRIMARY KEY (application, execution_id)
  ) STRICT;
  CREATE INDEX orchestration_app_runs_by_time ON orchestration_app_runs (application, environment, created_ms);
  CREATE TABLE orchestration_app_scales (
    application    TEXT NOT NULL,
    environment    TEXT NOT NULL,
    service        TEXT NOT NULL,
    instances      INTEGER NOT NULL,
    file_instances INTEGER NOT NULL,
    PRIMARY KEY (application, environment, service)
  ) STRICT;
  `,
  `
  CREATE TABLE orchestration_app_previews (
    application TEXT NOT NULL,
    branch      TEXT NOT NULL,
    file        TEXT NOT NULL,
    deployed_ms INTEGER NOT NULL,
    PRIMARY KEY (application, branch)
  ) STRICT;
  `,
  `
  CREATE TABLE orchestration_app_databases (
    application TEXT NOT NULL,
    environment TEXT NOT NULL,
    name        TEXT NOT NULL,
    generation  INTEGER NOT NULL,
    PRIMARY KEY (application, environment, name)
  ) STRICT;
  `,
]

export interface StoredApp {
  /** Text of the file that was deployed last. */
  readonly file: string
  readonly digest: string
  /** The objects are the user's own, and deployments change none of them. */
  readonly isEjected: boolean
}

/** What a deployment wrote, and what the store made of it. */
export interface WrittenObject {
  readonly compiled: JsonObject
  readonly seen: JsonObject
}

export type AppRunKind = 'deployment' | 'rollback' | 'promotion' | 'restart'

export interface AppRun {
  readonly executionId: string
  readonly environment: string
  readonly kind: AppRunKind
  readonly version: string
  readonly image: string
  /** Text of the file that it was compiled from. */
  readonly file: string
  readonly message: string | undefined
  readonly user: string
  readonly createdMs: number
}

/** An environment of a branch. */
interface AppPreview {
  readonly branch: string
  /** Text of the branch's file that was deployed last. */
  readonly file: string
  readonly deployedMs: number
}

export interface DatabaseOrder {
  readonly application: string
  readonly environment: string
  readonly name: string
}

/** A number of instances that holds until the file has another one. */
interface AppScale {
  readonly environment: string
  readonly service: string
  readonly instances: number
  /** What the file had then. */
  readonly fileInstances: number
}

export class AppStore {
  readonly #db: DatabaseSync
  readonly #sql: SQLTagStore

  constructor(db: DatabaseSync) {
    this.#db = db
    this.#sql = db.createTagStore()
  }

  app(application: string): StoredApp | undefined {
    const row = this.#sql
      .get`SELECT file, digest, is_ejected FROM orchestration_apps WHERE application = ${application}`
    return (
      row && {
        file: String(row['file']),
        digest: String(row['digest']),
        isEjected: row['is_ejected'] === 1,
      }
    )
  }

  keepFile(application: string, { file, digest }: Pick<StoredApp, 'file' | 'digest'>): void {
    this.#sql.run`
      INSERT INTO orchestration_apps (application, file, digest) VALUES (${application}, ${file}, ${digest})
      ON CONFLICT (application) DO UPDATE SET file = excluded.file, digest = excluded.digest
      WHERE digest <> excluded.digest`
  }

  eject(application: string): void {
    inTransaction(this.#db, () => {
      this.#sql.run`UPDATE orchestration_apps SET is_ejected = 1 WHERE application = ${application}`
      this.#sql.run`DELETE FROM orchestration_app_objects WHERE application = ${application}`
    })
  }

  /** Forgets all of it but the numbers of its versions, whose images may be there. */
  forget(application: string): void {
    inTransaction(this.#db, () => {
      for (const table of ['objects', 'runs', 'scales', 'previews', 'databases'])
        this.#db
          .prepare(`DELETE FROM orchestration_app_${table} WHERE application = ?`)
          .run(application)
      this.#sql
        .run`UPDATE orchestration_apps SET file = '', digest = '', is_ejected = 0 WHERE application = ${application}`
    })
  }

  /** Number of a new version; one that failed has used up its own. */
  nextNumber(application: string): number {
    const row = this.#sql.get`
      INSERT INTO orchestration_apps (application, file, digest, last_number) VALUES (${application}, '', '', 1)
      ON CONFLICT (application) DO UPDATE SET last_number = last_number + 1 RETURNING last_number`
    return Number(row?.['last_number'])
  }

  /** By their keys. */
  objects(application: string): Map<string, WrittenObject> {
    const rows = this.#sql
      .all`SELECT key, compiled, seen FROM orchestration_app_objects WHERE application = ${application}`
    return new Map(
      rows.map((row) => [
        String(row['key']),
        { compiled: parseStored(row['compiled']), seen: parseStored(row['seen']) },
      ]),
    )
  }

  keepObject(application: string, key: string, { compiled, seen }: WrittenObject): void {
    this.#sql.run`
      INSERT OR REPLACE INTO orchestration_app_objects
      VALUES (${application}, ${key}, ${formatJson(compiled)}, ${formatJson(seen)})`
  }

  dropObject(application: string, key: string): void {
    this.#sql
      .run`DELETE FROM orchestration_app_objects WHERE application = ${application} AND key = ${key}`
  }

  addRun(application: string, run: AppRun): void {
    const { executionId, environment, kind, version, image, file, message, user, createdMs } = run
    this.#sql.run`
      INSERT OR IGNORE INTO orchestration_app_runs VALUES (${application}, ${executionId}, ${environment}, ${kind}, ${version},
        ${image}, ${file}, ${message ?? null}, ${user}, ${createdMs})`
  }

  /** The newest first. */
  runs(application: string, environment: string, most: number): AppRun[] {
    const rows = this.#sql.all`
      SELECT * FROM orchestration_app_runs WHERE application = ${application} AND environment = ${environment}
      ORDER BY created_ms DESC, execution_id DESC LIMIT ${most}`
    return rows.map((row) => ({
      executionId: String(row['execution_id']),
      environment: String(row['environment']),
      kind: String(row['kind']) as AppRunKind,
      version: String(row['version']),
      image: String(row['image']),
      file: String(row['file']),
      message: row['message'] === null ? undefined : String(row['message']),
      user: String(row['user']),
      createdMs: Number(row['created_ms']),
    }))
  }

  previews(application: string): AppPreview[] {
    const rows = this.#sql
      .all`SELECT * FROM orchestration_app_previews WHERE application = ${application} ORDER BY branch`
    return rows.map((row) => ({
      branch: String(row['branch']),
      file: String(row['file']),
      deployedMs: Number(row['deployed_ms']),
    }))
  }

  keepPreview(application: string, { branch, file, deployedMs }: AppPreview): void {
    this.#sql.run`
      INSERT OR REPLACE INTO orchestration_app_previews VALUES (${application}, ${branch}, ${file}, ${deployedMs})`
  }

  dropPreview(application: string, branch: string): void {
    this.#sql
      .run`DELETE FROM orchestration_app_previews WHERE application = ${application} AND branch = ${branch}`
  }

  /** How often the password of a database was rotated. */
  passwordGeneration({ application, environment, name }: DatabaseOrder): number {
    const row = this.#sql.get`
      SELECT generation FROM orchestration_app_databases
      WHERE application = ${application} AND environment = ${environment} AND name = ${name}`
    return Number(row?.['generation'] ?? 0)
  }

  keepPasswordGeneration(
    { application, environment, name }: DatabaseOrder,
    generation: number,
  ): void {
    this.#sql.run`
      INSERT OR REPLACE INTO orchestration_app_databases
      VALUES (${application}, ${environment}, ${name}, ${generation})`
  }

  scales(application: string): AppScale[] {
    const rows = this.#sql
      .all`SELECT * FROM orchestration_app_scales WHERE application = ${application}`
    return rows.map((row) => ({
      environment: String(row['environment']),
      service: String(row['service']),
      instances: Number(row['instances']),
      fileInstances: Number(row['file_instances']),
    }))
  }

  keepScale(
    application: string,
    { environment, service, instances, fileInstances }: AppScale,
  ): void {
    this.#sql.run`
      INSERT OR REPLACE INTO orchestration_app_scales
      VALUES (${application}, ${environment}, ${service}, ${instances}, ${fileInstances})`
  }
}

function parseStored(text: unknown): JsonObject {
  return objectOf(parseJson(String(text)))
}
