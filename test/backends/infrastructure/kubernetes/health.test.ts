/** States of objects: the rules of all kinds, as a table of objects and results. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../../../packages/base/json/values.ts'
import { evaluateHealth } from '../../../../packages/providers/kubernetes/health/evaluate.ts'
import { OwnRule, OwnRules } from '../../../../packages/providers/kubernetes/health/own-rules.ts'
import type { HealthContext } from '../../../../packages/providers/kubernetes/health/result.ts'
import { withField } from '../../../../packages/providers/kubernetes/manifests/edit.ts'
import { flagsOf } from '../../../../packages/providers/kubernetes/manifests/status.ts'
import type { KubeObject } from '../../../../packages/providers/kubernetes/objects.ts'

const nowMs = Date.parse('2026-01-01T01:00:00Z')
const ago = (seconds: number) => new Date(nowMs - seconds * 1000).toISOString()
const context: HealthContext = {
  nowMs,
  graceMs: 300_000,
  firstStatusMs: 10_000,
  unattendedMs: 30_000,
  hasStatus: true,
}

function of(apiVersion: string, kind: string) {
  return (spec: JsonObject = {}, status?: JsonObject, metadata: JsonObject = {}): KubeObject => ({
    apiVersion,
    kind,
    metadata: { name: 'web', generation: 2, creationTimestamp: ago(3600), ...metadata },
    spec,
    ...(status !== undefined && { status }),
  })
}

const custom = of('example.test/v1', 'Widget')
const deployment = of('apps/v1', 'Deployment')
const replicaSet = of('apps/v1', 'ReplicaSet')
const statefulSet = of('apps/v1', 'StatefulSet')
const daemonSet = of('apps/v1', 'DaemonSet')
const job = of('batch/v1', 'Job')
const cronJob = of('batch/v1', 'CronJob')
const pod = of('v1', 'Pod')
const service = of('v1', 'Service')
const claim = of('v1', 'PersistentVolumeClaim')
const namespace = of('v1', 'Namespace')
const ingress = of('networking.k8s.io/v1', 'Ingress')
const scaler = of('autoscaling/v2', 'HorizontalPodAutoscaler')
const oldScaler = of('autoscaling/v1', 'HorizontalPodAutoscaler')
const rollout = of('argoproj.io/v1alpha1', 'Rollout')
const cluster = of('postgresql.cnpg.io/v1', 'Cluster')
const gateway = of('gateway.networking.k8s.io/v1', 'Gateway')

/** `Ready=False:Reason:message`, with the seconds since its transition. */
function on(...conditions: readonly (string | JsonObject)[]): JsonObject {
  return {
    conditions: conditions.map((each) => {
      if (typeof each !== 'string') return each
      const [, type, status, reason, message] =
        /^([^=]+)=(\w+)(?::(\w+))?(?::(.*))?$/.exec(each) ?? []
      return { type, status, reason, message, lastTransitionTime: ago(60) }
    }),
  }
}

const seen = { observedGeneration: 2 }
const two = { replicas: 2 }
const ready = { ...seen, replicas: 2, updatedReplicas: 2, availableReplicas: 2, readyReplicas: 2 }
const set = { ...ready, currentReplicas: 2, currentRevision: 'a', updateRevision: 'a' }
const daemons = {
  ...seen,
  desiredNumberScheduled: 2,
  currentNumberScheduled: 2,
  updatedNumberScheduled: 2,
  numberAvailable: 2,
  numberReady: 2,
}
const onDelete = { ...two, updateStrategy: { type: 'OnDelete' } }
const partitioned = { replicas: 3, updateStrategy: { rollingUpdate: { partition: 2 } } }
const waiting = (reason: string, message?: string) => ({
  phase: 'Pending',
  containerStatuses: [{ name: 'main', image: 'app:2', state: { waiting: { reason, message } } }],
})
const balancer = { type: 'LoadBalancer' }
const address = { loadBalancer: { ingress: [{ ip: '10.0.0.1' }] } }
const route = (...parents: readonly [string, string][]) => ({
  parents: parents.map(([name, accepted]) => ({
    parentRef: { name },
    conditions: [{ type: 'Accepted', status: accepted, reason: 'NoMatchingParent' }],
  })),
})

type Row = readonly [
  scenario: number,
  what: string,
  object: KubeObject,
  health: string,
  sentence?: RegExp,
  more?: Partial<HealthContext>,
]

