/** Settings of the Redis or Valkey that replicas share. */

import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import {
  boundedTimeout,
  milliseconds,
  on,
  optionalFlag,
  optionalText,
  optionalTexts,
  type SettingsOf,
  type SettingsReport,
  setting,
  settings,
  whole,
} from '../settings/setting.ts'
import { explainUnreadable } from '../storage/file-fault.ts'

const nodes = optionalTexts.meta({ type: 'list of host:port' })

export const redisKeys = settings(
  {
    connection: setting('redis.connection', optionalText).describe(
      'Redis or Valkey that replicas share: `redis://user:password@host:6379/0`, `rediss://` for TLS, or `unix:///path`. ' +
        'Default: none; sessions stay in the data directory.',
    ),
    baseUrl: setting('services.redis.baseUrl', optionalText).describe(
      'The same, as installers write it; used when `redis.connection` is not set.',
    ),
    sentinel: {
      nodes: setting('redis.sentinel.nodes', nodes).describe(
        'Sentinels that know where the server is, instead of `redis.connection`.',
      ),
      master: setting('redis.sentinel.master', optionalText).describe(
        'Name by which the Sentinels know the server.',
      ),
      username: setting('redis.sentinel.username', optionalText).describe(
        'ACL user at the Sentinels.',
      ),
      password: setting('redis.sentinel.password', optionalText).describe(
        'Password at the Sentinels. Default: none.',
      ),
    },
    clusterNodes: setting('redis.cluster.nodes', nodes).describe(
      'Some nodes of a cluster, instead of `redis.connection`; they name the others.',
    ),
    username: setting('redis.username', optionalText).describe(
      'ACL user, if the address has none.',
    ),
    password: setting('redis.password', optionalText).describe(
      'Password, if the address has none; best set in the environment.',
    ),
    database: setting('redis.database', whole(0).optional()).describe(
      'Number of the database, if the address has none. Default: 0.',
    ),
    tls: {
      enabled: setting('redis.tls.enabled', optionalFlag).describe(
        'TLS to every server and Sentinel. Default: as in `redis.connection`, and on if a file of `redis.tls` is set.',
      ),
      ca: setting('redis.tls.caFile', optionalText).describe(
        'PEM file with the authorities that sign the servers’ certificates. Default: those of the system.',
      ),
      cert: setting('redis.tls.certificateFile', optionalText).describe(
        'PEM file with the client certificate, if Redis requires one.',
      ),
      key: setting('redis.tls.privateKeyFile', optionalText).describe(
        'PEM file with its private key.',
      ),
    },
    timeoutMs: setting('redis.timeout', milliseconds.default(2000)).describe(
      'Milliseconds to wait for Redis, both for a connection and for a response; 0: a minute.',
    ),
    relaxedHealth: setting('redis.useRelaxedHealthIndicator', on).describe(
      'Whether `/health` and `/readyz` need Redis only until it has been reached once. `false`: always, as in Gate; a load ' +
        'balancer then stops using all replicas at once.',
    ),
  },
  {
    'redis.configuration.secure': 'Fairlead never sends CONFIG to Redis.',
    'services.redisRo': 'Copy that other services read from.',
    'redis.port': 'Part of `redis.connection` in other services.',
    'redis.host': 'Part of `redis.connection` in other services.',
    'redis.enabled': 'Switch of other services.',
    'redis.poolConfig': 'Connection pool of the Java client.',
    'redis.connectionPrevious': 'Migration of other services.',
    'redis.cluster-enabled': 'Switch of other services; `redis.cluster.nodes` decides.',
  },
)
type RedisValues = SettingsOf<typeof redisKeys>

interface RedisNode {
  host: string
  port: number
}

type RedisPlace =
  | ({ kind: 'server' } & RedisNode)
  | { kind: 'socket'; path: string }
  | {
      kind: 'sentinel'
      master: string
      nodes: RedisNode[]
      username: string | undefined
      password: string | undefined
    }
  | { kind: 'cluster'; nodes: RedisNode[] }

