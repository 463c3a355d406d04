/** Definitions of a Front50. */
import { isObject, type JsonObject, objectsOf } from '@fairlead/base/json/values.ts'
import { pathTo } from '@fairlead/base/net/encode-path.ts'
import type { Caller } from '@fairlead/ports/caller.ts'
import type { StoredDefinitions } from '@fairlead/ports/definitions.ts'
import { PortError } from '@fairlead/ports/port-error.ts'
import type { CallService } from '@fairlead/ports/service-call.ts'
import { successOf } from './success.ts'

export function openFront50(call: CallService): StoredDefinitions {
  const read = async (path: string, { identity }: Caller): Promise<unknown> => {
    const answer = await call('front50', { method: 'GET', path, headers: identity }).catch((error: unknown) => {
      throw new PortError(503, `The definition store cannot be reached: ${(error as Error).message}`)
    })
    return answer.status === 404 ? undefined : successOf('front50', answer)
  }
  const list = async (path: string, as: Caller): Promise<JsonObject[]> => objectsOf(await read(path, as))
  const one = async (path: string, as: Caller): Promise<JsonObject | undefined> => {
    const found = await read(path, as)
    return isObject(found) ? found : undefined
  }
  return {
    version: () => undefined,
    applications: (as) => list('/v2/applications?restricted=false', as),
    application: (name, as) => one(pathTo`/v2/applications/${name}`, as),
    permissions: (as) => list('/permissions/applications', as),
    removedPermissions: (as) => list('/permissions/removedApplications', as),
    serviceAccounts: (as) => list('/serviceAccounts', as),
    pipelines: (as) => list('/pipelines?restricted=false', as),
    triggeredPipelines: (types, as) =>
      list(`/pipelines?${new URLSearchParams({ restricted: 'false', triggerTypes: types.join(',') })}`, as),
    pipelinesOf: (application, as) => list(pathTo`/pipelines/${application}`, as),
    pipeline: (id, as) => one(pathTo`/pipelines/${id}/get`, as),
    project: (nameOrId, as) => one(pathTo`/v2/projects/${nameOrId}`, as),
    notifications: (as) => list('/notifications', as),
  }
}