const rows: readonly Row[] = [
  [
    1,
    'an unseen generation',
    custom({}, { observedGeneration: 1 }),
    'progressing',
    /generation 1, not 2/,
  ],
  [
    2,
    'Ready False',
    custom({}, on('Ready=False:Broken:no disk')),
    'progressing trouble',
    /Broken.*no disk/,
  ],
  [
    2,
    'Ready False for long',
    custom({}, on({ type: 'Ready', status: 'False', lastTransitionTime: ago(301) })),
    'failed trouble',
  ],
  [3, 'Stalled', custom({}, on('Stalled=True:Bad:no way')), 'failed final', /no way/],
  [4, 'Reconciling and Ready', custom({}, on('Ready=True', 'Reconciling=True')), 'progressing'],
  [5, 'Ready', custom({}, on('Ready=True')), 'healthy'],
  [
    6,
    'a young one without status',
    custom({}, undefined, { creationTimestamp: ago(3) }),
    'progressing',
  ],
  [7, 'one that has no status for ever', custom(), 'unattended', /No controller acts/],
  [7, 'one whose kind has no status', custom(), 'healthy', undefined, { hasStatus: false }],
  [9, 'null conditions', custom({}, { conditions: null, phase: 'x' }), 'healthy'],
  [9, 'a map of conditions', custom({}, { conditions: { Ready: 'x' } }), 'healthy'],
  [9, 'a status in lower case', custom({}, on('Ready=true')), 'progressing'],
  [
    10,
    'a held deletion',
    custom({}, {}, { deletionTimestamp: ago(11), finalizers: ['x.test/hold'] }),
    'terminating',
    /finalizer x\.test\/hold/,
  ],
  [
    11,
    'an old condition',
    custom({}, { ...on({ type: 'Ready', status: 'False', observedGeneration: 1 }), x: 1 }),
    'healthy',
  ],
  [
    12,
    'a generation as text',
    rollout({}, { observedGeneration: '1', phase: 'Healthy' }),
    'progressing',
  ],
  [
    15,
    'an exempt one',
    custom({}, on('Stalled=True'), {
      annotations: { 'argocd.argoproj.io/ignore-healthcheck': 'true' },
    }),
    'healthy',
  ],
  [
    16,
    'a late deployment',
    deployment(two, { ...ready, ...on('Progressing=False:ProgressDeadlineExceeded:too slow') }),
    'failed final',
    /too slow/,
  ],
  [17, 'a paused deployment', deployment({ ...two, paused: true }, ready), 'suspended', /paused/],
  [18, 'no replicas', deployment({ replicas: 0 }, seen), 'healthy'],
  [
    19,
    'a refusal',
    deployment(two, { ...seen, ...on('ReplicaFailure=True:FailedCreate:exceeded quota: small') }),
    'progressing trouble',
    /quota: small/,
  ],
  [
    20,
    'an old pod',
    deployment(two, { ...ready, replicas: 3 }),
    'progressing',
    /1 old pod is terminating/,
  ],
  [
    16,
    'a deployment on its way',
    deployment(two, { ...ready, readyReplicas: 1 }),
    'progressing',
    /1 of 2 pods are ready/,
  ],
  [16, 'a deployment without status', deployment(two), 'progressing'],
  [16, 'a deployment in order', deployment(two, ready), 'healthy', /2 pods are ready/],
  [19, 'a replica set', replicaSet(two, { ...ready, fullyLabeledReplicas: 2 }), 'healthy'],
  [
    19,
    'a replica set on its way',
    replicaSet(two, { ...ready, fullyLabeledReplicas: 2, readyReplicas: 0 }),
    'progressing',
    /0 of 2/,
  ],
  [
    21,
    'OnDelete',
    statefulSet(onDelete, { ...set, updateRevision: 'b', updatedReplicas: 0 }),
    'healthy',
    /0 of 2 pods have the new revision; delete/,
  ],
  [
    22,
    'a partition',
    statefulSet(partitioned, { ...set, replicas: 3, readyReplicas: 3, updatedReplicas: 1 }),
    'healthy',
  ],
  [
    22,
    'a partition before',
    statefulSet(partitioned, { ...set, replicas: 3, readyReplicas: 3, updatedReplicas: 0 }),
    'progressing',
  ],
  [
    23,
    'an old pod in the way',
    statefulSet(two, { ...set, updateRevision: 'b', readyReplicas: 1 }),
    'progressing',
    /blocks the rollout/,
  ],
  [24, 'a daemon set without status', daemonSet({}, {}), 'progressing'],
  [
    24,
    'no node',
    daemonSet({}, { ...seen, desiredNumberScheduled: 0 }),
    'healthy',
    /No node matches/,
  ],
  [
    25,
    'a daemon set with OnDelete',
    daemonSet(onDelete, { ...daemons, updatedNumberScheduled: 1 }),
    'healthy',
    /1 of 2/,
  ],
  [26, 'a complete job', job({ completions: 1 }, { succeeded: 1, ...on('Complete=True') }), 'done'],
  [
    33,
    'a job that is collected',
    job({}, on('Complete=True'), { deletionTimestamp: ago(1), finalizers: ['foregroundDeletion'] }),
    'done',
  ],
  [
    27,
    'a job at its limit',
    job({}, on('Failed=True:BackoffLimitExceeded')),
    'failed final',
    /BackoffLimitExceeded/,
  ],
  ...['DeadlineExceeded', 'PodFailurePolicy', 'FailedIndexes', 'MaxFailedIndexesExceeded'].map(
    (reason): Row => [
      27,
      reason,
      job({}, on(`Failed=True:${reason}`)),
      'failed final',
      new RegExp(reason),
    ],
  ),
  [
    28,
    'Failed that is False',
    job({ completions: 1 }, on('Failed=False')),
    'progressing',
    /0 of 1 succeeded/,
  ],
  [
    29,
    'a success policy',
    job({ completions: 5 }, { succeeded: 1, ...on('Complete=True:SuccessPolicy') }),
    'done',
  ],
  [
    30,
    'criteria that are met',
    job({ completions: 5 }, on('SuccessCriteriaMet=True')),
    'progressing',
  ],
  [31, 'a work queue', job({ parallelism: 2 }, { succeeded: 3 }), 'progressing', /work queue/],
  [32, 'a suspended job', job({ suspend: true }, on('Suspended=True')), 'suspended'],
  [32, 'a job without parallelism', job({ parallelism: 0 }, { active: 0 }), 'suspended warning'],
  [32, 'a resumed job', job({ suspend: false }, on('Suspended=True')), 'progressing'],
  [
    36,
    'failed indexes',
    job({}, { ...on('Failed=True:FailedIndexes'), failedIndexes: '1,3' }),
    'failed final',
    /1,3/,
  ],
  [37, 'a stranger without status', job({ managedBy: 'kueue.test/x' }, {}), 'unattended', /kueue/],
  [38, 'a suspended cron job', cronJob({ suspend: true }), 'suspended'],
  [38, 'one that never ran', cronJob({ schedule: '* * * * *' }), 'healthy', /not run yet/],
  [
    39,
    'a failed last run',
    cronJob({}, { lastScheduleTime: ago(60), lastSuccessfulTime: ago(120) }),
    'healthy warning',
    /failed/,
  ],
  [
    40,
    'ImagePullBackOff',
    pod({}, waiting('ImagePullBackOff')),
    'failed trouble',
    /main: ImagePullBackOff on app:2/,
  ],
  [
    40,
    'a missing config map',
    pod({}, waiting('CreateContainerConfigError', 'no cm')),
    'failed trouble',
    /no cm/,
  ],
  [40, 'CrashLoopBackOff', pod({}, waiting('CrashLoopBackOff')), 'failed trouble'],
  [
    41,
    'Evicted',
    pod({}, { phase: 'Failed', reason: 'Evicted', message: 'disk' }),
    'failed final',
    /Evicted: disk/,
  ],
  [
    41,
    'OOMKilled',
    pod(
      {},
      {
        phase: 'Failed',
        containerStatuses: [
          { name: 'c', state: { terminated: { reason: 'OOMKilled', exitCode: 137 } } },
        ],
      },
    ),
    'failed final',
    /OOMKilled, exit code 137/,
  ],
  [42, 'a pod that ended', pod({}, { phase: 'Succeeded' }), 'done'],
  [42, 'a ready pod', pod({}, { phase: 'Running', ...on('Ready=True') }), 'healthy'],
  [
    43,
    'a pod that will end',
    pod({ restartPolicy: 'Never' }, { phase: 'Running', ...on('Ready=True') }),
    'progressing',
  ],
  [
    44,
    'a scheduling gate',
    pod({ schedulingGates: [{ name: 'g' }] }, { phase: 'Pending' }),
    'suspended',
    /gate g/,
  ],
  [
    44,
    'a readiness gate',
    pod({ readinessGates: [{ conditionType: 'x/y' }] }, { phase: 'Running', ...on('Ready=False') }),
    'progressing',
    /x\/y/,
  ],
  [
    45,
    'a sidecar',
    pod(
      { initContainers: [{ name: 's', restartPolicy: 'Always' }] },
      { phase: 'Running', ...on('Ready=True') },
    ),
    'progressing',
    /sidecar s/,
  ],
  [
    46,
    'no node for a pod',
    pod({}, { phase: 'Pending', ...on('PodScheduled=False:Unschedulable:0/3 nodes') }),
    'progressing trouble',
    /0\/3 nodes/,
  ],
  [47, 'a load balancer', service(balancer, {}), 'unattended', /No controller assigned/],
  [
    47,
    'a young load balancer',
    service(balancer, {}, { creationTimestamp: ago(5) }),
    'progressing',
  ],
  [47, 'a load balancer with address', service(balancer, address), 'healthy', /10\.0\.0\.1/],
  [47, 'a service', service(), 'healthy'],
  [48, 'an ingress', ingress({}, {}), 'unattended warning'],
  [
    49,
    'a claim',
    claim({}, { phase: 'Pending' }),
    'progressing',
    undefined,
    { storageClass: 'immediate' },
  ],
  [
    49,
    'a claim without class',
    claim({ storageClassName: 'x' }, { phase: 'Pending' }),
    'progressing trouble',
    /class x does not/,
    { storageClass: 'missing' },
  ],
  [
    50,
    'a claim before its pod',
    claim({}, { phase: 'Pending' }),
    'unattended',
    /first pod/,
    { storageClass: 'waits-for-pod' },
  ],
  [51, 'a lost claim', claim({}, { phase: 'Lost' }), 'failed trouble'],
  [51, 'a growing claim', claim({}, { phase: 'Bound', ...on('Resizing=True') }), 'progressing'],
  [52, 'an autoscaler', scaler({}, on('AbleToScale=False:FailedGetScale')), 'failed trouble'],
  [
    52,
    'an old autoscaler',
    oldScaler(
      {},
      {},
      {
        annotations: {
          'autoscaling.alpha.kubernetes.io/conditions': '[{"type":"AbleToScale","status":"False"}]',
        },
      },
    ),
    'failed trouble',
  ],
  [
    53,
    'missing metrics',
    scaler({}, on('ScalingActive=False:FailedGetResourceMetric')),
    'progressing trouble',
  ],
  [
    53,
    'metrics missing for long',
    scaler(
      {},
      on({
        type: 'ScalingActive',
        status: 'False',
        reason: 'FailedGetResourceMetric',
        lastTransitionTime: ago(301),
      }),
    ),
    'failed trouble',
  ],
  [53, 'an autoscaler that nothing acts on', scaler({ maxReplicas: 3 }), 'unattended warning'],
  [54, 'a target of none', scaler({}, on('ScalingActive=False:ScalingDisabled')), 'suspended'],
  [
    55,
    'too few pods',
    of('policy/v1', 'PodDisruptionBudget')({}, on('DisruptionAllowed=False:InsufficientPods')),
    'healthy',
  ],
  [
    55,
    'a failed sync',
    of('policy/v1', 'PodDisruptionBudget')({}, on('DisruptionAllowed=False:SyncFailed')),
    'failed trouble',
  ],
  [
    56,
    'a taken name',
    of('apiextensions.k8s.io/v1', 'CustomResourceDefinition')(
      {},
      on('NamesAccepted=False:Conflict'),
    ),
    'failed trouble',
  ],
  [
    57,
    'a service of the API',
    of('apiregistration.k8s.io/v1', 'APIService')(
      { service: { name: 'x' } },
      on('Available=False:ServiceNotFound'),
    ),
    'progressing trouble',
    /ServiceNotFound/,
  ],
  [
    58,
    'a namespace',
    namespace({}, on('NamespaceContentRemaining=True:SomeResourcesRemain:pods. has 2'), {
      deletionTimestamp: ago(5),
    }),
    'terminating',
    /pods\. has 2/,
  ],
  [59, 'a request', of('certificates.k8s.io/v1', 'CertificateSigningRequest')(), 'suspended'],
  [
    59,
    'a denied request',
    of('certificates.k8s.io/v1', 'CertificateSigningRequest')({}, on('Denied=True')),
    'failed final',
  ],
  [
    60,
    'a certificate',
    of('cert-manager.io/v1', 'Certificate')({}, on('Issuing=True', 'Ready=True')),
    'progressing',
  ],
  [
    61,
    'a paused rollout',
    rollout({}, { phase: 'Paused', message: 'CanaryPauseStep' }),
    'suspended',
    /CanaryPauseStep/,
  ],
  [61, 'a degraded rollout', rollout({}, { phase: 'Degraded' }), 'failed trouble'],
  [61, 'a rollout in order', rollout({}, { phase: 'Healthy' }), 'healthy'],
  [
    62,
    'a suspended source',
    of('kustomize.toolkit.fluxcd.io/v1', 'Kustomization')({ suspend: true }, on('Ready=False')),
    'suspended',
  ],
  [63, 'a gateway', gateway({}, on('Accepted=True', 'Programmed=False')), 'progressing'],
  [63, 'a refused gateway', gateway({}, on('Accepted=False:Invalid')), 'failed trouble', /Invalid/],
  [
    64,
    'a route',
    of('gateway.networking.k8s.io/v1', 'HTTPRoute')({}, route(['a', 'True'], ['b', 'False'])),
    'failed trouble',
    /Gateway b/,
  ],
  [
    65,
    'a managed resource',
    of('s3.aws.upbound.io/v1', 'Bucket')({}, on('Synced=False:ReconcileError')),
    'failed trouble',
  ],
  [
    65,
    'a scaled object',
    of('keda.sh/v1alpha1', 'ScaledObject')({}, on('Ready=False:HPAMetricsUnavailable')),
    'progressing',
  ],
  [
    66,
    'a young Kafka',
    of('kafka.strimzi.io/v1', 'Kafka')({}, on('NotReady=True:Creating')),
    'progressing',
  ],
  [67, 'a cluster in order', cluster({}, { phase: 'Cluster in healthy state' }), 'healthy'],
  [67, 'a cluster at the start', cluster({}, { phase: 'Setting up primary' }), 'progressing'],
  [
    67,
    'a failover',
    cluster({}, { phase: 'Failing over', phaseReason: 'web-1 is gone' }),
    'progressing trouble',
    /web-1/,
  ],
  [
    67,
    'a broken cluster',
    cluster({}, { phase: 'Cluster is unrecoverable and needs manual intervention' }),
    'failed final',
  ],
  [67, 'a hibernated cluster', cluster({}, on('cnpg.io/hibernation=True')), 'suspended'],
  [
    68,
    'a service of Knative',
    of('serving.knative.dev/v1', 'Service')({}, on('Ready=Unknown')),
    'progressing',
  ],
  [
    68,
    'a failed service of Knative',
    of('serving.knative.dev/v1', 'Service')({}, on('Ready=False:RevisionFailed')),
    'failed trouble',
  ],
  // Those of kstatus, but for pods that failed or find no node, running jobs, load balancers with a cluster address, and autoscalers
  // without conditions or at their limit.
]

