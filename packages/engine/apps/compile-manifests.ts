/** Compiles an environment of an app file to objects of Kubernetes, and to the stages that deploy and remove them. */
import { isDeepStrictEqual } from 'node:util'
import { definedOf, type JsonObject } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import {
  type AppHere,
  type HealthHere,
  type ServiceHere,
  usualLimits,
} from '@fairlead/model/app-file/merge-environment.ts'
import type { ClusterRules } from '@fairlead/model/environments/accounts.ts'
import type { Group } from '@fairlead/model/environments/running.ts'
import type { AppPlace } from './account-places.ts'
import { canaryOf, clusterOf, commandWords, keptGroups, secretsOf } from './app-environment.ts'

type ClusterPlace = AppPlace & { readonly cluster: ClusterRules }

export function isClusterPlace(place: AppPlace): place is ClusterPlace {
  return place.cluster !== undefined
}

const givenImage = `\${parameters.image}`
/** The tag of the image, else its name. */
const tagOfImage = 'parameters.image.replaceFirst("@sha256:.*", "").replaceFirst("^.*[:/]", "")'
const version = `\${${tagOfImage}}`
const nameOfVersion = `\${${tagOfImage}.toLowerCase().replaceAll("[^a-z0-9]+", "-")}`

const usualPort = 8080
/** Endpoints learn within it that a pod ends. */
const pauseSeconds = 5
const keptSecretVersions = '5'
const keptJobSeconds = 86_400
/** Time for the pull of the image, beside the start. */
const pullSeconds = 300
/** Limit for a CronJob, whose jobs and pods add to its name. */
const maxNameLength = 52
const selectorLabel = 'app'
/** On everything that an environment of an app has. */
const instanceLabel = 'app.kubernetes.io/instance'
/** Pods with it get requests of the service. */
const servedLabel = 'fairlead/service'
/** Selects replica sets: a Deployment would adopt those with the label of its selector. */
const versionsLabel = 'fairlead/versions-of'

/** Secrets and volumes, then the release, then all services at once. */
export function manifestStages(here: AppHere, place: ClusterPlace): JsonObject[] {
  const prepared = [
    ...secretManifests(here),
    ...here.services.flatMap((each) => claimsOf(here, each, place)),
  ]
  const stages = [
    ...(prepared.length === 0
      ? []
      : [
          deployStage('prepare', 'Prepare', {
            here,
            place,
            cluster: environmentName(here),
            manifests: prepared,
          }),
        ]),
    ...releaseStages(here, place),
  ]
  const before = stages.map(({ refId }) => String(refId))
  return [
    ...stages.map((stage, index) => ({ ...stage, requisiteStageRefIds: before.slice(0, index) })),
    ...here.services.map((service) => ({
      ...deployStage(`deploy-${service.name}`, `Deploy ${service.name}`, {
        here,
        place,
        cluster: clusterOf(here, service.name),
        manifests: manifestsOf(here, service, place),
      }),
      ...canaryFields(here, service),
      requisiteStageRefIds: before,
    })),
  ]
}

/** The new replica set gets its share of the requests step by step, and goes where a step fails. */
function canaryFields(here: AppHere, service: ServiceHere): JsonObject {
  const canary = canaryOf(here, service)
  if (canary === undefined) return {}
  const services = [`service ${clusterOf(here, service.name)}`]
  const options = { maxRemainingAsgs: keptGroups, scaleDown: true }
  return {
    stableManifestTimeoutMinutes: Math.ceil(startSecondsOf(service) / 60),
    trafficManagement: {
      enabled: true,
      options: { services, strategy: 'canary', canary, ...options },
    },
    rollback: { onFailure: true, destroyLatest: true },
  }
}

interface DeployedManifests {
  readonly here: AppHere
  readonly place: ClusterPlace
  readonly cluster: string
  readonly manifests: readonly JsonObject[]
}

function deployStage(
  refId: string,
  name: string,
  { here: { application }, place, cluster, manifests }: DeployedManifests,
): JsonObject {
  return {
    refId,
    type: 'deployManifest',
    name,
    ...accountFields(place),
    moniker: { app: application, cluster },
    source: 'text',
    manifests: manifests.map((each) => inNamespace(each, place)),
  }
}

function accountFields({ provider, account }: ClusterPlace): JsonObject {
  return { cloudProvider: provider, account, credentials: account }
}

function inNamespace(manifest: JsonObject, { region: namespace }: ClusterPlace): JsonObject {
  return { ...manifest, metadata: { namespace, ...(manifest['metadata'] as JsonObject) } }
}

