/** A small cluster as the API shows it, answered in the browser: what the console reads of it, and which tasks it submits. */
import type { Page, Route } from 'playwright-core'

type Json = Record<string, unknown>

const account = 'k8s'
const location = 'shop'
const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString()
const images = [
  'registry.example.org/web:1.0',
  'registry.example.org/web:1.1',
  'registry.example.org/web:2.0',
]

export interface StubbedCluster {
  /** Jobs of the tasks that the console has submitted, and of those whose end it has read. */
  readonly submitted: Json[]
  readonly jobs: Json[]
  /** Bodies of the plans that it has asked for. */
  readonly plans: Json[]
  /** Whether the rollout of `deployment web` has ended. */
  isRolledOut: boolean
  isPaused: boolean
  /** Whether the account's cluster does not answer. */
  isAway: boolean
  /** Whether the run has failed, which otherwise goes on. */
  hasFailed: boolean
  /** Whether managers are listed. */
  hasManagers: boolean
  /** Further clusters, before the others. */
  more: number
  /** The cluster of the newest server group. */
  newest: string
}

export async function stubCluster(page: Page): Promise<StubbedCluster> {
  const cluster: StubbedCluster = {
    submitted: [],
    jobs: [],
    plans: [],
    isRolledOut: false,
    isPaused: false,
    isAway: false,
    hasFailed: false,
    hasManagers: true,
    more: 0,
    newest: 'deployment web',
  }
  await page.route(
    (url) => !url.pathname.startsWith('/console'),
    async (route) => {
      const answer = answerTo(cluster, route)
      if (answer === undefined) await route.fallback()
      else await route.fulfill(answer)
    },
  )
  return cluster
}

type Fulfilment = { readonly status?: number; readonly json: unknown }

function answerTo(cluster: StubbedCluster, route: Route): Fulfilment | undefined {
  const request = route.request()
  const { pathname, searchParams } = new URL(request.url())
  const path = decodeURIComponent(pathname)
  if (request.method() === 'POST')
    return answerPost(cluster, path, (request.postDataJSON() ?? {}) as Json)
  const fixed = reads(cluster)[path]
  if (fixed !== undefined) return { json: fixed }
  const manifest = /^\/manifests\/k8s\/([^/]+)\/(.+)$/.exec(path)
  if (manifest !== null) return found(manifests(cluster)[manifest[2] ?? ''])
  if (path.startsWith('/cloudMetrics/')) {
    const datapoints = [2, 1].map((minutes) => ({
      timestamp: Date.now() - minutes * 60_000,
      average: 64 * 1024 ** 2,
    }))
    return path.endsWith('/memory/statistics')
      ? { json: { unit: 'Bytes', period: 15, datapoints } }
      : found(undefined)
  }
  if (/^\/instances\/k8s\/.+\/console$/.test(path)) return { json: logs(searchParams) }
  if (/^\/tasks\/\w+$/.test(path)) {
    cluster.jobs.push(...cluster.submitted.splice(0))
    return {
      json: {
        id: path.slice(7),
        name: 'task',
        application: 'shop',
        status: 'SUCCEEDED',
        steps: [],
        variables: [],
      },
    }
  }
  return undefined
}

function found(json: unknown): Fulfilment {
  return json === undefined
    ? { status: 404, json: { status: 404, code: 'NOT_FOUND', message: 'Unable to find it' } }
    : { json }
}

function answerPost(cluster: StubbedCluster, path: string, body: Json): Fulfilment | undefined {
  if (path === '/applications/shop/tasks') {
    cluster.submitted.push(...(body['job'] as Json[]))
    return { json: { ref: `/tasks/T${cluster.submitted.length}` } }
  }
  if (path.endsWith('/tasks/judge')) return { json: { objections: [] } }
  if (path !== '/manifests/plan') return undefined
  cluster.plans.push(body)
  return { json: planOf(body) }
}

function planOf({ manifests: given }: Json): readonly Json[] {
  return (given as Json[]).map((manifest) => {
    const { name } = manifest['metadata'] as Json
    const object = {
      account,
      namespace: location,
      name: `${String(manifest['kind']).toLowerCase()} ${String(name)}`,
    }
    if (name === 'bad')
      return {
        ...object,
        change: 'error',
        fields: [],
        message: 'spec.replicas: Invalid value: "x"',
      }
    const fields = [
      { path: 'spec.replicas', change: 'changed', before: 3, after: 5 },
      {
        path: 'spec.template.spec.containers[0].env[0]',
        change: 'added',
        after: { name: 'LEVEL', value: 'high' },
      },
      { path: 'metadata.labels.old', change: 'removed', before: 'yes' },
    ]
    return manifest['kind'] === 'Deployment'
      ? { ...object, change: 'update', fields }
      : { ...object, change: 'none', fields: [] }
  })
}

