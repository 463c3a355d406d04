/** Compiles an environment of an app file to what exists already: load balancers, pipelines, and the stages of a deployment. */
import { definedOf, type JsonObject } from '@fairlead/base/json/values.ts'
import type {
  AppHere,
  HealthHere,
  ServiceHere,
  VolumeHere,
} from '@fairlead/model/app-file/merge-environment.ts'
import { appFileSource } from '@fairlead/model/app-file/source.ts'
import type { AppPlace } from './account-places.ts'
import {
  canaryOf,
  clusterOf,
  clusterParts,
  commandWords,
  keptGroups,
  type ReadApp,
  secretsOf,
} from './app-environment.ts'
import { isClusterPlace, manifestStages } from './compile-manifests.ts'

type CompiledKind = 'application' | 'load-balancer' | 'pipeline'

/** An object of the instance, as it is to be. */
export interface CompiledObject {
  readonly kind: CompiledKind
  readonly name: string
  readonly content: JsonObject
}

const defaultStartMs = 60_000

/** Identifies an object among those of its app. */
export function keyOf({ kind, name }: Pick<CompiledObject, 'kind' | 'name'>): string {
  return `${kind} ${name}`
}

export function deployPipelineName(environment: string): string {
  return `deploy ${environment}`
}

/** The application, whose environments are those of the file. */
export function compileApplication(
  { application, digest, environments }: ReadApp,
  placeOf: (environment: AppHere) => AppPlace,
): CompiledObject {
  const declared = environments.map((environment) => {
    const { account, region } = placeOf(environment)
    return {
      name: environment.environment,
      accounts: [account],
      regions: [region],
      clusters: environment.services
        .filter(({ schedule }) => schedule === undefined)
        .map(({ name }) => clusterOf(environment, name)),
      ...definedOf({ constraints: constraintsOf(environment) }),
    }
  })
  const content = {
    name: application,
    source: appFileSource,
    appFile: { digest },
    environments: declared.filter(({ clusters }) => clusters.length > 0),
  }
  return { kind: 'application', name: application, content }
}

/** Load balancers and pipelines of an environment. */
export function compileEnvironment(
  environment: AppHere,
  place: AppPlace,
  digest: string,
): CompiledObject[] {
  if (isClusterPlace(place)) return [compileDeployPipeline(environment, place, digest)]
  const balanced = environment.services.filter(({ hosts }) => hosts.length > 0)
  const scheduled = environment.services.filter(({ schedule }) => schedule !== undefined)
  return [
    ...balanced.map((service) => compileBalancer(environment, service, place)),
    compileDeployPipeline(environment, place, digest),
    ...scheduled.map((service) => compileSchedule(environment, service, { place, digest })),
  ]
}

/** Hosts of a service on the front of its account. */
function compileBalancer(
  environment: AppHere,
  service: ServiceHere,
  { provider, account, region }: AppPlace,
): CompiledObject {
  const { health, hosts } = service
  const { limits, hsts } = environment
  const name = clusterOf(environment, service.name)
  const served = new Set(hosts.map(({ host }) => host))
  const redirects = Object.entries(environment.redirects).filter(([, to]) =>
    served.has(to.split('/')[0] ?? ''),
  )
  const content = {
    cloudProvider: provider,
    credentials: account,
    region,
    name,
    hosts: hosts.map(({ host, path, strip }) => ({ host, path, strip })),
    redirects: Object.fromEntries(redirects),
    limits: {
      bodyBytes: limits.bodyBytes,
      headerBytes: limits.headersBytes,
      readSeconds: limits.readMs / 1000,
      idleSeconds: limits.idleMs / 1000,
      websocketSeconds: limits.websocketMs / 1000,
      ...(limits.drainMs !== undefined && { drainSeconds: limits.drainMs / 1000 }),
    },
    compress: limits.compress,
    ...(hsts !== undefined && {
      hsts: { maxAgeSeconds: hsts.maxAgeMs / 1000, subdomains: hsts.subdomains },
    }),
    healthCheck: 'TCP:80',
    healthInterval: (health?.intervalMs ?? 2000) / 1000,
    healthTimeout: (health?.timeoutMs ?? 5000) / 1000,
    healthyThreshold: 1,
  }
  return { kind: 'load-balancer', name, content }
}

