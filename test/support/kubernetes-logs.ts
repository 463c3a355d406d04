/** The part of a kubelet that API servers ask for the logs of containers. */
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { fieldAt, objectsOf } from '../../packages/base/json/values.ts'
import type { KubernetesClient, KubernetesObject } from './kubernetes-client.ts'

export interface LogServer {
  readonly port: number
  /** The log of a container from now on; readers that follow it receive what is new at its end. */
  setLog(
    namespace: string,
    pod: string,
    container: string,
    text: string,
    options?: { previous?: boolean },
  ): void
  close(): Promise<void>
}

interface LogPlace {
  readonly namespace: string
  readonly pod: string
  readonly container: string
  readonly isPrevious: boolean
}

type Follower = (text: string) => void

/** Both PEM. */
export interface LogServerCertificate {
  readonly cert: string
  readonly key: string
}

export async function openLogServer(
  api: KubernetesClient,
  certificate: LogServerCertificate,
): Promise<LogServer> {
  const logs = new Map<string, string>()
  const followers = new Map<string, Set<Follower>>()
  const server = createServer(certificate, (request, response) => {
    answer(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)))
  })
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'https://kubelet')
    const [, , namespace = '', pod = '', container = ''] = pathname
      .split('/')
      .map(decodeURIComponent)
    const place = { namespace, pod, container, isPrevious: searchParams.get('previous') === 'true' }
    const object = await api.find(`/api/v1/namespaces/${namespace}/pods/${pod}`)
    const problem = problemOf(object, place)
    if (problem !== undefined) return response.writeHead(400).end(problem)
    const text = logs.get(keyOf(place)) ?? usualLog(object, place)
    response.writeHead(200, { 'content-type': 'text/plain' }).write(cut(text, searchParams))
    if (searchParams.get('follow') !== 'true' || !isRunning(object, container))
      return response.end()
    follow(followers, keyOf(place), text, response)
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  server.unref()
  return {
    port: (server.address() as AddressInfo).port,
    setLog: (namespace, pod, container, text, { previous = false } = {}) => {
      const key = keyOf({ namespace, pod, container, isPrevious: previous })
      logs.set(key, text)
      for (const tell of followers.get(key) ?? []) tell(text)
    },
    close: () => close(server),
  }
}

function follow(
  followers: Map<string, Set<Follower>>,
  key: string,
  text: string,
  response: ServerResponse,
): void {
  let sent = text
  const own: Follower = (whole) => {
    response.write(whole.startsWith(sent) ? whole.slice(sent.length) : whole)
    sent = whole
  }
  const all = followers.get(key) ?? new Set()
  followers.set(key, all.add(own))
  response.flushHeaders()
  response.once('close', () => all.delete(own))
}

function keyOf({ namespace, pod, container, isPrevious }: LogPlace): string {
  return [namespace, pod, container, isPrevious].join('/')
}

/** In the words of a kubelet. */
function problemOf(
  pod: KubernetesObject | undefined,
  { container, pod: name, isPrevious }: LogPlace,
): string | undefined {
  const status = statusOf(pod, container)
  const waiting = fieldAt(status, 'state', 'waiting')
  const hasEnded = fieldAt(status, 'lastState', 'terminated') !== undefined
  if (isPrevious && !hasEnded)
    return `previous terminated container "${container}" in pod "${name}" not found`
  if (status !== undefined && (waiting === undefined || hasEnded)) return undefined
  const reason = String(fieldAt(waiting, 'reason') ?? 'ContainerCreating')
  const why = reason === 'ImagePullBackOff' ? 'trying and failing to pull image' : reason
  return `container "${container}" in pod "${name}" is waiting to start: ${why}`
}

function isRunning(pod: KubernetesObject | undefined, container: string): boolean {
  return fieldAt(statusOf(pod, container), 'state', 'running') !== undefined
}

function statusOf(pod: KubernetesObject | undefined, container: string): unknown {
  const all = [pod?.status['containerStatuses'], pod?.status['initContainerStatuses']].flatMap(
    objectsOf,
  )
  return all.find(({ name }) => name === container)
}

function usualLog(pod: KubernetesObject | undefined, { container, isPrevious }: LogPlace): string {
  const given =
    pod?.metadata.annotations?.[isPrevious ? 'test.fairlead/previous-log' : 'test.fairlead/log']
  if (given !== undefined) return given.endsWith('\n') ? given : `${given}\n`
  return isPrevious
    ? `${container} starts\n${container} fails\n`
    : `${container} starts\n${container} is ready\n`
}

function cut(text: string, query: URLSearchParams): string {
  const [tailLines, limitBytes] = [query.get('tailLines'), query.get('limitBytes')]
  const lines = text.split(/(?<=\n)/)
  const tail =
    tailLines === null ? text : lines.slice(Math.max(0, lines.length - Number(tailLines))).join('')
  return limitBytes === null ? tail : Buffer.from(tail).subarray(0, Number(limitBytes)).toString()
}

async function close(server: Server): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  server.closeAllConnections()
  await closed
}
