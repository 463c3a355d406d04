/** Definitions for the other capabilities of this process. */
import { setImmediate } from 'node:timers/promises'
import type { JsonObject } from '@fairlead/base/json/values.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { ownNames } from '@fairlead/base/services/services.ts'
import { type DocumentStore, parseDocument } from '@fairlead/base/stores/document-store.ts'
import { flatMapInTurns } from '@fairlead/base/stores/in-turns.ts'
import { toPermissionRecord } from '@fairlead/model/rights/permissions.ts'
import type { Caller } from '@fairlead/ports/caller.ts'
import {
  type StoredDefinitions,
  toApplication,
  toServiceAccount,
  type VersionedKind,
} from '@fairlead/ports/definitions.ts'
import {
  createApplication,
  listApplications,
  removeApplication,
  updateApplication,
  withPermissions,
} from './applications.ts'
import { openWriter, type Writer } from './authorization.ts'
import type { Definitions } from './collections.ts'
import { keysOfFollowers, keysOfNotifying } from './marks.ts'
import { notificationRecord, notificationRecordsOf } from './notifications.ts'
import {
  listPermissions,
  removedRestrictions,
  removePermissions,
  savePermissions,
} from './permissions.ts'
import { inOrder, reindexed, reorder } from './pipeline-order.ts'
import { removeNamed } from './pipeline-set.ts'
import {
  readThose,
  savePipeline,
  savePipelines,
  triggeredBy,
  triggeredPipelines,
} from './pipelines.ts'
import { createProject, findProject, removeProject, replaceProject } from './projects.ts'
import { saveSnapshot, snapshotOf } from './snapshots.ts'
import { createTemplate, removeTemplate, replaceTemplate } from './templates.ts'
import {
  createVersion,
  removeVersion,
  replaceVersion,
  templateVersion,
} from './versioned-templates.ts'

