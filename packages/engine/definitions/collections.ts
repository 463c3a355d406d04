/** Collections of the definition store: their keys, time stamps and common transactions. */
import type { JsonObject } from '@fairlead/base/json/values.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { inTransaction } from '@fairlead/base/storage/database.ts'
import { type Collection, DocumentStore } from '@fairlead/base/stores/document-store.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import type { FindingSources } from '../orchestration/findings/findings.ts'
import { createStageTypes } from '../orchestration/stages/registry.ts'
import { HeldParts } from './held-parts.ts'
import { pipelineMarks, templateMarks } from './marks.ts'

export interface Definitions extends Readonly<Record<CollectionName, DocumentStore>> {
  /** Runs `work` so that all its writes happen or none. */
  write<T>(work: () => T): T
  readonly context: BackendContext
  readonly held: HeldParts
  readonly findingSources: FindingSources
}

const updatedAsText = (ms: number) => ({ updateTs: String(ms) })
const modifiedAsNumber = (ms: number) => ({ lastModified: ms })

const inApplication = (document: JsonObject) => ({
  application: foldName(String(document['application'])),
  name: foldName(String(document['name'])),
})

const collections = {
  applications: { kind: 'application', stamp: updatedAsText, createTs: String },
  permissions: { kind: 'application-permission', stamp: modifiedAsNumber },
  pipelines: { kind: 'pipeline', place: inApplication, stamp: updatedAsText, marks: pipelineMarks },
  strategies: { kind: 'strategy', place: inApplication, stamp: updatedAsText },
  projects: {
    kind: 'project',
    place: (document) => ({ name: foldName(String(document['name'])) }),
    stamp: (ms) => ({ updateTs: ms }),
    createTs: (ms) => ms,
  },
  snapshots: {
    kind: 'snapshot',
    stamp: (ms) => ({ timestamp: ms, lastModified: ms }),
    keptVersions: undefined,
  },
  serviceAccounts: { kind: 'service-account', stamp: modifiedAsNumber },
  notifications: { kind: 'notification', stamp: modifiedAsNumber },
  templates: { kind: 'pipeline-template', stamp: updatedAsText, marks: templateMarks },
} as const satisfies Record<string, Collection>

type CollectionName = keyof typeof collections

/** What rights of users depend on. */
const grantors: ReadonlySet<string> = new Set<CollectionName>([
  'applications',
  'permissions',
  'serviceAccounts',
])

export function createDefinitions(context: BackendContext): Definitions {
  const { limits, outside } = context.settings
  const stores = Object.entries(collections).map(([name, collection]) => [
    name,
    new DocumentStore(
      context.db,
      { keptVersions: limits.versions, ...collection },
      context.now,
      () => {
        context.stateChanged()
        if (grantors.has(name)) context.permissionsChanged()
      },
    ),
  ])
  return {
    ...(Object.fromEntries(stores) as Record<CollectionName, DocumentStore>),
    write: (work) => inTransaction(context.db, work),
    held: new HeldParts(context.db, context.now),
    context,
    findingSources: {
      stageTypes: createStageTypes({ ...context.settings, preconfigured: outside.preconfigured }),
      ports: context.ports,
      now: context.now,
      timeZone: context.settings.timeZone,
    },
  }
}
