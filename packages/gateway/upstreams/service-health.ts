/** Health of services: what they answer about it, and their circuit breakers in the log. */

import type { ServiceName } from '@fairlead/base/services/services.ts'
import type { FastifyBaseLogger } from 'fastify'
import { isPage } from './answer-form.ts'
import { anonymousIdentity } from './identity.ts'
import type { CircuitChange, EndpointState, Upstreams } from './upstreams.ts'

export async function askHealth(
  upstreams: Upstreams,
  service: ServiceName,
): Promise<number | undefined> {
  const answer = await upstreams
    .call(service, { path: '/health' }, anonymousIdentity)
    .catch(() => undefined)
  return answer !== undefined && isPage(answer.text) ? undefined : answer?.status
}

export function logCircuit(
  log: FastifyBaseLogger,
  { service, address, state, cause, remainingMs }: CircuitChange,
): void {
  if (state === 'closed')
    log.info({ service, address }, 'a service answers again; calls to it are resumed')
  else {
    log.warn(
      { service, address, err: cause, probeInMs: Math.round(remainingMs) },
      'a service has failed repeatedly; calls to it are suspended until it answers a probe',
    )
  }
}

export function describeCircuits(endpoints: readonly EndpointState[]): string[] {
  return endpoints
    .filter(({ circuit }) => circuit !== 'closed')
    .map(({ service, instance, remainingMs }) => {
      const until = new Date(Date.now() + remainingMs).toISOString()
      return `${service}, instance ${instance}, has failed repeatedly and is not called; next probe at ${until}`
    })
}
