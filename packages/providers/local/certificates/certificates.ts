/** Certificates of an ACME authority for the hosts of the front: ordered, renewed, and handed to the front. */
import type { BackendContext } from '@fairlead/ports/backend.ts'
import { AcmeAuthority, AcmeProblem } from './acme-authority.ts'
import {
  type CertificateRecord,
  type CertificateState,
  CertificateStore,
  type HeldCertificate,
} from './certificate-store.ts'
import type { CertificateFront } from './front.ts'
import { mergeNew, splitOff } from './grouping.ts'
import { HostAddresses } from './host-addresses.ts'
import { Budget, type Limits, limitsOf, registeredDomainOf } from './limits.ts'
import { clearProofs, followOrder, type OrderParts, placeOrder } from './order.ts'
import { certificateIdOf, loadRenewalInformation } from './renewal.ts'
import {
  dnsPauseMs,
  failurePauseMs,
  informedAgainAt,
  limitPauseMs,
  type Random,
  renewalByLife,
  renewalInWindow,
  warnsFrom,
} from './schedule.ts'
import type { AcmeSettings } from './settings.ts'

export interface HostCertificate {
  readonly host: string
  /** `expired`: the certificate has ended, and is served no more. */
  readonly state: CertificateState | 'expired'
  /** Why it is in this state, and that its certificate ends soon; for people. */
  readonly cause: string | undefined
  /** When something is done next, in milliseconds since the epoch. */
  readonly nextMs: number
  readonly certificate:
    | Pick<HeldCertificate, 'notBeforeMs' | 'notAfterMs' | 'renewAtMs' | 'directory'>
    | undefined
}

interface CertificatesOptions {
  readonly context: Pick<BackendContext, 'db' | 'now' | 'log' | 'ports' | 'stateChanged'>
  readonly settings: AcmeSettings
  readonly front: CertificateFront
  readonly newId: () => string
  readonly limits?: Limits
  readonly random?: Random
}

const maxOrders = 20
/** Looks also where nothing is due: clocks are set, and hosts come and go. */
const longestWaitMs = 60_000
const dayMs = 24 * 3_600_000
/** When renewal information could not be read. */
const informAgainMs = 3_600_000

/**
 * Each record is advanced by one piece of work at a time. Its state is stored before anything that it leads to, so that another process
 * continues it; only the process that holds the database does this.
 */
export class Certificates {
  readonly #options: CertificatesOptions
  readonly #store: CertificateStore
  readonly #authority: AcmeAuthority
  readonly #budget: Budget
  readonly #addresses: HostAddresses
  readonly #random: Random
  readonly #ending = new AbortController()
  /** Work on records, by their ids. */
  readonly #busy = new Map<string, Promise<void>>()
  /** Certificates whose names are right, by id: called with false when the record has gone. */
  readonly #waiting = new Map<string, (mayOrder: boolean) => void>()
  #orders = 0
  #version = -1
  #isStarted = false
  #lookups = 0
  #timer: NodeJS.Timeout | undefined
  /** What the front serves, by the id of the record. */
  readonly #served = new Map<string, string>()
  readonly #warnedMs = new Map<string, number>()

