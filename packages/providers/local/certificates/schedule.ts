/** When something is done next: retries, checks of names, renewals. */
import type { HeldCertificate, RenewalWindow } from './certificate-store.ts'

const secondMs = 1000
const minuteMs = 60 * secondMs
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs

const failurePauses = [minuteMs, 5 * minuteMs, 30 * minuteMs, 2 * hourMs, 12 * hourMs]
const jitter = 0.1

/** A number from 0 to 1, 1 excluded; tests fix it. */
export type Random = () => number

/** @param failures In a row, the present one included */
export function failurePauseMs(failures: number, random: Random): number {
  const pauseMs = failurePauses[Math.min(failures, failurePauses.length) - 1] ?? minuteMs
  return Math.round(pauseMs * (1 + jitter * random()))
}

/** Names that were just written are looked up often. */
export function dnsPauseMs(waitingMs: number): number {
  return waitingMs < hourMs ? minuteMs : 10 * minuteMs
}

/** After a 429 without `Retry-After`. */
export const limitPauseMs = hourMs

const shortLifeMs = 10 * dayMs
const renewalInfoMs = 6 * hourMs
const maxRenewalInfoMs = dayMs

/** No certificate is renewed sooner after it was issued: the clock of this machine, or a window of the authority, may be wrong. */
const soonestMs = dayMs

type CertificateTimes = Pick<HeldCertificate, 'issuedMs' | 'notBeforeMs' | 'notAfterMs'>

/** Two thirds of its life, or half of it below ten days. */
export function renewalByLife(times: CertificateTimes): number {
  const { notBeforeMs, notAfterMs } = times
  const lifeMs = notAfterMs - notBeforeMs
  return notSooner(times, notBeforeMs + (lifeMs < shortLifeMs ? lifeMs / 2 : (lifeMs * 2) / 3))
}

/** A moment in the window, evenly spread over all clients. @see RFC 9773, section 4.2 */
export function renewalInWindow(
  times: CertificateTimes,
  { startMs, endMs }: RenewalWindow,
  random: Random,
): number {
  return notSooner(times, startMs + random() * (endMs - startMs))
}

function notSooner({ issuedMs, notBeforeMs, notAfterMs }: CertificateTimes, atMs: number): number {
  return Math.max(atMs, issuedMs + Math.min(soonestMs, (notAfterMs - notBeforeMs) / 8))
}

/** A quarter of its life is left: what should have renewed it has not. */
export function warnsFrom({
  notBeforeMs,
  notAfterMs,
}: Pick<HeldCertificate, 'notBeforeMs' | 'notAfterMs'>): number {
  return notAfterMs - (notAfterMs - notBeforeMs) / 4
}

/** When renewal information is due again. */
export function informedAgainAt(now: number, retryAtMs: number | undefined): number {
  if (retryAtMs === undefined) return now + renewalInfoMs
  return Math.min(Math.max(retryAtMs, now + minuteMs), now + maxRenewalInfoMs)
}

const firstPollMs = 250
const longestPollMs = 5 * secondMs
const maxRetryMs = 10 * minuteMs

/** The pause before an order or authorization is looked at again. */
export function pollPauseMs(polls: number, now: number, retryAtMs: number | undefined): number {
  if (retryAtMs === undefined || retryAtMs <= now)
    return Math.min(longestPollMs, firstPollMs * 2 ** polls)
  return Math.min(maxRetryMs, retryAtMs - now)
}
