/** Redirects of services: followed for reads within the same service. */
import { isReadMethod } from '../telemetry/methods.ts'
import type { UpstreamTarget } from './call-target.ts'

export const maxRedirects = 5

const redirects = new Set([301, 302, 303, 307, 308])

export function isRedirect(status: number): boolean {
  return redirects.has(status)
}

/**
 * The path to ask instead, relative to the base URL of the service; undefined when the redirect is not followed.
 *
 * @param asked The request that was answered with the redirect
 */
export function redirectPath({ endpoint, method, path }: UpstreamTarget, location: string | undefined): string | undefined {
  if (location === undefined || !isReadMethod(method)) return undefined
  const { origin, basePath } = endpoint
  const url = URL.parse(location, origin + path)
  if (url === null || url.origin !== origin || !url.pathname.startsWith(`${basePath}/`)) return undefined
  return url.pathname.slice(basePath.length) + url.search
}
