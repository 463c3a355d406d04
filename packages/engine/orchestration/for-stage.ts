/** Ports as a stage uses them: in the name of all for whom it runs, with its secrets, and with the errors of steps. */
import { GatewayError } from '@fairlead/base/errors.ts'
import { authorFault, PortError } from '@fairlead/base/port-error.ts'
import type { ServiceName } from '@fairlead/base/services/services.ts'
import type { Caller } from '@fairlead/ports/caller.ts'
import type { PortRules } from '@fairlead/ports/rules.ts'
import { ServiceOffError } from '@fairlead/ports/service-call.ts'
import { RetryableError, StageError } from './machine/failure.ts'
import { maskCopies } from './secrets.ts'

/** The methods of a port without the caller, who comes last. */
export type PortOfStage<Port> = {
  readonly [Name in keyof Port]: Port[Name] extends (...given: infer All) => infer Result
    ? All extends [...infer Given, Caller]
      ? (...given: Given) => Result
      : Port[Name]
    : Port[Name]
}

export interface StageBinding {
  /** The stage, as all for whom it runs. */
  caller(): Promise<Caller>
  /** Throws unless the stage may change something by this port. */
  checkChange(service: ServiceName, method: string): Promise<void>
  /** A copy of an argument with what the port takes in place of references, and what its answer must not show. */
  reveal(
    argument: unknown,
    takesReferences: boolean,
  ): Promise<{ value: unknown; secrets: readonly string[] }>
}

type PortMethod = (...given: unknown[]) => Promise<unknown>

/**
 * @throws {RetryableError} when the step should run again after its pause: docs/contracts/orchestration.md#retries-of-calls
 * @throws {StageError} for every other refusal
 */
export function forStage<Port extends { readonly name: string }>(
  port: Port,
  rules: PortRules<Port>,
  binding: StageBinding,
): PortOfStage<Port> {
  // A port that is bound late has no own fields.
  const { takesReferences } = port as { readonly takesReferences?: boolean }
  const bind =
    (name: keyof Port & string): PortMethod =>
    async (...given) => {
      if (rules.changes.includes(name)) await binding.checkChange(rules.service, name)
      const [first, ...rest] = given
      const { value, secrets } = rules.holdsSecrets.includes(name)
        ? await binding.reveal(first, takesReferences === true)
        : { value: first, secrets: [] }
      const sent = given.length === 0 ? [] : [value, ...rest]
      const as = await binding.caller()
      try {
        return maskCopies(await (port[name] as PortMethod)(...sent, as), secrets)
      } catch (error) {
        throw toStageError(error, !rules.once.includes(name), {
          service: rules.service,
          name: port.name,
        })
      }
    }
  return new Proxy(port, {
    get: (_port, name) => {
      const member = port[name as keyof Port]
      return typeof member === 'function' ? bind(name as keyof Port & string) : member
    },
  }) as PortOfStage<Port>
}

/** @param isRepeatable Calls that change nothing when repeated are tried again after the faults of a network. */
export function toStageError(
  error: unknown,
  isRepeatable: boolean,
  { service, name }: { service: ServiceName; name: string },
): Error {
  if (error instanceof StageError || (error as Error).name === 'AbortError') return error as Error
  // Such as a name that no path can have.
  if (error instanceof ServiceOffError || error instanceof GatewayError)
    return new StageError([error.message])
  if (!(error instanceof PortError)) {
    const text = `${name} cannot be reached: ${error instanceof Error ? error.message : String(error)}`
    return isRepeatable ? new RetryableError([text]) : new StageError([text])
  }
  const { status, fields, message } = error
  const isPassing = status === 503 || ([429, 502, 504].includes(status) && isRepeatable)
  const listed = Array.isArray(fields['errors']) ? fields['errors'].map(String) : []
  const errors = listed.length > 0 ? listed : [message || `${name} answered with status ${status}.`]
  const details = {
    status,
    kind: fields['kind'] ?? 'HTTP',
    service,
    ...(fields['exception'] === authorFault && { isFinal: true }),
  }
  return isPassing ? new RetryableError(errors, details) : new StageError(errors, details)
}
