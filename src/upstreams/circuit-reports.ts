/** Circuit breakers in the log and in the health. */
import type { FastifyBaseLogger } from 'fastify'
import type { CircuitChange, EndpointState } from './upstreams.ts'

export function logCircuit(log: FastifyBaseLogger, { service, address, state, cause, remainingMs }: CircuitChange): void {
  if (state === 'closed') log.info({ service, address }, 'a service answers again; calls to it are resumed')
  else {
    log.warn(
      { service, address, err: cause, probeInMs: Math.round(remainingMs) },
      'a service has failed repeatedly; calls to it are suspended until it answers a probe',
    )
  }
}

/** A line for each address that is not called. */
export function describeCircuits(endpoints: readonly EndpointState[]): string[] {
  return endpoints
    .filter(({ circuit }) => circuit !== 'closed')
    .map(({ service, instance, remainingMs }) => {
      const until = new Date(Date.now() + remainingMs).toISOString()
      return `${service}, instance ${instance}, has failed repeatedly and is not called; next probe at ${until}`
    })
}
