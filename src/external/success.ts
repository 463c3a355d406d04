/** Answers of services as values or errors of a port. */
import { fieldOf, objectOf, textOf } from '../json/values.ts'
import { PortError } from '../ports/port-error.ts'
import type { ServiceName } from '../services/services.ts'
import type { ServiceAnswer } from './service-call.ts'

/** @throws {PortError} with the status of a refusal */
export function successOf(service: ServiceName, { status, body }: ServiceAnswer): unknown {
  if (status < 400) return body
  throw new PortError(status, `${service} answered ${status}: ${textOf(fieldOf(body, 'message')) ?? 'no message'}`)
}

/** A refusal in the words of the service, for those who add its name. */
export function toPortError({ status, body }: ServiceAnswer): PortError {
  const { message, errors, exception } = objectOf(body)
  return new PortError(status, textOf(message) ?? '', { errors, exception })
}
