/** A server on which stages leave marks, so that what is missing or done twice is seen. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

export type Marks = Awaited<ReturnType<typeof openMarks>>

/** Calls go to `/{stage}/{token of the start}/{execution}`. */
export async function openMarks() {
  const calls = new Map<string, number>()
  const executionsOf = new Map<string, Set<string>>()
  let ended = 0
  const server = createServer(async (request, response) => {
    request.resume()
    const [stage = '', token = '', execution = ''] = (request.url ?? '').slice(1).split('/')
    const name = `${stage} ${execution}`
    const count = (calls.get(name) ?? 0) + 1
    calls.set(name, count)
    if (stage === 'last' && count === 1) ended++
    const of = `${stage === 'child' ? 'child' : 'run'} ${token}`
    executionsOf.set(of, (executionsOf.get(of) ?? new Set()).add(execution))
    await sleep(Math.random() * 30)
    response.end('{}')
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ended: () => ended,
    count: () => [...calls.values()].reduce((sum, each) => sum + each, 0),
    /** Name of the stage and id of the execution of each that has left several. */
    repeated: () => [...calls].filter(([, count]) => count > 1).map(([name]) => name.split(' ')),
    /** Starts and children of which there are several. */
    startedTwice: () => [...executionsOf.values()].filter(({ size }) => size > 1).length,
    missing: (ids: readonly string[], stages: number) =>
      ids
        .flatMap((id) => Array.from({ length: stages }, (_, step) => `m${step} ${id}`))
        .filter((name) => !calls.has(name)).length,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
