/** Builds of an Igor. */
import { isObject, type JsonObject, objectsOf } from '@fairlead/base/json/values.ts'
import { encodeSegments, encodeValue, formatQuery, pathTo } from '@fairlead/base/net/encode-path.ts'
import type { Build, Builds } from '@fairlead/ports/builds.ts'
import type { Caller } from '@fairlead/ports/caller.ts'
import type { CallService } from '@fairlead/ports/service-call.ts'
import { successOf } from './success.ts'

export function openIgor(call: CallService): Builds {
  const get = async (path: string, { identity }: Caller): Promise<unknown> =>
    successOf('igor', await call('igor', { method: 'GET', path, headers: identity }))
  const getObject = async (path: string, as: Caller): Promise<JsonObject | undefined> => {
    const body = await get(path, as)
    return isObject(body) ? body : undefined
  }
  return {
    build: (build, as) => getObject(`/builds/status/${placeOf(build)}`, as),
    properties: ({ number, ...job }, fileName, as) =>
      getObject(pathTo`/builds/properties/${String(number)}/${fileName}/` + jobPath(job), as),
    artifacts: async (build, propertyFile, as) => {
      const more = propertyFile === undefined ? '' : `&propertyFile=${encodeValue(propertyFile)}`
      return objectsOf(await get(`/builds/artifacts/${placeOf(build)}${more}`, as))
    },
    async file({ number, host, job }, path, { identity }) {
      const at = `${pathTo`/builds/file/${String(number)}/${host}`}/${encodeSegments(job)}${formatQuery({ path })}`
      const body = successOf('igor', await call('igor', { method: 'GET', path: at, headers: identity, wantsBytes: true }))
      return Buffer.isBuffer(body) ? body : undefined
    },
    package: ({ location, name, version }, as) => getObject(pathTo`/artifacts/${location}/${name}/${version}`, as),
    isRunning: () => false,
  }
}

/** Jobs in folders are in the query: a slash in a path would end the name of the job. */
function placeOf({ number, ...job }: Build): string {
  return `${number}/${jobPath(job)}`
}

function jobPath({ host, job }: Omit<Build, 'number'>): string {
  return `${encodeValue(host)}?job=${encodeValue(job)}`
}