function reads(cluster: StubbedCluster): Readonly<Record<string, unknown>> {
  return {
    '/capabilities/cloudProviders': [
      {
        id: 'kubernetes',
        label: 'Kubernetes',
        forms: [],
        refused: {},
        help: {},
        hasManifests: true,
        metrics: ['requests', 'memory'],
      },
    ],
    '/credentials': [
      {
        name: account,
        type: 'kubernetes',
        cloudProvider: 'kubernetes',
        namespaces: ['default', location],
        metrics: ['memory'],
        authorized: true,
        ...(cluster.isAway && {
          unreachable: { since: minutesAgo(7), reason: 'connect ETIMEDOUT' },
        }),
      },
    ],
    '/applications/shop': { name: 'shop', attributes: { name: 'shop', email: 'ops@example.org' } },
    '/applications/shop/clusters': { k8s: ['deployment web', 'statefulSet db', 'job migrate'] },
    '/applications/shop/serverGroups': serverGroups(cluster),
    '/applications/shop/serverGroupManagers': cluster.hasManagers ? [manager()] : [],
    '/applications/shop/loadBalancers': [service(cluster)],
    '/applications/shop/rawResources': Object.keys(manifests(cluster)).map((name) => ({
      ...place(name),
      apiVersion: 'v1',
      labels: { app: 'web' },
    })),
    '/applications/shop/drift': [
      {
        account,
        namespace: location,
        name: 'deployment web',
        manager: 'kubectl-edit',
        since: minutesAgo(42),
        fields: ['spec.replicas', 'spec.template.spec.containers[name="main"].image'],
      },
    ],
    '/applications/shop/jobs': [
      {
        ...place('job migrate'),
        id: 'uid-job',
        name: 'migrate',
        location,
        provider: 'kubernetes',
        jobState: 'Failed',
      },
    ],
    '/applications/shop/pipelines': [],
    [`/pipelines/${runId}`]: run(cluster),
  }
}

function place(name: string): Json {
  const [kind = '', displayName = ''] = name.split(' ')
  const common = {
    account,
    region: location,
    namespace: location,
    cloudProvider: 'kubernetes',
    type: 'kubernetes',
  }
  return { ...common, name, displayName, kind }
}

function pod(name: string, healthState = 'Up'): Json {
  return { id: `uid-${name}`, name: `pod ${name}`, healthState, zone: location, health: [] }
}

function group(name: string, cluster: string, more: Json, pods: readonly Json[]): Json {
  const up = pods.filter(({ healthState }) => healthState === 'Up').length
  return {
    ...place(name),
    cluster,
    application: 'shop',
    isDisabled: false,
    loadBalancers: [],
    instances: pods,
    instanceCounts: {
      total: pods.length,
      up,
      down: pods.length - up,
      outOfService: 0,
      starting: 0,
      unknown: 0,
    },
    capacity: { desired: pods.length },
    serverGroupManagers: [],
    ...more,
    moniker: { app: 'shop', cluster, ...(more['moniker'] as Json) },
  }
}

function serverGroups({ isRolledOut, more, newest: itsCluster }: StubbedCluster): readonly Json[] {
  const ofWeb = (revision: number, pods: readonly Json[]) =>
    group(
      `replicaSet web-${revision}`,
      revision === 3 ? itsCluster : 'deployment web',
      {
        moniker: { sequence: revision },
        createdTime: Date.parse(minutesAgo(60 * 24 * (4 - revision))),
        loadBalancers: ['service front'],
        buildInfo: { images: [images[revision - 1]] },
        serverGroupManagers: [{ account, location, name: 'web' }],
      },
      pods,
    )
  const newest = isRolledOut
    ? [pod('web-3-a'), pod('web-3-b'), pod('web-3-c')]
    : [pod('web-3-a', 'Down')]
  return [
    ofWeb(1, []),
    ofWeb(2, isRolledOut ? [] : [pod('web-2-a'), pod('web-2-b'), pod('web-2-c')]),
    ofWeb(3, newest),
    group(
      'statefulSet db',
      'statefulSet db',
      { buildInfo: { images: ['postgres:17'] }, createdTime: 1.7e12 },
      [pod('db-0')],
    ),
    ...Array.from({ length: more }, (_, at) => group(`cronJob a${at}`, `cronJob a${at}`, {}, [])),
    group('job migrate', 'job migrate', { buildInfo: { images: ['migrate:1'] } }, [
      pod('migrate-x', 'Failed'),
    ]),
  ]
}