for (const [scenario, what, object, expected, sentence, more] of rows) {
  test(`objects-scenario ${scenario} the state of ${what}`, () => {
    const health = evaluateHealth(object, { ...context, ...more })
    const [state, ...marks] = expected.split(' ')
    assert.equal(health.state, state, health.sentence)
    assert.equal(health.final, marks.includes('final'))
    assert.equal(health.failsAfterMs !== undefined, marks.includes('trouble'))
    if (sentence !== undefined) assert.match(health.sentence, sentence)
    if (marks.includes('warning')) assert.ok(health.warning)
    assert.match(health.sentence, /[.!?]$/)
  })
}

/** Facts of an object, a line each: kind, then conditions and fields. */
type Facts = Readonly<Record<string, string>>

/** What kstatus says, as its own tests have it. */
const kstatus: Facts = {
  Current: `
    v1 Pod .status.phase="Running" Ready=True
    v1 Pod .status.phase="Succeeded" Ready=False:PodCompleted
    v1 PersistentVolumeClaim .status.phase="Bound"
    apps/v1 StatefulSet .spec.replicas=4 .status.observedGeneration=2 .status.currentReplicas=4 .status.readyReplicas=4 .status.replicas=4
    apps/v1 DaemonSet .status.desiredNumberScheduled=4 .status.currentNumberScheduled=4 .status.updatedNumberScheduled=4 .status.numberAvailable=4 .status.numberReady=4 .status.observedGeneration=2
    apps/v1 Deployment .status.observedGeneration=2 .status.updatedReplicas=1 .status.readyReplicas=1 .status.availableReplicas=1 .status.replicas=1 Progressing=True:NewReplicaSetAvailable Available=True
    apps/v1 Deployment .status.observedGeneration=2 .status.updatedReplicas=1 .status.readyReplicas=1 .status.availableReplicas=1 .status.replicas=1 Available=True
    apps/v1 ReplicaSet .spec.replicas=2 .status.observedGeneration=2 .status.replicas=2 .status.readyReplicas=2 .status.availableReplicas=2 .status.fullyLabeledReplicas=2 ReplicaFailure=False
    apps/v1 ReplicaSet .spec.replicas=2 .status.observedGeneration=2 .status.replicas=2 .status.readyReplicas=2 .status.availableReplicas=2 .status.fullyLabeledReplicas=2
    policy/v1 PodDisruptionBudget .status.observedGeneration=2
    something/v1 MyCR
    something/v1 MyCR Ready=True:AllOk:All
    something/v1 MyCR SomeCondition=False
    batch/v1 Job .status.succeeded=1 .status.active=0 Complete=True
    autoscaling/v2 HorizontalPodAutoscaler AbleToScale=True ScalingActive=True
    batch/v1 CronJob
    batch/v1 CronJob .status=null
    v1 Service
    v1 Service .spec.type="NodePort"
    apiextensions.k8s.io/v1 CustomResourceDefinition NamesAccepted=True:NoConflicts Established=True:InitialNamesAccepted`,
  InProgress: `
    v1 Pod
    v1 Pod .metadata.creationTimestamp="${ago(1)}" .status.phase="Pending" PodScheduled=False:Unschedulable
    v1 PersistentVolumeClaim
    apps/v1 StatefulSet
    apps/v1 StatefulSet .status.observedGeneration=2 .status.currentReplicas=1
    apps/v1 StatefulSet .spec.replicas=4 .status.observedGeneration=2 .status.currentReplicas=4 .status.readyReplicas=2 .status.replicas=4
    apps/v1 StatefulSet .spec.replicas=4 .status.observedGeneration=2 .status.currentReplicas=2 .status.readyReplicas=4 .status.replicas=4
    apps/v1 StatefulSet .spec.replicas=4 .status.observedGeneration=2 .status.currentReplicas=4 .status.readyReplicas=4 .status.replicas=8
    apps/v1 DaemonSet
    apps/v1 DaemonSet .status.observedGeneration=2 .status.currentReplicas=1
    apps/v1 DaemonSet .status.desiredNumberScheduled=4 .status.currentNumberScheduled=4 .status.updatedNumberScheduled=4 .status.numberAvailable=4 .status.numberReady=2 .status.observedGeneration=2
    apps/v1 DaemonSet .status.desiredNumberScheduled=4 .status.currentNumberScheduled=4 .status.updatedNumberScheduled=4 .status.numberAvailable=2 .status.numberReady=4 .status.observedGeneration=2
    apps/v1 DaemonSet .status.desiredNumberScheduled=4 .status.currentNumberScheduled=4 .status.updatedNumberScheduled=4 .status.numberAvailable=4 .status.numberReady=4 .status.observedGeneration=1
    apps/v1 Deployment
    apps/v1 Deployment .spec.progressDeadlineSeconds=45 .status.observedGeneration=2 .status.updatedReplicas=1 .status.readyReplicas=1 .status.availableReplicas=1 .status.replicas=1 Progressing=False:Some Available=True
    apps/v1 Deployment .status.observedGeneration=2 .status.updatedReplicas=1 .status.readyReplicas=1 .status.availableReplicas=1 .status.replicas=1 Progressing=True:NewReplicaSetAvailable Available=False
    apps/v1 ReplicaSet
    apps/v1 ReplicaSet .spec.replicas=4 .status.observedGeneration=2 .status.replicas=4 .status.readyReplicas=2 .status.availableReplicas=4 .status.fullyLabeledReplicas=4
    apps/v1 ReplicaSet .spec.replicas=4 .status.observedGeneration=2 .status.replicas=4 .status.readyReplicas=4 .status.availableReplicas=2 .status.fullyLabeledReplicas=4
    apps/v1 ReplicaSet .spec.replicas=4 .status.observedGeneration=2 .status.replicas=4 .status.readyReplicas=4 .status.availableReplicas=4 .status.fullyLabeledReplicas=4 ReplicaFailure=True
    policy/v1 PodDisruptionBudget .status.observedGeneration=1
    something/v1 MyCR .status.observedGeneration=1
    something/v1 MyCR .status.observedGeneration=2 Ready=False:NotReadyYet
    batch/v1 Job
    v1 Service .spec.type="LoadBalancer" .metadata.creationTimestamp="${ago(1)}"
    apiextensions.k8s.io/v1 CustomResourceDefinition
    apiextensions.k8s.io/v1 CustomResourceDefinition NamesAccepted=True:NoConflicts Established=False:Installing`,
  Failed: `
    v1 Pod .status.phase="Running" PodScheduled=False:Unschedulable .status.containerStatuses=[{"name":"a","state":{"waiting":{"reason":"CrashLoopBackOff"}}}]
    batch/v1 Job .spec.completions=4 .status.succeeded=3 .status.failed=1 Failed=True:JobFailed
    apiextensions.k8s.io/v1 CustomResourceDefinition NamesAccepted=False:SomeReason`,
}

