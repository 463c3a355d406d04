/** Names of the objects that deployments have written, so that one that is gone is noticed. No content of theirs is kept. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { fieldAt, textOf } from '@fairlead/base/json/values.ts'
import { kindOfManifest, printKind } from './kinds.ts'
import { controllerOf, type KubeObject, ownerOf } from './objects.ts'

export const deployedMigrations: readonly string[] = [
  `CREATE TABLE infrastructure_kubernetes_deployed (
     account TEXT NOT NULL,
     application TEXT NOT NULL,
     namespace TEXT NOT NULL,
     kind TEXT NOT NULL,
     name TEXT NOT NULL,
     api_version TEXT NOT NULL,
     uid TEXT NOT NULL,
     PRIMARY KEY (account, namespace, kind, name)
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX infrastructure_kubernetes_deployed_by_application
     ON infrastructure_kubernetes_deployed (account, application);`,
]

interface ObjectName {
  /** Empty for cluster-wide objects. */
  readonly namespace: string
  /** Form of `printKind`. */
  readonly kind: string
  readonly name: string
}

export interface DeployedName extends ObjectName {
  readonly apiVersion: string
}

export class DeployedObjects {
  readonly #account: string
  readonly #put: StatementSync
  readonly #remove: StatementSync
  readonly #removeNamespace: StatementSync
  readonly #removeKind: StatementSync
  readonly #list: StatementSync
  readonly #owners: StatementSync
  readonly #forget: StatementSync

  constructor(db: DatabaseSync, account: string) {
    this.#account = account
    const table = 'infrastructure_kubernetes_deployed'
    this.#put = db.prepare(
      `INSERT INTO ${table} (account, application, namespace, kind, name, api_version, uid) VALUES (?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET application = excluded.application, api_version = excluded.api_version, uid = excluded.uid
       WHERE uid <> excluded.uid OR application <> excluded.application OR api_version <> excluded.api_version`,
    )
    this.#remove = db.prepare(
      `DELETE FROM ${table} WHERE account = ? AND namespace = ? AND kind = ? AND name = ? AND uid = ?`,
    )
    this.#removeNamespace = db.prepare(`DELETE FROM ${table} WHERE account = ? AND namespace = ?`)
    this.#removeKind = db.prepare(`DELETE FROM ${table} WHERE account = ? AND kind = ?`)
    const isNamed = `account = :account AND ((namespace = :namespace AND kind = :kind AND name = :name)
      OR (:kind = 'namespace' AND namespace = :name))`
    this.#owners = db.prepare(`SELECT DISTINCT application FROM ${table} WHERE ${isNamed}`)
    this.#forget = db.prepare(`DELETE FROM ${table} WHERE ${isNamed}`)
    this.#list = db.prepare(
      `SELECT namespace, kind, name, api_version AS apiVersion FROM ${table}
       WHERE account = ? AND application = ? ORDER BY namespace, kind, name`,
    )
  }

  /** Jobs end, and what a controller owns follows it. */
  record(object: KubeObject): void {
    const application = ownerOf(object)?.toLowerCase()
    const kind = printKind(kindOfManifest(object))
    const { name, namespace = '', uid = '', generateName } = object.metadata
    const isLasting = kind !== 'job' && controllerOf(object) === undefined
    if (application === undefined || !isLasting || generateName !== undefined) return
    this.#put.run(this.#account, application, namespace, kind, name, object.apiVersion, uid)
  }

  /** Forgets the object and what goes with it. */
  forget(object: KubeObject): void {
    const kind = printKind(kindOfManifest(object))
    const { name, namespace = '', uid = '' } = object.metadata
    this.#remove.run(this.#account, namespace, kind, name, uid)
    if (kind === 'namespace') this.#removeNamespace.run(this.#account, name)
    if (kind !== 'customResourceDefinition') return
    const defined = textOf(fieldAt(object, 'spec', 'names', 'kind'))
    const group = textOf(fieldAt(object, 'spec', 'group'))
    if (defined !== undefined)
      this.#removeKind.run(this.#account, printKind({ kind: defined, group }))
  }

  /** Applications that have deployed an object, or into a namespace that is named. */
  ownersOf(named: ObjectName): string[] {
    return this.#owners
      .all({ account: this.#account, ...named })
      .map(({ application }) => String(application))
  }

  /** An object that is gone, or a namespace with all that was in it. */
  forgetGone(named: ObjectName): void {
    this.#forget.run({ account: this.#account, ...named })
  }

  of(application: string): DeployedName[] {
    const rows = this.#list.all(this.#account, application.toLowerCase())
    return rows as unknown as DeployedName[]
  }
}