function manager(): Json {
  return {
    ...place('deployment web'),
    moniker: { app: 'shop', cluster: 'deployment web' },
    serverGroups: [],
  }
}

function service(cluster: StubbedCluster): Json {
  const groups = serverGroups(cluster).filter(({ cluster: name }) => name === 'deployment web')
  return {
    ...place('service front'),
    moniker: { app: 'shop', cluster: 'service front' },
    serverGroups: groups.map(({ name, instances }) => ({
      name,
      account,
      region: location,
      isDisabled: false,
      detachedInstances: [],
      instances: (instances as Json[]).map(({ id, name: pod, healthState }) => ({
        id,
        name: pod,
        health: { state: healthState },
      })),
    })),
  }
}

function view(name: string, manifest: Json, more: Json = {}): Json {
  const [kind = '', bare = ''] = name.split(' ')
  const metadata = {
    name: bare,
    namespace: location,
    creationTimestamp: minutesAgo(90),
    labels: { app: 'web' },
  }
  const good = { state: true, message: null }
  const bad = { state: false, message: null }
  return {
    account,
    location,
    name,
    moniker: { app: 'shop', cluster: name },
    status: { stable: good, paused: bad, available: good, failed: bad },
    artifacts: [],
    events: [],
    warnings: [],
    metrics: [],
    ...more,
    manifest: {
      apiVersion: 'v1',
      kind: kind.charAt(0).toUpperCase() + kind.slice(1),
      ...manifest,
      metadata: { ...metadata, ...(manifest['metadata'] as Json) },
    },
  }
}

const pullFailure =
  'The container main of pod web-3-a cannot start: the image registry.example.org/web:2.0 cannot be pulled (manifest unknown).'

