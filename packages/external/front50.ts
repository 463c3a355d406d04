/** Definitions of a Front50. */

import { maybeObject, objectList, or, type Reader, shape } from '@fairlead/base/json/shape.ts'
import {
  type JsonObject,
  numberOf,
  objectOf,
  objectsOf,
  textsOf,
} from '@fairlead/base/json/values.ts'
import { formatQuery, pathTo } from '@fairlead/base/net/encode-path.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { toPermissionRecord } from '@fairlead/model/rights/permissions.ts'
import type { Caller } from '@fairlead/ports/caller.ts'
import {
  type GivenTemplate,
  type StoredDefinitions,
  toApplication,
  toServiceAccount,
  type WantedTemplate,
} from '@fairlead/ports/definitions.ts'
import {
  type CallService,
  type ServiceCall,
  ServiceOffError,
} from '@fairlead/ports/service-call.ts'
import { senderTo } from './success.ts'

/** How many versions of a snapshot it looks through for one of a time. */
const mostSnapshots = 1000

const toReport = shape({
  successful_pipelines_count: or(numberOf, 0),
  successful_pipelines: textsOf,
  failed_pipelines_count: or(numberOf, 0),
  failed_pipelines: objectsOf,
})

export function openFront50(call: CallService): StoredDefinitions {
  const sendOrRefuse = senderTo('front50', call)
  /** @returns undefined for statuses that are expected */
  const send = async (request: ServiceCall, as: Caller, expected?: readonly number[]) => {
    const { status, body } = await sendOrRefuse(request, as, expected)
    return status < 400 ? body : undefined
  }
  const post = (path: string, body: unknown, as: Caller) => send({ method: 'POST', path, body }, as)
  const put = async (path: string, body: unknown, as: Caller) =>
    send({ method: 'PUT', path, body }, as)
  const remove = async (path: string, as: Caller, expected?: readonly number[]) =>
    void (await send({ method: 'DELETE', path }, as, expected))
  const read = (path: string, as: Caller): Promise<unknown> =>
    send({ method: 'GET', path }, as, [404]).catch((error: unknown) => {
      if (error instanceof PortError || error instanceof ServiceOffError) throw error
      throw new PortError(
        503,
        `The definition store cannot be reached: ${(error as Error).message}`,
      )
    })
  const list = async (path: string, as: Caller): Promise<JsonObject[]> =>
    objectsOf(await read(path, as))
  const listOf = async <T>(path: string, as: Caller, toEntry: Reader<T>): Promise<T[]> =>
    objectList(toEntry)(await read(path, as))
  const one = async (path: string, as: Caller): Promise<JsonObject | undefined> =>
    maybeObject(await read(path, as))
  return {
    name: 'front50',
    seesInheritedTriggers: false,
    version: () => undefined,
    applications: (as) => listOf('/v2/applications?restricted=false', as, toApplication),
    application: async (name, as) => {
      const found = await one(pathTo`/v2/applications/${name}`, as)
      return found && toApplication(found)
    },
    permissions: (as) => listOf('/permissions/applications', as, toPermissionRecord),
    removedPermissions: (as) => listOf('/permissions/removedApplications', as, toPermissionRecord),
    serviceAccounts: (as) => listOf('/serviceAccounts', as, toServiceAccount),
    pipelines: (as) => list('/pipelines?restricted=false', as),
    notifyingPipelines: (_isWanted, as) => list('/pipelines?restricted=false', as),
    triggeredPipelines: ({ types }, as) =>
      list(
        `/pipelines?${new URLSearchParams({ restricted: 'false', triggerTypes: types.join(',') })}`,
        as,
      ),
    followersOf: (id, word, as) =>
      list(`${pathTo`/pipelines/triggeredBy/${id}/${word}`}?restricted=false`, as),
    pipelinesOf: (application, as) => list(pathTo`/pipelines/${application}`, as),
    pipeline: (id, as) => one(pathTo`/pipelines/${id}/get`, as),
    pipelineNamed: async ({ application, name }, as) => {
      const named = await one(pathTo`/pipelines/${application}/name/${name}`, as)
      return named?.['name'] === name ? named : undefined
    },
    pipelineVersions: ({ id, most }, as) =>
      list(pathTo`/pipelines/${id}/history` + formatQuery({ limit: most }), as),
    strategies: (application, as) =>
      list(application === undefined ? '/strategies' : pathTo`/strategies/${application}`, as),
    projects: (as) => list('/v2/projects', as),
    project: (nameOrId, as) => one(pathTo`/v2/projects/${nameOrId}`, as),
    template: (wanted, as) => one(templatePath({ ...wanted, isVersioned: true }), as),
    notifications: (as) => list('/notifications', as),
    notificationsOf: async (application, as) => {
      const path =
        application === undefined
          ? '/notifications/global/global'
          : pathTo`/notifications/application/${application}`
      return objectOf(await read(path, as))
    },
    notificationsAtHand: () => undefined,
    mayBeFollowed: () => true,
    heldAtHand: () => [],
    snapshot: ({ id, timestamp }, as) => {
      const version =
        timestamp === undefined ? '' : `/${timestamp}${formatQuery({ limit: mostSnapshots })}`
      return one(pathTo`/snapshots/${id}` + version, as)
    },

    createApplication: async (application, as) =>
      void (await post('/v2/applications', application, as)),
    updateApplication: async (body, as) =>
      void (await send({ method: 'PATCH', path: pathTo`/v2/applications/${body.name}`, body }, as)),
    removeApplication: (name, as) => remove(pathTo`/v2/applications/${name}`, as, [404]),
    setPermissions: async (record, as) =>
      void (await put(pathTo`/permissions/applications/${record.name}`, record, as)),
    removePermissions: (application, as) =>
      remove(pathTo`/permissions/applications/${application}`, as, [404]),
    savePipeline: async (pipeline, { staleCheck }, as) =>
      objectOf(await post(`/pipelines?staleCheck=${staleCheck}`, pipeline, as)),
    replacePipeline: async (pipeline, { staleCheck }, as) =>
      objectOf(
        await put(`${pathTo`/pipelines/${pipeline.id}`}?staleCheck=${staleCheck}`, pipeline, as),
      ),
    savePipelines: async (pipelines, { staleCheck }, as) =>
      toReport(await post(`/pipelines/batchUpdate?staleCheck=${staleCheck}`, pipelines, as)),
    removePipeline: ({ application, name }, as) =>
      remove(pathTo`/pipelines/${application}/${name}`, as),
    reorder: async ({ kind, ...order }, as) =>
      void (await post(`/actions/${kind}/reorder`, order, as)),
    createProject: async (project, as) => void (await post('/v2/projects', project, as)),
    replaceProject: async (project, as) =>
      void (await put(pathTo`/v2/projects/${project.id}`, project, as)),
    removeProject: (id, as) => remove(pathTo`/v2/projects/${id}`, as, [404]),
    createTemplate: async ({ content, ...wanted }, as) =>
      void (await post(templatePath({ ...wanted, id: undefined }), content, as)),
    updateTemplate: async ({ content, ...wanted }, as) =>
      void (await put(templatePath(wanted), content, as)),
    deleteTemplate: (wanted, as) => remove(templatePath(wanted), as),
    saveSnapshot: async (snapshot, as) => void (await post('/snapshots', snapshot, as)),
  }
}

/** @param id Undefined: the list of templates */
function templatePath({
  id,
  tag,
  digest,
  isVersioned,
}: Omit<WantedTemplate, 'id'> &
  Pick<GivenTemplate, 'isVersioned'> & { readonly id: string | undefined }): string {
  const path = `${isVersioned ? '/v2' : ''}/pipelineTemplates${id === undefined ? '' : pathTo`/${id}`}`
  return isVersioned ? path + formatQuery({ tag, digest }) : path
}