/** Cases of kstatus in which the health is another, and why. */
const kstatusDifferences: readonly (readonly [facts: string, ours: string, why: string])[] = [
  [
    'v1 Pod .status.phase="Failed" Ready=False:PodCompleted',
    'failed',
    'Current there: a pod that failed is over',
  ],
  [
    'v1 Pod .status.phase="Pending" PodScheduled=False:Unschedulable',
    'progressing',
    'Failed there after 15 s: autoscalers need longer, so that the grace counts',
  ],
  [
    'batch/v1 Job .spec.completions=10 .status.active=2 .status.succeeded=3 Failed=False Complete=False',
    'progressing',
    'Current there: a job that has begun',
  ],
  [
    'v1 Service .spec.type="LoadBalancer" .spec.clusterIP="10.0.0.1"',
    'unattended',
    'Current there: no address is reachable yet',
  ],
  [
    'autoscaling/v2 HorizontalPodAutoscaler AbleToScale=True ScalingActive=True ScalingLimited=True',
    'healthy',
    'Failed there: it is at its own limit',
  ],
  ['autoscaling/v2 HorizontalPodAutoscaler', 'unattended', 'Unknown there'],
]

test('objects-scenario 69 the states of kstatus', () => {
  const isTrouble = ({ state, failsAfterMs }: HealthResult) =>
    state === 'failed' || failsAfterMs !== undefined
  const others = otherVerdicts(
    kstatus,
    {
      Current: ({ state }) => ['healthy', 'done', 'suspended'].includes(state),
      InProgress: ({ state }) => state === 'progressing',
      Failed: isTrouble,
    },
    { hasStatus: false },
  )
  assert.deepEqual(others, [])
  assertDifferences(kstatusDifferences)
})

/** What operators of kinds without a rule write. */
const operators: Facts = {
  healthy: `
    a.test/v1 Thing Available=True Progressing=False Degraded=False
    a.test/v1 Thing .status.phase="Running"
    a.test/v1 Thing .status.state="ready"
    a.test/v1 Thing .spec.replicas=2 .status.readyReplicas=2
    gateway.envoyproxy.io/v1 SecurityPolicy .status.ancestors=[{"ancestorRef":{"name":"g"},"conditions":[{"type":"Accepted","status":"True"}]}]
    metallb.io/v1beta1 IPAddressPool
    tekton.dev/v1 Pipeline
    kafka.strimzi.io/v1beta2 KafkaNodePool .status.observedGeneration=2 .status.nodeIds=[0]`,
  progressing: `
    a.test/v1 Thing Available=False Progressing=True
    a.test/v1 Thing Available=False:Starting
    a.test/v1 Thing PodsReady=False
    a.test/v1 Thing .status.phase="Creating"
    a.test/v1 Thing .status.state="Setting\\u0020up\\u0020primary"
    a.test/v1 Thing .status.ready=false
    a.test/v1 Thing .spec.replicas=2 .status.readyReplicas=1
    kustomize.toolkit.fluxcd.io/v1 Kustomization Ready=False:DependencyNotReady`,
  failed: `
    a.test/v1 Thing Available=False Degraded=True
    a.test/v1 Thing Failed=True
    a.test/v1 Thing Valid=False
    a.test/v1 Thing .status.phase="FailedValidation"
    a.test/v1 Thing .status.state="INSTALL_ERROR"
    a.test/v1 Thing .status.applied=false
    longhorn.io/v1beta2 Volume .status.state="detached" .status.robustness="faulted"
    kafka.strimzi.io/v1beta2 KafkaConnector Ready=True .status.connectorStatus.tasks=[{"state":"FAILED"}]`,
  done: `
    a.test/v1 Thing Succeeded=True Running=False
    a.test/v1 Thing .status.state={"phase":"Completed"}`,
  suspended: `
    a.test/v1 Thing .spec.suspend=true
    a.test/v1 Thing Suspended=True
    a.test/v1 Thing .status.phase="Paused"`,
}

test('the states of custom kinds without a condition Ready', () => {
  const names = ['healthy', 'progressing', 'failed', 'done', 'suspended']
  const states = Object.fromEntries(
    names.map((name) => [name, ({ state }: HealthResult) => state === name]),
  )
  assert.deepEqual(otherVerdicts(operators, states), [])
})

type HealthResult = ReturnType<typeof evaluateHealth>

function otherVerdicts(
  table: Facts,
  states: Readonly<Record<string, (health: HealthResult) => boolean>>,
  more: Partial<HealthContext> = {},
): string[] {
  return Object.entries(table).flatMap(([theirs, lines]) =>
    linesOf(lines).flatMap((line) => {
      const health = evaluateHealth(objectIn(line), { ...context, ...more })
      return states[theirs]?.(health) === true ? [] : `${theirs} ${line}: ${health.state}`
    }),
  )
}

function linesOf(text: string): string[] {
  return text
    .trim()
    .split('\n')
    .map((line) => line.trim())
}

function assertDifferences(differences: readonly (readonly [string, string, string])[]): void {
  const found = differences.map(([line, , why]) => [
    line,
    evaluateHealth(objectIn(line), context).state,
    why,
  ])
  assert.deepEqual(found, differences)
}