interface Address {
  place: RedisPlace
  username?: string
  password?: string
  database?: number
  tls: boolean
}

export type RedisSettings = NonNullable<ReturnType<typeof toRedisSettings>>

export function toRedisSettings(keys: RedisValues, report: SettingsReport) {
  const address = toAddress(keys, report)
  if (address === undefined) return undefined
  const database = address.database ?? keys.database ?? 0
  if (address.place.kind === 'cluster' && database !== 0) {
    report.problem('redis.database', 'a cluster has database 0 only; remove the number')
  }
  return {
    place: address.place,
    username: address.username ?? keys.username,
    password: address.password ?? keys.password,
    database,
    tls: toRedisTls(keys.tls, address.tls, report),
    timeoutMs: boundedTimeout(keys.timeoutMs),
    relaxedHealth: keys.relaxedHealth,
  }
}

/** The server, the Sentinels or the cluster: exactly one of them, if any. */
function toAddress(keys: RedisValues, report: SettingsReport): Address | undefined {
  const sentinels = keys.sentinel.nodes
  const cluster = keys.clusterNodes
  const chosen = [
    ...(keys.connection ? ['redis.connection'] : []),
    ...(sentinels !== undefined ? ['redis.sentinel.nodes'] : []),
    ...(cluster !== undefined ? ['redis.cluster.nodes'] : []),
  ]
  if (chosen.length > 1) {
    report.problem(
      chosen.at(-1) as string,
      `there can be only one of ${chosen.join(' and ')}; remove the others`,
    )
    return undefined
  }
  if (sentinels !== undefined) return toSentinels(sentinels, keys, report)
  if (keys.sentinel.master !== undefined) {
    report.problem(
      'redis.sentinel.master',
      'the Sentinels are missing: list them in redis.sentinel.nodes',
    )
  }
  if (cluster !== undefined) {
    return {
      place: { kind: 'cluster', nodes: toNodes(cluster, 'redis.cluster.nodes', 6379, report) },
      tls: false,
    }
  }
  const key = keys.connection ? 'redis.connection' : 'services.redis.baseUrl'
  const text = keys.connection || keys.baseUrl
  if (!text) return undefined
  const address = parseAddress(text)
  if (address === undefined) {
    report.problem(
      key,
      'must be an address such as redis://redis.example:6379, rediss://user:password@redis.example:6379/0 or ' +
        'unix:///run/redis/redis.sock; characters such as # / ? @ in a password are written as %23 %2F %3F %40',
    )
  }
  return address
}

function toSentinels(sentinels: string[], keys: RedisValues, report: SettingsReport): Address {
  const master = keys.sentinel.master
  if (master === undefined) {
    report.problem(
      'redis.sentinel.nodes',
      'the name of the server is missing: write it in redis.sentinel.master',
    )
  }
  return {
    place: {
      kind: 'sentinel',
      master: master ?? '',
      nodes: toNodes(sentinels, 'redis.sentinel.nodes', 26379, report),
      username: keys.sentinel.username,
      password: keys.sentinel.password,
    },
    tls: false,
  }
}

/**
 * `redis://user:password@host:port/database`, `rediss://…`, `unix:///path?db=1`; undefined for anything else. Installers write
 * `http://` too, of which Gate takes host and port.
 */
function parseAddress(text: string): Address | undefined {
  if (!/^(rediss?|http|unix):\/\/[^\s\\]*$/.test(text) || !URL.canParse(text)) return undefined
  const url = new URL(text)
  const database = databaseOf(url)
  if (database === 'unreadable') return undefined
  if (url.protocol === 'unix:') {
    if (url.hostname !== '' || url.pathname.length < 2) return undefined
    const path = decode(url.pathname)
    return path === undefined
      ? undefined
      : { place: { kind: 'socket', path }, database, tls: false }
  }
  const [username, password] = [decode(url.username), decode(url.password)]
  if (url.hostname === '' || url.hash !== '' || username === undefined || password === undefined)
    return undefined
  return {
    place: {
      kind: 'server',
      host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
      port: Number(url.port || 6379),
    },
    username: username || undefined,
    password: password || undefined,
    database,
    tls: url.protocol === 'rediss:',
  }
}

