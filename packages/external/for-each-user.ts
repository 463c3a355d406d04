/** Calls for several users to services that know one user a call. */
import { shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, objectsOf, textOf } from '@fairlead/base/json/values.ts'
import { usersOf } from '@fairlead/base/names/acting-users.ts'
import { decodeSegment } from '@fairlead/base/net/encode-path.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import type { ServiceName } from '@fairlead/base/services/services.ts'
import { type Access, describeMissing } from '@fairlead/ports/access.ts'
import { accountOf } from '@fairlead/ports/cloud-values.ts'
import type { CallService, ServiceCall } from '@fairlead/ports/service-call.ts'

/**
 * What it reads, a service shows to each of the users: the answer is the last one's, or the first refusal. What it changes is checked
 * here for the others.
 *
 * @param accessOf What users may do; with several names, `each` has those whose rights count
 */
export function forEachUser(
  call: CallService,
  accessOf: (users: string) => Promise<Access>,
): CallService {
  return async (service, request) => {
    const { method, path, headers } = request
    const all = headers?.['x-spinnaker-user'] ?? ''
    if (usersOf(all).length < 2) return call(service, request)
    const callAs = (user: string) =>
      call(service, { ...request, headers: { ...headers, 'x-spinnaker-user': user } })
    // Nobody is checked where no rights are known of each.
    const each = (await accessOf(all)).each ?? []
    const isRead = method === 'GET' || path === '/artifacts/fetch'
    for (const access of each.slice(0, -1)) {
      const answer = isRead ? await callAs(access.user) : undefined
      if (answer !== undefined && answer.status >= 400) return answer
      const missing = isRead ? undefined : missingRight(service, request, access)
      if (missing !== undefined) throw new PortError(403, missing, { kind: 'PERMISSION' })
    }
    return callAs(each.at(-1)?.user ?? usersOf(all).at(-1) ?? '')
  }
}

const toOwner = shape({ account_name: textOf, application: textOf })

/** @returns a sentence; undefined: none is missing */
function missingRight(
  service: ServiceName,
  { path, body }: ServiceCall,
  access: Access,
): string | undefined {
  const server = service === 'igor' ? /^\/masters\/([^/]+)/.exec(path)?.[1] : undefined
  if (server !== undefined && !access.mayOnBuildService(decodeSegment(server), 'WRITE'))
    return `This needs WRITE on the build service ${decodeSegment(server)}; ${access.user} has not got it.`
  for (const description of descriptionsIn(body)) {
    const { account_name, application } = toOwner(description)
    const account = accountOf(description) ?? account_name
    if (account !== undefined && !access.mayOnAccount(account, 'WRITE'))
      return `This needs WRITE on the account ${account}; ${access.user} has not got it.`
    if (application !== undefined && !access.mayOnApplication(application, 'WRITE'))
      return describeMissing(access, 'WRITE', application)
  }
  return undefined
}

/** Operations are a list of objects with a description under the name of the operation; other bodies are descriptions themselves. */
function descriptionsIn(body: unknown): JsonObject[] {
  const listed = objectsOf(Array.isArray(body) ? body : [body])
  return Array.isArray(body)
    ? listed.flatMap((one) => [one, ...objectsOf(Object.values(one))])
    : listed
}
