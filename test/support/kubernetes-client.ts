/** A small client of API servers for tests, independent of Fairlead's own. */
import { Agent, request } from 'undici'
import type { JsonObject } from '../../packages/base/json/values.ts'

/** Fields of objects that tests read; everything else is unknown. */
export interface KubernetesObject extends JsonObject {
  apiVersion: string
  kind: string
  metadata: KubernetesMetadata
  spec: JsonObject
  status: JsonObject
}

export interface KubernetesMetadata extends JsonObject {
  name: string
  namespace: string
  uid: string
  resourceVersion: string
  generation: number
  creationTimestamp: string
  deletionTimestamp?: string
  labels?: Record<string, string>
  annotations?: Record<string, string>
  ownerReferences?: { kind: string; name: string; uid: string; controller?: boolean }[]
  finalizers?: string[]
}

export interface KubernetesAnswer {
  readonly status: number
  /** Parsed if it is JSON. */
  readonly body: unknown
}

export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR'
  readonly object: KubernetesObject
}

const patchTypes = {
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  json: 'application/json-patch+json',
  apply: 'application/apply-patch+yaml',
} as const

export interface KubernetesCall {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Sent as JSON. */
  readonly body?: unknown
  readonly contentType?: string
}

/** Paths are those of the API server, such as `/apis/apps/v1/namespaces/default/deployments/web`. Refusals are thrown. */
export interface KubernetesClient {
  /** Any call; a refusal is an answer. */
  call(path: string, call?: KubernetesCall): Promise<KubernetesAnswer>
  get(path: string): Promise<KubernetesObject>
  /** Undefined when there is no such object. */
  find(path: string): Promise<KubernetesObject | undefined>
  list(path: string): Promise<KubernetesObject[]>
  /** @param path of the collection */
  create(path: string, object: unknown): Promise<KubernetesObject>
  replace(path: string, object: unknown): Promise<KubernetesObject>
  /** @param path of an object or its subresource, such as `…/pods/web/status`; `apply` is made by the field manager `test`. */
  patch(path: string, body: unknown, type?: keyof typeof patchTypes): Promise<KubernetesObject>
  /** An object that is missing is no error. */
  delete(path: string, options?: JsonObject): Promise<void>
  /** Anything else, such as a log. */
  text(path: string): Promise<string>
  /** Reports changes until the API server ends the watch or the signal is aborted. */
  watch(path: string, onEvent: (event: WatchEvent) => void, signal: AbortSignal): Promise<void>
}

export class KubernetesRefusal extends Error {
  readonly status: number

  constructor(what: string, status: number, body: unknown) {
    super(
      `${what}: ${status} ${typeof body === 'string' ? body : String((body as JsonObject)['message'] ?? JSON.stringify(body))}`,
    )
    this.name = 'KubernetesRefusal'
    this.status = status
  }
}

/** Connections to an API server; `close` ends them. */
export function createDispatcher(ca: string): Agent {
  return new Agent({ connect: { ca }, headersTimeout: 0, bodyTimeout: 0, keepAliveTimeout: 1_000 })
}

export function createClient(server: string, token: string, dispatcher: Agent): KubernetesClient {
  const send = createSend(server, token, dispatcher)
  const call: KubernetesClient['call'] = async (path, options = {}) => {
    const { statusCode, headers, body } = await send(path, options)
    const text = await body.text()
    const isJson = String(headers['content-type']).startsWith('application/json')
    return { status: statusCode, body: isJson ? (JSON.parse(text) as unknown) : text }
  }
  const accepted = async (path: string, options: KubernetesCall = {}): Promise<unknown> => {
    const { status, body } = await call(path, options)
    if (status >= 400)
      throw new KubernetesRefusal(`${options.method ?? 'GET'} ${path}`, status, body)
    return body
  }
  const ask = async (path: string, options?: KubernetesCall) =>
    (await accepted(path, options)) as KubernetesObject
  return {
    call,
    get: (path) => ask(path),
    find: (path) => ask(path).catch(undefinedWhenMissing),
    list: async (path) => (await ask(path))['items'] as KubernetesObject[],
    create: (path, object) => ask(path, { method: 'POST', body: object }),
    replace: (path, object) => ask(path, { method: 'PUT', body: object }),
    patch: (path, body, type = 'merge') => {
      const query =
        type === 'apply' ? `${path.includes('?') ? '&' : '?'}fieldManager=test&force=true` : ''
      return ask(`${path}${query}`, { method: 'PATCH', body, contentType: patchTypes[type] })
    },
    delete: async (path, options) => {
      await ask(path, { method: 'DELETE', body: options }).catch(undefinedWhenMissing)
    },
    text: async (path) => String(await accepted(path)),
    watch: async (path, onEvent, signal) => {
      const { statusCode, body } = await send(path, {}, signal)
      if (statusCode >= 400)
        throw new KubernetesRefusal(`GET ${path}`, statusCode, await body.text())
      for await (const line of linesOf(body)) onEvent(JSON.parse(line) as WatchEvent)
    },
  }
}

function createSend(server: string, token: string, dispatcher: Agent) {
  return (
    path: string,
    { method = 'GET', body, contentType = 'application/json' }: KubernetesCall,
    signal?: AbortSignal,
  ) => {
    const given = body === undefined ? {} : { 'content-type': contentType }
    const headers = { authorization: `Bearer ${token}`, accept: 'application/json', ...given }
    const sent = body === undefined ? null : JSON.stringify(body)
    return request(`${server}${path}`, { method, headers, dispatcher, signal, body: sent })
  }
}

function undefinedWhenMissing(error: unknown): undefined {
  if (error instanceof KubernetesRefusal && error.status === 404) return undefined
  throw error
}

async function* linesOf(body: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of body) {
    const lines = `${rest}${decoder.decode(chunk, { stream: true })}`.split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
}
