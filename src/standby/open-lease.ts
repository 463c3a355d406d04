/** The lease of this engine, in the store that the configuration names. */
import { hash } from 'node:crypto'
import { hostname } from 'node:os'
import type { FastifyBaseLogger } from 'fastify'
import { KubeClient } from '../backends/infrastructure/providers/kubernetes/api/client.ts'
import { inClusterAccess } from '../backends/infrastructure/providers/kubernetes/api/in-cluster.ts'
import { openRedis } from '../redis/open-redis.ts'
import type { RedisSettings } from '../redis/settings.ts'
import { createKubernetesLease } from './kubernetes-lease.ts'
import { Lease, type LeaseStore } from './lease.ts'
import { createRedisLease } from './redis-lease.ts'
import type { StandbySettings } from './settings.ts'

const requestTimeoutMs = 1000

export interface LeasePlace {
  readonly standby: StandbySettings
  readonly redis: RedisSettings | undefined
}

interface LeaseOptions {
  readonly dataDir: string
  readonly directoryId: string
  readonly log: FastifyBaseLogger
  readonly env: Readonly<Record<string, string | undefined>>
}

export async function openLease(place: LeasePlace, { dataDir, directoryId, log, env }: LeaseOptions): Promise<Lease> {
  const store = await openStore(place, { log, env })
  // A directory that was copied, also with its id, is another one.
  const id = hash('sha256', JSON.stringify([hostname(), dataDir, directoryId])).slice(0, 32)
  return new Lease({ store, owner: { id, holder: hostname() }, log })
}

async function openStore({ standby, redis }: LeasePlace, { log, env }: Pick<LeaseOptions, 'log' | 'env'>): Promise<LeaseStore> {
  if (standby.lease === 'redis' && redis !== undefined) return createRedisLease(await openRedis(redis, log))
  const access = await inClusterAccess({ host: env['KUBERNETES_SERVICE_HOST'], port: env['KUBERNETES_SERVICE_PORT'] })
  const client = new KubeClient(access, { log, requestTimeoutMs, retries: { maxAttempts: 1, pauseMs: 0 } })
  return createKubernetesLease(client, access.namespace ?? 'default')
}
