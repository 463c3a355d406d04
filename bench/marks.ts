/** A server on which stages leave marks, so that what is missing or done twice is seen. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** A response so long before a kill is recorded by then, also by a busy engine. */
const recordedMs = 1000

interface Call {
  readonly arrivedMs: number
  answeredMs: number
}

export type Marks = Awaited<ReturnType<typeof openMarks>>

/** Calls go to `/{stage}/{token of the start}/{execution}`. */
export async function openMarks() {
  const calls = new Map<string, Call[]>()
  const executionsOf = new Map<string, Set<string>>()
  const kills: number[] = []
  let ended = 0
  const server = createServer(async (request, response) => {
    request.resume()
    const [stage = '', token = '', execution = ''] = (request.url ?? '').slice(1).split('/')
    const name = `${stage} ${execution}`
    const known = calls.get(name) ?? []
    calls.set(name, known)
    const call = { arrivedMs: performance.now(), answeredMs: Infinity }
    known.push(call)
    if (stage === 'last' && known.length === 1) ended++
    const of = `${stage === 'child' ? 'child' : 'run'} ${token}`
    executionsOf.set(of, (executionsOf.get(of) ?? new Set()).add(execution))
    await sleep(Math.random() * 30)
    call.answeredMs = performance.now()
    response.end('{}')
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const repeated = () => [...calls].filter(([, each]) => each.length > 1)
  /** A kill has cut off a call, or came so soon after the response that the engine had not recorded it. */
  const isCutOff = ([, each]: [string, Call[]]) =>
    each.every((call, index) => {
      const next = each[index + 1]
      return (
        next === undefined ||
        kills.some((kill) => kill < next.arrivedMs && kill > call.arrivedMs && kill < call.answeredMs + recordedMs)
      )
    })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    noteKill: () => kills.push(performance.now()),
    ended: () => ended,
    count: () => [...calls.values()].reduce((sum, each) => sum + each.length, 0),
    uncertain: () =>
      new Set(
        repeated()
          .filter(isCutOff)
          .map(([name]) => name),
      ),
    doneTwice: () =>
      repeated()
        .filter((each) => !isCutOff(each))
        .map(([name]) => name),
    /** Starts and children of which there are several. */
    startedTwice: () => [...executionsOf.values()].filter(({ size }) => size > 1).length,
    missing: (ids: readonly string[], stages: number) =>
      ids.flatMap((id) => Array.from({ length: stages }, (_, step) => `m${step} ${id}`)).filter((name) => !calls.has(name))
        .length,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
