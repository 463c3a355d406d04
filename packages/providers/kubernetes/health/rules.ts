/** Rules of kinds whose conditions and fields say their state, as data in the language of `rule-language.ts`. */

import type { HealthOutcome, HealthSubject } from './result.ts'
import { parseRule, type RuleStep, runRule } from './rule-language.ts'

const ready = 'healthy Ready=True; failed Ready=False; progressing Ready=Unknown'
const byPhase = (done: string, failed: string, others = 'progressing .status.phase') =>
  `${done}; failed! .status.phase=${failed}; ${others}`
const crossplane = 'suspended @crossplane.io/paused=true; '
const managed =
  'failed Synced=False; failed LastAsyncOperation=False; healthy Ready=True; progressing Ready=False|Unknown; healthy Healthy=True; ' +
  'healthy Offered=True; healthy Established=True; healthy ValidPipeline=True; healthy RevisionHealthy=True; progressing *=True|False|Unknown'
const upstream =
  'suspended .spec.suspend; failed! Stalled=True; progressing Reconciling=True; progressing Ready=Unknown; healthy Ready=True; ' +
  'trouble Ready=False:DependencyNotReady|ArtifactOutdated; failed Ready=False'
const percona =
  'healthy .status.state=ready; suspended .status.state=paused; failed .status.state=error; progressing .status.state'
const operated = 'suspended .spec.paused; healthy Ready=True; progressing Ready=False|Unknown'

