/** Client of one API server. It opens nothing before its first request. */

import { formatJson } from '@fairlead/base/json/json.ts'
import { definedOf, type JsonObject } from '@fairlead/base/json/values.ts'
import type { ExecConnection, ExecRequest } from '@fairlead/base/net/exec-frames.ts'
import type { FastifyBaseLogger } from 'fastify'
import type { KubeObject } from '../objects.ts'
import { isApiError } from './api-error.ts'
import type { ClusterAccess } from './cluster-access.ts'
import {
  type ApiQuery,
  type ApiResource,
  type ClusterApi,
  collectionPath,
  type DeleteOptions,
  type KindName,
  type ListQuery,
  type ObjectPlace,
  objectPath,
  type PatchOptions,
  type PodLogQuery,
  type WriteOptions,
} from './cluster-api.ts'
import { SharedConnections } from './connections.ts'
import { Discovery } from './discovery.ts'
import { type ObjectPage, readPages } from './lists.ts'
import { execProtocol, execQuery, toExecConnection } from './pod-exec.ts'
import { Recovery, type RecoveryLimits } from './recovery.ts'
import { type ApiAnswer, ApiRequests, maxAnswerBytes, type RetryLimits } from './requests.ts'
import { parseExactly, parseLoosely } from './transport.ts'
import type { WatchSource } from './watch-options.ts'
import { type WatchListener, type WatchQuery, watch } from './watch-stream.ts'
import { upgradeHeaders } from './web-socket.ts'

export interface KubeClientOptions {
  readonly log?: FastifyBaseLogger
  /** Longest time of a request, its further attempts included; watches excepted. */
  readonly requestTimeoutMs?: number
  readonly retries?: RetryLimits
  /** Commands that a kubeconfig may run: absolute paths and bare names. */
  readonly execCommands?: readonly string[]
  readonly now?: () => number
  /** A connection that is silent for three of them is closed. */
  readonly pingMs?: number
  readonly recovery?: RecoveryLimits
  /** Connections shared with other clients of the same API server. */
  readonly connections?: SharedConnections
}

const usualRequestTimeoutMs = 30_000
const usualRetries: RetryLimits = { maxAttempts: 3, pauseMs: 500 }
/** Three of them, and a look later, are within 30 s. */
const usualPingMs = 7000
const logSlackBytes = 64 * 1024

const patchTypes: Readonly<Record<PatchOptions['type'], string>> = {
  // JSON is YAML.
  apply: 'application/apply-patch+yaml',
  strategic: 'application/strategic-merge-patch+json',
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
}

export class KubeClient implements ClusterApi, WatchSource {
  readonly recovery: Recovery
  readonly now: () => number
  readonly logger: FastifyBaseLogger | undefined
  readonly #requests: ApiRequests
  readonly #discovery: Discovery

