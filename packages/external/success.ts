/** Answers of services as values of a port. */
import { fieldOf, textOf } from '@fairlead/base/json/values.ts'
import type { ServiceName } from '@fairlead/base/services/services.ts'
import { PortError } from '@fairlead/ports/port-error.ts'
import type { ServiceAnswer } from '@fairlead/ports/service-call.ts'

/** @throws {PortError} with the status of a refusal */
export function successOf(service: ServiceName, { status, body }: ServiceAnswer): unknown {
  if (status < 400) return body
  throw new PortError(status, `${service} answered ${status}: ${textOf(fieldOf(body, 'message')) ?? 'no message'}`)
}