function manifests(cluster: StubbedCluster): Readonly<Record<string, Json>> {
  const { isRolledOut, isPaused } = cluster
  const main = (image: string | undefined) => ({
    name: 'main',
    image,
    ports: [{ containerPort: 8080 }],
  })
  const template = (image: string | undefined, more: Json = {}) => ({
    metadata: { labels: { app: 'web' } },
    spec: {
      initContainers: [{ name: 'setup', image: 'busybox:1' }],
      containers: [{ ...main(image), ...more }],
    },
  })
  const counts = isRolledOut
    ? { replicas: 3, updatedReplicas: 3, readyReplicas: 3, availableReplicas: 3 }
    : { replicas: 4, updatedReplicas: 1, readyReplicas: 3, availableReplicas: 3 }
  const event = (type: string, reason: string, message: string, minutes: number, count = 1) => ({
    type,
    reason,
    message,
    count,
    lastTimestamp: minutesAgo(minutes),
    source: { component: 'deployment-controller' },
  })
  const replicaSet = (revision: number, more: Json = {}) =>
    view(
      `replicaSet web-${revision}`,
      {
        apiVersion: 'apps/v1',
        kind: 'ReplicaSet',
        metadata: { ownerReferences: [{ kind: 'Deployment', name: 'web' }] },
        spec: { replicas: 1, template: template(images[revision - 1], more) },
        status: { replicas: 1, readyReplicas: 1, availableReplicas: 1, fullyLabeledReplicas: 1 },
      },
      { moniker: { app: 'shop', cluster: 'deployment web' } },
    )
  const status = {
    stable: {
      state: isRolledOut,
      message: isRolledOut ? null : 'Waiting for 2 of 3 pods to be updated',
    },
    paused: { state: isPaused, message: null },
    available: { state: true, message: null },
    failed: { state: false, message: null },
  }
  return {
    'deployment web': view(
      'deployment web',
      {
        apiVersion: 'apps/v1',
        metadata: { annotations: { 'moniker.spinnaker.io/application': 'shop', note: 'ours' } },
        spec: {
          replicas: 3,
          paused: isPaused,
          selector: { matchLabels: { app: 'web' } },
          template: template(images[2]),
        },
        status: {
          ...counts,
          conditions: [
            {
              type: 'Available',
              status: 'True',
              reason: 'MinimumReplicasAvailable',
              lastTransitionTime: minutesAgo(80),
            },
            {
              type: 'Progressing',
              status: 'True',
              reason: 'ReplicaSetUpdated',
              message: 'ReplicaSet "web-3" is progressing.',
              lastTransitionTime: minutesAgo(2),
            },
          ],
        },
      },
      {
        status,
        reasons: isRolledOut ? [] : [pullFailure],
        events: [event('Normal', 'ScalingReplicaSet', 'Scaled up replica set web-3 to 1', 2)],
        artifacts: [
          { type: 'docker/image', name: 'registry.example.org/web', reference: images[2] },
        ],
      },
    ),
    'replicaSet web-1': replicaSet(1),
    'replicaSet web-2': replicaSet(2, { env: [{ name: 'LEVEL', value: 'low' }] }),
    'replicaSet web-3': replicaSet(3),
    'pod web-3-a': view(
      'pod web-3-a',
      {
        metadata: { ownerReferences: [{ kind: 'ReplicaSet', name: 'web-3' }] },
        spec: { ...template(images[2]).spec, nodeName: 'node-1' },
        status: {
          phase: 'Pending',
          conditions: [
            {
              type: 'Ready',
              status: 'False',
              reason: 'ContainersNotReady',
              message: 'containers with unready status: [main]',
            },
          ],
          initContainerStatuses: [
            {
              name: 'setup',
              ready: true,
              restartCount: 0,
              state: { terminated: { exitCode: 0, reason: 'Completed' } },
            },
          ],
          containerStatuses: [
            {
              name: 'main',
              ready: false,
              restartCount: 4,
              state: {
                waiting: {
                  reason: 'ImagePullBackOff',
                  message: `Back-off pulling image "${images[2]}"`,
                },
              },
              lastState: { terminated: { exitCode: 137, reason: 'OOMKilled' } },
            },
          ],
        },
      },
      {
        reasons: [pullFailure],
        status: {
          ...status,
          stable: { state: false, message: 'Pod is pending' },
          available: { state: false, message: null },
        },
        events: [
          event('Warning', 'Failed', `Failed to pull image "${images[2]}": manifest unknown`, 1, 6),
          event('Normal', 'Scheduled', 'Successfully assigned shop/web-3-a to node-1', 2),
        ],
      },
    ),
    'service front': view('service front', {
      spec: {
        type: 'ClusterIP',
        clusterIP: '10.96.0.7',
        selector: { app: 'web' },
        ports: [{ name: 'http', port: 80, protocol: 'TCP' }],
      },
      status: { loadBalancer: {} },
    }),
    'job migrate': view(
      'job migrate',
      {
        apiVersion: 'batch/v1',
        spec: {
          completions: 1,
          template: { spec: { containers: [{ name: 'main', image: 'migrate:1' }] } },
        },
        status: {
          failed: 1,
          conditions: [{ type: 'Failed', status: 'True', reason: 'BackoffLimitExceeded' }],
        },
      },
      {
        status: {
          ...status,
          stable: { state: false, message: null },
          failed: { state: true, message: 'BackoffLimitExceeded' },
        },
        reasons: [
          'The container main of pod migrate-x ended with code 3: relation "users" already exists.',
        ],
      },
    ),
    'secret key': view('secret key', { data: { token: '******' } }),
  }
}

function logs(query: URLSearchParams): Json {
  const output =
    query.get('previous') === 'true'
      ? 'the run before\nout of memory\n'
      : 'listening on 8080\nGET /health 200\n'
  return {
    output: [
      { name: 'setup', output: 'setup is done\n' },
      { name: 'main', output },
    ],
  }
}

export const runId = '01KB3W6Y0TJ9Q4M8H5R2ZC7VXA'

function run({ hasFailed }: StubbedCluster): Json {
  const status = hasFailed ? 'TERMINAL' : 'RUNNING'
  const context = {
    cloudProvider: 'kubernetes',
    account,
    manifests: [],
    'outputs.manifestNamesByNamespace': { [location]: ['deployment web', 'service front'] },
  }
  const stage = {
    id: 'S1',
    refId: '1',
    type: 'deployManifest',
    name: 'Deploy',
    status,
    startTime: Date.now() - 90_000,
    requisiteStageRefIds: [],
    context,
    outputs: { plan: planOf({ manifests: [{ kind: 'Deployment', metadata: { name: 'web' } }] }) },
    tasks: [],
  }
  return {
    id: runId,
    type: 'PIPELINE',
    application: 'shop',
    name: 'ship',
    status,
    startTime: Date.now() - 95_000,
    trigger: { type: 'manual', user: 'ann' },
    stages: [stage],
  }
}