function compileDeployPipeline(
  environment: AppHere,
  place: AppPlace,
  digest: string,
): CompiledObject {
  const name = deployPipelineName(environment.environment)
  const content = {
    ...appPipelineFields(environment, digest),
    name,
    limitConcurrent: true,
    keepWaitingPipelines: true,
    parameterConfig: [
      {
        name: 'image',
        label: 'Image',
        required: true,
        description: `Such as ${environment.application}:7-4f7c2d1.`,
      },
      {
        name: 'release',
        label: 'Run the release command',
        default: 'true',
        hasOptions: true,
        options: [{ value: 'true' }, { value: 'false' }],
        description: 'Rollbacks do not run it.',
      },
    ],
    stages: deploymentStages(environment, place),
  }
  return { kind: 'pipeline', name, content }
}

const givenImage = `\${parameters.image}`

/** Release, then all services at once. */
export function deploymentStages(environment: AppHere, place: AppPlace): JsonObject[] {
  if (isClusterPlace(place)) return manifestStages(environment, place)
  const release = releaseStage(environment, place)
  const after = release === undefined ? [] : [String(release['refId'])]
  const deployments = environment.services
    .filter(({ schedule }) => schedule === undefined)
    .map((service) => ({
      refId: `deploy-${service.name}`,
      requisiteStageRefIds: after,
      type: 'deploy',
      name: `Deploy ${service.name}`,
      clusters: [toCluster(environment, service, place)],
    }))
  return [...(release === undefined ? [] : [release]), ...deployments]
}

function releaseStage(environment: AppHere, place: AppPlace): JsonObject | undefined {
  const { release, application } = environment
  if (release === undefined) return undefined
  return {
    refId: 'release',
    requisiteStageRefIds: [],
    type: 'runJob',
    name: 'Release',
    stageEnabled: { type: 'expression', expression: `\${parameters.release != "false"}` },
    ...jobFields(application, place),
    imageId: givenImage,
    command: commandWords(release.command),
    environment: variablesOf(environment),
    runtimeLimitSecs: Math.ceil(release.timeoutMs / 1000),
  }
}

function jobFields(application: string, { provider, account, region }: AppPlace): JsonObject {
  return { cloudProvider: provider, account, credentials: account, region, application }
}

/** A server group of a service, as the stage `deploy` takes it. */
function toCluster(environment: AppHere, service: ServiceHere, place: AppPlace): JsonObject {
  const { application } = environment
  const { provider, account, region } = place
  const { instances, health, processes, volumes, hosts, command, port } = service
  const cluster = clusterOf(environment, service.name)
  const startMs = health?.startMs ?? defaultStartMs
  return {
    cloudProvider: provider,
    account,
    credentials: account,
    region,
    application,
    ...clusterParts(application, cluster),
    imageId: givenImage,
    capacity: { min: instances, max: instances, desired: instances },
    ...definedOf({ command: command && commandWords(command), container: port && { port } }),
    environment: variablesOf(environment),
    ready: readinessOf(service),
    limits: definedOf({ memoryMb: memoryMbOf(service), processes }),
    stopSeconds: service.stopMs / 1000,
    volumes: volumes.map(toVolume),
    loadBalancers: hosts.length > 0 ? [cluster] : [],
    startLimits: { seconds: Math.ceil(startMs / 1000) },
    ...strategyFields(environment, service),
  }
}

/** The same for all services and the release. */
function variablesOf(here: AppHere): JsonObject {
  const references = Object.entries(secretsOf(here)).map(([variable, name]) => [
    variable,
    `secret:${name}`,
  ])
  return { ...here.env, ...Object.fromEntries(references) }
}

function memoryMbOf({ memoryBytes }: ServiceHere): number | undefined {
  return memoryBytes === undefined ? undefined : Math.ceil(memoryBytes / 1024 ** 2)
}

/** A service that opens no port is ready as soon as it runs. */
function readinessOf({ health, listens }: ServiceHere): JsonObject {
  if (health === undefined) return listens ? { tcp: true } : { running: true }
  return probeOf(health)
}

function probeOf({ path, status, intervalMs, timeoutMs, host }: HealthHere): JsonObject {
  const times = { intervalSeconds: intervalMs / 1000, timeoutSeconds: timeoutMs / 1000 }
  return { path, ...times, ...definedOf({ host, status }) }
}

