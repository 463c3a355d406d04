/** `logs`: lines of an application's instances, once or as they are written. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '../client.ts'
import { defineCommand } from '../command.ts'
import { exitCodes, Failure } from '../failure.ts'
import { type Output, toSafeText } from '../output.ts'
import { pathOf } from '../path-of.ts'

interface Line {
  readonly type?: 'line'
  readonly at: string
  readonly instance: string
  readonly cluster: string
  readonly position: string
  readonly text: string
  readonly cut?: true
  readonly error?: string
}

const defaultTail = 100
const retryMs = 1000
/** Times of lines are about right: what is read again is compared by position. */
const overlapMs = 2000

export const logs = defineCommand({
  name: 'logs',
  summary: 'show or follow what the instances print',
  group: 'app',
  words: '[service]',
  options: {
    follow: { type: 'switch', short: 'f', summary: 'Go on, over deployments, until Ctrl C' },
    since: { type: 'text', value: 'TIME', summary: 'From a time on, or 5m, 2h, 1d ago' },
    until: { type: 'text', value: 'TIME', summary: 'Up to a time' },
    tail: { type: 'number', value: 'N', summary: 'Last lines of all instances (100)' },
    grep: { type: 'text', value: 'RE', summary: 'Lines that match a regular expression' },
    previous: { type: 'switch', summary: 'Of the run before the last restart' },
    instance: { type: 'text', value: 'ID', summary: 'Of one instance' },
  },
  help: 'Examples:\n  fairlead logs web -f\n  fairlead logs --since 10m --grep "status=5.."',
  async run(
    { words: [service], session, output, connect },
    { follow, since, until, tail, grep, previous, instance },
  ) {
    const path = pathOf`/apps/${session.app()}/logs`
    const isBounded = since !== undefined || until !== undefined || previous
    const query = {
      environment: session.environment(),
      service,
      since,
      until,
      tail: tail ?? (isBounded ? undefined : defaultTail),
      grep,
      instance,
      previous: previous || undefined,
      follow: follow || undefined,
    }
    const client = await connect()
    const shown = new ShownLines(output)
    await shown.show(client, path, query)
    while (follow) {
      output.note('The connection broke off; following again.')
      await sleep(retryMs)
      const from = {
        ...query,
        tail: shown.since === undefined ? query.tail : undefined,
        since: shown.since ?? since,
      }
      await shown.show(client, path, from).catch((error: unknown) => {
        if (!(error instanceof Failure) || error.exit !== exitCodes.unreachable) throw error
      })
    }
    return undefined
  },
})

type LogsQuery = Readonly<Record<string, string | number | boolean | undefined>>

/** Each line once, also where the connection broke between. */
class ShownLines {
  readonly #output: Output
  readonly #positions = new Map<string, number>()
  #latest: string | undefined

  constructor(output: Output) {
    this.#output = output
  }

  /** From where to read again; undefined before the first line. */
  get since(): string | undefined {
    return this.#latest === undefined
      ? undefined
      : new Date(Date.parse(this.#latest) - overlapMs).toISOString()
  }

  /** @throws {Failure} where nothing was shown before */
  async show(client: Client, path: string, query: LogsQuery): Promise<void> {
    try {
      for await (const line of client.lines<Line>(path, { query })) this.#show(line)
    } catch (error) {
      const isBreak = error instanceof Failure && error.exit === exitCodes.unreachable
      if (!isBreak || query['follow'] !== true || this.#latest === undefined) throw error
    }
  }

  #show({ at, instance, cluster, position, text, cut, error }: Line): void {
    if (error !== undefined) throw new Failure(exitCodes.failed, 'LOGS_FAILED', error)
    const place = Number(position)
    if (Number.isFinite(place)) {
      if (place <= (this.#positions.get(instance) ?? -1)) return
      this.#positions.set(instance, place)
    }
    this.#latest = at
    const mark = cut === true ? ' [cut at 64 KiB]' : ''
    const shown = this.#output.stdout.isTTY ? toSafeText(text) : text
    this.#output.event(
      { type: 'line', at, instance, cluster, position, text, ...(cut && { cut }) },
      `${at} ${this.#output.paint('cyan', instance)} ${shown}${mark}`,
    )
  }
}
