/** Connections to Redis or Valkey: one server, Sentinel or cluster. Reconnects without limit. */
import type { FastifyBaseLogger } from 'fastify'
import type { Redis as Client, Cluster, ClusterOptions, RedisOptions } from 'ioredis'
import { backOffMs } from '../concurrency/back-off.ts'
import { Redis, type RedisObserver } from './redis.ts'
import type { RedisSettings } from './settings.ts'

const reconnectPauses = { firstMs: 50, longestMs: 1000 }
const unobserved: RedisObserver = { answered: () => {}, reconnected: () => {} }

/** Returns at once: the first answer may come later. The client is loaded only here, since most gateways need none. */
export async function openRedis(
  settings: RedisSettings,
  log: FastifyBaseLogger,
  observer = unobserved,
): Promise<Redis> {
  // A bundle offers nothing but the default of a CommonJS package.
  const { default: library } = await import('ioredis')
  const connection = new Redis(createClient(library, settings), settings, log, observer)
  connection.start()
  return connection
}

function createClient(
  library: Pick<typeof import('ioredis'), 'Redis' | 'Cluster'>,
  settings: RedisSettings,
): Client | Cluster {
  const { place, tls } = settings
  const options = toOptions(settings)
  switch (place.kind) {
    case 'server':
      return new library.Redis({ ...options, host: place.host, port: place.port })
    case 'socket':
      return new library.Redis({ ...options, path: place.path })
    case 'sentinel':
      return new library.Redis({
        ...options,
        name: place.master,
        sentinels: place.nodes,
        sentinelUsername: place.username,
        sentinelPassword: place.password,
        sentinelCommandTimeout: settings.timeoutMs,
        sentinelRetryStrategy: pauseBefore,
        sentinelTLS: tls,
        enableTLSForSentinelMode: tls !== undefined,
      })
    case 'cluster':
      return new library.Cluster(place.nodes, toClusterOptions(options, settings.timeoutMs))
  }
}

function toOptions({ username, password, database, tls, timeoutMs }: RedisSettings): RedisOptions {
  return {
    username,
    password,
    db: database,
    tls,
    connectTimeout: timeoutMs,
    // A server that was lost without a word is given up after the time that a command may take, not when TCP notices.
    socketTimeout: timeoutMs,
    retryStrategy: pauseBefore,
    maxRetriesPerRequest: 3,
    // Answered by a server that is no longer the one that may write: the next connection leads to its successor.
    reconnectOnError: (error) => (error.message.startsWith('READONLY') ? 2 : false),
    // Neither HELLO, nor INFO, nor CLIENT: a user that may do nothing but what the stores need is enough.
    protocol: 2,
    enableReadyCheck: false,
    disableClientInfo: true,
  }
}

function toClusterOptions(
  { retryStrategy: _, ...redisOptions }: RedisOptions,
  timeoutMs: number,
): ClusterOptions {
  return {
    redisOptions,
    clusterRetryStrategy: pauseBefore,
    clusterNodeRetryStrategy: pauseBefore,
    enableReadyCheck: false,
    slotsRefreshTimeout: timeoutMs,
    // Names stay names, so that certificates are checked against them.
    dnsLookup: (host, done) => done(null, host),
  }
}

function pauseBefore(attempt: number): number {
  return backOffMs(reconnectPauses, attempt)
}