function releaseStages(here: AppHere, place: ClusterPlace): JsonObject[] {
  const { application, release } = here
  if (release === undefined) return []
  const name = `${environmentName(here).replace(/-production$/, '')}-release-${nameOfVersion}`
  const labels = labelsOf(here, 'release')
  const manifest = {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name, labels },
    spec: {
      ...jobSpec(here, place, { name: 'release', command: commandWords(release.command), labels }),
      activeDeadlineSeconds: Math.ceil(release.timeoutMs / 1000),
    },
  }
  return [
    {
      refId: 'release',
      type: 'runJobManifest',
      name: 'Release',
      stageEnabled: { type: 'expression', expression: `\${parameters.release != "false"}` },
      ...accountFields(place),
      application,
      source: 'text',
      manifest: inNamespace(manifest, place),
    },
  ]
}

/** Names its Secret, and labels all of its objects: `shop-production`. */
function environmentName({ application, environment }: AppHere): string {
  return `${application}-${environment}`
}

function labelsOf(here: AppHere, component: string): JsonObject {
  return {
    'app.kubernetes.io/name': here.application,
    'app.kubernetes.io/component': component,
    'app.kubernetes.io/version': version,
    [instanceLabel]: environmentName(here),
  }
}

function serviceLabels(here: AppHere, { name }: Pick<ServiceHere, 'name'>): JsonObject {
  return { ...labelsOf(here, name), [selectorLabel]: clusterOf(here, name) }
}

/** Values stand in place of the references once they are sent; each change is a version, which what refers to it takes. */
function secretManifests(here: AppHere): JsonObject[] {
  const secrets = Object.entries(secretsOf(here))
  if (secrets.length === 0) return []
  return [
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        name: environmentName(here),
        // Without the version: an unchanged Secret is not another one.
        labels: { [instanceLabel]: environmentName(here) },
        annotations: {
          // What names it is in later stages.
          'strategy.spinnaker.io/versioned': 'true',
          'strategy.spinnaker.io/max-version-history': keptSecretVersions,
        },
      },
      stringData: Object.fromEntries(
        secrets.map(([variable, name]) => [variable, `secret:${name}`]),
      ),
    },
  ]
}

function claimsOf(here: AppHere, service: ServiceHere, { cluster }: ClusterPlace): JsonObject[] {
  const { storageClass, volumeSize } = cluster
  return service.volumes.map(({ name, shared }) => ({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      name: `${clusterOf(here, service.name)}-${name}`,
      labels: { 'app.kubernetes.io/name': here.application },
    },
    spec: {
      accessModes: [shared ? 'ReadWriteMany' : 'ReadWriteOnce'],
      ...definedOf({ storageClassName: storageClass }),
      resources: { requests: { storage: volumeSize } },
    },
  }))
}

function manifestsOf(here: AppHere, service: ServiceHere, place: ClusterPlace): JsonObject[] {
  if (service.schedule !== undefined) return [cronJobOf(here, service, place)]
  const { hosts, instances, listens } = service
  return [
    ...(listens ? [serviceOf(here, service)] : []),
    ...(hosts.length > 0 ? trafficOf(here, service, place) : []),
    ...(instances > 1 ? [budgetOf(here, service)] : []),
    canaryOf(here, service) === undefined
      ? deploymentOf(here, service, place)
      : replicaSetOf(here, service, place),
  ]
}

function objectOf(
  here: AppHere,
  service: ServiceHere,
  { kind, apiVersion }: { readonly kind: string; readonly apiVersion: string },
  {
    spec,
    annotations,
    name = clusterOf(here, service.name),
  }: {
    readonly spec: JsonObject
    readonly annotations?: JsonObject | undefined
    readonly name?: string
  },
): JsonObject {
  const metadata = { name, labels: serviceLabels(here, service), ...definedOf({ annotations }) }
  return { apiVersion, kind, metadata, spec }
}

function serviceOf(here: AppHere, service: ServiceHere): JsonObject {
  return objectOf(
    here,
    service,
    { kind: 'Service', apiVersion: 'v1' },
    {
      spec: {
        selector: { [servedLabel]: clusterOf(here, service.name) },
        ports: [
          { name: 'http', port: servicePortOf(service), targetPort: 'http', protocol: 'TCP' },
        ],
      },
    },
  )
}

