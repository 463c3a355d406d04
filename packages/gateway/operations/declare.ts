/** Operations by their method: `get('getJobUsingGET', '/jobs/{id}', 'Get a job', { … })`. */

import { GatewayError } from '@fairlead/base/errors.ts'
import type { ServiceName } from '@fairlead/base/services/services.ts'
import { z } from 'zod'
import type { BodyRule, HttpMethod, Operation } from './operation.ts'
import type { Platform } from './platform.ts'

/** A schema alone is that of a body that is required. */
type Rest = Omit<Operation, 'id' | 'method' | 'path' | 'summary' | 'body'> & {
  readonly body?: BodyRule | z.ZodType
}
type Own<Shared> = Omit<Rest, keyof Shared> & Partial<Rest>

/**
 * For operations with fields in common. An operation's own field wins, and one with `handle` is not forwarded. Only a file that is open as a
 * whole shares demands that let every caller in: what is added to another one must not be open by accident.
 */
export function operationsWith<const Shared extends Partial<Rest>>({ forward, ...shared }: Shared) {
  const by =
    (method: HttpMethod) => (id: string, path: string, summary: string, own: Own<Shared>) => {
      const forwarded = own.handle === undefined && forward !== undefined && { forward }
      const { body, ...declared } = {
        id,
        method,
        path,
        summary,
        ...shared,
        ...forwarded,
        ...own,
      } as Rest
      const rule = body instanceof z.ZodType ? { schema: body, required: true } : body
      return { ...declared, ...(rule && { body: rule }) } as Operation
    }
  return {
    get: by('GET'),
    post: by('POST'),
    put: by('PUT'),
    patch: by('PATCH'),
    remove: by('DELETE'),
  }
}

export const { get, post, put, patch, remove } = operationsWith({})

/** Screens poll it, so users with equal rights share one call. */
export const polledByUsers = { polled: true, shared: 'rights' } as const

const capabilities: Readonly<Partial<Record<ServiceName, string>>> = {
  keel: 'Managed delivery',
  kayenta: 'Canary analysis',
  mine: 'First-generation canary analysis',
  swabbie: 'The clean-up of unused resources',
}

export function checkServicePresent(platform: Platform, service: ServiceName): void {
  if (platform.upstreams.isEnabled(service)) return
  const message =
    `${capabilities[service] ?? 'This'} needs the service ${service}, which is switched off. ` +
    `Set services.${service}.baseUrl (and services.${service}.enabled: true) to use it.`
  // Clients of GraphQL, which keel has, look for nothing else.
  throw new GatewayError('NOT_FOUND', message, { fields: { errors: [{ message }] } })
}

/**
 * Operations of an optional service. Those without `forward` or `handle` are forwarded to their path without the prefix; those without
 * `whenDisabled` are missing while the service is switched off.
 */
export function ofOptionalService(
  service: ServiceName,
  prefix: string,
  operations: readonly Operation[],
): Operation[] {
  return operations.map((operation) => ({
    ...(operation.handle === undefined && {
      forward: `${service} ${operation.path.slice(prefix.length)}` as const,
    }),
    ...(!('whenDisabled' in operation) && { missingWhenDisabled: true }),
    ...operation,
  }))
}
