/** Polls of many resources of one build server by conditional requests, of which those that have changed are read. */
import type { FastifyBaseLogger } from 'fastify'
import { parseJson } from '../../../json/json.ts'
import { numberOf, textOf } from '../../../json/values.ts'
import { BackendError } from '../../backend.ts'
import type { OutsideAnswer } from '../../outside/call-outside.ts'
import type { ServerCalls } from '../server-calls.ts'

interface ChangePollParts {
  readonly calls: ServerCalls
  readonly log: FastifyBaseLogger
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** Of the build server, for messages. */
  readonly name: string
  /** What the token needs, as a sentence. */
  readonly advice: string
}

interface PolledPlace {
  /** Unique: a repository, a project. */
  readonly name: string
  readonly path: string
}

interface PlaceChange {
  readonly name: string
  readonly body: unknown
}

const atOnce = 4
/** Part of the rate limit that polls leave to starts and reads of builds. */
const reservedPart = 0.1

export class ChangePolls {
  readonly #parts: ChangePollParts
  /** Entity tags by place. */
  readonly #tags = new Map<string, string>()
  /** Places whose failure is in the log already. */
  readonly #failing = new Set<string>()
  #pausedUntilMs = 0

  constructor(parts: ChangePollParts) {
    this.#parts = parts
  }

  /**
   * Those that have changed since the last call; at the first call all. A place that fails is logged, and left out.
   *
   * @throws {BackendError} when the server cannot be reached, limits calls, or no place can be read
   */
  async read(places: readonly PolledPlace[], signal: AbortSignal): Promise<readonly PlaceChange[]> {
    this.#checkQuota()
    this.#forgetOthers(places)
    const waiting = [...places]
    const changes: PlaceChange[] = []
    const failures: unknown[] = []
    const work = async () => {
      for (let place = waiting.shift(); place !== undefined && !signal.aborted; place = waiting.shift()) {
        try {
          const body = await this.#readChanged(place, signal)
          if (body !== undefined) changes.push({ name: place.name, body })
        } catch (error) {
          failures.push(error)
          if (isUnavailable(error)) waiting.length = 0
          else if (!signal.aborted) this.#logFailure(place, error)
        }
      }
    }
    await Promise.all(Array.from({ length: atOnce }, work))
    // What has changed is handed on first: its entity tags are those of the next request.
    if (changes.length === 0 && (failures.some(isUnavailable) || (failures.length > 0 && failures.length === places.length)))
      throw failures.find(isUnavailable) ?? failures[0]
    return changes
  }

  async #readChanged({ name, path }: PolledPlace, signal: AbortSignal): Promise<unknown> {
    const tag = this.#tags.get(name)
    const validator = tag === undefined ? {} : { headers: { 'if-none-match': tag } }
    const answer = await this.#parts.calls.send(path, { ...validator, expects: [304], signal })
    this.#noteQuota(answer)
    this.#failing.delete(name)
    if (answer.status === 304) return undefined
    const body = parseJson(answer.text)
    const next = textOf(answer.headers['etag'])
    if (next === undefined) this.#tags.delete(name)
    else this.#tags.set(name, next)
    return body
  }

  /** @throws {BackendError} 503 */
  #checkQuota(): void {
    if (this.#pausedUntilMs <= this.#parts.now()) return
    const until = new Date(this.#pausedUntilMs).toISOString()
    const text = `The rate limit of the build server "${this.#parts.name}" is nearly used up`
    throw new BackendError(503, `${text}: polls pause until ${until}, and leave the rest to starts of builds.`)
  }

  /** GitHub and Gitea prefix the names, GitLab does not. */
  #noteQuota({ headers }: OutsideAnswer): void {
    const read = (name: string) => numberOf(headers[`x-ratelimit-${name}`]) ?? numberOf(headers[`ratelimit-${name}`])
    const [limit, remaining, resetS] = [read('limit'), read('remaining'), read('reset')]
    if (limit === undefined || remaining === undefined || resetS === undefined) return
    if (remaining < limit * reservedPart) this.#pausedUntilMs = resetS * 1000
  }

  #forgetOthers(places: readonly PolledPlace[]): void {
    const names = new Set(places.map(({ name }) => name))
    for (const name of this.#tags.keys()) if (!names.has(name)) this.#tags.delete(name)
    for (const name of this.#failing) if (!names.has(name)) this.#failing.delete(name)
  }

  #logFailure({ name }: PolledPlace, error: unknown): void {
    if (this.#failing.has(name)) return
    this.#failing.add(name)
    const isMissing = error instanceof BackendError && error.status === 404
    const reason = isMissing
      ? `it is missing, renamed, or hidden from the token. ${this.#parts.advice}`
      : (error as Error).message
    this.#parts.log.warn({ buildServer: this.#parts.name }, `builds of ${name} cannot be polled: ${reason}`)
  }
}

/** The server is away or limits calls, so its other places cannot be read either. */
function isUnavailable(error: unknown): boolean {
  return error instanceof BackendError && error.status === 503
}