/** 80 with hosts, else that of the program. */
function servicePortOf({ hosts, port }: ServiceHere): number {
  return hosts.length > 0 ? 80 : (port ?? usualPort)
}

function budgetOf(here: AppHere, service: ServiceHere): JsonObject {
  const selector = { matchLabels: { [selectorLabel]: clusterOf(here, service.name) } }
  return objectOf(
    here,
    service,
    { kind: 'PodDisruptionBudget', apiVersion: 'policy/v1' },
    { spec: { maxUnavailable: 1, selector } },
  )
}

/** All new instances are ready before the last old one goes, unless the strategy says otherwise. */
const rollouts: Readonly<Record<ServiceHere['strategy'], JsonObject>> = {
  redblack: { type: 'RollingUpdate', rollingUpdate: { maxSurge: '100%', maxUnavailable: 0 } },
  rolling: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
  'stop-first': { type: 'Recreate' },
}

/** Until a new instance must be ready. */
function startSecondsOf({ health }: ServiceHere): number {
  return pullSeconds + Math.ceil((health?.startMs ?? 60_000) / 1000)
}

function deploymentOf(here: AppHere, service: ServiceHere, place: ClusterPlace): JsonObject {
  const { name, instances, strategy } = service
  const cluster = clusterOf(here, name)
  const labels = { ...serviceLabels(here, service), [servedLabel]: cluster }
  return objectOf(
    here,
    service,
    { kind: 'Deployment', apiVersion: 'apps/v1' },
    {
      spec: {
        replicas: instances,
        revisionHistoryLimit: 3,
        progressDeadlineSeconds: startSecondsOf(service),
        strategy: rollouts[strategy],
        selector: { matchLabels: { [selectorLabel]: cluster } },
        template: podTemplate(here, place, { name, labels, service, command: wordsOf(service) }),
      },
    },
  )
}

/** One for each version, beside each other while the new one proves itself. Its label of the Service comes with its share. */
function replicaSetOf(here: AppHere, service: ServiceHere, place: ClusterPlace): JsonObject {
  const { name, instances } = service
  const cluster = clusterOf(here, name)
  const labels = serviceLabels(here, service)
  return {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: { name: cluster, labels: { ...labelsOf(here, name), [versionsLabel]: cluster } },
    spec: {
      replicas: instances,
      selector: { matchLabels: { [selectorLabel]: cluster } },
      template: podTemplate(here, place, { name, labels, service, command: wordsOf(service) }),
    },
  }
}

function wordsOf({ command }: ServiceHere): string[] | undefined {
  return command === undefined ? undefined : commandWords(command)
}

function cronJobOf(here: AppHere, service: ServiceHere, place: ClusterPlace): JsonObject {
  const { name, schedule } = service
  return objectOf(
    here,
    service,
    { kind: 'CronJob', apiVersion: 'batch/v1' },
    {
      spec: {
        schedule: schedule?.crontab,
        timeZone: schedule?.timeZone,
        concurrencyPolicy: 'Forbid',
        jobTemplate: {
          spec: jobSpec(here, place, {
            ...{ name, service, labels: serviceLabels(here, service) },
            command: wordsOf(service),
          }),
        },
      },
    },
  )
}

interface PodParts {
  readonly name: string
  readonly labels: JsonObject
  readonly command: readonly string[] | undefined
  /** Undefined: the release. */
  readonly service?: ServiceHere
}

function jobSpec(here: AppHere, place: ClusterPlace, parts: PodParts): JsonObject {
  return {
    backoffLimit: 0,
    ttlSecondsAfterFinished: keptJobSeconds,
    template: podTemplate(here, place, parts, 'Never'),
  }
}

function podTemplate(
  here: AppHere,
  { cluster: { pullSecret } }: ClusterPlace,
  { name, labels, command, service }: PodParts,
  restartPolicy: 'Always' | 'Never' = 'Always',
): JsonObject {
  const runs = restartPolicy === 'Always' ? service : undefined
  const volumes = (service?.volumes ?? []).map((volume) => ({
    name: volume.name,
    persistentVolumeClaim: { claimName: `${clusterOf(here, name)}-${volume.name}` },
  }))
  return {
    metadata: { labels },
    spec: {
      restartPolicy,
      ...(runs !== undefined && {
        terminationGracePeriodSeconds: Math.ceil(runs.stopMs / 1000) + pauseSeconds,
      }),
      ...(pullSecret !== undefined && { imagePullSecrets: [{ name: pullSecret }] }),
      ...(volumes.length > 0 && { volumes }),
      containers: [
        {
          name,
          image: givenImage,
          ...definedOf({ command }),
          // The end of the output is shown with a failure.
          terminationMessagePolicy: 'FallbackToLogsOnError',
          env: variablesOf(here, service),
          ...(Object.keys(secretsOf(here)).length > 0 && {
            envFrom: [{ secretRef: { name: environmentName(here) } }],
          }),
          ...(service !== undefined && resourcesOf(service)),
          ...(volumes.length > 0 && {
            volumeMounts: service?.volumes.map(({ name: volume, path: mountPath }) => ({
              name: volume,
              mountPath,
            })),
          }),
          ...(runs !== undefined && lifeOf(runs)),
        },
      ],
    },
  }
}