/**
 * What Argo CD says of kinds that it knows, a line for each branch of its rules. A trouble that fails an object after the grace is
 * `Degraded` there at once.
 */
const argo: Facts = {
  Healthy: `
    apps/v1 Deployment .spec.replicas=0 .status.observedGeneration=2
    v1 Pod .spec.restartPolicy="Always" .status.phase="Running" Ready=True
    v1 Pod .status.phase="Succeeded"
    v1 PersistentVolumeClaim .status.phase="Bound"
    v1 Service .spec.type="LoadBalancer" .status.loadBalancer.ingress=[{"hostname":"a.test"}]
    networking.k8s.io/v1 Ingress .status.loadBalancer.ingress=[{"ip":"10.0.0.1"}]
    batch/v1 Job Complete=True
    apiregistration.k8s.io/v1 APIService .spec.service={"name":"a"} Available=True:Passed
    autoscaling/v2 HorizontalPodAutoscaler AbleToScale=True ScalingActive=True
    snapshot.storage.k8s.io/v1 VolumeSnapshot .status.readyToUse=true
    cert-manager.io/v1 Certificate Ready=True:Ready
    cert-manager.io/v1 ClusterIssuer Ready=True
    argoproj.io/v1alpha1 Application .status.health.status="Healthy"
    argoproj.io/v1alpha1 ApplicationSet ErrorOccurred=False ResourcesUpToDate=True
    argoproj.io/v1alpha1 Rollout .status.phase="Healthy"
    argoproj.io/v1alpha1 AnalysisRun .status.phase="Successful"
    argoproj.io/v1alpha1 Workflow .status.phase="Succeeded"
    source.toolkit.fluxcd.io/v1 GitRepository Ready=True:Succeeded
    helm.toolkit.fluxcd.io/v2 HelmRelease Ready=True
    serving.knative.dev/v1 Service Ready=True RoutesReady=True
    pkg.crossplane.io/v1 Provider Installed=True Healthy=True
    keda.sh/v1alpha1 ScaledObject Ready=True Active=False
    kafka.strimzi.io/v1beta2 KafkaTopic Ready=True
    postgresql.cnpg.io/v1 Cluster .status.phase="Cluster\\u0020in\\u0020healthy\\u0020state"
    external-secrets.io/v1 ExternalSecret Ready=True:SecretSynced
    bitnami.com/v1alpha1 SealedSecret Synced=True
    monitoring.coreos.com/v1 Prometheus Available=True Reconciled=True
    elasticsearch.k8s.elastic.co/v1 Elasticsearch .status.health="green" .status.phase="Ready"
    operators.coreos.com/v1alpha1 InstallPlan .status.phase="Complete"
    operators.coreos.com/v1alpha1 ClusterServiceVersion .status.phase="Succeeded"
    acid.zalan.do/v1 postgresql .status.PostgresClusterStatus="Running"
    gateway.networking.k8s.io/v1 Gateway Accepted=True Programmed=True
    acme.cert-manager.io/v1 Challenge .status.state="valid"
    acme.cert-manager.io/v1 Order .status.state="valid"
    argoproj.io/v1alpha1 CronWorkflow
    argoproj.io/v1alpha1 CronWorkflow Completed=True
    batch/v1 CronJob .status.lastScheduleTime="2026-01-01T00:00:00Z"
    batch/v1 CronJob .status.lastScheduleTime="2026-01-01T00:00:00Z" .status.lastSuccessfulTime="2026-01-01T00:01:00Z"
    policy/v1 PodDisruptionBudget DisruptionAllowed=True:SufficientPods
    policy/v1 PodDisruptionBudget DisruptionAllowed=False:InsufficientPods
    kustomize.toolkit.fluxcd.io/v1 Kustomization Ready=True
    helm.toolkit.fluxcd.io/v2 HelmRelease Ready=True Released=True
    apiextensions.crossplane.io/v1 Composition .status={}
    apiextensions.crossplane.io/v1 CompositionRevision .status={}
    pkg.crossplane.io/v1beta1 DeploymentRuntimeConfig .status={}
    apiextensions.crossplane.io/v1 CompositeResourceDefinition Established=True Offered=True
    pkg.crossplane.io/v1 ConfigurationRevision RevisionHealthy=True
    aws.upbound.io/v1beta1 ProviderConfig .status.users=1
    aws.upbound.io/v1beta1 ProviderConfigUsage .status={}
    s3.aws.upbound.io/v1beta1 Bucket Synced=True Ready=True
    external-secrets.io/v1 ClusterSecretStore Ready=True
    rabbitmq.com/v1beta1 RabbitmqCluster ReconcileSuccess=True ClusterAvailable=True AllReplicasReady=True
    k8s.mariadb.com/v1alpha1 MariaDB Ready=True:StatefulSetReady
    pxc.percona.com/v1 PerconaXtraDBCluster .status.state="ready"
    psmdb.percona.com/v1 PerconaServerMongoDB .status.state="ready"
    clickhouse.altinity.com/v1 ClickHouseInstallation .status.status="Completed"
    k8s.keycloak.org/v2alpha1 Keycloak Ready=True HasErrors=False
    grafana.integreatly.org/v1beta1 Grafana .status.stage="complete" .status.stageStatus="success"
    ceph.rook.io/v1 CephCluster .status.state="Created" .status.ceph.health="HEALTH_OK"
    ceph.rook.io/v1 CephCluster .status.state="Connected" .status.ceph.health="HEALTH_OK"
    kubevirt.io/v1 VirtualMachine Ready=True
    cdi.kubevirt.io/v1beta1 DataVolume .status.phase="Succeeded"
    flink.apache.org/v1beta1 FlinkDeployment .status.reconciliationStatus.success=true
    flink.apache.org/v1beta1 FlinkDeployment .status.reconciliationStatus.state="DEPLOYED"
    sparkoperator.k8s.io/v1beta2 SparkApplication .status.applicationState.state="COMPLETED"
    sparkoperator.k8s.io/v1beta2 SparkApplication .status.applicationState.state="RUNNING" .status.executorState.a="RUNNING"
    numaflow.numaproj.io/v1alpha1 Pipeline .status.observedGeneration=2 .status.phase="Running"
    secrets.hashicorp.com/v1beta1 VaultStaticSecret .status.secretMAC="x"
    route.openshift.io/v1 Route .status.ingress=[{"conditions":[{"type":"Admitted","status":"True"}]}]
    apps.openshift.io/v1 DeploymentConfig Available=True Progressing=True
    s3.services.k8s.aws/v1alpha1 Bucket Ready=True
    pubsub.cnrm.cloud.google.com/v1beta1 PubSubTopic Ready=True:UpToDate
    core.cnrm.cloud.google.com/v1beta1 ConfigConnector .status.healthy=true
    cluster.x-k8s.io/v1beta1 Cluster .status.phase="Provisioned" Ready=True
    cluster.x-k8s.io/v1beta1 Machine .status.phase="Running"
    karpenter.sh/v1 NodePool Ready=True
    kyverno.io/v1 ClusterPolicy Ready=True:Succeeded
    operators.coreos.com/v1alpha1 Subscription CatalogSourcesUnhealthy=False
    operators.coreos.com/v1alpha1 Subscription InstallPlanMissing=True:ReferencedInstallPlanNotFound
    beat.k8s.elastic.co/v1beta1 Beat .status.health="green"
    gateway.networking.k8s.io/v1 HTTPRoute .status.parents=[{"parentRef":{"name":"g"},"conditions":[{"type":"Accepted","status":"True","observedGeneration":2},{"type":"ResolvedRefs","status":"True","observedGeneration":2}]}]
    snapshot.storage.k8s.io/v1 VolumeSnapshot .status.readyToUse=true .status.error.message="once"
    argoproj.io/v1alpha1 Rollout .status.currentPodHash="a" .status.stableRS="a" .spec.replicas=1 .status.replicas=1 .status.updatedReplicas=1 .status.availableReplicas=1 .status.readyReplicas=1 .status.phase="Healthy"`,
  Progressing: `
    apps/v1 Deployment .status.observedGeneration=1
    apps/v1 StatefulSet
    apps/v1 DaemonSet
    v1 Pod .spec.restartPolicy="Never" .status.phase="Running" Ready=True
    v1 PersistentVolumeClaim .status.phase="Pending"
    batch/v1 Job .status.active=1
    apiregistration.k8s.io/v1 APIService .spec.service={"name":"a"} Available=False:FailedDiscoveryCheck
    snapshot.storage.k8s.io/v1 VolumeSnapshot .status.readyToUse=false
    cert-manager.io/v1 Certificate Issuing=True Ready=False
    cert-manager.io/v1 Issuer .status={} .metadata.creationTimestamp="${ago(1)}"
    argoproj.io/v1alpha1 Rollout .status.phase="Progressing"
    argoproj.io/v1alpha1 Rollout .status.observedGeneration="1"
    argoproj.io/v1alpha1 AnalysisRun .status.phase="Pending"
    argoproj.io/v1alpha1 Experiment .status.phase="Running"
    argoproj.io/v1alpha1 Application .status.health.status="Progressing"
    kustomize.toolkit.fluxcd.io/v1 Kustomization Ready=Unknown:Progressing
    serving.knative.dev/v1 Service Ready=Unknown:RevisionMissing
    kafka.strimzi.io/v1beta2 Kafka NotReady=True:Creating
    postgresql.cnpg.io/v1 Cluster .status.phase="Setting\\u0020up\\u0020primary"
    operators.coreos.com/v1alpha1 ClusterServiceVersion .status.phase="Installing"
    acid.zalan.do/v1 postgresql .status.PostgresClusterStatus="Creating"
    monitoring.coreos.com/v1 Prometheus Available=False:SomePodsNotReady
    acme.cert-manager.io/v1 Challenge .status.state="pending"
    acme.cert-manager.io/v1 Order .status.state="pending"
    argoproj.io/v1alpha1 ApplicationSet ErrorOccurred=False RolloutProgressing=True ResourcesUpToDate=True
    argoproj.io/v1alpha1 Workflow .status.phase="Running"
    argoproj.io/v1alpha1 AnalysisRun .status.phase="Running"
    cert-manager.io/v1 Certificate .status={} .metadata.creationTimestamp="${ago(1)}"
    kafka.strimzi.io/v1beta2 Kafka .status={} .metadata.creationTimestamp="${ago(1)}"
    helm.toolkit.fluxcd.io/v2 HelmRelease Ready=Unknown Reconciling=True
    s3.aws.upbound.io/v1beta1 Bucket Synced=True Ready=False:Creating
    apiextensions.crossplane.io/v1 CompositeResourceDefinition Established=False:WatchingCompositeResource
    gateway.networking.k8s.io/v1 Gateway Accepted=True Programmed=False
    gateway.networking.k8s.io/v1 Gateway Accepted=True Programmed=True .status.listeners=[{"name":"a","conditions":[{"type":"Programmed","status":"False"}]}]
    gateway.networking.k8s.io/v1 HTTPRoute .metadata.creationTimestamp="${ago(1)}"
    gateway.networking.k8s.io/v1 HTTPRoute .metadata.creationTimestamp="${ago(1)}" .status.parents=[{"parentRef":{"name":"g"},"conditions":[{"type":"Accepted","status":"True","observedGeneration":1}]}]
    rabbitmq.com/v1beta1 RabbitmqCluster ClusterAvailable=Unknown AllReplicasReady=Unknown
    rabbitmq.com/v1beta1 RabbitmqCluster ReconcileSuccess=True ClusterAvailable=False AllReplicasReady=False
    rabbitmq.com/v1beta1 RabbitmqCluster ReconcileSuccess=True ClusterAvailable=True AllReplicasReady=False:NotAllPodsReady
    k8s.mariadb.com/v1alpha1 MariaDB Ready=False:Provisioning
    pxc.percona.com/v1 PerconaXtraDBCluster .status.state="initializing"
    psmdb.percona.com/v1 PerconaServerMongoDB .status.state="stopping"
    clickhouse.altinity.com/v1 ClickHouseInstallation .status.status="InProgress"
    grafana.integreatly.org/v1beta1 Grafana .status.stage="deployment" .status.stageStatus="success"
    ceph.rook.io/v1 CephCluster .status.state="Creating" .status.ceph.health="HEALTH_OK"
    kubevirt.io/v1 VirtualMachine Ready=False .status.created=true
    cdi.kubevirt.io/v1beta1 DataVolume .status.phase="ImportInProgress"
    flink.apache.org/v1beta1 FlinkDeployment .status.jobManagerDeploymentStatus="DEPLOYING" .status.reconciliationStatus.state="UPGRADING"
    sparkoperator.k8s.io/v1beta2 SparkApplication .status.applicationState.state="SUBMITTED"
    sparkoperator.k8s.io/v1beta2 SparkApplication .status.applicationState.state="RUNNING" .status.executorState.a="PENDING"
    sparkoperator.k8s.io/v1beta2 SparkApplication .status.applicationState.state="SUCCEEDING"
    sparkoperator.k8s.io/v1beta2 SparkApplication .status.applicationState.state="UNKNOWN"
    numaflow.numaproj.io/v1alpha1 Pipeline .status.observedGeneration=1 .status.phase="Running"
    route.openshift.io/v1 Route .status={} .metadata.creationTimestamp="${ago(1)}"
    apps.openshift.io/v1 DeploymentConfig Available=False Progressing=True
    s3.services.k8s.aws/v1alpha1 Bucket Ready=False
    pubsub.cnrm.cloud.google.com/v1beta1 PubSubTopic Ready=False:Updating
    pubsub.cnrm.cloud.google.com/v1beta1 PubSubTopic .status.observedGeneration=1 Ready=True:UpToDate
    cluster.x-k8s.io/v1beta1 Cluster .status.phase="Provisioning"
    cluster.x-k8s.io/v1beta1 Machine .status.phase="Provisioning" Ready=False
    operators.coreos.com/v1alpha1 Subscription CatalogSourcesUnhealthy=False InstallPlanPending=True:RequiresApproval
    elasticsearch.k8s.elastic.co/v1 Elasticsearch .status.health="green" .status.phase="ApplyingChanges"
    elasticsearch.k8s.elastic.co/v1 Elasticsearch .status.health="yellow" .status.phase="MigratingData"
    beat.k8s.elastic.co/v1beta1 Beat .status.health="yellow" .status.expectedNodes=2
    postgresql.cnpg.io/v1 Cluster .status.phase="Waiting\\u0020for\\u0020the\\u0020instances\\u0020to\\u0020become\\u0020active"
    postgresql.cnpg.io/v1 Cluster .status.phase="Creating\\u0020a\\u0020new\\u0020replica"
    postgresql.cnpg.io/v1 Cluster .status.phase="Promoting\\u0020to\\u0020primary\\u0020cluster"`,
  Degraded: `
    apps/v1 Deployment .status.observedGeneration=2 Progressing=False:ProgressDeadlineExceeded
    apps/v1 ReplicaSet .status.observedGeneration=2 ReplicaFailure=True:FailedCreate
    v1 Pod .status.phase="Failed" .status.message="lost"
    v1 Pod .status.phase="Pending" .status.containerStatuses=[{"name":"a","state":{"waiting":{"reason":"ErrImagePull"}}}]
    v1 PersistentVolumeClaim .status.phase="Lost"
    batch/v1 Job Failed=True:BackoffLimitExceeded
    autoscaling/v2 HorizontalPodAutoscaler AbleToScale=False:FailedGetScale
    snapshot.storage.k8s.io/v1 VolumeSnapshot .status.error.message="none"
    cert-manager.io/v1 Issuer Ready=False:ErrRegisterACMEAccount
    argoproj.io/v1alpha1 Application .status.health.status="Degraded"
    argoproj.io/v1alpha1 ApplicationSet ErrorOccurred=True:ApplicationGenerationFromParamsError
    argoproj.io/v1alpha1 Rollout .status.abort=true
    argoproj.io/v1alpha1 Rollout InvalidSpec=True:InvalidSpec
    argoproj.io/v1alpha1 AnalysisRun .status.phase="Failed"
    argoproj.io/v1alpha1 Workflow .status.phase="Error"
    source.toolkit.fluxcd.io/v1 Bucket Ready=False:AuthenticationFailed
    serving.knative.dev/v1 Service Ready=False:RevisionFailed
    pkg.crossplane.io/v1 Provider Installed=True Healthy=False:UnhealthyPackageRevision
    keda.sh/v1alpha1 ScaledJob Ready=False:ScaledJobCheckFailed
    kafka.strimzi.io/v1beta2 KafkaUser NotReady=True:InvalidResourceException
    external-secrets.io/v1 SecretStore Ready=False:InvalidProviderConfig
    bitnami.com/v1alpha1 SealedSecret Synced=False
    monitoring.coreos.com/v1 Prometheus Available=False:StatefulSetNotFound
    elasticsearch.k8s.elastic.co/v1 Elasticsearch .status.health="red"
    elasticsearch.k8s.elastic.co/v1 Elasticsearch .status.phase="Invalid"
    operators.coreos.com/v1alpha1 ClusterServiceVersion .status.phase="Failed"
    acid.zalan.do/v1 postgresql .status.PostgresClusterStatus="CreateFailed"
    gateway.networking.k8s.io/v1 Gateway Accepted=False:Invalid
    acme.cert-manager.io/v1 Challenge .status.state="errored"
    acme.cert-manager.io/v1 Challenge .status.state="invalid"
    acme.cert-manager.io/v1 Order .status.state="expired"
    argoproj.io/v1alpha1 CronWorkflow SpecError=True
    argoproj.io/v1alpha1 CronWorkflow SubmissionError=True
    argoproj.io/v1alpha1 AnalysisRun .status.phase="Error"
    argoproj.io/v1alpha1 ApplicationSet ErrorOccurred=False ResourcesUpToDate=False
    kafka.strimzi.io/v1beta2 Kafka NotReady=True:InvalidResourceException
    kafka.strimzi.io/v1beta2 KafkaTopic NotReady=True
    kustomize.toolkit.fluxcd.io/v1 Kustomization Ready=False:BuildFailed
    helm.toolkit.fluxcd.io/v2 HelmRelease Ready=False:UpgradeFailed Released=False
    policy/v1 PodDisruptionBudget DisruptionAllowed=False:SyncFailed
    keda.sh/v1alpha1 ScaledObject Ready=False:ScaledObjectCheckFailed
    keda.sh/v1alpha1 ScaledObject Ready=True Fallback=True
    keda.sh/v1alpha1 ScaledJob Ready=Unknown
    s3.aws.upbound.io/v1beta1 Bucket LastAsyncOperation=False:AsyncCreateFailure Synced=True Ready=False
    s3.aws.upbound.io/v1beta1 Bucket Synced=False:ReconcileError
    gateway.networking.k8s.io/v1 Gateway ResolvedRefs=False:InvalidCertificateRef Accepted=True
    gateway.networking.k8s.io/v1 Gateway Accepted=True Programmed=True .status.listeners=[{"name":"a","conditions":[{"type":"ResolvedRefs","status":"False"}]}]
    gateway.networking.k8s.io/v1 HTTPRoute .status.parents=[{"parentRef":{"name":"g"},"conditions":[{"type":"Accepted","status":"False","observedGeneration":2}]}]
    gateway.networking.k8s.io/v1 HTTPRoute .status.parents=[{"parentRef":{"name":"g"},"conditions":[{"type":"ResolvedRefs","status":"False","observedGeneration":2}]}]
    rabbitmq.com/v1beta1 RabbitmqCluster ReconcileSuccess=False:Error ClusterAvailable=True
    k8s.mariadb.com/v1alpha1 MariaDB Ready=False:Failed
    pxc.percona.com/v1 PerconaXtraDBCluster .status.state="error"
    psmdb.percona.com/v1 PerconaServerMongoDB .status.state="error"
    clickhouse.altinity.com/v1 ClickHouseInstallation .status.status="Aborted"
    k8s.keycloak.org/v2alpha1 Keycloak Ready=False HasErrors=True
    grafana.integreatly.org/v1beta1 Grafana .status.stage="deployment" .status.stageStatus="failed"
    ceph.rook.io/v1 CephCluster .status.state="Created" .status.ceph.health="HEALTH_ERR"
    ceph.rook.io/v1 CephCluster .status.state="Created" .status.ceph.health="HEALTH_WARN"
    ceph.rook.io/v1 CephCluster .status.state="Error" .status.ceph.health="HEALTH_OK"
    cdi.kubevirt.io/v1beta1 DataVolume .status.phase="Failed"
    cdi.kubevirt.io/v1beta1 DataVolume .status.phase="ImportInProgress" Running=False:Error
    flink.apache.org/v1beta1 FlinkDeployment .status.jobManagerDeploymentStatus="ERROR" .status.reconciliationStatus.state="UPGRADING"
    sparkoperator.k8s.io/v1beta2 SparkApplication .status.applicationState.state="FAILED"
    sparkoperator.k8s.io/v1beta2 SparkApplication .status.applicationState.state="SUBMISSION_FAILED"
    numaflow.numaproj.io/v1alpha1 Pipeline .status.observedGeneration=2 .status.phase="Failed"
    numaflow.numaproj.io/v1alpha1 Pipeline .status.observedGeneration=2 .status.phase="Running" DaemonServiceHealthy=False
    secrets.hashicorp.com/v1beta1 VaultStaticSecret
    route.openshift.io/v1 Route .status.ingress=[{"conditions":[{"type":"Admitted","status":"False"}]}]
    apps.openshift.io/v1 DeploymentConfig Available=False Progressing=False
    s3.services.k8s.aws/v1alpha1 Bucket ACK.Terminal=True Ready=False
    pubsub.cnrm.cloud.google.com/v1beta1 PubSubTopic Ready=False:UpdateFailed
    pubsub.cnrm.cloud.google.com/v1beta1 PubSubTopic Ready=False:DependencyNotFound
    core.cnrm.cloud.google.com/v1beta1 ConfigConnector .status.healthy=false
    cluster.x-k8s.io/v1beta1 Cluster .status.phase="Provisioning" Ready=False
    cluster.x-k8s.io/v1beta1 Machine .status.phase="Failed"
    karpenter.sh/v1 NodePool Ready=False
    karpenter.sh/v1 NodePool NodeClassReady=False
    kyverno.io/v1 ClusterPolicy Ready=False
    operators.coreos.com/v1alpha1 Subscription CatalogSourcesUnhealthy=True
    operators.coreos.com/v1alpha1 Subscription ResolutionFailed=True
    operators.coreos.com/v1alpha1 Subscription InstallPlanMissing=True:Other
    elasticsearch.k8s.elastic.co/v1 Elasticsearch .status.health="yellow" .status.phase="Ready"
    beat.k8s.elastic.co/v1beta1 Beat .status.health="red"
    postgresql.cnpg.io/v1 Cluster .status.phase="Failing\\u0020over"
    postgresql.cnpg.io/v1 Cluster .status.phase="Switchover\\u0020in\\u0020progress"
    postgresql.cnpg.io/v1 Cluster .status.phase="Waiting\\u0020for\\u0020user\\u0020action"
    postgresql.cnpg.io/v1 Cluster .status.phase="Cluster\\u0020upgrade\\u0020delayed"
    postgresql.cnpg.io/v1 Cluster cnpg.io/hibernation=False`,
  Suspended: `
    apps/v1 Deployment .spec.paused=true .status.observedGeneration=2
    batch/v1 Job .spec.suspend=true Suspended=True
    argoproj.io/v1alpha1 Rollout .spec.paused=true
    argoproj.io/v1alpha1 Application .status.health.status="Suspended"
    helm.toolkit.fluxcd.io/v2 HelmRelease .spec.suspend=true Ready=False
    keda.sh/v1alpha1 ScaledObject Paused=True Ready=True
    operators.coreos.com/v1alpha1 InstallPlan .status.phase="RequiresApproval"
    postgresql.cnpg.io/v1 Cluster cnpg.io/hibernation=True
    batch/v1 CronJob .spec.suspend=true
    kustomize.toolkit.fluxcd.io/v1 Kustomization .spec.suspend=true Ready=True
    rabbitmq.com/v1beta1 RabbitmqCluster .spec.replicas=0 ClusterAvailable=False AllReplicasReady=False:ScaledToZero
    psmdb.percona.com/v1 PerconaServerMongoDB .status.state="paused"
    kubevirt.io/v1 VirtualMachine Paused=True Ready=True
    kubevirt.io/v1 VirtualMachine Ready=False .status.printableStatus="Stopped"
    cdi.kubevirt.io/v1beta1 DataVolume .status.phase="Paused"
    cluster.x-k8s.io/v1beta1 Cluster .spec.paused=true
    keda.sh/v1alpha1 ScaledJob Paused=True Ready=True
    postgresql.cnpg.io/v1 Cluster .metadata.annotations={"cnpg.io/reconciliation":"disabled"}`,
}

