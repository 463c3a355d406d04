/** Bounds of what is asked of an authority: four fifths of what Let's Encrypt allows, and own ones for all. */
import { getDomain } from 'tldts'
import type { CertificateStore, EventKind } from './certificate-store.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs

interface Limit {
  readonly count: number
  readonly windowMs: number
}

export type Limits = Readonly<Partial<Record<EventKind, Limit>>>

/** Failed validations of a host, at each authority. */
const ownLimits: Limits = { failure: { count: 3, windowMs: hourMs } }

/** @see https://letsencrypt.org/docs/rate-limits/: 300, 50, 5 and 10 */
const letsEncryptLimits: Limits = {
  ...ownLimits,
  order: { count: 240, windowMs: 3 * hourMs },
  domain: { count: 40, windowMs: 7 * dayMs },
  names: { count: 4, windowMs: 7 * dayMs },
  account: { count: 8, windowMs: 3 * hourMs },
}

export function limitsOf(directory: string): Limits {
  return /(?:^|\.)letsencrypt\.org$/.test(new URL(directory).hostname)
    ? letsEncryptLimits
    : ownLimits
}

/** Domain whose limit a host counts for: `example.co.uk`; the host itself where it has none. */
export function registeredDomainOf(host: string): string {
  const name = host.replace(/^\*\./, '')
  return getDomain(name, { allowPrivateDomains: true }) ?? name
}

interface Subject {
  readonly kind: EventKind
  readonly subject: string
}

const descriptions: Readonly<Record<EventKind, string>> = {
  account: 'new accounts',
  order: 'orders of the account',
  domain: 'certificates of the registered domain',
  names: 'certificates of the same names',
  failure: 'failed validations of the host',
}

export class Budget {
  readonly #store: CertificateStore
  readonly #directory: string
  readonly #limits: Limits

  constructor(store: CertificateStore, directory: string, limits = limitsOf(directory)) {
    this.#store = store
    this.#directory = directory
    this.#limits = limits
  }

  /**
   * When the next order for these hosts may begin; undefined: now.
   *
   * @param isRenewal It names the certificate that it replaces, which counts for no limit of renewals
   */
  waitsUntil(
    hosts: readonly string[],
    isRenewal: boolean,
    now: number,
  ): { readonly untilMs: number; readonly cause: string } | undefined {
    const always: Subject[] = [
      { kind: 'account', subject: '' },
      ...hosts.map((subject) => ({ kind: 'failure' as const, subject })),
    ]
    const waits = [...always, ...(isRenewal ? [] : subjectsOf(hosts))].flatMap((subject) => {
      const untilMs = this.#freeAt(subject, now)
      return untilMs === undefined ? [] : [{ ...subject, untilMs }]
    })
    const longest = waits.toSorted((one, other) => other.untilMs - one.untilMs)[0]
    if (longest === undefined) return undefined
    const { kind, subject, untilMs } = longest
    const of = subject === '' ? '' : ` (${subject})`
    const until = new Date(untilMs).toISOString()
    return {
      untilMs,
      cause: `Fairlead holds the order back until ${until}: the ${descriptions[kind]}${of} have reached four fifths of what the authority allows.`,
    }
  }

  noteOrder(hosts: readonly string[], isRenewal: boolean, now: number): void {
    if (!isRenewal)
      for (const { kind, subject } of subjectsOf(hosts))
        this.#store.note(this.#directory, kind, subject, now)
  }

  noteFailure(host: string, now: number): void {
    this.#store.note(this.#directory, 'failure', host, now)
  }

  noteAccount(now: number): void {
    this.#store.note(this.#directory, 'account', '', now)
  }

  #freeAt({ kind, subject }: Subject, now: number): number | undefined {
    const limit = this.#limits[kind]
    if (limit === undefined) return undefined
    const { count, windowMs } = limit
    const times = this.#store.timesSince(this.#directory, kind, subject, now - windowMs)
    const oldest = times.at(-count)
    return times.length < count || oldest === undefined ? undefined : oldest + windowMs
  }
}

function subjectsOf(hosts: readonly string[]): Subject[] {
  const domains = [...new Set(hosts.map(registeredDomainOf))]
  return [
    { kind: 'order', subject: '' },
    { kind: 'names', subject: hosts.toSorted().join(' ') },
    ...domains.map((subject) => ({ kind: 'domain' as const, subject })),
  ]
}
