/** States of objects: the rules of all kinds, as a table of objects and verdicts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../../../packages/base/json/values.ts'
import { judge } from '../../../../packages/providers/kubernetes/health/judge.ts'
import { OwnRule, OwnRules } from '../../../../packages/providers/kubernetes/health/own-rules.ts'
import type { HealthContext } from '../../../../packages/providers/kubernetes/health/verdict.ts'
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
  verdict: string,
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
  [
    69,
    'a deployment within its deadline',
    deployment(
      { progressDeadlineSeconds: 45 },
      {
        ...ready,
        replicas: 1,
        updatedReplicas: 1,
        ...on('Progressing=False:Some', 'Available=True'),
      },
    ),
    'progressing',
  ],
  [
    69,
    'a deployment within no deadline',
    deployment({}, { ...ready, replicas: 1, updatedReplicas: 1, ...on('Available=True') }),
    'healthy',
  ],
  [
    69,
    'a deployment that is not available',
    deployment(
      {},
      {
        ...ready,
        replicas: 1,
        updatedReplicas: 1,
        ...on('Progressing=True:NewReplicaSetAvailable', 'Available=False'),
      },
    ),
    'progressing',
  ],
  [
    69,
    'a replica set with a failure',
    replicaSet(two, { ...ready, fullyLabeledReplicas: 2, ...on('ReplicaFailure=True') }),
    'progressing trouble',
  ],
  [
    69,
    'a replica set without a failure',
    replicaSet(two, { ...ready, fullyLabeledReplicas: 2, ...on('ReplicaFailure=False') }),
    'healthy',
  ],
  [69, 'a stateful set without status', statefulSet(), 'progressing'],
  [
    69,
    'a stateful set with few current pods',
    statefulSet(two, { ...set, currentReplicas: 1 }),
    'progressing',
  ],
  [
    69,
    'a stateful set with extra pods',
    statefulSet(two, { ...set, replicas: 4 }),
    'progressing',
    /2 surplus pods/,
  ],
  [69, 'a daemon set in order', daemonSet({}, daemons), 'healthy'],
  [
    69,
    'a daemon set with few available pods',
    daemonSet({}, { ...daemons, numberAvailable: 1 }),
    'progressing',
    /1 of 2 pods are available/,
  ],
  [
    69,
    'a daemon set of another generation',
    daemonSet({}, { ...daemons, observedGeneration: 1 }),
    'progressing',
  ],
  [
    69,
    'a budget that was not seen',
    of('policy/v1beta1', 'PodDisruptionBudget')({}, { observedGeneration: 1 }),
    'progressing',
  ],
  [69, 'a budget', of('policy/v1beta1', 'PodDisruptionBudget')({}, seen), 'healthy'],
  [69, 'a resource with another condition', custom({}, on('Some=False')), 'healthy'],
  [69, 'a job without status', job(), 'progressing'],
  [69, 'a pod without status', pod(), 'progressing'],
  [69, 'a bound claim', claim({}, { phase: 'Bound' }), 'healthy'],
  [
    69,
    'an autoscaler in order',
    scaler({}, on('AbleToScale=True', 'ScalingActive=True')),
    'healthy',
  ],
  [
    69,
    'a definition without conditions',
    of('apiextensions.k8s.io/v1', 'CustomResourceDefinition')(),
    'progressing',
  ],
  [
    69,
    'a definition at its start',
    of('apiextensions.k8s.io/v1', 'CustomResourceDefinition')(
      {},
      on('NamesAccepted=True', 'Established=False:Installing'),
    ),
    'progressing',
  ],
  [
    69,
    'a definition',
    of('apiextensions.k8s.io/v1', 'CustomResourceDefinition')(
      {},
      on('NamesAccepted=True', 'Established=True'),
    ),
    'healthy',
  ],
]

for (const [scenario, what, object, expected, sentence, more] of rows) {
  test(`objects-scenario ${scenario} the state of ${what}`, () => {
    const verdict = judge(object, { ...context, ...more })
    const [state, ...marks] = expected.split(' ')
    assert.equal(verdict.state, state, verdict.sentence)
    assert.equal(verdict.final, marks.includes('final'))
    assert.equal(verdict.failsAfterMs !== undefined, marks.includes('trouble'))
    if (sentence !== undefined) assert.match(verdict.sentence, sentence)
    if (marks.includes('warning')) assert.ok(verdict.warning)
    assert.match(verdict.sentence, /[.!?]$/)
  })
}

/**
 * What Argo CD says of kinds that it knows, a line each: kind, then conditions and fields. A trouble that fails an object after the
 * grace is `Degraded` there at once.
 */
