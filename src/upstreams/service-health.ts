/** Health of a service. */
import { isPage } from './answer-form.ts'
import { anonymousIdentity } from './identity.ts'
import type { ServiceName } from './services.ts'
import type { Upstreams } from './upstreams.ts'

/** The status with which it answers the question; undefined when it does not answer, or something else does. */
export async function askHealth(upstreams: Upstreams, service: ServiceName): Promise<number | undefined> {
  const answer = await upstreams.call(service, { path: '/health' }, anonymousIdentity).catch(() => undefined)
  return answer !== undefined && isPage(answer.text) ? undefined : answer?.status
}
