/** The client of an account: made for its first request, and given up while nothing is asked. */

import { homedir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { FastifyBaseLogger } from 'fastify'
import { ApiError, isApiError } from './api/api-error.ts'
import { KubeClient } from './api/client.ts'
import type { ClusterAccess } from './api/cluster-access.ts'
import type { ClusterApi } from './api/cluster-api.ts'
import type { SharedConnections } from './api/connections.ts'
import { inClusterAccess } from './api/in-cluster.ts'
import { loadKubeconfig } from './api/kubeconfig.ts'
import { type ObjectWatch, openObjectWatch } from './api/object-watch.ts'
import type { ObjectWatchOptions } from './api/watch-options.ts'
import type { KubernetesAccountSettings, KubernetesSettings } from './settings.ts'

interface AccountClientOptions {
  readonly account: KubernetesAccountSettings
  readonly provider: Pick<KubernetesSettings, 'execCommands' | 'retries'>
  readonly connections: SharedConnections
  readonly log: FastifyBaseLogger
  readonly now: () => number
  /** Called when the API server has rejected the login. */
  readonly rejected: () => void
}

/** Where the API server of an account is. @throws {Error} with a text for operators */
export function loadClusterAccess(account: KubernetesAccountSettings): Promise<ClusterAccess> {
  const {
    KUBERNETES_SERVICE_HOST: host,
    KUBERNETES_SERVICE_PORT: port,
    KUBECONFIG: usual,
  } = process.env
  if (account.serviceAccount) return inClusterAccess({ host, port })
  const { kubeconfigFile, kubeconfigContents: contents, context } = account
  const isDefault = kubeconfigFile === undefined && contents === undefined
  const file = isDefault
    ? usual?.split(delimiter)[0] || join(homedir(), '.kube', 'config')
    : kubeconfigFile
  return loadKubeconfig({ file: file && resolve(file), contents, context })
}

export class AccountClient {
  readonly api = new Proxy({} as ClusterApi, {
    get:
      (_none, method: keyof ClusterApi) =>
      (...args: unknown[]) =>
        this.#ask((client) => Reflect.apply(client[method], client, args)),
  })
  readonly #options: AccountClientOptions
  #client: Promise<KubeClient> | undefined
  #access: ClusterAccess | undefined
  #running = 0
  #isClosed = false
  #defaultNamespace = 'default'

  constructor(options: AccountClientOptions) {
    this.#options = options
  }

  /** For objects that name none: that of the kubeconfig, once a request was made. */
  get defaultNamespace(): string {
    return this.#defaultNamespace
  }

  /** Whether the API server sends anything within so many milliseconds, once the login is known. @throws {ApiError} */
  async answers(ms: number): Promise<boolean> {
    this.#running++
    try {
      return await (await this.#use()).answers(ms)
    } finally {
      this.#running--
    }
  }

  /** The watch is open until it is closed. @throws {ApiError} where the account cannot be used at all */
  async watch<Entry>(
    options: Omit<ObjectWatchOptions<Entry>, 'source'>,
  ): Promise<ObjectWatch<Entry>> {
    const source = await this.#use()
    return openObjectWatch({ ...options, source })
  }

  /** Whether the kubeconfig says something else than when it was read. */
  async isOutdated(): Promise<boolean> {
    if (this.#access === undefined) return false
    const access = await loadClusterAccess(this.#options.account).catch(() => undefined)
    return access !== undefined && !isDeepStrictEqual(access, this.#access)
  }

  /** Closes connections and gives up what is known of the API server; the next request opens them again. */
  async rest(): Promise<void> {
    if (this.#running > 0) return
    const client = this.#client
    this.#client = undefined
    this.#access = undefined
    await (await client?.catch(() => undefined))?.close()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#running = 0
    await this.rest()
  }

  async #ask<T>(ask: (client: KubeClient) => Promise<T>): Promise<T> {
    this.#running++
    try {
      return await ask(await this.#use())
    } catch (error) {
      if (isApiError(error, 401)) this.#options.rejected()
      throw error
    } finally {
      this.#running--
    }
  }

  /** @throws {ApiError} */
  #use(): Promise<KubeClient> {
    if (this.#isClosed) throw new ApiError('The account is closed.', { status: 0 })
    this.#client ??= this.#open().catch((error: unknown) => {
      // A corrected kubeconfig counts with the next request.
      this.#client = undefined
      throw error instanceof ApiError
        ? error
        : new ApiError((error as Error).message, { status: 0, cause: error })
    })
    return this.#client
  }

  async #open(): Promise<KubeClient> {
    const { account, provider, connections, log, now } = this.#options
    const access = await loadClusterAccess(account)
    this.#access = access
    this.#defaultNamespace = access.namespace
    return new KubeClient(access, {
      connections,
      log,
      now,
      requestTimeoutMs: account.requestTimeoutMs,
      retries: provider.retries,
      execCommands: provider.execCommands,
    })
  }
}
