/** `fairlead status`: what serves where, and what waits for whom. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '../client.ts'
import { defineCommand } from '../command.ts'
import { misuse } from '../failure.ts'
import type { Output } from '../output.ts'
import { pathOf } from '../path-of.ts'
import { formatSpan } from '../span.ts'

/** A host as it is reached. Times in milliseconds since the epoch. */
export interface ServedHost {
  readonly host: string
  readonly address: string
  readonly certificate?: {
    readonly state: string
    readonly cause?: string
    readonly endMs?: number
    readonly nextMs?: number
  }
}

interface ServiceStatus {
  readonly name: string
  /** Also the name of its load balancer. */
  readonly cluster: string
  readonly version: string | null
  readonly ready: number
  readonly wanted: number
  readonly hosts: readonly string[]
  /** Empty where the account does not say it. */
  readonly served: readonly ServedHost[]
  /** Why instances are not ready, or were started again. */
  readonly reasons?: readonly string[]
  /** Why clients cannot reach its hosts. */
  readonly problems?: readonly string[]
  readonly schedule?: string
  /** Open connections keep a former version until then at the latest. */
  readonly drainsUntilMs?: number
}

export interface AppStatus {
  readonly application: string
  readonly environments: readonly {
    readonly name: string
    readonly account: string
    readonly services: readonly ServiceStatus[]
    readonly lastRun: {
      readonly id: string
      readonly kind: string
      readonly version: string
      readonly user: string
      readonly status: string
      readonly createdMs: number
    } | null
    readonly waiting: readonly {
      readonly id: string
      readonly version: string
      readonly reason: string
    }[]
  }[]
}

const watchMs = 2000

export const status = defineCommand({
  name: 'status',
  summary: 'show what serves where, the last run, and what waits for whom',
  group: 'app',
  options: {
    watch: { type: 'switch', summary: 'show it again whenever it changes, until Ctrl C' },
  },
  run: async ({ session, output, connect }, { watch }) => {
    const client = await connect()
    const load = async () =>
      chosenOf(await loadStatus(client, session.app()), session.environment())
    const first = await load()
    if (!watch) {
      output.result(first, describe(first, output))
      return 0
    }
    for (let shown = '', found = first; ; found = await load()) {
      const text = JSON.stringify(found)
      if (text !== shown)
        output.event({ type: 'status', ...found }, describe(found, output).join('\n'))
      shown = text
      await sleep(watchMs)
    }
  },
})

export function loadStatus(client: Client, application: string): Promise<AppStatus> {
  return client.get<AppStatus>(pathOf`/apps/${application}`)
}

/** Only the environment that is asked for. @throws {Failure} with 3 for an unknown one */
function chosenOf(found: AppStatus, environment: string | undefined): AppStatus {
  if (environment === undefined) return found
  const environments = found.environments.filter(({ name }) => name === environment)
  if (environments.length > 0) return { ...found, environments }
  const names = found.environments.map(({ name }) => name).join(', ')
  throw misuse(`${found.application} has no environment "${environment}", only ${names}.`)
}

function describe({ environments }: AppStatus, output: Output): string[] {
  const rows = environments.flatMap(({ name, services }) =>
    services.map((service) => [
      name,
      service.name,
      service.version ?? '-',
      service.schedule === undefined ? `${service.ready} of ${service.wanted}` : service.schedule,
      addressesOf(service).join(' '),
    ]),
  )
  const runs = environments.flatMap(({ name, lastRun, waiting }) => [
    ...(lastRun === null
      ? []
      : [
          `${name}: ${lastRun.kind} of ${lastRun.version} by ${lastRun.user} ${formatSpan(Date.now() - lastRun.createdMs)} ago: ${lastRun.status} (${hasFailed(lastRun) ? `see fairlead watch ${lastRun.id}` : lastRun.id})`,
        ]),
    ...waiting.map(({ id, version, reason }) => `${name}: ${version} waits: ${reason} (${id})`),
  ])
  const certificates = environments.flatMap(({ services }) =>
    services.flatMap(({ served }) => served.flatMap(describeCertificate)),
  )
  const table = output.table([['ENVIRONMENT', 'SERVICE', 'VERSION', 'READY', 'ADDRESSES'], ...rows])
  const parts = environments.flatMap(({ services }) => services)
  return rows.length === 0
    ? ['Nothing is deployed yet.', ...runs]
    : [
        ...table,
        '',
        ...parts.flatMap(({ name, reasons = [] }) => reasons.map((text) => `${name}: ${text}`)),
        ...parts.flatMap(describeProblems),
        ...certificates,
        ...parts.flatMap(describeDrain),
        ...runs,
      ]
}

function hasFailed({ status }: { readonly status: string }): boolean {
  return ['TERMINAL', 'STOPPED', 'FAILED_CONTINUE'].includes(status)
}

function describeProblems({ name, problems = [] }: ServiceStatus): string[] {
  return problems.length === 0 ? [] : [`${name}: clients cannot reach it. ${problems.join(' ')}`]
}

export function describeDrain({ name, drainsUntilMs }: ServiceStatus): string[] {
  if (drainsUntilMs === undefined) return []
  const end = new Date(drainsUntilMs).toISOString().slice(11, 19)
  return [
    `${name}: open connections keep a former version until ${end} UTC at the latest (limits: {drain}).`,
  ]
}

export function addressesOf({ hosts, served }: ServiceStatus): string[] {
  return served.length > 0
    ? served.map(({ address }) => address)
    : hosts.map((host) => `http://${host}`)
}

function describeCertificate({ host, certificate }: ServedHost): string[] {
  if (certificate === undefined) return []
  const { state, cause, endMs } = certificate
  const end = endMs === undefined ? '' : ` until ${new Date(endMs).toISOString().slice(0, 10)}`
  return [`${host}: certificate ${state}${end}${cause === undefined ? '' : `: ${cause}`}`]
}
