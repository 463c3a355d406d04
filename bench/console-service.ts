/** Back ends as the console meets them in a large installation: a thousand executions, 500 server groups, 200 stages, a long log. */
import { hash } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface ConsoleService {
  readonly port: number
  /** Ends another stage of the large execution; after the last one it begins again. */
  endStage(): void
  /** Writes more lines of output. */
  write(lines: number): void
  close(): void
}

const application = 'fleet'
export const sizes = { pipelines: 34, runsEach: 30, groups: 500, stages: 200, lines: 20_000 } as const
export const largeExecution = '01KB3W6Y0TJ9Q4M8H5R2ZC7VXA'
const startMs = Date.UTC(2026, 0, 5, 8)

export async function startConsoleService(): Promise<ConsoleService> {
  const state = { ended: 100, log: logLines(0, sizes.lines) }
  // As the embedded services do: what has not changed is not sent again.
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://service')
    const body = JSON.stringify(answerTo(pathname, searchParams, state))
    const etag = `"${hash('sha1', body)}"`
    // The gateway weakens the tag of what it compresses.
    if (request.headers['if-none-match']?.replace(/^W\//, '') === etag) response.writeHead(304, { etag }).end()
    else response.writeHead(200, { 'content-type': 'application/json', etag }).end(body)
  })
  server.keepAliveTimeout = 60_000
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    endStage: () => {
      state.ended = (state.ended + 1) % sizes.stages
    },
    write: (lines) => {
      state.log += `\n${logLines(state.log.split('\n').length, lines)}`
    },
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

interface State {
  ended: number
  log: string
}

function answerTo(path: string, query: URLSearchParams, { ended, log }: State): unknown {
  if (path === '/health') return { status: 'UP' }
  if (path === '/credentials') return [account]
  if (path === '/credentials/dev') return account
  if (path.startsWith('/v2/applications/')) return attributes
  if (path === '/v2/applications') return [attributes]
  if (path.startsWith('/pipelines/') && path.endsWith(largeExecution)) return executionOf(ended)
  if (path === '/pipelines' && query.has('pipelineConfigIds')) return runsOf(query.get('pipelineConfigIds')?.split(',') ?? [])
  if (path === `/pipelines/${application}` || path === '/pipelines') return definitions
  if (path.endsWith('/pipelines/search') || path.endsWith('/executions/search')) return runsOf(['p0', 'p1', 'p2']).slice(0, 60)
  if (path.endsWith('/serverGroups') || path === '/serverGroups') return groups
  if (path.includes('/instances/') && path.endsWith('/console')) {
    return { output: log.slice(Number(query.get('offset') ?? 0)), nextOffset: log.length }
  }
  if (path.includes('/instances/')) return { ...instance(0, 0), health: [] }
  return path.includes('/serverGroups/') ? groups[0] : []
}

const account = { name: 'dev', type: 'local', cloudProvider: 'local', regions: [{ name: 'east' }] }
const attributes = { name: application, email: 'ops@example.org', description: 'Of the benchmark', cloudProviders: 'local' }

const definitions = Array.from({ length: sizes.pipelines }, (_, at) => ({
  id: `p${at}`,
  application,
  name: `pipeline ${at}`,
  stages: [],
  triggers: [],
}))

function runsOf(ids: readonly string[]): unknown[] {
  return ids.flatMap((pipelineConfigId) =>
    Array.from({ length: sizes.runsEach }, (_, at) => {
      const startTime = startMs + at * 3_600_000
      return {
        id: `01KB3W6Y0TJ9Q4M8H5${pipelineConfigId.padStart(4, '0').toUpperCase()}${String(at).padStart(4, '0')}`,
        type: 'PIPELINE',
        application,
        name: `pipeline ${pipelineConfigId}`,
        pipelineConfigId,
        status: at % 7 === 3 ? 'TERMINAL' : 'SUCCEEDED',
        buildTime: startTime,
        startTime,
        endTime: startTime + 40_000 + (at % 5) * 20_000,
        stages: [],
        trigger: { type: 'manual', user: 'ann' },
        authentication: { user: 'ann' },
      }
    }),
  )
}

function instance(group: number, at: number): Record<string, unknown> {
  const id = `i-${group}-${at}`
  return { id, name: id, healthState: at === 3 ? 'Down' : 'Up', launchTime: startMs, zone: 'a', health: [] }
}

const groups = Array.from({ length: sizes.groups }, (_, at) => {
  const cluster = `${application}-c${Math.floor(at / 4)}`
  const name = `${cluster}-v${String(at % 4).padStart(3, '0')}`
  return {
    name,
    account: 'dev',
    region: 'east',
    type: 'local',
    cloudProvider: 'local',
    cluster,
    application,
    moniker: { app: application, cluster },
    createdTime: startMs + at * 1000,
    isDisabled: at % 4 !== 3,
    capacity: { min: 4, max: 4, desired: 4 },
    instanceCounts: { total: 4, up: 3, down: 1 },
    instances: Array.from({ length: 4 }, (_, number) => instance(at, number)),
    loadBalancers: [],
    buildInfo: { package_name: 'fleet', version: `1.0.${at}` },
  }
})

function executionOf(ended: number): Record<string, unknown> {
  const stages = Array.from({ length: sizes.stages }, (_, at) => ({
    id: `s${at}`,
    refId: `${at}`,
    requisiteStageRefIds:
      at === 0 ? [] : [`${Math.max(0, at - 1 - ((at * 7) % 5))}`, ...(at % 3 === 0 && at > 3 ? [`${at - 3}`] : [])],
    type: 'deploy',
    name: `Deploy to place ${at}`,
    status: at < ended ? 'SUCCEEDED' : at === ended ? 'RUNNING' : 'NOT_STARTED',
    ...(at <= ended && { startTime: startMs + at * 1000 }),
    ...(at < ended && { endTime: startMs + at * 1000 + 900 }),
    context: { account: 'dev', region: 'east' },
    outputs: {},
    tasks: [],
  }))
  return {
    id: largeExecution,
    type: 'PIPELINE',
    application,
    name: 'large',
    pipelineConfigId: 'p0',
    status: 'RUNNING',
    buildTime: startMs,
    startTime: startMs,
    stages,
    trigger: { type: 'manual', user: 'ann' },
    authentication: { user: 'ann' },
  }
}

function logLines(from: number, count: number): string {
  const line = (at: number) => `${new Date(startMs + at * 50).toISOString()} request ${at} answered in 12 ms`
  return Array.from({ length: count }, (_, at) => line(from + at)).join('\n')
}
