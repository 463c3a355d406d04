/** App file + environment → what holds there, with defaults. */

import { definedOf, isObject } from '@fairlead/base/json/values.ts'
import { standalone } from '@fairlead/base/settings/standalone.ts'
import { toQuartz } from '../schedules/crontab.ts'
import type { AppFile, AppValues, Attachment, AttachmentType, ServiceValues } from './app-file.ts'
import type { Command } from './values.ts'

interface HostHere {
  /** May begin with `*.`. */
  readonly host: string
  readonly path: string
  /** Whether requests reach the service without the path. */
  readonly strip: boolean
}

export interface HealthHere {
  readonly path: string
  /** Undefined: any from 200 to 399. */
  readonly status: number | undefined
  readonly intervalMs: number
  readonly timeoutMs: number
  readonly startMs: number
  /** Header `Host` of its requests; undefined where the service has no host either. */
  readonly host: string | undefined
  readonly restart: boolean
}

interface ScheduleHere {
  readonly crontab: string
  /** One or two expressions; it is time when either says so. */
  readonly quartz: readonly string[]
  readonly timeZone: string
  readonly onOverlap: 'skip' | 'wait'
}

export interface VolumeHere {
  readonly name: string
  readonly path: string
  readonly shared: boolean
}

export interface ServiceHere {
  readonly name: string
  /** Undefined: what detection found. */
  readonly command: Command | undefined
  readonly instances: number
  /** Undefined: Fairlead chooses one. */
  readonly port: number | undefined
  /** Whether it opens a port, which is awaited: it has hosts, a health check or a port. */
  readonly listens: boolean
  readonly health: HealthHere | undefined
  readonly hosts: readonly HostHere[]
  readonly schedule: ScheduleHere | undefined
  readonly memoryBytes: number | undefined
  readonly cpu: number | undefined
  readonly processes: number | undefined
  readonly volumes: readonly VolumeHere[]
  readonly stopMs: number
  readonly strategy: 'redblack' | 'rolling' | 'stop-first'
}

export interface AttachmentHere {
  readonly name: string
  readonly type: AttachmentType
  readonly version: string | undefined
  readonly memoryBytes: number
  /** Five fields, or off. */
  readonly backup: string
  readonly keep: number
  /** Variable with the address, such as DATABASE_URL. */
  readonly variable: string
  readonly persistence: 'everysec' | 'always'
  readonly asCache: boolean
  /** An image, or whether it runs in a usual one; undefined: where its program is not installed. */
  readonly container: boolean | string | undefined
  /** Secret with the address of one that Fairlead does not run. */
  readonly external: string | undefined
}

interface LimitsHere {
  readonly bodyBytes: number
  readonly headersBytes: number
  readonly readMs: number
  readonly idleMs: number
  readonly websocketMs: number
  /** Undefined: as the front has it. */
  readonly drainMs: number | undefined
  readonly compress: 'off' | 'gzip' | 'brotli'
}

interface ReleaseHere {
  readonly command: Command
  readonly timeoutMs: number
}

type PromoteValues = Exclude<EnvironmentPart['promote'], null | undefined>

export interface AppHere {
  readonly application: string
  readonly environment: string
  readonly account: string
  /** Undefined: the local image store. */
  readonly registry: string | undefined
  readonly build: BuildHere
  readonly services: readonly ServiceHere[]
  readonly release: ReleaseHere | undefined
  readonly env: Readonly<Record<string, string>>
  /** Names of secrets by variable. */
  readonly secrets: Readonly<Record<string, string>>
  readonly attach: readonly AttachmentHere[]
  readonly limits: LimitsHere
  /** Host and path by the host that leads there. */
  readonly redirects: Readonly<Record<string, string>>
  readonly hsts: { readonly maxAgeMs: number; readonly subdomains: boolean } | undefined
  readonly errorPage: string | undefined
  readonly promote: PromoteValues | undefined
}

