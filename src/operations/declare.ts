/** Operations by their method: `get('getJobUsingGET', '/jobs/{id}', { … })`. */
import type { Method, Operation } from './operation.ts'

type Rest = Omit<Operation, 'id' | 'method' | 'path'>
type Own<Shared> = Omit<Rest, keyof Shared> & Partial<Rest>

/**
 * For operations with fields in common. An operation's own field wins, and one with `handle` is not forwarded. Only a file that is open as a
 * whole shares demands that let every caller in: what is added to another one must not be open by accident.
 */
export function operationsWith<const Shared extends Partial<Rest>>({ forward, ...shared }: Shared) {
  function declare(method: Method, id: string, path: string, own: Own<Shared>): Operation {
    const forwarded = own.handle === undefined && forward !== undefined && { forward }
    return { id, method, path, ...shared, ...forwarded, ...own } as Operation
  }
  return {
    get: (id: string, path: string, own: Own<Shared>) => declare('GET', id, path, own),
    post: (id: string, path: string, own: Own<Shared>) => declare('POST', id, path, own),
    put: (id: string, path: string, own: Own<Shared>) => declare('PUT', id, path, own),
    patch: (id: string, path: string, own: Own<Shared>) => declare('PATCH', id, path, own),
    remove: (id: string, path: string, own: Own<Shared>) => declare('DELETE', id, path, own),
  }
}

export const { get, post, put, patch, remove } = operationsWith({})

/** Screens poll it, so users with equal rights share one call. */
export const polledByUsers = { polled: true, shared: 'rights' } as const
