/** Readiness probes: one attempt over HTTP or TCP, and its result in words. */
import { connect } from 'node:net'
import { http } from '../node-http.ts'
import type { Probe } from './protocol.ts'

/** Undefined when the program is ready, otherwise what is missing, as the end of a sentence. */
export async function runProbe(probe: Probe): Promise<string | undefined> {
  const signal = AbortSignal.timeout(probe.timeoutMs)
  try {
    if (probe.kind === 'tcp') await openConnection(probe, signal)
    else {
      const status = await fetchStatus(probe, signal)
      if (status >= 400) return `GET ${probe.path} on port ${probe.port} is answered with status ${status}`
    }
    return undefined
  } catch (error) {
    return explain(error as NodeJS.ErrnoException, probe)
  }
}

function openConnection({ host, port }: Probe, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const socket = connect({ host, port, signal })
  socket.once('error', reject)
  socket.once('connect', () => {
    resolve()
    socket.destroy()
  })
  return promise
}

function fetchStatus({ host, port, path }: Probe & { kind: 'http' }, signal: AbortSignal): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const sent = http.request({ host, port, path, signal, agent: false, headers: { 'user-agent': 'fairlead-probe' } }, (answer) => {
    resolve(answer.statusCode ?? 0)
    answer.destroy()
  })
  sent.once('error', reject)
  sent.end()
  return promise
}

function explain({ code = '', name, message }: NodeJS.ErrnoException, { port, timeoutMs }: Probe): string {
  if (code === 'ECONNREFUSED') return `nothing listens on port ${port}`
  if (name === 'AbortError' || name === 'TimeoutError') return `port ${port} does not answer within ${timeoutMs} ms`
  if (code === 'ECONNRESET' || code === 'EPIPE') return `port ${port} closes the connection without an answer`
  return `port ${port} does not answer with HTTP: ${message}`
}