  constructor(access: ClusterAccess, options: KubeClientOptions = {}) {
    const {
      requestTimeoutMs = usualRequestTimeoutMs,
      retries = usualRetries,
      pingMs = usualPingMs,
      now = Date.now,
    } = options
    this.now = now
    this.logger = options.log
    this.recovery = new Recovery(options.recovery)
    const { execCommands = [], connections: shared = new SharedConnections() } = options
    this.#requests = new ApiRequests(access, {
      requestTimeoutMs,
      retries,
      execCommands,
      now,
      pingMs,
      shared,
    })
    this.#discovery = new Discovery({
      now: () => performance.now(),
      read: async (path, accept) =>
        parseLoosely((await this.#requests.ask({ method: 'GET', path, headers: { accept } })).text),
    })
  }

  find(kind: KindName): Promise<ApiResource | undefined> {
    return this.#discovery.find(kind)
  }

  resources(): Promise<readonly ApiResource[]> {
    return this.#discovery.resources()
  }

  async get(place: ObjectPlace): Promise<KubeObject | undefined> {
    try {
      return await this.#object('GET', objectPath(place))
    } catch (error) {
      if (isApiError(error, 404)) return undefined
      throw error
    }
  }

  async list(resource: ApiResource, query: ListQuery = {}): Promise<KubeObject[]> {
    let listed: KubeObject[] = []
    await this.pages(resource, query, ({ objects, isFirst }) => {
      if (isFirst) listed = []
      listed.push(...objects)
    })
    return listed
  }

  pages(resource: ApiResource, query: ListQuery, take: (page: ObjectPage) => void): Promise<void> {
    return readPages(this.#requests, resource, query, take)
  }

  watch(query: WatchQuery, listener: WatchListener, signal: AbortSignal): Promise<void> {
    return watch(this.#requests, query, listener, signal)
  }

  create(
    resource: ApiResource,
    namespace: string,
    object: JsonObject,
    options?: WriteOptions,
  ): Promise<KubeObject> {
    return this.#object('POST', collectionPath(resource, namespace, toQuery(options)), object)
  }

  replace(place: ObjectPlace, object: JsonObject, options?: WriteOptions): Promise<KubeObject> {
    return this.#object('PUT', objectPath(place, toQuery(options)), object)
  }

  patch(place: ObjectPlace, body: unknown, options: PatchOptions): Promise<KubeObject> {
    const { type, force, subresource } = options
    const path = objectPath(
      { ...place, subresource },
      { ...toQuery(options), ...(type === 'apply' && { force }) },
    )
    return this.#object('PATCH', path, body, patchTypes[type])
  }

  async remove(
    place: ObjectPlace,
    { propagation, gracePeriodSeconds, uid }: DeleteOptions,
  ): Promise<boolean> {
    const preconditions = uid === undefined ? undefined : { uid }
    const body = {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      ...definedOf({ propagationPolicy: propagation, gracePeriodSeconds, preconditions }),
    }
    try {
      await this.#send('DELETE', objectPath(place), body)
      return true
    } catch (error) {
      if (isApiError(error, 404)) return false
      // The name may belong to another object by now.
      if (
        uid !== undefined &&
        isApiError(error, 409) &&
        (await this.get(place))?.metadata.uid !== uid
      )
        return false
      throw error
    }
  }

  async log(
    { namespace, name }: { readonly namespace: string; readonly name: string },
    query: PodLogQuery,
  ): Promise<string> {
    const path = objectPath(
      { resource: podResource, namespace, name, subresource: 'log' },
      { ...query },
    )
    const maxBytes =
      query.limitBytes === undefined ? maxAnswerBytes : query.limitBytes + logSlackBytes
    const { text } = await this.#requests.ask(
      { method: 'GET', path, headers: { accept: 'text/plain, */*' } },
      { maxBytes },
    )
    // The server may cut within a character.
    return query.limitBytes === undefined ? text : text.replace(/(?<!\uFFFD)\uFFFD+$/, '')
  }

  async exec(
    { namespace, name }: { readonly namespace: string; readonly name: string },
    container: string,
    request: ExecRequest,
  ): Promise<ExecConnection> {
    const place = objectPath({ resource: podResource, namespace, name, subresource: 'exec' })
    const path = `${place}?${execQuery(container, request)}`
    const headers = upgradeHeaders(execProtocol)
    return toExecConnection(await this.#requests.upgrade({ method: 'GET', path, headers }), request)
  }

  async read(path: string): Promise<unknown> {
    return parseExactly((await this.#send('GET', path)).text)
  }

  async post(path: string, body: JsonObject): Promise<unknown> {
    return parseExactly((await this.#send('POST', path, body)).text)
  }

  /** Whether the API server sends anything within so many milliseconds, a refusal included. @throws {CredentialFault} */
  answers(ms: number): Promise<boolean> {
    return this.#requests.answers(ms)
  }

  async close(): Promise<void> {
    this.recovery.close()
    await this.#requests.close()
  }

  async #object(
    method: ObjectMethod,
    path: string,
    body?: unknown,
    type?: string,
  ): Promise<KubeObject> {
    const { text } = await this.#send(method, path, body, type)
    return parseExactly(text) as KubeObject
  }

  #send(
    method: ObjectMethod,
    path: string,
    body?: unknown,
    type = 'application/json',
  ): Promise<ApiAnswer> {
    const accept = 'application/json'
    if (body === undefined) return this.#requests.ask({ method, path, headers: { accept } })
    return this.#requests.ask({
      method,
      path,
      headers: { accept, 'content-type': type },
      body: formatJson(body),
    })
  }
}

type ObjectMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

const podResource = {
  group: '',
  version: 'v1',
  kind: 'Pod',
  plural: 'pods',
  shortNames: [],
  isNamespaced: true,
  verbs: [],
  subresources: [],
}

function toQuery({ fieldManager, dryRun, isStrict }: WriteOptions = {}): ApiQuery {
  return {
    fieldManager,
    ...(dryRun === true && { dryRun: 'All' }),
    ...(isStrict === true && { fieldValidation: 'Strict' }),
  }
}
