/** Redirects of services: followed for reads within the same service. */
import type { Dispatcher } from 'undici'
import { isReadMethod } from '../telemetry/methods.ts'

export const maxRedirects = 5

const redirects = new Set([301, 302, 303, 307, 308])

/** Whether `Location` has another address of what was asked for. */
export function isRedirect(status: number): boolean {
  return redirects.has(status)
}

/**
 * The path to ask instead, relative to the base URL of the service; undefined when the redirect is not followed.
 *
 * @param asked The request that was answered with the redirect
 * @param basePath Path of the base URL, without trailing slash
 */
export function redirectPath(
  asked: Pick<Dispatcher.DispatchOptions, 'origin' | 'path' | 'method'>,
  basePath: string,
  location: string | undefined,
): string | undefined {
  if (location === undefined || !isReadMethod(asked.method)) return undefined
  const origin = String(asked.origin)
  const url = URL.parse(location, origin + asked.path)
  if (url === null || url.origin !== new URL(origin).origin || !url.pathname.startsWith(`${basePath}/`)) return undefined
  return url.pathname.slice(basePath.length) + url.search
}
