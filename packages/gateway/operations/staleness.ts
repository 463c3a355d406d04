/** Notes in responses while a service is away: the age of lists from memory, and missing parts. */
import { GatewayError } from '@fairlead/base/errors.ts'
import type { ServiceName } from '@fairlead/base/services/services.ts'
import type { RequestState } from '../http/request-state.ts'
import type { Upstreams } from '../upstreams/upstreams.ts'

type ServiceNames = Pick<Upstreams, 'nameOf'>

interface Staleness {
  readonly service: ServiceName
  readonly ageMs: number | undefined
}

/** A refresh may take so long before the list counts as old. */
const patienceMs = 15_000

export class Freshness {
  readonly #service: ServiceName
  readonly #maxAgeMs: number
  #loadedAtMs: number | undefined
  #fault: string | undefined

  constructor(service: ServiceName, refreshMs: number) {
    this.#service = service
    this.#maxAgeMs = refreshMs + patienceMs
  }

  loaded(): boolean {
    const wasFailing = this.#fault !== undefined
    this.#loadedAtMs = performance.now()
    this.#fault = undefined
    return wasFailing
  }

  /** @returns Whether the log does not know yet: the first failure in a row, or one of another kind */
  failed(error: unknown): boolean {
    const fault = error instanceof GatewayError ? `${error.code} ${error.status}` : String(error)
    const isNew = this.#fault !== fault
    this.#fault = fault
    return isNew
  }

  staleness(): Staleness | undefined {
    const ageMs = this.#loadedAtMs === undefined ? undefined : performance.now() - this.#loadedAtMs
    return this.#fault !== undefined || (ageMs ?? 0) > this.#maxAgeMs
      ? { service: this.#service, ageMs }
      : undefined
  }
}

/** Has the answer say how old it is: `Age` in seconds, and the service in `Warning` (RFC 9111, 5.1; RFC 7234, 5.5). */
export function noteAge(
  state: RequestState,
  freshness: readonly Freshness[],
  names: ServiceNames,
): void {
  const stale = freshness.map((one) => one.staleness()).filter((found) => found !== undefined)
  if (stale.length === 0) return
  const ages = stale.flatMap(({ ageMs }) => (ageMs === undefined ? [] : [Math.round(ageMs / 1000)]))
  if (ages.length > 0) state.answerHeaders['age'] = String(Math.max(...ages))
  state.answerHeaders['warning'] = stale.map(({ service, ageMs }) =>
    toWarning(names.nameOf(service), ageMs),
  )
}

export function formatMissing(services: readonly ServiceName[], names: ServiceNames): string {
  return services
    .map(
      (service) =>
        `199 fairlead "${names.nameOf(service)} does not answer, so its part may be missing"`,
    )
    .join(', ')
}

function toWarning(name: string, ageMs: number | undefined): string {
  return ageMs === undefined
    ? `111 fairlead "${name} has not answered yet, so the list may be incomplete"`
    : `110 fairlead "${name} does not answer; what it reported ${Math.round(ageMs / 1000)} seconds ago is shown"`
}
