/** What users and tools declare: applications, pipelines and what belongs to them. Documents are as stored, with their secrets. */
import type { JsonObject } from '@fairlead/base/json/values.ts'
import type { Caller } from './caller.ts'
import type { PortRules } from './rules.ts'

/** What is not there is undefined, or an empty list. All throw {PortError} while the store cannot be asked, or refuses the caller. */
export interface StoredDefinitions {
  /** Another text after each change of pipelines and strategies; undefined where changes cannot be seen. */
  version(): string | undefined
  applications(as: Caller): Promise<JsonObject[]>
  application(name: string, as: Caller): Promise<JsonObject | undefined>
  /** Permissions of applications. */
  permissions(as: Caller): Promise<JsonObject[]>
  /** The last permissions of applications that were removed. */
  removedPermissions(as: Caller): Promise<JsonObject[]>
  serviceAccounts(as: Caller): Promise<JsonObject[]>
  pipelines(as: Caller): Promise<JsonObject[]>
  /** Those with a trigger of one of the types, and perhaps others. */
  triggeredPipelines(types: readonly string[], as: Caller): Promise<JsonObject[]>
  pipelinesOf(application: string, as: Caller): Promise<JsonObject[]>
  pipeline(id: string, as: Caller): Promise<JsonObject | undefined>
  /** @param nameOrId Of several with the name, one that is spelled so */
  project(nameOrId: string, as: Caller): Promise<JsonObject | undefined>
  /** Recipients of notifications: records of applications, and one of all. */
  notifications(as: Caller): Promise<JsonObject[]>
}

export const definitionRules: PortRules<StoredDefinitions> = { service: 'front50', changes: [], holdsSecrets: [], once: [] }
