/** HTTP methods: those that some operation has, and what they promise. */

export const offeredMethods: ReadonlySet<string> = new Set([
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
])

export function isReadMethod(method: string): boolean {
  return method === 'GET' || method === 'HEAD'
}

/** A request by it changes nothing. @see RFC 9110, section 9.2.1 */
export function isSafeMethod(method: string): boolean {
  return isReadMethod(method) || method === 'OPTIONS'
}

/** A method for labels of metrics and spans: strangers may send any of the many that exist. @see OpenTelemetry, http.request.method */
export function methodLabel(method: string): string {
  return offeredMethods.has(method) ? method : '_OTHER'
}