/** Branches of Argo CD in which the health is another, and why. */
const argoDifferences: readonly (readonly [facts: string, ours: string, why: string])[] = [
  [
    'route.openshift.io/v1 Route',
    'unattended',
    'Progressing there for ever: no controller has written a status',
  ],
  [
    'gateway.networking.k8s.io/v1 GatewayClass Accepted=Unknown:Pending',
    'unattended',
    'Progressing there for ever: the API server itself writes Pending',
  ],
  [
    'gateway.networking.k8s.io/v1 Gateway Accepted=Unknown:Pending Programmed=Unknown:Pending',
    'unattended',
    'Progressing there for ever, too',
  ],
  [
    'cert-manager.io/v1 Certificate Ready=False:DoesNotExist',
    'progressing',
    'Degraded there: its order is still under way without lastFailureTime',
  ],
  [
    'batch/v1 CronJob .status.lastScheduleTime="2026-01-01T00:01:00Z" .status.lastSuccessfulTime="2026-01-01T00:00:00Z"',
    'healthy',
    'Degraded there: a failed run is a warning, and fails with failOnLastRun',
  ],
  ['policy/v1 PodDisruptionBudget', 'healthy', 'Progressing there; kstatus: Current'],
  [
    'argoproj.io/v1alpha1 AnalysisRun .status.phase="Inconclusive"',
    'suspended',
    'Unknown there: it waits for a person',
  ],
  [
    'kustomize.toolkit.fluxcd.io/v1 Kustomization Ready=Unknown:Progressing',
    'progressing',
    'Degraded there without Reconciling',
  ],
  [
    'numaflow.numaproj.io/v1alpha1 Pipeline .status.observedGeneration=2 .status.phase="Paused"',
    'suspended',
    'Healthy there: a person has stopped it',
  ],
  [
    'pxc.percona.com/v1 PerconaXtraDBCluster .status.state="paused"',
    'suspended',
    'Unknown there, Suspended for the same state of MongoDB',
  ],
  [
    'pxc.percona.com/v1 PerconaXtraDBCluster .status.state="stopping"',
    'progressing',
    'Degraded there, Progressing for the same state of MongoDB',
  ],
  [
    'pubsub.cnrm.cloud.google.com/v1beta1 PubSubTopic Ready=False:DependencyNotReady',
    'progressing',
    'Suspended there: it waits for an object, and a stage must, too',
  ],
  [
    'keda.sh/v1alpha1 ScaledObject Paused=True Ready=False',
    'suspended',
    'Degraded there: what is paused makes no trouble',
  ],
  [
    'keda.sh/v1alpha1 ScaledObject Ready=False:HPAMetricsUnavailable',
    'progressing',
    'Degraded there: new pods have no metrics',
  ],
  [
    'postgresql.cnpg.io/v1 Cluster .status.phase="Upgrading\\u0020Postgres\\u0020major\\u0020version"',
    'progressing',
    'Degraded there: it takes long by nature',
  ],
  [
    'postgresql.cnpg.io/v1 Cluster .status.phase="Cluster\\u0020is\\u0020unrecoverable\\u0020and\\u0020needs\\u0020manual\\u0020intervention"',
    'failed',
    'Suspended there: a stage must not be green',
  ],
  [
    'kubevirt.io/v1 VirtualMachine Ready=False .status.printableStatus="Starting"',
    'progressing',
    'Suspended there until it is created',
  ],
]

