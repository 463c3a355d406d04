/** Words that many screens share: counts, failed calls, the names of services. */
import type { ApiError } from './api/api-error.ts'

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString()} ${count === 1 ? one : many}`
}

/** Says that a list is cut. */
export function showing(shown: number, total: number): string {
  return `Showing ${shown.toLocaleString()} of ${total.toLocaleString()}.`
}

/** A failed call in words: what failed, and what helps. */
export function describeError(error: ApiError, of: 'read' | 'change' = 'read'): { title: string; advice: string } {
  const { status, service, message, retryAfterMs } = error
  const isRead = of === 'read'
  if (status === 0) {
    const advice = isRead
      ? 'Check the connection; the page tries again by itself.'
      : 'Check the connection, and whether the change was made, before you try again.'
    return { title: 'Fairlead does not answer.', advice }
  }
  // A suggestion is advice enough.
  if (status === 404) return { title: message, advice: message.endsWith('?') ? '' : 'It was deleted, or you may not read it.' }
  if (status === 429 || status === 503) {
    const wait = retryAfterMs === undefined ? 'in a moment' : `in ${Math.ceil(retryAfterMs / 1000)} s`
    return { title: message, advice: isRead ? `The page tries again ${wait}.` : `Try again ${wait}.` }
  }
  const mayHaveStarted = 'A change may still have started: check the tasks before you try again.'
  if (status === 504) {
    const advice = isRead ? 'The page tries again by itself.' : mayHaveStarted
    return { title: `${capital(serviceWord(service) ?? 'a service')} did not answer in time.`, advice }
  }
  if (status === 502) {
    const advice = isRead ? 'The page tries again by itself; what other services answer is current.' : mayHaveStarted
    return { title: `${capital(serviceWord(service) ?? 'a service')} does not answer (${message}).`, advice }
  }
  return { title: message, advice: '' }
}

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

const services: Readonly<Record<string, string>> = {
  clouddriver: 'the deployment service',
  echo: 'the event service',
  fiat: 'the permission service',
  front50: 'the definition store',
  igor: 'the build service',
  kayenta: 'the canary service',
  keel: 'managed delivery',
  orca: 'the pipeline engine',
  rosco: 'the bakery',
  swabbie: 'the cleanup service',
}

/** A back end as people call it; undefined for none. */
export function serviceWord(service: string | undefined): string | undefined {
  return service === undefined ? undefined : (services[service] ?? `the service ${service}`)
}