export interface BuildHere {
  readonly kind: 'auto' | 'dockerfile' | 'procfile' | 'static' | 'steps'
  readonly steps: readonly Command[]
  /** Folder of the app, `.` for the repository's root. */
  readonly from: string
  /** Path below `from`; undefined: Dockerfile, else Containerfile. */
  readonly dockerfile: string | undefined
  readonly node: string | undefined
  readonly python: string | undefined
  readonly cache: readonly string[]
}

type EnvironmentPart = Exclude<AppFile['environments'], undefined>[string]

const defaultEnvironment = 'production'
const second = 1_000
const minute = 60_000

/** In the order of promotion; the first is the target of `deploy`. */
export function environmentNamesOf({ environments = {} }: AppFile): string[] {
  const names = Object.keys(environments)
  return names.length === 0 ? [defaultEnvironment] : names
}

/** @param part What differs there; that of the file with this name unless given, as for a preview */
export function mergeEnvironment(
  file: AppFile,
  environment: string,
  part: EnvironmentPart = file.environments?.[environment] ?? {},
): AppHere {
  const { application, build, environments, preview, aliases, ...base } = file
  const { hosts, promote, ...overrides } = part
  const values = merge(base, overrides) as AppValues
  const serving =
    hosts === undefined || hosts === null ? undefined : hostedService(values.services ?? {})
  const services = Object.entries(values.services ?? {}).map(([name, service]) =>
    toService(name, name === serving ? { ...service, hosts: hosts ?? [] } : service),
  )
  return {
    application,
    environment,
    account: values.account ?? standalone.account,
    registry: values.registry,
    build: buildOf(file),
    services,
    release: toRelease(values.release),
    env: values.env ?? {},
    secrets: toSecrets(values.secrets),
    attach: toAttachments(values.attach ?? {}),
    limits: toLimits(values.limits ?? {}),
    redirects: values.redirect ?? {},
    hsts: values.hsts && {
      maxAgeMs: values.hsts['max-age'] ?? 365 * 24 * 60 * minute,
      subdomains: values.hsts.subdomains ?? false,
    },
    errorPage: values['error-page'],
    promote: promote ?? undefined,
  }
}

/** The service that `hosts` of an environment means: the only one with hosts, else the only one that could have some. */
export function hostedService(services: AppValues['services']): string | undefined {
  const names = Object.keys(services)
  const hosted = names.filter((name) => (services[name]?.hosts ?? []).length > 0)
  if (hosted.length > 0) return hosted.length === 1 ? hosted[0] : undefined
  const possible = names.filter((name) => services[name]?.schedule === undefined)
  return possible.length === 1 ? possible[0] : possible.find((name) => name === 'web')
}

/** Maps merge by key, lists replace, null removes. */
function merge(base: unknown, override: unknown): unknown {
  if (override === undefined) return base
  if (!isObject(override)) return override
  const merged: Record<string, unknown> = isObject(base) ? { ...base } : {}
  for (const [key, value] of Object.entries(override)) {
    if (value === null) delete merged[key]
    else merged[key] = merge(merged[key], value)
  }
  return merged
}

function toService(name: string, service: ServiceValues): ServiceHere {
  const hosts = (service.hosts ?? []).map(toHost)
  const { port, health, schedule } = service
  const volumes = (service.volumes ?? []).map(({ shared = false, ...volume }) => ({
    ...volume,
    shared,
  }))
  const isSingle = volumes.some(({ shared }) => !shared)
  return {
    name,
    command: service.command,
    instances: service.instances ?? 1,
    port: typeof port === 'number' ? port : undefined,
    listens: port !== 'none' && (hosts.length > 0 || port !== undefined || health !== undefined),
    health: toHealth(health, hosts),
    hosts,
    schedule:
      schedule === undefined
        ? undefined
        : {
            crontab: schedule,
            quartz: toQuartz(schedule),
            timeZone: service.timezone ?? 'UTC',
            onOverlap: service.onOverlap ?? 'skip',
          },
    memoryBytes: service.memory,
    cpu: service.cpu,
    processes: service.processes,
    volumes,
    stopMs: service.stop ?? 10 * second,
    strategy: service.strategy ?? (isSingle ? 'stop-first' : 'redblack'),
  }
}