function databaseOf({ protocol, pathname, searchParams }: URL): number | undefined | 'unreadable' {
  const text = (protocol === 'unix:' ? null : pathname.slice(1) || null) ?? searchParams.get('db')
  if (text === null) return undefined
  return /^\d{1,5}$/.test(text) ? Number(text) : 'unreadable'
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

function toNodes(
  list: string[],
  key: string,
  defaultPort: number,
  report: SettingsReport,
): RedisNode[] {
  if (list.length === 0) report.problem(key, 'must name one host and port at least')
  return list.flatMap((text) => {
    const match = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9._-]+))(?::(\d{1,5}))?$/.exec(text.trim())
    const node = { host: match?.[1] ?? match?.[2] ?? '', port: Number(match?.[3] ?? defaultPort) }
    if (match !== null && node.port > 0 && node.port < 65536) return [node]
    report.problem(
      key,
      `must be a list of host:port such as redis-0.example:${defaultPort}; user and password have keys of their own`,
    )
    return []
  })
}

/** For people; without user and password. */
export function describePlace({ place, tls }: RedisSettings): string {
  const secure = tls === undefined ? '' : ' with TLS'
  switch (place.kind) {
    case 'server':
      return `${place.host}:${place.port}${secure}`
    case 'socket':
      return place.path
    case 'sentinel':
      return `${place.master} at the Sentinels ${place.nodes.map(({ host, port }) => `${host}:${port}`).join(', ')}${secure}`
    case 'cluster':
      return `cluster of ${place.nodes.map(({ host, port }) => `${host}:${port}`).join(', ')}${secure}`
  }
}

type TlsFile = 'ca' | 'cert' | 'key'
type RedisTls = Partial<Record<TlsFile, string>>
type RedisTlsFiles = Readonly<Record<TlsFile, string | undefined>> & {
  readonly enabled: boolean | undefined
}

const files = {
  ca: 'redis.tls.caFile',
  cert: 'redis.tls.certificateFile',
  key: 'redis.tls.privateKeyFile',
} as const

/** Undefined where nothing is encrypted. @param byAddress Whether the address of the server asks for TLS */
function toRedisTls(
  { enabled, ...named }: RedisTlsFiles,
  byAddress: boolean,
  report: SettingsReport,
): RedisTls | undefined {
  if (enabled === false) {
    if (byAddress)
      report.problem(
        'redis.tls.enabled',
        'is false although the address begins with rediss://; remove one of them',
      )
    return undefined
  }
  const isNamed = Object.values(named).some((file) => file !== undefined)
  if (!byAddress && !isNamed && enabled !== true) return undefined
  if ((named.cert === undefined) !== (named.key === undefined)) {
    report.problem(
      named.cert === undefined ? files.key : files.cert,
      `needs ${files.cert} and ${files.key} together`,
    )
  }
  const tls: RedisTls = {}
  for (const name of ['ca', 'cert', 'key'] as const) {
    const text = readPem(named[name], files[name], report)
    if (text !== undefined) tls[name] = text
  }
  checkPair(tls, report)
  return tls
}

function readPem(
  path: string | undefined,
  key: string,
  report: SettingsReport,
): string | undefined {
  if (path === undefined) return undefined
  try {
    const text = readFileSync(path, 'utf8')
    if (text.includes('-----BEGIN ')) return text
    report.problem(key, `${path} is no PEM file: it has no line that starts with -----BEGIN`)
  } catch (error) {
    report.problem(key, explainUnreadable(path, error))
  }
  return undefined
}

function checkPair(tls: RedisTls, report: SettingsReport): void {
  try {
    createSecureContext(tls)
  } catch (error) {
    const key = tls.cert === undefined ? files.ca : files.cert
    report.problem(
      key,
      `the files of redis.tls do not fit together or are damaged: ${(error as Error).message}`,
    )
  }
}
