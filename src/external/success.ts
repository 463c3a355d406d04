/** Answers of services as values of a port. */
import { fieldOf, textOf } from '../json/values.ts'
import { PortError } from '../ports/port-error.ts'
import type { ServiceAnswer } from '../ports/service-call.ts'
import type { ServiceName } from '../services/services.ts'

/** @throws {PortError} with the status of a refusal */
export function successOf(service: ServiceName, { status, body }: ServiceAnswer): unknown {
  if (status < 400) return body
  throw new PortError(status, `${service} answered ${status}: ${textOf(fieldOf(body, 'message')) ?? 'no message'}`)
}