  constructor(options: CertificatesOptions) {
    const { context, settings } = options
    const { db, ports, now } = context
    const { directory } = settings
    const store = new CertificateStore(db, ports.secrets)
    const budget = new Budget(store, directory, options.limits ?? limitsOf(directory))
    this.#options = options
    this.#store = store
    this.#random = options.random ?? Math.random
    this.#budget = budget
    this.#addresses = new HostAddresses(settings)
    this.#authority = new AcmeAuthority(settings, {
      now,
      loadAccount: () => store.account(directory),
      onAccount: (url) => {
        store.noteAccount(directory, url)
        budget.noteAccount(now())
      },
    })
  }

  start(): void {
    this.#isStarted = true
    this.#store.reseal()
    const { directory } = this.#options.settings
    const now = this.#now()
    const isMoved = ({ certificate, order }: CertificateRecord) =>
      [certificate, order].some((held) => held !== undefined && held.directory !== directory)
    this.#put(
      this.#store
        .all()
        .filter(isMoved)
        .map((record) => ({ ...record, nextMs: now })),
    )
    this.step()
  }

  /** Begins whatever is due. Called when something is, and when hosts of the front have changed. */
  step(): void {
    if (!this.#isStarted || this.#ending.signal.aborted) return
    try {
      const services = this.#services()
      this.#adopt(services)
      for (const record of this.#store.all()) {
        const isWanted = record.hosts.some((host) => services.has(host))
        this.#present(record, isWanted)
        if (isWanted && record.nextMs <= this.#now() && !this.#busy.has(record.id))
          this.#begin(record.id)
      }
    } catch (error) {
      this.#options.context.log.error({ err: error }, 'certificates could not be looked after')
    }
    this.#wakeUp()
  }

  /** Called often: what has not changed costs nothing. @param version Of the hosts of the front */
  hostsMayHaveChanged(version: number): void {
    if (version === this.#version) return
    this.#version = version
    setImmediate(() => this.step())
  }

  /** Resolves once everything that is due has been done. */
  async settled(): Promise<void> {
    while (this.#busy.size > 0) await Promise.all(this.#busy.values())
  }

  hosts(): HostCertificate[] {
    const now = this.#now()
    const services = this.#services()
    return this.#store
      .all()
      .flatMap((record) =>
        record.hosts.filter((host) => services.has(host)).map((host) => toView(host, record, now)),
      )
      .toSorted((one, other) => (one.host < other.host ? -1 : 1))
  }

  async close(): Promise<void> {
    this.#ending.abort()
    clearTimeout(this.#timer)
    for (const end of this.#waiting.values()) end(false)
    await Promise.all(this.#busy.values())
    this.#authority.close()
  }

  #now(): number {
    return this.#options.context.now()
  }

  #services(): ReadonlyMap<string, string> {
    return new Map(this.#options.front.hosts().map(({ host, service }) => [host, service]))
  }

  #put(records: readonly CertificateRecord[], gone: readonly string[] = []): void {
    if (records.length === 0 && gone.length === 0) return
    this.#store.put(records, gone)
    this.#options.context.stateChanged()
  }

  #change(id: string, change: Partial<CertificateRecord>): void {
    const record = this.#recordOf(id)
    const isOther = change.state !== undefined && change.state !== record.state
    this.#put([
      { ...record, limits: undefined, ...(isOther && { sinceMs: this.#now() }), ...change },
    ])
  }

  #recordOf(id: string): CertificateRecord {
    const record = this.#store.get(id)
    if (record === undefined) throw new Error(`There is no certificate record ${id}.`)
    return record
  }

  /** A host that is new gets a record; what no host wants is kept as long as its certificate counts. */
  #adopt(services: ReadonlyMap<string, string>): void {
    const now = this.#now()
    const records = this.#store.all()
    const known = new Set(records.flatMap(({ hosts }) => hosts))
    const added = [...services.keys()]
      .filter((host) => !known.has(host))
      .map((host): CertificateRecord => {
        const times = { sinceMs: now, nextMs: now }
        return {
          id: this.#options.newId(),
          hosts: [host],
          state: 'waiting-dns',
          failures: 0,
          ...times,
        }
      })
    const gone = records.filter(
      ({ id, hosts, certificate }) =>
        !this.#busy.has(id) &&
        !hosts.some((host) => services.has(host)) &&
        (certificate === undefined || certificate.notAfterMs <= now),
    )
    for (const { id } of gone) this.#withdraw(id)
    this.#put(
      added,
      gone.map(({ id }) => id),
    )
  }

  /** Hands a certificate to the front, or takes it back, and warns before its end. */
  #present(record: CertificateRecord, isWanted: boolean): void {
    const { id, certificate, hosts, cause } = record
    const now = this.#now()
    if (certificate === undefined) return
    const { log } = this.#options.context
    if (isWanted && now >= warnsFrom(certificate) && now >= (this.#warnedMs.get(id) ?? 0) + dayMs) {
      this.#warnedMs.set(id, now)
      const end = new Date(certificate.notAfterMs).toISOString()
      if (now < certificate.notAfterMs)
        log.warn({ hosts, end, cause }, 'a certificate ends soon, and could not be renewed')
      else log.error({ hosts, end, cause }, 'a certificate has ended, and is served no more')
    }
    if (!isWanted || now >= certificate.notAfterMs) {
      this.#withdraw(id)
      return
    }
    const served = `${certificate.key} ${hosts.join(' ')}`
    if (this.#served.get(id) === served) return
    this.#served.set(id, served)
    const key = this.#unseal(record, certificate)
    if (key === undefined) return
    try {
      this.#options.front.serve(id, { hosts, chain: certificate.chain, key })
    } catch (error) {
      // The next step tries again.
      this.#served.delete(id)
      log.error({ hosts, err: error }, 'a certificate could not be handed to the front')
    }
  }

  /** Without its key, a certificate is ordered anew. */
  #unseal({ id, hosts }: CertificateRecord, certificate: HeldCertificate): string | undefined {
    try {
      return this.#store.unseal(certificate.key)
    } catch (error) {
      const cause = (error as Error).message
      this.#options.context.log.error({ hosts, cause }, 'a certificate cannot be decrypted')
      this.#change(id, { state: 'failing', cause, nextMs: this.#now() })
      return undefined
    }
  }

  #withdraw(id: string): void {
    if (this.#served.get(id) === '') return
    this.#served.set(id, '')
    this.#options.front.withdraw(id)
  }

  #begin(id: string): void {
    const work = this.#advance(id)
      .catch((error: unknown) => {
        if (!this.#ending.signal.aborted) this.#fail(id, error)
      })
      .catch((error: unknown) => {
        this.#options.context.log.error(
          { err: error },
          'the state of a certificate could not be stored',
        )
      })
      .finally(() => {
        this.#busy.delete(id)
        this.step()
      })
    this.#busy.set(id, work)
  }

  async #advance(id: string): Promise<void> {
    const untilMs = this.#limitedUntil('all', this.#recordOf(id).hosts)
    if (untilMs !== undefined) return this.#change(id, { nextMs: untilMs })
    const parts = this.#orderParts()
    const { order } = this.#recordOf(id)
    if (order !== undefined && order.directory !== parts.settings.directory) {
      await clearProofs(id, parts)
      this.#change(id, { order: undefined })
    }
    const isPlaced = this.#recordOf(id).order !== undefined
    if (!isPlaced && !(await this.#isOrderDue(id))) return
    if (!(await (isPlaced ? this.#queue(id) : this.#queueWithRightNames(id)))) return
    try {
      await this.#order(id, parts)
    } finally {
      this.#orders--
      this.#grant()
    }
  }

  #orderParts(): OrderParts {
    const { context, front, settings } = this.#options
    const { now, log } = context
    const [authority, store] = [this.#authority, this.#store]
    return { authority, store, front, settings, now, log, signal: this.#ending.signal }
  }

  /** A valid certificate waits for its renewal, and asks the authority when that should be. */
  async #isOrderDue(id: string): Promise<boolean> {
    const { state, certificate } = this.#recordOf(id)
    if (state !== 'valid' || certificate === undefined) return true
    if (certificate.directory !== this.#options.settings.directory) return true
    const now = this.#now()
    const informed = certificate.informedAtMs > now ? certificate : await this.#inform(certificate)
    const { renewAtMs, informedAtMs } = informed
    this.#change(id, { certificate: informed, nextMs: Math.min(renewAtMs, informedAtMs) })
    return renewAtMs <= now
  }

  async #inform(certificate: HeldCertificate): Promise<HeldCertificate> {
    const now = this.#now()
    try {
      const found = await loadRenewalInformation(this.#authority, certificate.chain)
      const informedAtMs = informedAgainAt(now, found?.retryAtMs)
      if (found === undefined)
        return {
          ...certificate,
          window: undefined,
          renewAtMs: renewalByLife(certificate),
          informedAtMs,
        }
      const { window } = found
      const isSame =
        window.startMs === certificate.window?.startMs && window.endMs === certificate.window.endMs
      const renewAtMs = isSame
        ? certificate.renewAtMs
        : renewalInWindow(certificate, window, this.#random)
      return { ...certificate, window, renewAtMs, informedAtMs }
    } catch (error) {
      if (!(error instanceof AcmeProblem)) throw error
      const { retryAtMs = now + informAgainMs } = error
      return { ...certificate, informedAtMs: informedAgainAt(now, retryAtMs) }
    }
  }

  /** Like `#queue`; false also where the addresses of its hosts are wrong. */
  async #queueWithRightNames(id: string): Promise<boolean> {
    let turn: Promise<boolean> | undefined
    this.#lookups++
    try {
      if (!(await this.#areNamesRight(id))) return false
      this.#change(id, { state: 'ordering', cause: undefined, nextMs: this.#now() })
      turn = this.#queue(id)
    } finally {
      this.#lookups--
      this.#grant()
    }
    return turn
  }

  /** Hosts whose addresses are wrong wait by themselves. */
  async #areNamesRight(id: string): Promise<boolean> {
    const { settings, newId } = this.#options
    const { hosts } = this.#recordOf(id)
    if (settings.challenge === 'dns-01') return true
    const problems = new Map<string, string>()
    const look = async (host: string) => {
      const problem = host.startsWith('*.') ? undefined : await this.#addresses.problemOf(host)
      if (problem !== undefined) problems.set(host, problem)
    }
    await Promise.all(hosts.map(look))
    if (problems.size === 0) return true
    const record = this.#recordOf(id)
    const now = this.#now()
    const toWaiting = (waiting: CertificateRecord): CertificateRecord => {
      const sinceMs = waiting.state === 'waiting-dns' ? waiting.sinceMs : now
      const cause = waiting.hosts.flatMap((host) => problems.get(host) ?? []).join(' ')
      const nextMs = now + dnsPauseMs(now - sinceMs)
      return { ...waiting, state: 'waiting-dns', sinceMs, nextMs, cause }
    }
    if (problems.size === record.hosts.length) {
      this.#put([toWaiting(record)])
      return false
    }
    const [rest, off] = splitOff(record, new Set(problems.keys()), newId())
    this.#put([rest, toWaiting(off)])
    return true
  }

  /** Waits for its turn. False: its hosts are ordered with those of another record, or Fairlead stops. */
  #queue(id: string): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    if (this.#ending.signal.aborted) return Promise.resolve(false)
    this.#waiting.set(id, resolve)
    this.#grant()
    return promise
  }

  #grant(): void {
    // What is looked up may be merged with what waits.
    if (this.#lookups > 0 || this.#waiting.size === 0 || this.#ending.signal.aborted) return
    const waiting = [...this.#waiting.keys()].flatMap((id) => this.#store.get(id) ?? [])
    const { merged, gone } = mergeNew(waiting, this.#options.front.hosts())
    if (gone.length > 0) this.#put(merged, gone)
    for (const id of gone) this.#answer(id, false)
    for (const id of [...this.#waiting.keys()]) {
      if (this.#orders >= maxOrders) return
      this.#orders++
      this.#answer(id, true)
    }
  }

  #answer(id: string, mayOrder: boolean): void {
    this.#waiting.get(id)?.(mayOrder)
    this.#waiting.delete(id)
  }

  async #order(id: string, parts: OrderParts): Promise<void> {
    if (this.#recordOf(id).order === undefined && !(await this.#place(id, parts))) return
    const issued = await followOrder(id, parts)
    const now = this.#now()
    const certificate: HeldCertificate = {
      ...issued,
      issuedMs: now,
      directory: parts.settings.directory,
      renewAtMs: renewalByLife({ ...issued, issuedMs: now }),
      informedAtMs: now,
    }
    const end = new Date(issued.notAfterMs).toISOString()
    const { hosts } = this.#recordOf(id)
    parts.log.info({ hosts, end }, 'a certificate was issued')
    this.#warnedMs.delete(id)
    const none = { order: undefined, cause: undefined, failures: 0 }
    this.#change(id, { state: 'valid', certificate, nextMs: now, ...none })
  }

  /** @returns false: limits hold it back @throws {AcmeProblem} */
  async #place(id: string, parts: OrderParts): Promise<boolean> {
    const services = this.#services()
    const record = this.#recordOf(id)
    const hosts = record.hosts.filter((host) => services.has(host))
    const replaces = await this.#replacedBy(record)
    const now = this.#now()
    const limitedUntil = this.#limitedUntil('domains', hosts)
    const wait =
      limitedUntil === undefined
        ? this.#budget.waitsUntil(hosts, replaces !== undefined, now)
        : { untilMs: limitedUntil, cause: limitCause }
    if (wait !== undefined) {
      this.#change(id, { state: 'limited', nextMs: wait.untilMs, cause: wait.cause })
      return false
    }
    const place = (replaced: string | undefined) => {
      this.#budget.noteOrder(hosts, replaced !== undefined, now)
      return placeOrder(hosts, parts, replaced)
    }
    const order = await place(replaces).catch((error: unknown) => {
      // Another order has replaced it, such as one that got lost.
      if (
        replaces !== undefined &&
        error instanceof AcmeProblem &&
        error.type === 'alreadyReplaced'
      )
        return place(undefined)
      throw error
    })
    this.#change(id, { hosts, order })
    return true
  }

  async #replacedBy({ certificate }: CertificateRecord): Promise<string | undefined> {
    const { directory } = this.#options.settings
    if (certificate === undefined || certificate.directory !== directory) return undefined
    if (certificate.notAfterMs <= this.#now()) return undefined
    const { renewalInfo } = await this.#authority.directory()
    return renewalInfo === undefined ? undefined : certificateIdOf(certificate.chain)
  }

  /** When a 429 that another record has met ends for these hosts, too. */
  #limitedUntil(scope: 'all' | 'domains', hosts: readonly string[]): number | undefined {
    const domains = new Set(hosts.map(registeredDomainOf))
    const times = this.#store.all().flatMap(({ state, limits, nextMs, hosts: limited }) => {
      const holds =
        limits === 'all' ||
        (limits === 'domains' &&
          scope === 'domains' &&
          limited.some((host) => domains.has(registeredDomainOf(host))))
      return state === 'limited' && holds && nextMs > this.#now() ? nextMs : []
    })
    return times.length === 0 ? undefined : Math.max(...times)
  }

  #fail(id: string, error: unknown): void {
    const { context, newId } = this.#options
    const record = this.#store.get(id)
    if (record === undefined) return
    const now = this.#now()
    const problem =
      error instanceof AcmeProblem
        ? error
        : new AcmeProblem(error instanceof Error ? error.message : String(error), { type: 'own' })
    const { type, status, message: cause, retryAtMs = now } = problem
    const { hosts } = record
    context.log.warn({ hosts, problem: cause }, 'a certificate could not be ordered')
    if (type === 'rateLimited' || status === 429) {
      const nextMs = retryAtMs > now ? retryAtMs : now + limitPauseMs
      const limits = record.order === undefined && isOfOrders(problem) ? 'domains' : 'all'
      this.#change(id, { state: 'limited', nextMs, cause, limits })
      return
    }
    const failed = new Set(
      hosts.filter((host) => problem.hosts.includes(host.replace(/^\*\./, ''))),
    )
    if (type === 'validation') for (const host of failed) this.#budget.noteFailure(host, now)
    // What the authority has not ended goes on later.
    const order = isPassing(problem) ? record.order : undefined
    const isSplit = failed.size > 0 && failed.size < hosts.length
    const [rest, failing] = isSplit
      ? splitOff({ ...record, order }, failed, newId())
      : [undefined, { ...record, order }]
    const failures = record.failures + 1
    const nextMs = Math.max(retryAtMs, now + failurePauseMs(failures, this.#random))
    const state: CertificateState = 'failing'
    this.#put([
      {
        ...failing,
        state,
        failures,
        nextMs,
        cause,
        ...(record.state !== state && { sinceMs: now }),
      },
      ...(rest === undefined ? [] : [{ ...rest, order: undefined, nextMs: now }]),
    ])
  }

  #wakeUp(): void {
    clearTimeout(this.#timer)
    if (this.#ending.signal.aborted) return
    const services = this.#services()
    const dueMs = this.#store
      .all()
      .filter(({ id, hosts }) => !this.#busy.has(id) && hosts.some((host) => services.has(host)))
      .map(({ nextMs }) => nextMs - this.#now())
    const waitMs = Math.max(0, Math.min(...dueMs, longestWaitMs))
    this.#timer = setTimeout(() => this.step(), waitMs).unref()
  }
}

const limitCause = 'The authority has limited orders for other hosts of the same registered domain.'

function isOfOrders({ url = '' }: AcmeProblem): boolean {
  return /order/i.test(new URL(url, 'https://authority.invalid').pathname)
}

function isPassing({ type, status }: AcmeProblem): boolean {
  return status >= 500 || ['unreachable', 'slow', 'dnsHook', 'front', 'own'].includes(type)
}

function toView(host: string, record: CertificateRecord, now: number): HostCertificate {
  const { state, cause, nextMs, certificate } = record
  if (certificate === undefined) return { host, state, cause, nextMs, certificate }
  const { notBeforeMs, notAfterMs, renewAtMs, directory } = certificate
  const held = { notBeforeMs, notAfterMs, renewAtMs, directory }
  const end = new Date(notAfterMs).toISOString()
  if (now >= notAfterMs)
    return {
      host,
      state: 'expired',
      cause: `The certificate has ended on ${end}.${cause === undefined ? '' : ` ${cause}`}`,
      nextMs,
      certificate: held,
    }
  const warning = now < warnsFrom(certificate) ? [] : [`The certificate ends on ${end}.`]
  return {
    host,
    state,
    cause: [...warning, ...(cause === undefined ? [] : [cause])].join(' ') || undefined,
    nextMs,
    certificate: held,
  }
}