/** `group/Kind,Kind`; a group may begin with `*.`, and `*` is any kind. The first row that fits counts. */
const table: readonly (readonly [kinds: string, rule: string])[] = [
  ['/Node', 'suspended .spec.unschedulable; healthy Ready=True; progressing'],
  [
    '/PersistentVolume',
    'healthy .status.phase=Available|Bound; suspended .status.phase=Released; failed .status.phase=Failed; progressing',
  ],
  [
    'policy/PodDisruptionBudget',
    'healthy DisruptionAllowed=True; failed DisruptionAllowed=False:SyncFailed; healthy',
  ],
  [
    'apiextensions.k8s.io/CustomResourceDefinition',
    'failed NamesAccepted=False; note NonStructuralSchema=True; healthy Established=True; progressing Established=False:Installing; failed Established=False; progressing',
  ],
  [
    'apiregistration.k8s.io/APIService',
    'healthy !.spec.service; healthy Available=True; trouble Available=False; progressing',
  ],
  [
    'certificates.k8s.io/CertificateSigningRequest',
    'failed! Denied=True; failed! Failed=True; done Approved=True & .status.certificate; progressing Approved=True; suspended',
  ],
  [
    'admissionregistration.k8s.io/ValidatingAdmissionPolicy',
    'note .status.typeChecking.expressionWarnings; healthy',
  ],
  [
    'flowcontrol.apiserver.k8s.io/FlowSchema,PriorityLevelConfiguration',
    'failed Dangling=True; healthy',
  ],
  [
    'autoscaling.k8s.io/VerticalPodAutoscaler',
    'failed NoPodsMatched=True; failed ConfigUnsupported=True; healthy',
  ],
  [
    'snapshot.storage.k8s.io/VolumeSnapshot,VolumeSnapshotContent',
    'healthy .status.readyToUse=true; failed .status.error; progressing',
  ],

  [
    'cert-manager.io/Certificate',
    'progressing Issuing=True; healthy Ready=True; failed Ready=False & .status.lastFailureTime; progressing Ready=False|Unknown',
  ],
  ['cert-manager.io/Issuer,ClusterIssuer', ready],
  [
    'cert-manager.io/CertificateRequest',
    'failed! Denied=True; failed! InvalidRequest=True; failed! Ready=False:Failed|Denied; done Ready=True; progressing Ready=False|Unknown',
  ],
  [
    'acme.cert-manager.io/Order,Challenge',
    'done .status.state=valid; failed! .status.state=invalid|expired|errored; progressing .status.state',
  ],
  [
    'argoproj.io/Application',
    'failed .status.operationState.phase=Failed|Error; failed .status.health.status=Degraded; suspended .status.health.status=Suspended; ' +
      'progressing .status.health.status=Progressing|Missing|Unknown; progressing .status.sync.status=OutOfSync; healthy .status.health.status=Healthy',
  ],
  [
    'argoproj.io/ApplicationSet',
    'failed ErrorOccurred=True; failed ResourcesUpToDate=False; progressing RolloutProgressing=True; healthy ResourcesUpToDate=True',
  ],
  ['argoproj.io/AppProject', 'healthy'],
  [
    'argoproj.io/Rollout',
    'failed! InvalidSpec=True; failed .status.phase=Degraded; suspended .status.phase=Paused; healthy .status.phase=Healthy; ' +
      'progressing .status.phase; failed .status.abort=true; suspended .spec.paused; suspended .status.pauseConditions',
  ],
  [
    'argoproj.io/AnalysisRun,Experiment',
    byPhase(
      'done .status.phase=Successful',
      'Failed|Error',
      'suspended .status.phase=Inconclusive; progressing .status.phase',
    ),
  ],
  [
    'argoproj.io/Workflow',
    byPhase('suspended .spec.suspend=true; done .status.phase=Succeeded', 'Failed|Error'),
  ],
  [
    'argoproj.io/CronWorkflow',
    'suspended .spec.suspend=true; failed SpecError=True; failed SubmissionError=True; healthy',
  ],
  ['source.toolkit.fluxcd.io/HelmRepository', `healthy .spec.type=oci; ${upstream}`],
  ['*.toolkit.fluxcd.io/*', upstream],
  [
    'serving.knative.dev/*',
    'healthy Ready=True; healthy Ready=False|Unknown:NoTraffic; failed Ready=False; progressing Ready=Unknown',
  ],
  [
    'pkg.crossplane.io/Provider,Function,Configuration',
    `${crossplane}failed Installed=False; healthy Installed=True & Healthy=True; trouble Healthy=False; progressing Installed=True`,
  ],
  [
    '*.crossplane.io/Composition,CompositionRevision,ProviderConfig,ClusterProviderConfig,ProviderConfigUsage,ClusterProviderConfigUsage,' +
      'DeploymentRuntimeConfig,ControllerConfig,EnvironmentConfig,ImageConfig,StoreConfig',
    'healthy',
  ],
  [
    '*.upbound.io/ProviderConfig,ClusterProviderConfig,ProviderConfigUsage,ClusterProviderConfigUsage,StoreConfig',
    'healthy',
  ],
  ['*.crossplane.io/*', crossplane + managed],
  ['*.upbound.io/*', crossplane + managed],
  [
    'keda.sh/ScaledJob',
    'suspended Paused=True & Ready=True; failed Ready=False|Unknown; healthy Ready=True',
  ],
  [
    'keda.sh/ScaledObject',
    'suspended Paused=True; suspended @autoscaling.keda.sh/paused=true; suspended @autoscaling.keda.sh/paused-replicas; failed Fallback=True; ' +
      'progressing Ready=False:HPAMetricsUnavailable; failed Ready=False; healthy Ready=True; progressing Ready=Unknown',
  ],
  [
    'monitoring.coreos.com/Prometheus,PrometheusAgent,Alertmanager,ThanosRuler',
    'suspended .spec.paused=true; failed Reconciled=False; healthy Available=True; progressing Available=False|Degraded:SomePodsNotReady; ' +
      'failed Available=False|Degraded; progressing Available=Unknown',
  ],
  [
    'kafka.strimzi.io/KafkaRebalance',
    'suspended ReconciliationPaused=True; suspended ProposalReady=True; progressing PendingProposal=True; progressing Rebalancing=True; ' +
      'suspended Stopped=True; failed NotReady=True; done Ready=True',
  ],
  [
    'kafka.strimzi.io/*',
    'suspended ReconciliationPaused=True; progressing NotReady=True:Creating; failed NotReady=True; ' +
      'failed .status.connectorStatus.connector.state=FAILED; failed .status.connectorStatus.tasks[].state=FAILED; note Warning=True; healthy Ready=True',
  ],
  [
    'postgresql.cnpg.io/Cluster',
    'suspended @cnpg.io/reconciliationLoop=disabled; suspended @cnpg.io/reconciliation=disabled; suspended cnpg.io/hibernation=True; ' +
      'trouble cnpg.io/hibernation=False; healthy .status.phase=Cluster in healthy state; ' +
      'failed! .status.phase~unrecoverable; trouble .status.phase~Failing over|Switchover|user action|Unable|cannot|invalid|upgrade delayed|Primary instance is being restarted|' +
      'Online upgrade|Applying configuration; progressing .status.phase',
  ],
  [
    'postgresql.cnpg.io/Backup',
    byPhase('done .status.phase=completed', 'failed|walArchivingFailing'),
  ],
  ['external-secrets.io/*', ready],
  ['bitnami.com/SealedSecret', 'healthy Synced=True; failed Synced=False'],
  [
    'networking.istio.io/*',
    'failed .status.validationMessages[].level=ERROR; failed Reconciled=False; healthy',
  ],
  [
    'security.istio.io/*',
    'failed .status.validationMessages[].level=ERROR; failed Reconciled=False; healthy',
  ],
  ['karpenter.sh/*', `${ready}; failed NodeClassReady=False`],
  [
    'cluster.x-k8s.io/Cluster',
    'suspended .spec.paused=true; trouble Ready=False; healthy .status.phase=Provisioned; failed .status.phase=Failed; progressing',
  ],
  [
    'cluster.x-k8s.io/Machine,MachineDeployment,MachinePool,MachineSet',
    `suspended .spec.paused=true; healthy .status.phase=Running; failed .status.phase=Failed; progressing .status.phase; ${operated}`,
  ],
  ['*.cluster.x-k8s.io/*', operated],
  ['cluster.x-k8s.io/*', operated],
  ['operator.knative.dev/*', operated],
  ['kyverno.io/*', ready],
  [
    'rabbitmq.com/RabbitmqCluster',
    'failed ReconcileSuccess=False; progressing ClusterAvailable=Unknown; progressing AllReplicasReady=Unknown; ' +
      'suspended AllReplicasReady=False:ScaledToZero & .spec.replicas=0; progressing ClusterAvailable=False; progressing AllReplicasReady=False; ' +
      'healthy ClusterAvailable=True & AllReplicasReady=True; progressing *=True',
  ],
  ['rabbitmq.com/*', operated],
  ['k8s.mariadb.com/*', 'failed *=False:Failed; progressing *=False; healthy *=True'],
  ['pxc.percona.com/*', percona],
  ['psmdb.percona.com/*', percona],
  [
    'clickhouse.altinity.com/*',
    'healthy .status.status=Completed; progressing .status.status=InProgress; failed .status.status',
  ],
  [
    'k8s.keycloak.org/*',
    'healthy Ready=True; failed HasErrors=True; progressing Ready=False|Unknown',
  ],
  [
    'grafana.integreatly.org/Grafana',
    'failed .status.stageStatus=failed; healthy .status.stage=complete & .status.stageStatus=success; progressing .status.stage',
  ],
  [
    'ceph.rook.io/CephCluster',
    'failed .status.state=Error; failed .status.ceph.health=HEALTH_ERR; trouble .status.ceph.health=HEALTH_WARN; ' +
      'healthy .status.ceph.health=HEALTH_OK & .status.state=Created|Connected; progressing .status.state; progressing .status.phase',
  ],
  [
    'kubevirt.io/VirtualMachine',
    'suspended Paused=True; healthy Ready=True; suspended .status.printableStatus=Stopped|Paused; ' +
      'trouble .status.printableStatus=CrashLoopBackOff|ErrorUnschedulable|ErrImagePull|ImagePullBackOff|ErrorPvcNotFound|DataVolumeError; ' +
      'progressing .status.created=true; progressing .status.printableStatus; suspended Ready=False',
  ],
  [
    'kubevirt.io/VirtualMachineInstance',
    `suspended Paused=True; healthy Ready=True; ${byPhase('done .status.phase=Succeeded', 'Failed')}`,
  ],
  [
    'cdi.kubevirt.io/DataVolume',
    'done .status.phase=Succeeded; failed .status.phase=Failed|Unknown; suspended .status.phase=Paused; failed Running=False:Error; progressing .status.phase',
  ],
  [
    'flink.apache.org/FlinkDeployment,FlinkSessionJob',
    'failed .status.lifecycleState=FAILED; suspended .status.lifecycleState=SUSPENDED; healthy .status.reconciliationStatus.success=true; ' +
      'healthy .status.reconciliationStatus.state=DEPLOYED; failed .status.jobManagerDeploymentStatus=ERROR; progressing .status.jobManagerDeploymentStatus',
  ],
  [
    'sparkoperator.k8s.io/SparkApplication',
    'done .status.applicationState.state=COMPLETED; failed .status.applicationState.state=FAILED|SUBMISSION_FAILED|FAILING; ' +
      'progressing .status.executorState.*=PENDING|UNKNOWN; healthy .status.applicationState.state=RUNNING & .status.executorState; ' +
      'progressing .status.applicationState',
  ],
  [
    'numaflow.numaproj.io/*',
    'failed .status.phase=Failed; failed *=False; suspended .status.phase=Paused|Pausing; healthy .status.phase=Running; progressing .status.phase',
  ],
  ['serving.kserve.io/*', ready],
  ['secrets.hashicorp.com/VaultStaticSecret', 'healthy .status.secretMAC; trouble'],
  [
    'route.openshift.io/Route',
    'failed .status.ingress[].conditions[].status=False; healthy .status.ingress[].conditions[].status=True; progressing',
  ],
  [
    'apps.openshift.io/DeploymentConfig',
    'healthy Available=True & Progressing=True; failed Available=False|Unknown & Progressing=False|Unknown; progressing',
  ],
  [
    '*.services.k8s.aws/*',
    'failed ACK.Terminal=True; healthy Ready=True; progressing Ready=False; healthy ACK.ResourceSynced=True; progressing ACK.ResourceSynced=False|Unknown',
  ],
  [
    '*.cnrm.cloud.google.com/*',
    'healthy .status.healthy=true; failed .status.healthy=false; healthy *=True:UpToDate; ' +
      'failed *=True|False|Unknown:UpdateFailed|DependencyNotFound; progressing *=True|False|Unknown',
  ],
  ['policy.linkerd.io/*', 'failed Accepted=False; healthy'],
  [
    'longhorn.io/Volume',
    'failed .status.robustness=faulted; trouble .status.robustness=degraded; healthy .status.robustness=healthy; ' +
      'healthy .status.state=detached; progressing .status.state',
  ],
  ['longhorn.io/Engine,Replica', 'failed .status.currentState=error; healthy .status.currentState'],
  ['tekton.dev/Pipeline,Task,ClusterTask,StepAction', 'healthy'],
  ['tekton.dev/*', 'done Succeeded=True; failed! Succeeded=False; progressing Succeeded=Unknown'],
  [
    'velero.io/Backup,Restore',
    byPhase('done .status.phase=Completed', 'Failed|FailedValidation|PartiallyFailed'),
  ],
  [
    'operators.coreos.com/ClusterServiceVersion',
    'healthy .status.phase=Succeeded; failed .status.phase=Failed; progressing .status.phase',
  ],
  [
    'operators.coreos.com/InstallPlan',
    'healthy .status.phase=Complete; failed .status.phase=Failed; suspended .status.phase=RequiresApproval; progressing',
  ],
  [
    'operators.coreos.com/Subscription',
    'failed CatalogSourcesUnhealthy=True; failed InstallPlanFailed=True; failed ResolutionFailed=True; progressing InstallPlanPending=True; ' +
      'healthy InstallPlanMissing=True:ReferencedInstallPlanNotFound; failed InstallPlanMissing=True; healthy .status.conditions',
  ],
  [
    'elasticsearch.k8s.elastic.co/Elasticsearch',
    'failed .status.phase=Invalid; progressing .status.phase=ApplyingChanges|MigratingData; failed .status.health=red; ' +
      'trouble .status.health=yellow; healthy .status.health=green',
  ],
  [
    '*.k8s.elastic.co/*',
    'failed .status.health=red; healthy .status.health=green; progressing .status.health',
  ],
  [
    'acid.zalan.do/postgresql',
    'healthy .status.PostgresClusterStatus=Running; failed .status.PostgresClusterStatus~Fail|Invalid; progressing .status.PostgresClusterStatus',
  ],
]