export function createStoredDefinitions(definitions: Definitions): StoredDefinitions {
  const {
    applications,
    permissions,
    pipelines,
    strategies,
    projects,
    serviceAccounts,
    notifications,
    snapshots,
    held,
  } = definitions
  const versions: Readonly<Record<VersionedKind, readonly DocumentStore[]>> = {
    applications: [applications, permissions],
    pipelines: [pipelines, strategies],
    projects: [projects],
  }
  /** Changes that are checked and written by the writer. */
  const change = async <T>(
    as: Caller,
    work: (writer: Writer) => T,
    body?: unknown,
  ): Promise<Awaited<T>> => {
    const result = await work(await openWriter(definitions, as, body))
    await definitions.context.permissionsKnown()
    return result
  }
  return {
    name: ownNames.front50,
    seesInheritedTriggers: true,
    version: (kind) => versions[kind].map((store) => store.version()).join('-'),
    applications: async () => readInTurns(await listApplications(definitions), toApplication),
    async application(name) {
      const found = applications.get(foldName(name))
      return found && toApplication(withPermissions(definitions, found))
    },
    permissions: async () => readInTurns(await listPermissions(definitions), toPermissionRecord),
    removedPermissions: async () => removedRestrictions(definitions).map(toPermissionRecord),
    serviceAccounts: async () => serviceAccounts.all().map(toServiceAccount),
    pipelines: () => allOf(pipelines),
    triggeredPipelines: (wanted) => triggeredPipelines(definitions, wanted),
    notifyingPipelines: (isWanted) => readThose(definitions, keysOfNotifying(pipelines, isWanted)),
    followersOf: (id, word) => triggeredBy(definitions, id, word),
    mayBeFollowed: (id) => keysOfFollowers(definitions, id).length > 0,
    pipelinesOf: async (application) =>
      reindexed(inOrder(await parseInTurns(pipelines.textsOfApplication(application)))),
    pipeline: async (id) => pipelines.get(foldName(id)),
    pipelineNamed: async ({ application, name }) =>
      pipelines.named(name, application).find((each) => each['name'] === name),
    pipelineVersions: async ({ id, most }) => parseInTurns(pipelines.history(foldName(id), most)),
    strategies: async (application) =>
      application === undefined
        ? allOf(strategies)
        : inOrder(await parseInTurns(strategies.textsOfApplication(application))),
    projects: async () => projects.all(),
    project: async (nameOrId) => findProject(definitions, nameOrId),
    template: (wanted, as) => change(as, (writer) => templateVersion(definitions, writer, wanted)),
    notifications: () => allOf(notifications),
    notificationsOf: async (application) => notificationRecord(definitions, application) ?? {},
    heldAtHand: (id) => held.of(id),
    notificationsAtHand: (application) => notificationRecordsOf(definitions, application),
    async snapshot({ id, timestamp }) {
      const key = foldName(id)
      return timestamp === undefined
        ? snapshots.get(key)
        : snapshotOf(definitions, key, timestamp, mostSnapshots)
    },

    createApplication: (body, as) =>
      change(as, async (writer) => void (await createApplication(definitions, writer, body))),
    updateApplication: (given, as) =>
      change(
        as,
        async (writer) =>
          void (await updateApplication(definitions, writer, { name: given.name, given })),
      ),
    removeApplication: (name, as) =>
      change(as, (writer) => removeApplication(definitions, writer, name)),
    setPermissions: (record, as) =>
      change(
        as,
        async (writer) => void (await savePermissions(definitions, writer, record.name, record)),
      ),
    removePermissions: (name, as) =>
      change(as, (writer) => removePermissions(definitions, writer, name)),
    savePipeline: (body, options, as) =>
      change(as, (writer) => savePipeline(definitions, writer, body, options), body),
    replacePipeline: (body, options, as) =>
      change(
        as,
        (writer) => savePipeline(definitions, writer, body, { ...options, id: body.id }),
        body,
      ),
    savePipelines: (list, { staleCheck }, as) =>
      change(as, (writer) => savePipelines(definitions, writer, list, staleCheck), list),
    removePipeline: (place, as) =>
      change(as, (writer) => removeNamed(definitions, pipelines, writer, place)),
    reorder: ({ kind, ...order }, as) =>
      change(as, (writer) => reorder(definitions, definitions[kind], writer, order)),
    createProject: (project, as) =>
      change(as, ({ user }) => void createProject(definitions, project, user)),
    replaceProject: (project, as) =>
      change(as, ({ user }) => void replaceProject(definitions, project.id, project, user)),
    removeProject: async (id) => removeProject(definitions, id),
    createTemplate: ({ isVersioned, content: given, tag }, as) =>
      change(as, (writer) =>
        isVersioned
          ? createVersion(definitions, writer, { given, tag })
          : createTemplate(definitions, writer, given),
      ),
    updateTemplate: ({ isVersioned, content: given, id, tag }, as) =>
      change(as, async (writer) => {
        if (isVersioned) await replaceVersion(definitions, writer, id, { given, tag })
        else replaceTemplate(definitions, writer, id, given)
      }),
    deleteTemplate: ({ isVersioned, ...wanted }, as) =>
      change(as, (writer) =>
        isVersioned
          ? removeVersion(definitions, writer, wanted)
          : removeTemplate(definitions, writer, wanted.id),
      ),
    saveSnapshot: (snapshot, as) =>
      change(as, (writer) => saveSnapshot(definitions, writer, snapshot)),
  }
}

/** Snapshots that are searched for one by its time. */
const mostSnapshots = 1000

function readInTurns<T>(texts: readonly string[], read: (document: JsonObject) => T): Promise<T[]> {
  return flatMapInTurns(texts, (text) => [read(parseDocument(text))])
}

function parseInTurns(texts: readonly string[]): Promise<JsonObject[]> {
  return readInTurns(texts, (document) => document)
}

async function allOf(store: DocumentStore): Promise<JsonObject[]> {
  const all: JsonObject[] = []
  for (const texts of store.portions()) {
    all.push(...texts.map(parseDocument))
    await setImmediate()
  }
  return all
}