function toHost({ place, strip }: { place: string; strip: boolean }): HostHere {
  const slash = place.indexOf('/')
  return slash === -1
    ? { host: place, path: '/', strip: false }
    : { host: place.slice(0, slash), path: place.slice(slash), strip }
}

function toHealth(
  health: ServiceValues['health'],
  hosts: readonly HostHere[],
): HealthHere | undefined {
  if (health === undefined) return undefined
  const given: Exclude<Extract<typeof health, { host?: unknown }>, undefined> = health
  const host = hosts.find((each) => !each.host.startsWith('*.'))?.host
  return {
    path: given.path ?? '/',
    status: given.status,
    intervalMs: given.interval ?? 2 * second,
    timeoutMs: given.timeout ?? 5 * second,
    startMs: given.start ?? minute,
    host: given.host ?? host,
    restart: given.restart ?? false,
  }
}

function toRelease(release: AppValues['release']): ReleaseHere | undefined {
  if (release?.command === undefined) return undefined
  const { timeout } = release as { timeout?: number }
  return { command: release.command, timeoutMs: timeout ?? 10 * minute }
}

function toSecrets(secrets: AppValues['secrets'] = []): Record<string, string> {
  if (!Array.isArray(secrets)) return secrets as Record<string, string>
  return Object.assign(
    {},
    ...secrets.map((each: string | Record<string, string>) =>
      typeof each === 'string' ? { [each]: each } : each,
    ),
  ) as Record<string, string>
}

const variables: Readonly<Record<AttachmentType, string>> = {
  postgresql: 'DATABASE_URL',
  mariadb: 'DATABASE_URL',
  redis: 'REDIS_URL',
  valkey: 'REDIS_URL',
}

function toAttachments(attach: NonNullable<AppValues['attach']>): AttachmentHere[] {
  const taken = new Set<string>()
  return Object.entries(attach).flatMap(([name, attachment]) => {
    const { type, ...given }: Attachment = attachment
    if (type === undefined) return []
    const usual = variables[type]
    const variable = given.as ?? (taken.has(usual) ? `${name.toUpperCase()}_URL` : usual)
    taken.add(variable)
    return [
      {
        name,
        type,
        version: given.version,
        memoryBytes: given.memory ?? 512 * 1024 ** 2,
        backup: given.backup ?? '@daily',
        keep: given.keep ?? 7,
        variable,
        persistence: given.persistence ?? 'everysec',
        asCache: given['as-cache'] ?? false,
        container: given.container,
        external: given.external,
      },
    ]
  })
}

function toLimits(limits: NonNullable<AppValues['limits']>): LimitsHere {
  return {
    bodyBytes: limits.body ?? 100 * 1024 ** 2,
    headersBytes: limits.headers ?? 32 * 1024,
    readMs: limits.read ?? minute,
    idleMs: limits.idle ?? minute,
    websocketMs: limits.websocket ?? 60 * minute,
    drainMs: limits.drain,
    compress: limits.compress ?? 'off',
  }
}

/** Where the file sets none. */
export const usualLimits: LimitsHere = toLimits({})

/** How the app is built, which is the same for all environments. */
export function buildOf({ build = 'auto' }: Pick<AppFile, 'build'>): BuildHere {
  const usual = {
    steps: [],
    from: '.',
    dockerfile: undefined,
    node: undefined,
    python: undefined,
    cache: [],
  }
  if (typeof build === 'string') return { ...usual, kind: build }
  const kind =
    build.steps === undefined ? (build.dockerfile === undefined ? 'auto' : 'dockerfile') : 'steps'
  return { ...usual, ...definedOf(build), kind }
}