/** Settings, which controllers read and report nothing on: kinds, or whole groups. */
const settingKinds: ReadonlySet<string> = new Set(
  (
    'gateway.networking.k8s.io/ReferenceGrant keda.sh/TriggerAuthentication keda.sh/ClusterTriggerAuthentication ' +
    'notification.toolkit.fluxcd.io/Alert notification.toolkit.fluxcd.io/Provider generators.external-secrets.io telemetry.istio.io ' +
    'extensions.istio.io crd.projectcalico.org projectcalico.org metallb.io traefik.io traefik.containo.us linkerd.io ' +
    'secrets-store.csi.x-k8s.io postgresql.cnpg.io/ImageCatalog postgresql.cnpg.io/ClusterImageCatalog'
  ).split(' '),
)

/** Undefined: no row is for the kind, or none of its tests holds. */
export function ruledOutcome(subject: HealthSubject): HealthOutcome | undefined {
  const { apiVersion, kind } = subject.object
  const [group = '', version] = apiVersion.split('/')
  return runRule(ruleOf(version === undefined ? '' : group, kind), subject)
}

const parsed = new Map<string, readonly RuleStep[]>()
const mostKinds = 1000

function ruleOf(group: string, kind: string): readonly RuleStep[] {
  const key = `${group}/${kind}`
  const known = parsed.get(key)
  if (known !== undefined) return known
  const row = table.find(([kinds]) => names(kinds, group, kind))
  const isSetting = settingKinds.has(group) || settingKinds.has(key)
  // Of some groups, other versions report conditions all the same.
  const rule = parseRule(isSetting ? 'failed Ready=False; healthy' : (row?.[1] ?? ''))
  if (parsed.size < mostKinds) parsed.set(key, rule)
  return rule
}

function names(kinds: string, group: string, kind: string): boolean {
  const slash = kinds.indexOf('/')
  const [wanted, listed] = [kinds.slice(0, slash), kinds.slice(slash + 1)]
  const isGroup = wanted.startsWith('*.') ? group.endsWith(wanted.slice(1)) : group === wanted
  return isGroup && (listed === '*' || listed.split(',').includes(kind))
}
