/** Builds of an Igor. */
import { maybeObject, objectList } from '@fairlead/base/json/shape.ts'
import { type JsonObject, objectsOf, scalarOf } from '@fairlead/base/json/values.ts'
import { encodeSegments, formatQuery, pathTo } from '@fairlead/base/net/encode-path.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { toPermissionRecord } from '@fairlead/model/rights/permissions.ts'
import { type BuildJob, type Builds, toQueueItem } from '@fairlead/ports/builds.ts'
import type { Caller } from '@fairlead/ports/caller.ts'
import type { CallService } from '@fairlead/ports/service-call.ts'
import { senderTo } from './success.ts'

export function openIgor(call: CallService): Builds {
  const send = senderTo('igor', call)
  const get = async (path: string, as: Caller): Promise<unknown> =>
    (await send({ method: 'GET', path }, as)).body
  const getObject = async (path: string, as: Caller): Promise<JsonObject | undefined> =>
    maybeObject(await get(path, as))
  return {
    name: 'igor',
    takesReferences: false,
    offersFiles: false,
    pauses: { least: 1000, most: 10_000, queued: 10_000, order: 30_000 },
    sourceServer: undefined,
    sourceFile: async () => undefined,
    keepSource: async () => {
      throw new PortError(404, 'An external build service keeps no folders.')
    },
    services: async (as) => objectList(toPermissionRecord)(await get('/buildServices', as)),
    async start({ parameters, startTime, ...job }, as) {
      const path = `${jobsOf(job)}/${encodeSegments(job.job)}${formatQuery(parameters)}`
      const { status, body } = await send({ method: 'PUT', path, body: Number(startTime) }, as)
      if (status === 202) return undefined
      const item = scalarOf(body)
      if (item === undefined)
        throw new PortError(
          500,
          `The build service has started "${job.job}" on "${job.host}" and names no build.`,
        )
      return item
    },
    async stop({ number, item, ...job }, as) {
      const order = pathTo`/stop/${item}/${String(number)}`
      const ofJob = job.job.includes('/')
        ? order + formatQuery({ jobName: job.job })
        : pathTo`/${job.job}` + order
      await send({ method: 'PUT', path: jobsOf(job) + ofJob }, as, [400, 404])
    },
    async queueItem({ host, job, item }, as) {
      const found = await getObject(
        pathTo`/builds/queue/${host}/${item}` + formatQuery({ job }),
        as,
      )
      return found && toQueueItem(found)
    },
    build: ({ number, ...job }, as) =>
      getObject(pathTo`/builds/status/${String(number)}/` + placeOf(job), as),
    properties: ({ number, ...job }, fileName, as) =>
      getObject(pathTo`/builds/properties/${String(number)}/${fileName}/` + placeOf(job), as),
    artifacts: async ({ number, ...job }, propertyFile, as) =>
      objectsOf(
        await get(
          pathTo`/builds/artifacts/${String(number)}/` +
            placeOf(job) +
            formatQuery({ propertyFile }),
          as,
        ),
      ),
    async file({ number, host, job }, path, as) {
      const at = `${pathTo`/builds/file/${String(number)}/${host}`}/${encodeSegments(job)}${formatQuery({ path })}`
      const { body } = await send({ method: 'GET', path: at, wantsBytes: true }, as)
      return Buffer.isBuffer(body) ? body : undefined
    },
    package: ({ location, name, version }, as) =>
      getObject(pathTo`/artifacts/${location}/${name}/${version}`, as),
    isRunning: () => false,
    secretHolders: () => [],
  }
}

function jobsOf({ host }: BuildJob): string {
  return pathTo`/masters/${host}/jobs`
}

/** The slashes of jobs in folders stay: the rest of the path is the job. */
function placeOf({ host, job }: BuildJob): string {
  return pathTo`${host}/` + encodeSegments(job)
}