test('objects-scenario 70 the states of Argo CD', () => {
  const others = otherVerdicts(argo, {
    Healthy: ({ state }) => state === 'healthy' || state === 'done',
    Progressing: ({ state }) => state === 'progressing',
    Degraded: ({ state, failsAfterMs }) => state === 'failed' || failsAfterMs !== undefined,
    Suspended: ({ state }) => state === 'suspended',
  })
  assert.deepEqual(others, [])
  assertDifferences(argoDifferences)
})

function objectIn(line: string): KubeObject {
  const [apiVersion = '', kind = '', ...facts] = line.split(' ')
  const conditions = facts.filter((fact) => !fact.startsWith('.'))
  const object = of(apiVersion, kind)({}, conditions.length > 0 ? on(...conditions) : undefined)
  return facts
    .filter((fact) => fact.startsWith('.'))
    .reduce<JsonObject>((made, fact) => {
      const [path = '', ...value] = fact.split('=')
      return withField(made, path.slice(1).split('.'), JSON.parse(value.join('=')))
    }, object) as KubeObject
}

test('objects-scenario 13, 14 the account judges a kind by expressions', () => {
  const rule = OwnRule.parse({
    apiVersion: 'example.test/v1',
    kind: 'Widget',
    failed: 'status.count + 1 > 5',
    current: 'object.status.phase == "Up" && now > timestamp("2020-01-01T00:00:00Z")',
    message: '"count is " + string(status.count)',
  })
  const own = [new OwnRules([rule])]
  const stateOf = (status: JsonObject) => {
    const { state, sentence } = evaluateHealth(custom({}, status), { ...context, own })
    return `${state}: ${sentence}`
  }
  assert.equal(stateOf({ count: 5 }), 'failed: count is 5')
  assert.equal(stateOf({ phase: 'Up' }), 'healthy: Its rule says healthy.')
  assert.match(stateOf({}), /^progressing: No expression/)
  assert.match(stateOf({ count: 'many' }), /^unknown: .*no such overload/)
  const stored = OwnRules.read([
    { group: 'example.test', kind: 'Widget', healthy: 'true', message: '"first"' },
    { group: 'example.test', kind: 'Widget', failed: 'true' },
    { kind: 'Pod', failed: 'status.(' },
  ])
  const first = evaluateHealth(custom({}, { count: 6 }), { ...context, own: [stored, ...own] })
  assert.equal(`${first.state}: ${first.sentence}`, 'healthy: first')
  const broken = evaluateHealth(pod({}, {}), { ...context, own: [stored] })
  assert.match(
    `${broken.state}: ${broken.sentence}`,
    /^unknown: A health rule for Pod cannot be read: failed/,
  )
  assert.throws(() => OwnRule.parse({ kind: 'Widget', failed: 'status.(' }), /no expression of CEL/)
})

test('kubernetes-scenario 96, 97 clients of Spinnaker see four flags', () => {
  const flags = (object: KubeObject) =>
    Object.entries(flagsOf(evaluateHealth(object, context))).flatMap(([name, flag]) =>
      (flag as { state: boolean | null }).state === true ? name : [],
    )
  assert.deepEqual(flags(deployment(two, ready)), ['stable', 'available'])
  assert.deepEqual(flags(deployment(two, { ...ready, readyReplicas: 1 })), ['available'])
  assert.deepEqual(flags(deployment({ ...two, paused: true }, ready)), [
    'stable',
    'paused',
    'available',
  ])
  assert.deepEqual(flags(job({}, on('Failed=True'))), ['available', 'failed'])
  assert.deepEqual(flags(pod({}, { phase: 'Pending' })), [])
  assert.deepEqual(flags(service(balancer, {})), ['stable'])
})

test('the state of an outdated version cannot be read', () => {
  const object = { ...deployment(two, ready), apiVersion: 'extensions/v1beta1' }
  assert.match(evaluateHealth(object, context).sentence, /use apps\/v1/)
})
