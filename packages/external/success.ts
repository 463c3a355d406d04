/** Answers of services as values or errors of a port. */
import { asGiven, shape } from '@fairlead/base/json/shape.ts'
import { textOf } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import type { ServiceName } from '@fairlead/base/services/services.ts'
import type { Caller } from '@fairlead/ports/caller.ts'
import type { CallService, ServiceAnswer, ServiceCall } from '@fairlead/ports/service-call.ts'

const toProblem = shape({ message: textOf, errors: asGiven, exception: asGiven })

/** @throws {PortError} with the status of a refusal */
export function successOf(service: string, { status, body }: ServiceAnswer): unknown {
  if (status < 400) return body
  throw new PortError(
    status,
    `${service} answered ${status}: ${toProblem(body).message ?? 'no message'}`,
  )
}

/** Sends requests in the name of a caller. `expected` are error statuses that are no exceptions. */
export function senderTo(service: ServiceName, call: CallService) {
  /** @throws {PortError} for every other error status */
  return async (
    request: ServiceCall,
    { identity: headers }: Caller,
    expected: readonly number[] = [],
  ): Promise<ServiceAnswer> => {
    const answer = await call(service, { ...request, headers })
    if (answer.status < 400 || expected.includes(answer.status)) return answer
    throw toPortError(service, answer)
  }
}

/** A refusal in the words of the service. */
export function toPortError(service: ServiceName, { status, body }: ServiceAnswer): PortError {
  const { message, errors, exception } = toProblem(body)
  return new PortError(status, message ?? `${service} answered with status ${status}.`, {
    errors,
    exception,
  })
}
