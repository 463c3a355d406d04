/** Programs of pods: their logs line by line, and programs in their containers. */
import { setTimeout as sleep } from 'node:timers/promises'
import { PortError } from '@fairlead/base/port-error.ts'
import {
  type LogLine,
  type LogWish,
  maxLineBytes,
  type ProgramAccess,
} from '../../infrastructure/programs/program-access.ts'
import { isApiError } from '../api/api-error.ts'
import type { LogQuery } from '../api/cluster-api.ts'
import { toPod } from '../objects/pod.ts'
import type { KubernetesAccount } from '../parts.ts'
import type { LogBounds } from './logs.ts'
import { answered, findObject } from './object-lookup.ts'

const lookMs = 1000
const defaultContainer = 'kubectl.kubernetes.io/default-container'

interface FoundPod {
  readonly account: KubernetesAccount
  readonly pod: { readonly namespace: string; readonly name: string }
  readonly container: string
}

export function createPodPrograms(
  findAccount: (name: string) => KubernetesAccount | undefined,
  bounds: () => LogBounds,
): ProgramAccess {
  async function find(place: Parameters<ProgramAccess['lines']>[0]): Promise<FoundPod> {
    const account = findAccount(place.account)
    const name = place.humanName ?? place.id
    const found = account && (await findObject(account, place.region, name))
    if (account === undefined || found === undefined)
      throw new PortError(404, `There is no ${name} in ${place.region} any more.`)
    const { metadata } = found.object
    const [first] = toPod(found.object).spec.containers
    const container = metadata.annotations?.[defaultContainer] ?? first?.name ?? ''
    return { account, container, pod: { namespace: place.region, name: metadata.name } }
  }

  async function read({ account, pod, container }: FoundPod, query: Partial<LogQuery>) {
    const limitBytes = bounds().bytes
    const text = await answered(account, () =>
      account.api.log(pod, { container, timestamps: true, limitBytes, ...query }),
    )
    return parseLog(text)
  }

  return {
    async lines(place, { sinceMs, tail, previous }: LogWish) {
      const lines = await read(await find(place), {
        ...(previous === true && { previous }),
        tailLines: tail ?? bounds().lines,
        ...(sinceMs !== undefined && { sinceTime: toTime(sinceMs) }),
      }).catch((error: unknown) => {
        // A container that has not begun, or has no run before, has no log.
        if (isApiError(error, 400) || (error instanceof PortError && error.status === 400))
          return []
        throw error
      })
      return { lines, next: lines.at(-1)?.next ?? '' }
    },
    async *follow(place, next, signal) {
      for (let position = next; !signal.aborted; ) {
        const found = await find(place).catch((error: unknown) => {
          if (error instanceof PortError && error.status === 404) return undefined
          throw error
        })
        if (found === undefined) return
        const sinceTime = position.split('#')[0] ?? ''
        const lines = await read(found, sinceTime === '' ? {} : { sinceTime }).catch(() => [])
        for (const line of lines) {
          if (!isAfter(line.position, position)) continue
          position = line.next
          yield line
        }
        await sleep(lookMs, undefined, { signal }).catch(() => {})
      }
    },
    async exec(place, request) {
      const { account, pod, container } = await find(place)
      return answered(account, () => account.api.exec(pod, container, request))
    },
    // References to secrets are objects of the cluster, whose values Fairlead does not read.
    masksOf: () => [],
    toRun() {
      throw new PortError(
        400,
        'Accounts of Kubernetes have no "run". Run it in an instance: fairlead exec -- COMMAND',
      )
    },
  }
}

function toTime(ms: number): string {
  return new Date(ms).toISOString()
}

/** Each line begins with its time; several may have the same. */
function parseLog(text: string): LogLine[] {
  let last = ''
  let count = 0
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  return lines.flatMap((line) => {
    const [, time, content] = /^(\S+) ?(.*)$/s.exec(line) ?? []
    const atMs = Date.parse(time ?? '')
    if (time === undefined || content === undefined || Number.isNaN(atMs)) return []
    count = time === last ? count + 1 : 0
    last = time
    const position = `${time}#${count}`
    const isCut = Buffer.byteLength(content) > maxLineBytes
    const shown = isCut ? Buffer.from(content).subarray(0, maxLineBytes).toString() : content
    return [{ atMs, position, next: position, text: shown, ...(isCut && { isCut }) }]
  })
}

/** Times have as many digits as they need, so that texts are compared after the fraction is filled. */
function isAfter(one: string, other: string): boolean {
  if (other === '') return true
  const [time, count] = keyOf(one)
  const [otherTime, otherCount] = keyOf(other)
  return time === otherTime ? count > otherCount : time > otherTime
}

function keyOf(position: string): [time: string, count: number] {
  const [time = '', count = '0'] = position.split('#')
  const [whole = '', fraction = ''] = time.replace(/Z$/, '').split('.')
  return [`${whole}.${fraction.padEnd(9, '0')}`, Number(count)]
}
