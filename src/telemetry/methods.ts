/** HTTP methods that some operation has. */

export const offeredMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

/** A method for labels of metrics and spans: strangers may send any of the many that exist. @see OpenTelemetry, http.request.method */
export function methodLabel(method: string): string {
  return offeredMethods.has(method) ? method : '_OTHER'
}
