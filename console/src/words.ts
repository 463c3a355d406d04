/** Words that many screens share: counts, failed calls, the names of services. */
import type { ApiError } from './api/client.ts'

export function plural(count: number, one: string): string {
  return `${count.toLocaleString()} ${one}${count === 1 ? '' : 's'}`
}

/** Says that a list is cut. */
export function showing(shown: number, total: number): string {
  return `Showing ${shown.toLocaleString()} of ${total.toLocaleString()}.`
}

/** A failed call in words: what failed, and what helps. */
export function describeError(
  error: ApiError,
  of: 'read' | 'change' = 'read',
): { title: string; advice: string } {
  const { status, service, message, retryAfterMs } = error
  const advise = (read: string, change: string) => (of === 'read' ? read : change)
  const wait = retryAfterMs === undefined ? 'in a moment' : `in ${Math.ceil(retryAfterMs / 1000)} s`
  const said = message.replace(/(?<=[^.?!])$/, '.')
  const change = 'A change may still have started: check the tasks before you try again.'
  const back = capital(serviceWord(service) ?? 'a service')
  const readAdvice = 'The page tries again by itself.'
  const later = [said, advise(`The page tries again ${wait}.`, `Try again ${wait}.`)] as const
  const described: Readonly<Record<number, readonly [title: string, advice: string]>> = {
    0: [
      'Fairlead does not answer.',
      `Check the connection${advise('; the page tries again by itself.', ', and whether the change was made, before you try again.')}`,
    ],
    // A suggestion is advice enough.
    404: [said, message.endsWith('?') ? '' : 'It was deleted, or you may not read it.'],
    500: [said, 'The log of Fairlead says why, beside the id of this request.'],
    429: later,
    502: [`${back} does not answer (${message}).`, advise(readAdvice, change)],
    503: later,
    504: [`${back} did not answer in time.`, advise(readAdvice, change)],
  }
  const [title, advice] = described[status] ?? [message, '']
  return { title, advice }
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