const argo: Readonly<Record<string, string>> = {
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
    gateway.networking.k8s.io/v1 Gateway Accepted=True Programmed=True`,
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
    elasticsearch.k8s.elastic.co/v1 Elasticsearch .status.health="yellow"
    operators.coreos.com/v1alpha1 ClusterServiceVersion .status.phase="Installing"
    acid.zalan.do/v1 postgresql .status.PostgresClusterStatus="Creating"
    monitoring.coreos.com/v1 Prometheus Available=False:SomePodsNotReady`,
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
    gateway.networking.k8s.io/v1 Gateway Accepted=False:Invalid`,
  Suspended: `
    apps/v1 Deployment .spec.paused=true .status.observedGeneration=2
    batch/v1 Job .spec.suspend=true Suspended=True
    argoproj.io/v1alpha1 Rollout .spec.paused=true
    argoproj.io/v1alpha1 Application .status.health.status="Suspended"
    helm.toolkit.fluxcd.io/v2 HelmRelease .spec.suspend=true Ready=False
    keda.sh/v1alpha1 ScaledObject Paused=True Ready=True
    operators.coreos.com/v1alpha1 InstallPlan .status.phase="RequiresApproval"
    postgresql.cnpg.io/v1 Cluster cnpg.io/hibernation=True`,
}

/** Where a verdict is not theirs: with the failure of an attempt, an order of cert-manager may still be under way. */
const differences: Readonly<Record<string, string>> = {
  'cert-manager.io/v1 Certificate Ready=False:DoesNotExist': 'progressing',
}

test('objects-scenario 70 the states of Argo CD', () => {
  const states: Readonly<Record<string, (verdict: ReturnType<typeof judge>) => boolean>> = {
    Healthy: ({ state }) => state === 'healthy' || state === 'done',
    Progressing: ({ state }) => state === 'progressing',
    Degraded: ({ state, failsAfterMs }) => state === 'failed' || failsAfterMs !== undefined,
    Suspended: ({ state }) => state === 'suspended',
  }
  const others = Object.entries(argo).flatMap(([theirs, lines]) =>
    lines
      .trim()
      .split('\n')
      .flatMap((line) => {
        const verdict = judge(objectIn(line.trim()), context)
        return states[theirs]?.(verdict) === true ? [] : `${line.trim()}: ${verdict.state}`
      }),
  )
  assert.deepEqual(others, [])
  for (const [line, state] of Object.entries(differences))
    assert.equal(judge(objectIn(line), context).state, state)
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
    const { state, sentence } = judge(custom({}, status), { ...context, own })
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
  const first = judge(custom({}, { count: 6 }), { ...context, own: [stored, ...own] })
  assert.equal(`${first.state}: ${first.sentence}`, 'healthy: first')
  const broken = judge(pod({}, {}), { ...context, own: [stored] })
  assert.match(
    `${broken.state}: ${broken.sentence}`,
    /^unknown: A health rule for Pod cannot be read: failed/,
  )
  assert.throws(() => OwnRule.parse({ kind: 'Widget', failed: 'status.(' }), /no expression of CEL/)
})

test('kubernetes-scenario 96, 97 clients of Spinnaker see four flags', () => {
  const flags = (object: KubeObject) =>
    Object.entries(flagsOf(judge(object, context))).flatMap(([name, flag]) =>
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
  assert.match(judge(object, context).sentence, /use apps\/v1/)
})
