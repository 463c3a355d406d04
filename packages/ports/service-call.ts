/** One call of a service over HTTP. */
import type { ServiceName } from '@fairlead/base/services/services.ts'

export interface ServiceCall {
  method: string
  /** Encoded path with query, relative to the service: `/pipelines/web/name/main?refresh=true`. */
  path: string
  /** Sent as JSON unless undefined. */
  body?: unknown
  /** Names in them are encoded when they are sent. */
  headers?: Record<string, string>
  /** The body of a success is a Buffer, and not parsed. */
  wantsBytes?: true
}

export interface ServiceAnswer {
  status: number
  /** The parsed JSON body; undefined when empty; text when it is not JSON; a Buffer where the call wants bytes. */
  body: unknown
}

/** A service that the configuration does not have: calls fail until an operator changes that. */
export class ServiceOffError extends Error {
  constructor(service: ServiceName) {
    super(
      `${service} is switched off; set services.${service}.enabled or services.${service}.baseUrl.`,
    )
    this.name = 'ServiceOffError'
  }
}

/**
 * @throws {ServiceOffError} when it has no address
 * @throws {Error} when the service cannot be reached, or a page for people comes instead. An error status is an answer, not an exception.
 */
export type CallService = (service: ServiceName, call: ServiceCall) => Promise<ServiceAnswer>