function portOf({ port = usualPort }: ServiceHere): number {
  return port
}

function variablesOf({ env }: AppHere, service: ServiceHere | undefined): JsonObject[] {
  const given =
    service === undefined || !service.listens
      ? env
      : { ...env, PORT: String(portOf(service)), HOST: '0.0.0.0' }
  return Object.entries(given).map(([name, value]) => ({ name, value }))
}

function resourcesOf({ memoryBytes, cpu }: ServiceHere): JsonObject {
  const bounds = definedOf({
    memory: memoryBytes && String(memoryBytes),
    cpu: cpu && `${Math.ceil(cpu * 1000)}m`,
  })
  return Object.keys(bounds).length === 0 ? {} : { resources: { requests: bounds, limits: bounds } }
}

function lifeOf(service: ServiceHere): JsonObject {
  const { listens, health } = service
  if (!listens) return {}
  const { intervalMs = 2000, timeoutMs = 5000, startMs = 60_000 } = health ?? {}
  const periodSeconds = Math.max(1, Math.round(intervalMs / 1000))
  const probe = {
    ...(health === undefined ? { tcpSocket: { port: 'http' } } : { httpGet: requestOf(health) }),
    periodSeconds,
    timeoutSeconds: Math.max(1, Math.ceil(timeoutMs / 1000)),
  }
  const startupProbe = { ...probe, failureThreshold: Math.ceil(startMs / 1000 / periodSeconds) }
  return {
    ports: [{ name: 'http', containerPort: portOf(service), protocol: 'TCP' }],
    startupProbe,
    readinessProbe: probe,
    ...(health?.restart === true && { livenessProbe: { ...probe, failureThreshold: 3 } }),
    lifecycle: { preStop: { sleep: { seconds: pauseSeconds } } },
  }
}

function requestOf({ path, host }: HealthHere): JsonObject {
  const httpHeaders = host === undefined ? undefined : [{ name: 'Host', value: host }]
  return { path, port: 'http', ...definedOf({ httpHeaders }) }
}

// --- Hosts ------------------------------------------------------------------

function trafficOf(here: AppHere, service: ServiceHere, place: ClusterPlace): JsonObject[] {
  return place.cluster.gateway === undefined
    ? [ingressOf(here, service, place)]
    : routesOf(here, service, place.cluster.gateway)
}

function ingressOf(
  here: AppHere,
  service: ServiceHere,
  { cluster: { ingressClass, tlsSecret, issuer } }: ClusterPlace,
): JsonObject {
  const name = clusterOf(here, service.name)
  const byHost = Map.groupBy(service.hosts, ({ host }) => host)
  const backend = { service: { name, port: { name: 'http' } } }
  const secretName = tlsSecret ?? (issuer === undefined ? undefined : `${name}-tls`)
  const annotations = {
    ...definedOf({ 'cert-manager.io/cluster-issuer': issuer }),
    ...(ingressClass === 'nginx' && nginxAnnotations(here)),
  }
  return objectOf(
    here,
    service,
    { kind: 'Ingress', apiVersion: 'networking.k8s.io/v1' },
    {
      annotations: Object.keys(annotations).length === 0 ? undefined : annotations,
      spec: {
        ...definedOf({ ingressClassName: ingressClass }),
        rules: [...byHost].map(([host, places]) => ({
          host,
          http: { paths: places.map(({ path }) => ({ path, pathType: 'Prefix', backend })) },
        })),
        ...(secretName !== undefined && { tls: [{ hosts: [...byHost.keys()], secretName }] }),
      },
    },
  )
}

