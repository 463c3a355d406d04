/** Calls for several users to a service that is not embedded: it knows one user a call. */
import { decodeSegment } from '@fairlead/base/net/encode-path.ts'
import type { ServiceName } from '@fairlead/base/services/services.ts'
import type { Access } from '@fairlead/ports/access.ts'
import { missingRight } from '@fairlead/ports/missing-right.ts'
import type { ServiceAnswer, ServiceCall } from '@fairlead/ports/service-call.ts'
import type { EngineOptions } from './engine-parts.ts'
import { RetryableError, StageError } from './machine/failure.ts'

/**
 * What it reads, the service shows to each of the users: the answer is the last one's, or the first refusal. What it changes is judged
 * here for the others.
 *
 * @throws {StageError} naming who lacks what; {RetryableError} while the permission service cannot be asked
 */
export async function callElsewhere(
  { call, accessOf }: Pick<EngineOptions, 'call' | 'accessOf'>,
  service: ServiceName,
  request: ServiceCall,
  users: readonly string[],
): Promise<ServiceAnswer> {
  const as = (user: string | undefined) =>
    call(service, { ...request, headers: { ...request.headers, 'x-spinnaker-user': user ?? '' } })
  const isRead = request.method === 'GET'
  for (const user of service === 'fiat' ? [] : users.slice(0, -1)) {
    const answer = isRead ? await as(user) : undefined
    if (answer !== undefined && answer.status >= 400) return answer
    if (isRead) continue
    const access = await accessOf(user).catch((error: unknown) => {
      throw new RetryableError([(error as Error).message])
    })
    const missing = missingFor(service, request, access)
    if (missing !== undefined) throw new StageError([missing], { status: 403, kind: 'PERMISSION' })
  }
  return as(users.at(-1))
}

function missingFor(service: ServiceName, { path, body }: ServiceCall, access: Access): string | undefined {
  const master = service === 'igor' ? /^\/masters\/([^/]+)/.exec(path)?.[1] : undefined
  if (master !== undefined && !access.mayOnBuildService(decodeSegment(master), 'WRITE'))
    return `This needs WRITE on the build service ${decodeSegment(master)}; ${access.user} has not got it.`
  return missingRight(body, access)
}
