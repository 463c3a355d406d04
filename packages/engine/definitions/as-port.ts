/** Definitions for the other capabilities of this process. */
import { setImmediate } from 'node:timers/promises'
import type { JsonObject } from '@fairlead/base/json/values.ts'
import { type DocumentStore, foldName, parseDocument } from '@fairlead/base/stores/document-store.ts'
import { flatMapInTurns } from '@fairlead/base/stores/in-turns.ts'
import type { StoredDefinitions } from '@fairlead/ports/definitions.ts'
import { listApplications, withPermissions } from './applications.ts'
import type { Definitions } from './collections.ts'
import { listPermissions, removedRestrictions } from './permissions.ts'
import { inOrder, reindexed } from './pipeline-order.ts'
import { filterPipelines } from './pipelines.ts'
import { findProject } from './projects.ts'

export function createStoredDefinitions(definitions: Definitions): StoredDefinitions {
  const { applications, pipelines, strategies, serviceAccounts, notifications } = definitions
  return {
    version: () => `${pipelines.version()}-${strategies.version()}`,
    applications: async () => parseInTurns(await listApplications(definitions)),
    async application(name) {
      const found = applications.get(foldName(name))
      return found && withPermissions(definitions, found)
    },
    permissions: async () => parseInTurns(await listPermissions(definitions)),
    removedPermissions: async () => removedRestrictions(definitions),
    serviceAccounts: async () => serviceAccounts.all(),
    pipelines: () => allOf(pipelines),
    triggeredPipelines: (triggerTypes) =>
      filterPipelines(definitions, { triggerTypes, enabledPipelines: undefined, enabledTriggers: undefined }),
    pipelinesOf: async (application) => reindexed(inOrder(await parseInTurns(pipelines.textsOfApplication(application)))),
    pipeline: async (id) => pipelines.get(foldName(id)),
    project: async (nameOrId) => findProject(definitions, nameOrId),
    notifications: () => allOf(notifications),
  }
}

function parseInTurns(texts: readonly string[]): Promise<JsonObject[]> {
  return flatMapInTurns(texts, (text) => [parseDocument(text)])
}

async function allOf(store: DocumentStore): Promise<JsonObject[]> {
  const all: JsonObject[] = []
  for (const texts of store.portions()) {
    all.push(...texts.map(parseDocument))
    await setImmediate()
  }
  return all
}