/** Its usual limits are lower than those of the file. */
function nginxAnnotations({ limits }: AppHere): JsonObject {
  const seconds = String(Math.ceil(limits.websocketMs / 1000))
  const prefix = 'nginx.ingress.kubernetes.io'
  return {
    [`${prefix}/proxy-body-size`]: String(limits.bodyBytes),
    [`${prefix}/proxy-read-timeout`]: seconds,
    [`${prefix}/proxy-send-timeout`]: seconds,
  }
}

/** One for each path. */
function routesOf(here: AppHere, service: ServiceHere, gateway: string): JsonObject[] {
  const [name = '', namespace] = gateway.split('/').toReversed()
  const parentRefs = [{ name, ...definedOf({ namespace }) }]
  const cluster = clusterOf(here, service.name)
  const byPath = Map.groupBy(service.hosts, ({ path, strip }) => `${path} ${strip}`)
  return [...byPath.values()].map((places) => {
    const [{ path, strip } = { path: '/', strip: false }] = places
    const slug = path
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, ' ')
      .trim()
      .replaceAll(' ', '-')
    const rewrite = { type: 'ReplacePrefixMatch', replacePrefixMatch: '/' }
    const filters = strip ? [{ type: 'URLRewrite', urlRewrite: { path: rewrite } }] : undefined
    return objectOf(
      here,
      service,
      { kind: 'HTTPRoute', apiVersion: 'gateway.networking.k8s.io/v1' },
      {
        name: slug === '' ? cluster : `${cluster}-${slug}`,
        spec: {
          parentRefs,
          hostnames: places.map(({ host }) => host),
          rules: [
            {
              matches: [{ path: { type: 'PathPrefix', value: path } }],
              ...definedOf({ filters }),
              backendRefs: [{ name: cluster, port: servicePortOf(service) }],
            },
          ],
        },
      },
    )
  })
}

// --- Removal ----------------------------------------------------------------

const workloadKinds = ['deployment', 'replicaSet', 'cronJob', 'podDisruptionBudget', 'service']

function trafficKind({ cluster: { gateway } }: ClusterPlace): string {
  return gateway === undefined ? 'ingress' : 'HTTPRoute.gateway.networking.k8s.io'
}

interface Removal {
  readonly name: string
  readonly kinds: readonly string[]
  readonly label: string
  readonly value: string
}

function removal(place: ClusterPlace, { name, kinds, label, value }: Removal): JsonObject {
  return {
    type: 'deleteManifest',
    name,
    ...accountFields(place),
    location: place.region,
    mode: 'label',
    kinds,
    labelSelectors: { selectors: [{ kind: 'EQUALS', key: label, values: [value] }] },
    options: { cascading: true },
  }
}

/** Removes what the environment had by a former file and has no more; volumes stay. */
export function removalStages(former: AppHere, here: AppHere, place: ClusterPlace): JsonObject[] {
  const requisiteStageRefIds = here.services.map(({ name }) => `deploy-${name}`)
  return former.services.flatMap((service) => {
    const now = here.services.find(({ name }) => name === service.name)
    const isOther =
      now === undefined || (now.schedule === undefined) !== (service.schedule === undefined)
    const kinds = isOther
      ? [
          trafficKind(place),
          service.schedule === undefined ? 'deployment' : 'cronJob',
          'podDisruptionBudget',
          'service',
        ]
      : [
          ...(service.hosts.length > 0 && now.hosts.length === 0 ? [trafficKind(place)] : []),
          ...(service.listens && !now.listens ? ['service'] : []),
        ]
    if (kinds.length === 0) return []
    const value = clusterOf(former, service.name)
    const name = `Stop ${value}`
    const versions = { name: `${name} (versions)`, kinds: ['replicaSet'], label: versionsLabel }
    return [
      { refId: `stop-${value}`, name, kinds, label: selectorLabel },
      ...(isOther && canaryOf(former, service) !== undefined
        ? [{ refId: `stop-versions-${value}`, ...versions }]
        : []),
    ].map(({ refId, ...what }) => ({
      ...{ refId, requisiteStageRefIds },
      ...removal(place, { ...what, value }),
    }))
  })
}

