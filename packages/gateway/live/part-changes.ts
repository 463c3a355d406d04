/**
 * Changes of what applications have besides executions. Services that count their changes are asked for versions of the applications that clients
 * listen to, once their count of changes has grown: however many clients listen, a service is asked at most once a second.
 */

import type { ServiceName } from '@fairlead/base/services/services.ts'
import type { FastifyBaseLogger } from 'fastify'
import { jsonList, readJson } from '../upstreams/answer-form.ts'
import { anonymousIdentity } from '../upstreams/identity.ts'
import { countOf, type StateCounts, statePartOf } from '../upstreams/upstream-call.ts'
import type { Upstreams } from '../upstreams/upstreams.ts'
import type { ApplicationPart } from './source.ts'

interface PartChangesOptions {
  upstreams: Pick<Upstreams, 'call' | 'traitsOf'>
  /** Undefined: whether something has changed is not known at present. */
  counts: () => StateCounts | undefined
  pollMs: number
  log: FastifyBaseLogger
}

interface AskedService {
  readonly service: ServiceName
  readonly part: ApplicationPart
  count: number | undefined
  isAsked: boolean
  notBeforeMs: number
}

interface WatchedApplication {
  readonly application: string
  readonly onChanged: (part: ApplicationPart) => void
  readonly counts: StateCounts | undefined
  readonly versions: Map<ApplicationPart, string>
}

const services: readonly Pick<AskedService, 'service' | 'part'>[] = [
  { service: 'clouddriver', part: 'infrastructure' },
  { service: 'front50', part: 'definitions' },
]
const applicationsPerCall = 100
const pauseAfterErrorMs = 5000

export class PartChanges {
  readonly #options: PartChangesOptions
  readonly #services: readonly AskedService[]
  readonly #watched = new Set<WatchedApplication>()

  constructor(options: PartChangesOptions) {
    this.#options = options
    this.#services = services
      .filter(({ service }) => options.upstreams.traitsOf(service).countsChanges)
      .map((each) => ({ ...each, count: undefined, isAsked: false, notBeforeMs: 0 }))
  }

  /** What is reported. */
  get parts(): ApplicationPart[] {
    return this.#services.map(({ part }) => part)
  }

  watch(application: string, onChanged: (part: ApplicationPart) => void): () => void {
    const watched = { application, onChanged, counts: this.#options.counts(), versions: new Map() }
    this.#watched.add(watched)
    return () => void this.#watched.delete(watched)
  }

  look(nowMs: number): void {
    if (this.#watched.size === 0) return
    const counts = this.#options.counts()
    for (const each of this.#services) {
      if (each.isAsked || nowMs < each.notBeforeMs) continue
      const count = counts && countOf(counts, statePartOf(each.service))
      const isKnown = count !== undefined && count === each.count
      if (isKnown && [...this.#watched].every(({ versions }) => versions.has(each.part))) continue
      each.notBeforeMs = count === undefined ? nowMs + this.#options.pollMs : 0
      each.isAsked = true
      void this.#ask(each)
        .then(
          () => {
            each.count = count
          },
          (error: unknown) => {
            each.notBeforeMs = nowMs + pauseAfterErrorMs
            this.#options.log.debug(
              { err: error, service: each.service },
              'versions for event streams could not be read',
            )
          },
        )
        .finally(() => {
          each.isAsked = false
        })
    }
  }

  async #ask({ service, part }: AskedService): Promise<void> {
    const { upstreams } = this.#options
    const asked = [...this.#watched]
    for (let from = 0; from < asked.length; from += applicationsPerCall) {
      const some = asked.slice(from, from + applicationsPerCall)
      const query = { application: some.map(({ application }) => application) }
      const answer = await upstreams.call(service, { path: '/versions', query }, anonymousIdentity)
      const versions = readJson(answer, service, jsonList) as string[]
      for (const [index, watched] of some.entries())
        this.#note(watched, service, part, versions[index] ?? '')
    }
  }

  #note(
    watched: WatchedApplication,
    service: ServiceName,
    part: ApplicationPart,
    version: string,
  ): void {
    if (!this.#watched.has(watched)) return
    const known = watched.versions.get(part)
    watched.versions.set(part, version)
    if (known === undefined ? this.#hasCounted(watched, service) : known !== version)
      watched.onChanged(part)
  }

  /** Whether something may have changed between the begin of the watch and the first version. */
  #hasCounted({ counts: before }: WatchedApplication, service: ServiceName): boolean {
    const counts = this.#options.counts()
    const part = statePartOf(service)
    return (
      before === undefined ||
      counts === undefined ||
      countOf(before, part) !== countOf(counts, part)
    )
  }
}