function toVolume({ name, path, shared }: VolumeHere): JsonObject {
  return { name, path, ...(shared ? { shared } : { writers: 'one' }) }
}

function strategyFields(here: AppHere, service: ServiceHere): JsonObject {
  const { strategy } = service
  // A failed one stays, for its output.
  const rollback = { onFailure: true, destroyCanceled: true }
  const canary = canaryOf(here, service)
  if (canary !== undefined)
    return { strategy: 'canary', canary, maxRemainingAsgs: keptGroups, rollback }
  switch (strategy) {
    case 'redblack':
      return { strategy, maxRemainingAsgs: keptGroups, scaleDown: true, rollback }
    case 'rolling':
      return {
        strategy: 'rollingredblack',
        targetPercentages: [50, 100],
        scaleDown: true,
        rollback,
      }
    case 'stop-first':
      return { strategy: 'recreate', maxRemainingAsgs: keptGroups, rollback }
  }
}

/** A job of the serving image at each time of the schedule. */
function compileSchedule(
  environment: AppHere,
  service: ServiceHere,
  { place, digest }: { readonly place: AppPlace; readonly digest: string },
): CompiledObject {
  const { application, services } = environment
  const { quartz = [], timeZone = 'UTC', onOverlap = 'skip' } = service.schedule ?? {}
  const cluster = clusterOf(environment, service.name)
  const name = `${service.name} ${environment.environment}`
  const serving = services.find(({ schedule }) => schedule === undefined)
  const content = {
    ...appPipelineFields(environment, digest),
    name,
    limitConcurrent: true,
    keepWaitingPipelines: onOverlap === 'wait',
    triggers: quartz.map((cronExpression, index) => ({
      id: `app-file-${cluster}-${index}`,
      type: 'cron',
      enabled: true,
      cronExpression,
      timeZone,
      onOverlap,
    })),
    stages: [
      {
        refId: 'find',
        requisiteStageRefIds: [],
        type: 'findImage',
        name: 'Find the serving image',
        cloudProvider: place.provider,
        account: place.account,
        credentials: place.account,
        regions: [place.region],
        cluster: clusterOf(environment, serving?.name ?? service.name),
        selectionStrategy: 'NEWEST',
        onlyEnabled: true,
      },
      {
        refId: 'run',
        requisiteStageRefIds: ['find'],
        type: 'runJob',
        name: `Run ${service.name}`,
        ...jobFields(application, place),
        imageId: `\${#stage("Find the serving image").context.amiDetails[0].imageId}`,
        ...definedOf({ command: service.command && commandWords(service.command) }),
        environment: variablesOf(environment),
        limits: definedOf({ memoryMb: memoryMbOf(service), processes: service.processes }),
      },
    ],
  }
  return { kind: 'pipeline', name, content }
}

export function appPipelineFields(
  { application, environment }: AppHere,
  digest: string,
): JsonObject {
  return {
    application,
    description: 'Made from .fairlead/app.yml; a deployment writes it again.',
    source: appFileSource,
    appFile: { digest, environment },
  }
}

/** Constraints of a promotion into the environment, as its application declares them. */
export function constraintsOf({ promote }: AppHere): JsonObject[] | undefined {
  if (promote === undefined) return undefined
  const { judgment, soak, window, verify } = promote
  const constraints = [
    ...(soak === undefined ? [] : [{ type: 'soakTime', minutes: soak / 60_000 }]),
    ...(window === undefined ? [] : [{ type: 'window', ...windowOf(window) }]),
    ...(judgment === undefined
      ? []
      : [{ type: 'judgment', ...(judgment.length > 0 && { roles: judgment }) }]),
    ...(verify === undefined ? [] : [{ type: 'verification', checks: verify, rollback: true }]),
  ]
  return constraints.length === 0 ? undefined : constraints
}

const weekDays = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']

function windowOf({
  days,
  from = '00:00',
  to = '24:00',
}: NonNullable<NonNullable<AppHere['promote']>['window']>): JsonObject {
  const [startHour, startMin] = from.split(':').map(Number)
  const [endHour, endMin] = to.split(':').map(Number)
  return {
    ...definedOf({ days: days?.map((day) => weekDays.indexOf(day) + 1) }),
    whitelist: [{ startHour, startMin, endHour, endMin }],
  }
}