/** For workloads of the other kind, which a service has until its file first wants a canary, or no more. */
export function otherWorkloadStages(
  here: AppHere,
  place: ClusterPlace,
  groups: readonly Group[],
): JsonObject[] {
  return here.services.flatMap((service) => {
    const value = clusterOf(here, service.name)
    const isVersioned = canaryOf(here, service) !== undefined
    const others = groups.filter(
      ({ cluster, account, serverGroupManagers }) =>
        cluster === value &&
        account === place.account &&
        serverGroupManagers.length > 0 === isVersioned,
    )
    if (others.length === 0 || service.schedule !== undefined) return []
    const [kind, label] = isVersioned
      ? (['deployment', selectorLabel] as const)
      : (['replicaSet', versionsLabel] as const)
    return [
      {
        refId: `replace-${value}`,
        requisiteStageRefIds: [`deploy-${service.name}`],
        ...removal(place, { name: `Stop the former ${value}`, kinds: [kind], label, value }),
      },
    ]
  })
}

/** Stage that removes an environment, its volumes aside. */
export function removalOf(here: AppHere, place: ClusterPlace): JsonObject {
  const value = environmentName(here)
  const kinds = [trafficKind(place), ...workloadKinds, 'job', 'secret']
  return removal(place, { name: `Stop ${value}`, kinds, label: instanceLabel, value })
}

export function scaleJob(
  { cluster = '', name, serverGroupManagers }: Group,
  instances: number,
  place: ClusterPlace,
): JsonObject {
  return {
    type: 'scaleManifest',
    name: `Scale ${cluster} to ${instances}`,
    ...accountFields(place),
    location: place.region,
    manifestName: serverGroupManagers.length > 0 ? `deployment ${cluster}` : name,
    replicas: instances,
  }
}

// --- What is not the same as on one machine -----------------------------------

/** @throws {PortError} 400 for what an app on a cluster would lack, naming the key and what to write */
export function checkClusterApp(here: AppHere, { account, cluster }: ClusterPlace): void {
  const { services, attach } = here
  const stripped = services.flatMap(({ hosts }) => hosts).find(({ strip }) => strip)
  const long = services
    .map(({ name }) => clusterOf(here, name))
    .find(({ length }) => length > maxNameLength)
  const inner = attach.find(({ external }) => external === undefined)
  const problems = [
    inner &&
      `attach.${inner.name}: Fairlead runs no databases on clusters. Run one elsewhere, and name the secret with its address: attach: { ${inner.name}: { type: ${inner.type}, external: ${inner.variable} } }, and fairlead secret set ${inner.variable}.`,
    stripped &&
      cluster.gateway === undefined &&
      `hosts: ${stripped.host}${stripped.path} has strip: true, which an Ingress has not. An operator can set apps.gateway of the account, or serve the path itself.`,
    long &&
      `services: ${long} is longer than the ${maxNameLength} characters that a name may have on a cluster. Shorten the name of the application, the environment or the service.`,
  ].filter((problem) => typeof problem === 'string')
  if (problems.length === 0) return
  throw new PortError(400, `On the account ${account}, ${problems.join(' ')}`)
}

/** What of the file has another effect there, for people. */
export function clusterNotes(
  { services, limits, redirects, hsts, errorPage }: AppHere,
  { cluster }: ClusterPlace,
): string[] {
  const of = (holds: (service: ServiceHere) => boolean) =>
    services
      .filter(holds)
      .map(({ name }) => name)
      .join(', ')
  const hosts = services.flatMap((service) => service.hosts)
  const notes: (readonly [string | boolean, string])[] = [
    [of(({ processes }) => processes !== undefined), 'processes: pods have no such limit.'],
    [of(({ health }) => health?.status !== undefined), 'health.status: probes take 200 to 399.'],
    [of(({ schedule }) => schedule?.onOverlap === 'wait'), 'onOverlap: wait is skip in a CronJob.'],
    [
      !isDeepStrictEqual(limits, usualLimits),
      cluster.ingressClass === 'nginx' && cluster.gateway === undefined
        ? 'limits: only body and websocket are set, by annotations of nginx.'
        : 'limits: the controller has limits of its own.',
    ],
    [Object.keys(redirects).length > 0, 'redirect: redirects are the controller’s.'],
    [hsts !== undefined, 'hsts: the controller writes the header, or the program.'],
    [errorPage !== undefined, 'error-page: the controller has one of its own.'],
    [
      hosts.length > 0 && !hasCertificates(cluster),
      'hosts: no certificate, as the account sets neither apps.tlsSecret nor apps.issuer.',
    ],
  ]
  return notes.flatMap(([names, note]) =>
    names === false || names === '' ? [] : [names === true ? note : `${names}: ${note}`],
  )
}

/** A Gateway has those of its listeners. */
function hasCertificates({ gateway, tlsSecret, issuer }: ClusterRules): boolean {
  return [gateway, tlsSecret, issuer].some((each) => each !== undefined)
}
