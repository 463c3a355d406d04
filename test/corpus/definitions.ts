/** Definitions of pipelines as teams have them, in shapes of Deck's exports, dinghy, templates, workshops, generators and hands. */
import type { JsonObject } from '../../packages/base/json/values.ts'

export interface CorpusDefinition {
  readonly kind: string
  readonly definition: JsonObject
  /** It does not do all that it says here: the save names it. */
  readonly doubt?: RegExp
  /** What a plan without payload lacks. */
  readonly lacks?: RegExp
  /** How a run without payload ends. */
  readonly ends?: 'SUCCEEDED' | 'TERMINAL'
}

export const application = 'shop'
/** What instances of templates are of. */
export const templateId = 'shop-template'
const stage = (type: string, fields: JsonObject = {}): JsonObject => ({
  name: type,
  refId: '1',
  requisiteStageRefIds: [],
  type,
  ...fields,
})
const wait = stage('wait', { name: 'Wait', waitTime: 0 })
const windowed = (restrictedExecutionWindow: JsonObject): JsonObject => ({
  ...wait,
  restrictExecutionDuringTimeWindow: true,
  restrictedExecutionWindow,
})
const common = { failPipeline: true, continuePipeline: false, completeOtherBranchesThenFail: false }

const moniker = { app: 'shop', cluster: 'deployment web', detail: '', stack: '' }
const ofManifest = { account: 'prod', cloudProvider: 'kubernetes', location: 'default' }
const web = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web' }, spec: {} }
const cluster = (provider: string): JsonObject => ({
  account: 'prod',
  application,
  cloudProvider: provider,
  provider,
  capacity: { desired: 1, max: 1, min: 1 },
  stack: 'main',
  freeFormDetails: '',
  strategy: 'redblack',
  availabilityZones: { 'us-east-1': ['us-east-1a'] },
  loadBalancers: [],
  securityGroups: [],
  targetHealthyDeployPercentage: 100,
})
const ofGroup = {
  cloudProvider: 'aws',
  cloudProviderType: 'aws',
  cluster: 'shop-main',
  credentials: 'prod',
  regions: ['us-east-1'],
  target: 'current_asg_dynamic',
}
const ofInstance = { cloudProvider: 'aws', credentials: 'prod', region: 'us-east-1' }

/** Stages that run alone, with what their run ends with. */
const running: [type: string, fields: JsonObject, ends?: 'TERMINAL'][] = [
  ['wait', { waitTime: 0 }],
  ['wait', { waitTime: '0', skipWaitText: 'x', comments: '' }],
  ['wait', { waitTime: '${ 0 + 0 }' }],
  ['wait', { waitTime: 0, ...common, stageTimeoutMs: 60000, overrideTimeout: true }],
  ['wait', { waitTime: 0, stageEnabled: {}, sendNotifications: false, notifications: [] }],
  ['wait', { waitTime: 0, stageEnabled: { expression: 'true', type: 'expression' } }],
  ['wait', { waitTime: 0, stageEnabled: { expression: '${ false }', type: 'expression' } }],
  ['wait', { waitTime: 0, restrictedExecutionWindow: { days: [], whitelist: [] } }],
  ['wait', { waitTime: 0, restrictExecutionDuringTimeWindow: 'false' }],
  ['wait', { waitTime: 0, isNew: true, inputArtifacts: [], produceArtifacts: [] }],
  ['evaluateVariables', { variables: [{ key: 'a', value: '${ 1 + 1 }' }] }],
  ['evaluateVariables', { variables: [{ key: 'a', value: '${"a,b".split(",").length}' }] }],
  ['evaluateVariables', { variables: [], failOnFailedExpressions: true }],
  ['checkPreconditions', { preconditions: [] }],
  [
    'checkPreconditions',
    {
      preconditions: [
        {
          type: 'expression',
          context: { expression: 'true' },
          failPipeline: true,
          cloudProvider: 'aws',
        },
      ],
    },
  ],
  [
    'checkPreconditions',
    {
      preconditions: [
        { type: 'expression', context: { expression: '${ 1 == 2 }' }, failPipeline: 'true' },
      ],
    },
    'TERMINAL',
  ],
  [
    'checkPreconditions',
    {
      preconditions: [
        {
          type: 'stageStatus',
          context: { stageName: 'none', stageStatus: 'SUCCEEDED' },
          failPipeline: false,
        },
      ],
      failPipeline: 'false',
      continuePipeline: 'true',
    },
  ],
]

/** Stages that need what the corpus does not have: clouds, build servers, answers. Each is kept, planned and opened. */
const stages: [type: string, fields: JsonObject][] = [
  [
    'manualJudgment',
    { judgmentInputs: [{ value: 'yes' }], instructions: '<b>ok?</b>', notifications: [] },
  ],
  [
    'manualJudgment',
    { judgmentInputs: [], propagateAuthenticationContext: 'true', selectedStageRoles: ['ops'] },
  ],
  ['webhook', { url: 'https://x.example/', method: 'GET', statusUrlResolution: 'getMethod' }],
  [
    'webhook',
    {
      url: 'https://x.example/${parameters.a}',
      method: 'POST',
      payload: { a: '${trigger.buildInfo.number}' },
      customHeaders: { 'Content-Type': 'application/json' },
      waitForCompletion: true,
      statusUrlResolution: 'webhookResponse',
      statusUrlJsonPath: '$.links[0].href',
      statusJsonPath: '$.status',
      successStatuses: 'done,ok',
      terminalStatuses: 'failed',
      canceledStatuses: '',
      progressJsonPath: '$.progress',
      failFastStatuses: [404, '500'],
    },
  ],
  ['webhook', { url: 'https://x.example/', method: 'DELETE', payload: null, cancelEndpoint: '' }],
  [
    'jenkins',
    { master: 'ci', job: 'shop/job/build', parameters: { a: '${parameters.a}' }, propertyFile: '' },
  ],
  [
    'jenkins',
    {
      master: 'ci',
      job: 'x',
      continuePipeline: true,
      failPipeline: false,
      markUnstableAsSuccessful: 'false',
    },
  ],
  ['travis', { master: 't', job: 'o/r', parameters: {} }],
  ['wercker', { master: 'w', app: 'o/a', pipeline: 'p', parameters: {} }],
  ['concourse', { master: 'c', team: 't', pipeline: 'p', resourceName: 'r', parameters: {} }],
  ['gitlabci', { master: 'gl', job: 'shop/web' }],
  [
    'googleCloudBuild',
    { account: 'g', buildDefinition: { steps: [] }, buildDefinitionSource: 'text' },
  ],
  ['awsCodeBuild', { account: 'a', projectName: 'p', source: { sourceOverride: false } }],
  ['script', { command: 'x.sh', scriptPath: 'scripts', repoUrl: 'r', waitForCompletion: true }],
  [
    'bake',
    {
      baseLabel: 'release',
      baseOs: 'bionic',
      cloudProviderType: 'aws',
      package: 'web',
      regions: ['us-east-1'],
      storeType: 'ebs',
      vmType: 'hvm',
      user: 'a@x',
    },
  ],
  [
    'bake',
    {
      cloudProvider: 'gce',
      package: '${trigger["package"]}',
      region: 'global',
      extendedAttributes: {},
      rebake: 'true',
    },
  ],
  [
    'bakeManifest',
    {
      templateRenderer: 'HELM3',
      outputName: 'web',
      namespace: 'default',
      overrides: {},
      inputArtifacts: [{ account: 'h', id: 'a' }],
      expectedArtifacts: [],
    },
  ],
  [
    'bakeManifest',
    {
      templateRenderer: 'KUSTOMIZE4',
      kustomizeFilePath: 'overlays/prod/kustomization.yaml',
      inputArtifact: { account: 'g', id: 'a' },
    },
  ],
  ['bakeManifest', { templateRenderer: 'HELMFILE', helmfileFilePath: 'helmfile.yaml' }],
  [
    'deployManifest',
    {
      ...ofManifest,
      source: 'text',
      manifests: [web],
      moniker: { app: application },
      trafficManagement: { enabled: false, options: { enableTraffic: false, services: [] } },
      skipExpressionEvaluation: false,
    },
  ],
  [
    'deployManifest',
    {
      ...ofManifest,
      source: 'artifact',
      manifestArtifactAccount: 'g',
      manifestArtifactId: 'm',
      requiredArtifactIds: ['i'],
      namespaceOverride: 'x',
    },
  ],
  [
    'deployManifest',
    {
      ...ofManifest,
      source: 'artifact',
      manifestArtifact: { type: 'embedded/base64', reference: 'e30=' },
      requiredArtifacts: [],
    },
  ],
  [
    'deployManifest',
    {
      ...ofManifest,
      source: 'text',
      manifests: [web],
      trafficManagement: {
        enabled: true,
        options: { enableTraffic: true, services: ['service web'], strategy: 'redblack' },
      },
    },
  ],
  ['deployManifest', { ...ofManifest, source: 'text', manifests: '${ #readJson("[]") }' }],
  [
    'deleteManifest',
    {
      ...ofManifest,
      kinds: ['deployment'],
      labelSelectors: { selectors: [{ key: 'a', kind: 'EQUALS', values: ['b'] }] },
      mode: 'label',
      options: { cascading: true, gracePeriodSeconds: null },
    },
  ],
  [
    'deleteManifest',
    {
      ...ofManifest,
      manifestName: 'job ${parameters.a}',
      mode: 'static',
      options: { orphanDependants: 'false' },
    },
  ],
  [
    'patchManifest',
    {
      ...ofManifest,
      manifestName: 'deployment web',
      mode: 'static',
      options: { mergeStrategy: 'strategic', record: true },
      patchBody: [{ spec: { replicas: 2 } }],
      source: 'text',
    },
  ],
  [
    'scaleManifest',
    {
      ...ofManifest,
      cluster: 'deployment web',
      criteria: 'newest',
      kind: 'deployment',
      mode: 'dynamic',
      replicas: '3',
      isNew: true,
    },
  ],
  [
    'undoRolloutManifest',
    { ...ofManifest, manifestName: 'deployment web', mode: 'static', numRevisionsBack: 1 },
  ],
  ['rollingRestartManifest', { ...ofManifest, manifestName: 'deployment web', mode: 'static' }],
  [
    'enableManifest',
    {
      ...ofManifest,
      cluster: 'replicaSet web',
      criteria: 'newest',
      kind: 'replicaSet',
      mode: 'dynamic',
    },
  ],
  [
    'disableManifest',
    {
      ...ofManifest,
      cluster: 'replicaSet web',
      criteria: 'second_newest',
      kind: 'replicaSet',
      mode: 'dynamic',
    },
  ],
  ['findArtifactsFromResource', { ...ofManifest, manifestName: 'deployment web', mode: 'static' }],
  [
    'runJobManifest',
    {
      ...ofManifest,
      alias: 'runJob',
      application,
      credentials: 'prod',
      source: 'text',
      consumeArtifactSource: 'propertyFile',
      propertyFile: 'job',
      manifest: {
        apiVersion: 'batch/v1',
        kind: 'Job',
        metadata: { name: 'm' },
        spec: {
          template: {
            spec: { containers: [{ name: 'm', image: 'r/m:1' }], restartPolicy: 'Never' },
          },
        },
      },
    },
  ],
  ['runJob', { cloudProvider: 'titus', credentials: 't', cluster: { imageId: 'i', region: 'r' } }],
  ['deploy', { clusters: [cluster('aws')] }],
  [
    'deploy',
    {
      clusters: [
        {
          ...cluster('gce'),
          instanceType: 'n1-standard-1',
          zone: 'us-central1-f',
          disks: [{ type: 'pd-ssd', sizeGb: 10 }],
          image: '${trigger.image}',
        },
      ],
    },
  ],
  [
    'deploy',
    {
      clusters: [
        {
          ...cluster('kubernetes'),
          targetSize: 2,
          namespace: 'default',
          region: 'default',
          containers: [
            {
              name: 'web',
              imageDescription: { fromTrigger: true, registry: 'r', repository: 'web' },
              ports: [{ containerPort: 80 }],
            },
          ],
        },
      ],
    },
  ],
  [
    'deploy',
    {
      clusters: [
        {
          ...cluster('cloudfoundry'),
          applicationArtifact: { artifactId: 'a' },
          manifest: { direct: { memory: '1024M', instances: 1 } },
          startApplication: true,
        },
      ],
    },
  ],
  [
    'deploy',
    {
      clusters: [
        {
          ...cluster('ecs'),
          ecsClusterName: 'c',
          computeUnits: 256,
          taskDefinitionArtifactAccount: 'g',
          imageDescription: { fromContext: true },
        },
      ],
    },
  ],
  [
    'deploy',
    {
      clusters: [
        {
          ...cluster('appengine'),
          configFiles: [''],
          gitCredentialType: 'NONE',
          applicationDirectoryRoot: '.',
        },
      ],
    },
  ],
  [
    'deploy',
    {
      clusters: [
        cluster('aws'),
        {
          ...cluster('aws'),
          strategy: 'rollingredblack',
          targetPercentages: [50, 100],
          delayBeforeDisableSec: '60',
        },
      ],
    },
  ],
  ['findImage', { ...ofGroup, onlyEnabled: true, selectionStrategy: 'NEWEST' }],
  ['findImage', { ...ofGroup, selectionStrategy: 'LARGEST', onlyEnabled: 'true' }],
  [
    'findImageFromTags',
    { cloudProvider: 'aws', packageName: 'web', regions: ['us-east-1'], tags: { env: 'prod' } },
  ],
  [
    'cloneServerGroup',
    {
      ...ofGroup,
      application,
      capacity: { min: '1', max: '2', desired: '1' },
      targetCluster: 'shop-main',
      strategy: '',
    },
  ],
  [
    'resizeServerGroup',
    { ...ofGroup, action: 'scale_up', resizeType: 'pct', scalePct: 50, capacity: {} },
  ],
  [
    'resizeServerGroup',
    {
      ...ofGroup,
      action: 'scale_exact',
      resizeType: 'exact',
      capacity: { min: 1, max: '3', desired: '2' },
    },
  ],
  ['enableServerGroup', { ...ofGroup, interestingHealthProviderNames: ['Amazon'] }],
  ['disableServerGroup', { ...ofGroup, target: 'ancestor_asg_dynamic' }],
  ['destroyServerGroup', { ...ofGroup, target: 'oldest_asg_dynamic' }],
  ['rollbackCluster', { ...ofGroup, targetHealthyRollbackPercentage: 100, moniker }],
  [
    'scaleDownCluster',
    {
      ...ofGroup,
      remainingFullSizeServerGroups: 1,
      allowScaleDownActive: false,
      preferLargerOverNewer: 'false',
    },
  ],
  [
    'shrinkCluster',
    { ...ofGroup, shrinkToSize: '1', allowDeleteActive: true, retainLargerOverNewer: false },
  ],
  [
    'disableCluster',
    { ...ofGroup, remainingEnabledServerGroups: 1, preferLargerOverNewer: 'false' },
  ],
  ['modifyAwsScalingProcess', { ...ofGroup, action: 'suspend', processes: ['Launch'] }],
  ['upsertImageTags', { cloudProvider: 'aws', tags: { a: 'b' }, regions: ['us-east-1'] }],
  ['tagImage', { cloudProvider: 'aws', tags: {} }],
  [
    'terminateInstances',
    { ...ofInstance, instanceIds: ['i-1'], interestingHealthProviderNames: [] },
  ],
  ['rebootInstances', { ...ofInstance, instanceIds: ['i-1'] }],
  ['upsertLoadBalancer', { ...ofInstance, name: 'shop', listeners: [], isInternal: true }],
  ['upsertSecurityGroup', { ...ofInstance, name: 'shop', ingress: [] }],
  [
    'destroyService',
    {
      action: 'destroyService',
      cloudProvider: 'cloudfoundry',
      credentials: 'c',
      region: 'o > s',
      serviceInstanceName: 'db',
    },
  ],
  [
    'deployService',
    {
      action: 'deployService',
      cloudProvider: 'cloudfoundry',
      credentials: 'c',
      region: 'o > s',
      manifest: { direct: { service: 's', servicePlan: 'p', serviceInstanceName: 'db' } },
    },
  ],
  [
    'shareService',
    {
      cloudProvider: 'cloudfoundry',
      credentials: 'c',
      region: 'o > s',
      serviceInstanceName: 'db',
      shareToRegions: [],
    },
  ],
  [
    'pipeline',
    {
      application,
      pipeline: 'abc',
      pipelineParameters: { a: '1' },
      waitForCompletion: true,
      failPipeline: true,
    },
  ],
  [
    'pipeline',
    {
      application: '${parameters.app}',
      pipeline: '${#pipelineId("x")}',
      waitForCompletion: 'true',
    },
  ],
  [
    'savePipelinesFromArtifact',
    { pipelinesArtifact: { type: 'embedded/base64', reference: 'e30=' } },
  ],
  [
    'kayentaCanary',
    {
      analysisType: 'realTime',
      canaryConfig: {
        canaryConfigId: 'c',
        lifetimeDuration: 'PT1H',
        metricsAccountName: 'p',
        storageAccountName: 's',
        scopes: [
          {
            scopeName: 'default',
            controlScope: 'a',
            experimentScope: 'b',
            extendedScopeParams: {},
          },
        ],
        scoreThresholds: { marginal: '75', pass: '90' },
      },
    },
  ],
  [
    'kayentaCanary',
    {
      analysisType: 'realTimeAutomatic',
      canaryConfig: {
        canaryConfigId: 'c',
        lifetime: { hours: 1 },
        canaryAnalysisIntervalMins: '30',
        scopes: [{ scopeName: 'default' }],
        scoreThresholds: { marginal: 75, pass: 90 },
      },
      deployments: {
        baseline: { application, account: 'prod', cluster: 'shop' },
        delayBeforeCleanup: 'PT0S',
        serverGroupPairs: [],
      },
    },
  ],
  [
    'canary',
    {
      canary: { canaryConfig: { name: 'x', lifetimeHours: 1, canaryHealthCheckHandler: {} } },
      baseline: {},
      clusterPairs: [],
    },
  ],
  ['acaTask', { canary: { canaryConfig: {} }, baseline: {} }],
  ['monitorPipeline', { executionId: 'x' }],
  ['entityTags', { entityRef: { entityType: 'application', entityId: application }, tags: [] }],
  ['createApplication', { application: { name: application, email: 'a@x' } }],
  ['waitForCondition', { status: 'x' }],
  ['bulkDeleteRegistryImages', { images: [] }],
  ['upsertEntityTags', { entityRef: {}, tags: [] }],
  [
    'lambdaDeploymentStage',
    { account: 'a', region: 'us-east-1', functionName: 'f', runtime: 'nodejs18.x' },
  ],
  ['terraform', { action: 'plan', dir: '.', artifacts: [] }],
  ['runTerraform', { action: 'apply' }],
  ['preconfiguredWebhook', {}],
  ['notifyGitHub', { alias: 'preconfiguredWebhook', parameterValues: {} }],
  ['deployCloudrunManifest', { account: 'c', source: 'text', configFiles: [''] }],
  [
    'cloudFoundryCreateServiceBindings',
    { cloudProvider: 'cloudfoundry', region: 'o > s', serviceBindingRequests: [] },
  ],
  ['evaluateOpaPolicy', { policy: 'x' }],
  ['checkServiceNow', { ticket: '1' }],
  ['myPluginStage', { anything: { a: [1, '2', null] } }],
  ['wat', { waitTime: 3 }],
]

const artifact = (type: string, fields: JsonObject = {}): JsonObject => ({
  id: 'a1',
  displayName: 'brave-cat-1',
  matchArtifact: { id: 'm1', artifactAccount: 'acc', type, ...fields },
  defaultArtifact: { id: 'd1', customKind: true },
  useDefaultArtifact: false,
  usePriorArtifact: false,
})
const expected: [what: string, artifact: JsonObject][] = [
  ['docker/image', artifact('docker/image', { name: 'r.example/web' })],
  ['docker/image by a pattern', artifact('docker/image', { name: 'r.example/.*' })],
  ['gcs/object', artifact('gcs/object', { name: 'gs://b/o' })],
  ['s3/object', artifact('s3/object', { name: 's3://b/o' })],
  ['github/file', artifact('github/file', { name: 'k8s/web.yml' })],
  ['gitlab/file', artifact('gitlab/file', { name: 'x' })],
  ['bitbucket/file', artifact('bitbucket/file', { name: 'x' })],
  ['git/repo', artifact('git/repo', { reference: 'https://g.example/r.git', version: 'main' })],
  ['helm/chart', artifact('helm/chart', { name: 'web', version: '1.0.0' })],
  ['helm/image', artifact('helm/image', { name: 'web' })],
  ['http/file', artifact('http/file', { reference: 'https://x.example/f' })],
  ['maven/file', artifact('maven/file', { reference: 'g:a:1' })],
  ['ivy/file', artifact('ivy/file', { reference: 'x' })],
  ['jenkins/file', artifact('jenkins/file', { name: 'x.deb' })],
  ['embedded/base64', artifact('embedded/base64', { name: 'x' })],
  ['kubernetes/configMap', artifact('kubernetes/configMap', { name: 'c' })],
  ['kubernetes/replicaSet', artifact('kubernetes/replicaSet', { name: 'x' })],
  ['front50/pipelineTemplate', artifact('front50/pipelineTemplate', { name: 't' })],
  ['custom/object', artifact('custom/object', { name: 'x', customKind: true, metadata: {} })],
  ['pubsub', artifact('pubsub/message', {})],
  [
    'of an older release',
    {
      id: 'a1',
      matchArtifact: { kind: 'docker', name: 'web', type: 'docker/image' },
      defaultArtifact: { kind: 'custom' },
    },
  ],
  [
    'with a default',
    {
      ...artifact('docker/image', { name: 'w' }),
      useDefaultArtifact: true,
      defaultArtifact: {
        artifactAccount: 'a',
        id: 'd',
        name: 'w',
        reference: 'w:1',
        type: 'docker/image',
        version: '1',
      },
    },
  ],
  ['from before', { ...artifact('docker/image'), usePriorArtifact: 'true' }],
  ['nothing but an id', { id: 'a1' }],
]

const triggers: [what: string, trigger: JsonObject, doubt?: RegExp][] = [
  [
    'git of GitHub',
    { type: 'git', source: 'github', project: 'o', slug: 'r', branch: 'main', events: [] },
  ],
  ['git of Stash', { type: 'git', source: 'stash', project: 'P', slug: 'r', branch: '' }],
  [
    'git of Bitbucket',
    { type: 'git', source: 'bitbucket', project: 'o', slug: 'r', branch: 'release/.*' },
  ],
  ['git of GitLab', { type: 'git', source: 'gitlab', project: 'g', slug: 'r', branch: '^v.*$' }],
  [
    'Jenkins',
    {
      type: 'jenkins',
      master: 'ci',
      job: 'build',
      propertyFile: 'a.properties',
      payloadConstraints: {},
    },
  ],
  [
    'Jenkins by expectations',
    {
      type: 'jenkins',
      master: 'ci',
      job: 'x',
      expectedArtifactIds: ['a1'],
      payloadConstraints: { 'a.b': 'x' },
    },
  ],
  ['Travis', { type: 'travis', master: 't', job: 'o/r/main' }],
  ['Wercker', { type: 'wercker', master: 'w', job: 'o/a/p' }],
  ['Concourse', { type: 'concourse', master: 'c', team: 't', project: 'p', job: 'j' }],
  ['GitLab CI', { type: 'gitlab-ci', master: 'gl', job: 'shop/web' }],
  [
    'docker',
    {
      type: 'docker',
      account: 'hub',
      registry: 'index.docker.io',
      organization: 'library',
      repository: 'library/nginx',
      tag: '^1\\..*$',
    },
  ],
  [
    'docker without tag',
    {
      type: 'docker',
      account: 'hub',
      registry: 'r',
      organization: 'o',
      repository: 'o/r',
      tag: '',
    },
  ],
  ['helm', { type: 'helm', account: 'st', chart: 'web', version: '^1.0.0' }],
  ['helm/oci', { type: 'helm/oci', account: 'o', chart: 'web', version: '*', digest: '' }],
  ['cron', { type: 'cron', cronExpression: '0 0 10 ? * MON-FRI *', id: 'c1' }],
  ['cron by words', { type: 'cron', cronExpression: '0 0/30 * ? * MON,WED *', id: 'c2' }],
  [
    'cron of a date that never comes',
    { type: 'cron', cronExpression: '0 0 0 31 2 ? *', id: 'c3' },
    /never/,
  ],
  ['cron that is none', { type: 'cron', cronExpression: 'every day', id: 'c4' }, /cron/i],
  [
    'webhook',
    {
      type: 'webhook',
      source: 'deploy',
      payloadConstraints: { env: '^prod$' },
      expectedArtifactIds: [],
    },
  ],
  [
    'webhook with paths',
    {
      type: 'webhook',
      source: 'x',
      payloadConstraints: { '$.a[?(@.b == 1)].c': 'x', 'a.b.c': '.*' },
    },
  ],
  ['webhook without source', { type: 'webhook' }, /source/],
  [
    'pipeline',
    { type: 'pipeline', application, pipeline: 'abc', status: ['successful', 'failed'] },
  ],
  [
    'pubsub of Google',
    {
      type: 'pubsub',
      pubsubSystem: 'google',
      subscriptionName: 's',
      payloadConstraints: {},
      attributeConstraints: { eventType: 'OBJECT_FINALIZE' },
    },
  ],
  [
    'pubsub of Amazon',
    { type: 'pubsub', pubsubSystem: 'amazon', subscriptionName: 's' },
    /looks for no events of the type pubsub/,
  ],
  ['artifactory', { type: 'artifactory', artifactorySearchName: 'a', expectedArtifactIds: ['a1'] }],
  ['nexus', { type: 'nexus', nexusSearchName: 'n' }],
  ['plugin', { type: 'plugin', pluginId: 'A.B' }],
  ['cdevents', { type: 'cdevents', source: 'x', attributeConstraints: {} }],
  ['manual', { type: 'manual', description: 'x' }],
  ['of a vendor', { type: 'my-trigger', a: 1 }],
  [
    'bigger than one',
    { type: 'git', source: 'github', project: 'o', slug: 'r', branch: 'main', runAsUser: '' },
  ],
  [
    'disabled with runAsUser',
    {
      type: 'cron',
      cronExpression: '0 0 * ? * *',
      id: 'c5',
      enabled: false,
      runAsUser: 'bot@managed-service-account',
    },
  ],
  ['flags as texts', { type: 'webhook', source: 'y', enabled: 'false' }],
]

const parameter = (fields: JsonObject): JsonObject => ({
  name: 'a',
  label: '',
  description: '',
  default: '',
  required: false,
  pinned: false,
  hasOptions: false,
  options: [{ value: '' }],
  ...fields,
})
const parameters: [what: string, parameters: JsonObject[]][] = [
  ['one of Deck', [parameter({})]],
  ['a default', [parameter({ default: 'x' })]],
  ['required with default', [parameter({ required: true, default: 'x' })]],
  [
    'options',
    [parameter({ hasOptions: true, options: [{ value: 'a' }, { value: 'b' }], default: 'a' })],
  ],
  ['options by hand', [{ name: 'a', options: [{ value: 1 }, { value: true }] }]],
  ['a number', [parameter({ default: 3 })]],
  ['a flag', [parameter({ default: true, required: 'false' })]],
  ['an expression', [parameter({ default: '${ trigger.payload.a }' })]],
  [
    'one from another',
    [parameter({ name: 'b', default: 'x' }), parameter({ default: '${parameters.b}' })],
  ],
  ['a constraint', [parameter({ constraint: 'date', default: '2020-01-01' })]],
  [
    'a condition',
    [
      parameter({}),
      parameter({
        name: 'b',
        conditional: { parameter: 'a', comparator: '=', comparatorValue: 'x' },
      }),
    ],
  ],
  ['null', [parameter({ default: null, label: null, options: null })]],
  ['without a label', [{ name: 'a' }]],
  ['pinned', [parameter({ pinned: true, label: 'A ✓' })]],
]

const notification = (type: string, fields: JsonObject): JsonObject => ({
  type,
  level: 'pipeline',
  address: 'x',
  when: ['pipeline.failed'],
  ...fields,
})
const notifications: [what: string, notification: JsonObject][] = [
  [
    'e-mail',
    notification('email', {
      address: 'a@x.example',
      cc: 'b@x.example',
      message: { 'pipeline.failed': { text: 'no' } },
    }),
  ],
  ['Slack', notification('slack', { address: 'ops' })],
  ['Slack by expression', notification('slack', { address: '${parameters.channel}' })],
  [
    'Teams',
    notification('microsoftteams', {
      address: 'https://x.webhook.office.com/webhookb2/a@b/IncomingWebhook/c/d',
    }),
  ],
  [
    'Google Chat',
    notification('googlechat', { address: 'https://chat.googleapis.com/v1/spaces/x' }),
  ],
  ['PagerDuty', notification('pagerduty', { address: 'key' })],
  ['SMS', notification('sms', { address: '+1555' })],
  ['BearyChat', notification('bearychat', { address: 'x' })],
  ['HipChat', notification('hipchat', { address: 'x' })],
  ['GitHub', notification('githubStatus', { repo: 'o/r', commit: '${trigger.hash}' })],
  ['pubsub', notification('pubsub', { publisherName: 'p' })],
  [
    'CDEvents',
    notification('cdevents', {
      address: 'https://x.example',
      cdEventsType: 'dev.cdevents.pipelinerun.finished',
    }),
  ],
  ['a plug-in', notification('my-notification', { key: 'v' })],
  ['a word for a list', notification('email', { when: 'pipeline.complete' })],
  [
    'no level',
    { type: 'email', address: 'a@x.example', when: ['pipeline.complete', 'pipeline.starting'] },
  ],
]

const three: JsonObject[] = [
  { ...wait, name: 'Build' },
  { ...wait, refId: '2', requisiteStageRefIds: ['1'], name: 'Deploy' },
  { ...wait, refId: '3', requisiteStageRefIds: ['1', '2'], name: 'Tell' },
]

/** Whole pipelines, by where they come from. */
const whole: [what: string, fields: JsonObject, doubt?: RegExp][] = [
  [
    "Deck's export",
    {
      appConfig: {},
      description: '',
      expectedArtifacts: [],
      keepWaitingPipelines: false,
      lastModifiedBy: 'a@x',
      limitConcurrent: true,
      maxConcurrentExecutions: 0,
      notifications: [],
      parameterConfig: [],
      spelEvaluator: 'v4',
      stages: three,
      triggers: [],
      updateTs: '1600000000000',
      index: 3,
    },
  ],
  [
    "Deck's export with a lock",
    { locked: { ui: true, allowUnlockUi: true, description: '' }, stages: three, schema: '1' },
  ],
  [
    'Deck, roles',
    { roles: ['ops'], stages: three, tags: [{ name: 'a', value: 'b' }], entityId: 'x' },
  ],
  [
    'dinghy',
    {
      appName: 'shop',
      globals: { a: 'b' },
      keepWaitingPipelines: false,
      limitConcurrent: true,
      stages: three.map(({ refId: _, ...rest }) => rest).slice(0, 1),
      triggers: [],
      parallel: true,
    },
  ],
  [
    'a manifest of an artifact without its source',
    {
      stages: [{ ...ofManifest, type: 'deployManifest', manifestArtifact: { type: 'gcs/object' } }],
    },
    /names an artifact: set "source"/,
  ],
  [
    'a precondition without its context',
    {
      stages: [
        { type: 'checkPreconditions', preconditions: [{ type: 'expression', expression: 'true' }] },
      ],
    },
    /names no expression/,
  ],
  [
    'stages of an operator, of a plug-in and of another cloud',
    {
      stages: [
        { type: 'notifyGit', alias: 'preconfiguredWebhook', name: 'a' },
        { type: 'runMultiplePipelines', name: 'b' },
        { type: 'deploy', name: 'c', clusters: [{ ...cluster('gce'), account: 'my-gce' }] },
      ],
    },
    /configures: add it to webhook\.preconfigured.*belong to plug-ins of Armory.*does not deploy to "gce"/s,
  ],
  [
    'dinghy in one module',
    {
      application: 'shop',
      stages: [{ ...wait, continuePipeline: false, failPipeline: true, isNew: false }],
      lastModifiedBy: 'dinghy',
      config: { pipeline: {} },
    },
  ],
  [
    'sponnet',
    {
      keepWaitingPipelines: false,
      limitConcurrent: true,
      expectedArtifacts: [],
      stages: three,
      triggers: [],
      parameterConfig: [],
      notifications: [],
    },
  ],
  ['Terraform', { stages: three, parameterConfig: null, notifications: null, index: 0 }],
  ['spin, minimal', { stages: [] }],
  ['spin, nothing', {}],
  [
    'a template of schema 1',
    {
      type: 'templatedPipeline',
      config: {
        schema: '1',
        pipeline: {
          application,
          name: 'x',
          template: { source: `spinnaker://${templateId}` },
          variables: { a: 'b' },
        },
        configuration: { inherit: ['triggers'] },
      },
    },
    /version-1 template/,
  ],
  [
    'a template of schema 2',
    {
      type: 'templatedPipeline',
      schema: 'v2',
      template: {
        artifactAccount: 'front50ArtifactCredentials',
        reference: `spinnaker://${templateId}`,
        type: 'front50/pipelineTemplate',
      },
      variables: {},
      exclude: [],
      triggers: [],
      parameters: [],
      notifications: [],
      stages: [],
    },
  ],
  [
    'a template with a lost variable',
    {
      type: 'templatedPipeline',
      schema: 'v2',
      template: { reference: `spinnaker://${templateId}`, type: 'front50/pipelineTemplate' },
      variables: { gone: 1 },
    },
    /no variables/,
  ],
  [
    'a template without the type of an instance',
    { schema: 'v2', template: { reference: `spinnaker://${templateId}` }, stages: [] },
    /"type": "templatedPipeline"/,
  ],
  [
    'stage references as numbers',
    {
      stages: [
        { ...wait, refId: 1 },
        { ...wait, refId: 2, requisiteStageRefIds: [1] },
      ],
    },
  ],
  [
    'mixed references',
    {
      stages: [
        { ...wait, refId: 1 },
        { ...wait, refId: '2', requisiteStageRefIds: ['1'] },
      ],
    },
  ],
  [
    'references by words',
    {
      stages: [
        { ...wait, refId: 'build' },
        { ...wait, refId: 'deploy-2', requisiteStageRefIds: ['build'] },
      ],
    },
  ],
  [
    'no references at all',
    { stages: ['Build', 'Deploy', 'Tell'].map((name) => ({ name, type: 'wait', waitTime: 0 })) },
  ],
  [
    'references by branches',
    {
      parallel: true,
      stages: [
        { ...wait, refId: 'master' },
        { ...wait, refId: 'dev:1', requisiteStageRefIds: ['master'] },
      ],
    },
  ],
  [
    'variables that read each other',
    {
      stages: [
        stage('evaluateVariables', {
          variables: [
            { key: 'tag', value: '1' },
            { key: 'image', value: 'web:${tag}' },
          ],
        }),
      ],
    },
    /"tag" of the same stage/,
  ],
  [
    'variables that read each other, v4',
    {
      spelEvaluator: 'v4',
      stages: [
        stage('evaluateVariables', {
          variables: [
            { key: 'tag', value: '1' },
            { key: 'image', value: 'web:${tag}' },
          ],
        }),
      ],
    },
  ],
  [
    'a condition with one equals sign',
    {
      stages: [{ ...wait, stageEnabled: { type: 'expression', expression: "parameters.a = 'x'" } }],
    },
    /never true/,
  ],
  [
    'a condition of another type',
    { stages: [{ ...wait, stageEnabled: { type: 'spel', expression: 'false' } }] },
    /always runs/,
  ],
  [
    'a dash in a name',
    {
      parameterConfig: [{ name: 'my-tag', default: 'x' }],
      stages: [{ ...wait, comments: '${parameters.my-tag}' }],
    },
    /parameters\['my-tag'\]/,
  ],
  [
    'a function of a plug-in',
    { stages: [{ ...wait, comments: '${#teamOf("web")}' }] },
    /no function "#teamOf"/,
  ],
  [
    'options as texts',
    { parameterConfig: [{ name: 'a', options: ['x', 'y'] }], stages: [wait] },
    /options/,
  ],
  [
    'an artifact by a lost id',
    {
      stages: [
        stage('deployManifest', { ...ofManifest, source: 'artifact', manifestArtifactId: 'm' }),
      ],
    },
    /expects an artifact with the id "m"/,
  ],
  [
    'a trigger for a lost artifact',
    {
      stages: [wait],
      triggers: [{ type: 'webhook', enabled: true, source: 'lost', expectedArtifactIds: ['m'] }],
    },
    /expects no artifact with the id "m"/,
  ],
  [
    'images of an account that is not here',
    {
      stages: [wait],
      triggers: [{ type: 'docker', enabled: true, account: 'hub', repository: 'shop/web' }],
    },
    /no artifact account "hub" for docker\/image, so nothing is looked up/,
  ],
  [
    'an analysis by the name of its configuration',
    {
      stages: [stage('kayentaCanary', { canaryConfig: { canaryConfigId: 'usual', scopes: [{}] } })],
    },
    /no canary configuration "usual"/,
  ],
  [
    'a child by its name',
    { stages: [stage('pipeline', { application, pipeline: 'Deploy to prod' })] },
    /No pipeline has the id "Deploy to prod"/,
  ],
  [
    'artifacts of a lost pipeline',
    { stages: [stage('findArtifactFromExecution', { application, pipeline: 'gone' })] },
    /No pipeline has the id "gone"/,
  ],
  [
    'a window with other names of its times',
    { stages: [windowed({ whitelist: [{ startTime: 9, endTime: 17, days: [2] }] })] },
    /is not a time of day\. The stage fails/,
  ],
  [
    'a window with days as words',
    { stages: [windowed({ days: ['MON'], whitelist: [{ startHour: 9, endHour: 17 }] })] },
    /from 1, Sunday, to 7\. The stage fails/,
  ],
  ['a window without times', { stages: [windowed({ whitelist: [] })] }, /it is always open/],
  [
    'a pipeline in the wrapper of a generator',
    { deploymentTargets: ['test'], pipeline: { parallel: true, stages: [wait] } },
    /stages are in "pipeline", where nothing reads them/,
  ],
  [
    'a stage of an execution',
    { stages: [{ ...wait, status: 'NOT_STARTED', context: { waitTime: 1 }, tasks: [] }] },
    /a stage of an execution/,
  ],
  [
    'names that nothing has',
    {
      stages: [
        stage('jenkins', { master: 'ci', job: 'build' }),
        { ...wait, refId: '2', comments: "${#stage('Build').status}" },
        {
          ...wait,
          refId: '3',
          stageEnabled: { type: 'expression', expression: "#judgment('Wait') == 'go'" },
        },
      ],
      triggers: [
        { type: 'docker', enabled: true, account: 'hub', repository: '${parameters.repository}' },
        {
          type: 'git',
          enabled: true,
          source: 'github',
          project: 'o',
          slug: 'git@github.com:o/r.git',
        },
      ],
    },
    /No stage is named "Build".*No manual judgment is named "Wait".*triggers are not evaluated.*owner as "project".*"ci" is not configured, so the stage/,
  ],
  [
    'an order of templates of version 1',
    { stages: [wait, { name: 'b', refId: '2', type: 'wait', waitTime: 0, dependsOn: ['Wait'] }] },
    /Only templates of version 1 know "dependsOn"/,
  ],
  [
    'the status of a lost stage',
    {
      stages: [
        stage('checkPreconditions', {
          preconditions: [
            { type: 'stageStatus', context: { stageName: 'gone', stageStatus: 'SUCCEEDED' } },
            { type: 'clusterSize', context: { credentials: 'nowhere', cluster: 'a', expected: 1 } },
          ],
        }),
      ],
    },
    /account "nowhere" does not exist.*No stage is named "gone"/,
  ],
  [
    'a strategy of elsewhere',
    { stages: [stage('deploy', { clusters: [{ ...cluster('local'), strategy: 'blackred' }] })] },
    /There is no strategy "blackred", so it counts as none/,
  ],
  [
    'parameters under another name',
    { parameters: [{ name: 'a' }], stages: [wait] },
    /has its parameters in "parameterConfig"/,
  ],
  [
    'parameters and artifacts twice',
    {
      parameterConfig: [{ name: 'a' }, { name: 'a', default: 1 }],
      expectedArtifacts: [
        { ...artifact('docker/image', { name: 'w' }), id: 'e', useDefaultArtifact: true },
        { ...artifact('docker/image', { name: 'v' }), id: 'e', usePriorExecution: true },
      ].map(({ defaultArtifact: _default, ...each }: JsonObject) => each),
      stages: [wait],
    },
    /"a" is there twice.*"e" is there twice.*there is no artifact where none matches.*Write "usePriorArtifact"/,
  ],
  ['no requisites', { stages: [{ name: 'a', type: 'wait', waitTime: 0, refId: '1' }] }],
  ['requisites that are null', { stages: [{ ...wait, requisiteStageRefIds: null }] }],
  ['parallel branches', { stages: [...three, { ...wait, refId: '9', requisiteStageRefIds: [] }] }],
  [
    'limits as texts',
    {
      limitConcurrent: 'true',
      keepWaitingPipelines: 'false',
      maxConcurrentExecutions: '2',
      stages: three,
    },
  ],
  ['disabled', { disabled: true, stages: three }],
  ['disabled as text', { disabled: 'true', stages: three }],
  [
    'managed service account',
    {
      stages: three,
      triggers: [
        {
          type: 'cron',
          id: 'cm',
          enabled: false,
          cronExpression: '0 0 10 * * ?',
          runAsUser: 'x@managed-service-account',
        },
      ],
      roles: [],
    },
  ],
  [
    'keys of nothing',
    { stages: [{ ...wait, x: { y: [null, { z: '' }] } }], 'a.b': 1, '': 'empty' },
  ],
  [
    'names with any character',
    { stages: [{ ...wait, name: 'a/b ✓ "q" <b>' }], description: 'zwei\nZeilen\t' },
  ],
  [
    'a stage without name',
    { stages: [{ type: 'wait', waitTime: 0, refId: '1', requisiteStageRefIds: [] }] },
  ],
  ['evaluator v3', { spelEvaluator: 'v3', stages: three }],
  [
    'a circle',
    {
      stages: [
        { ...wait, requisiteStageRefIds: ['2'] },
        { ...wait, refId: '2', requisiteStageRefIds: ['1'] },
      ],
    },
    /each other|circle|cycle/i,
  ],
  ['a lost reference', { stages: [{ ...wait, requisiteStageRefIds: ['7'] }] }, /7/],
  [
    'notifications of stages',
    {
      stages: [
        {
          ...wait,
          sendNotifications: true,
          notifications: [
            { type: 'email', level: 'stage', address: 'a@x.example', when: ['stage.failed'] },
          ],
        },
      ],
    },
  ],
  [
    'an execution window',
    {
      stages: [
        {
          ...wait,
          restrictExecutionDuringTimeWindow: true,
          restrictedExecutionWindow: {
            days: [2, 3],
            jitter: { enabled: false, maxDelay: 600, minDelay: 0, skipManual: true },
            whitelist: [{ startHour: 9, startMin: 0, endHour: '17', endMin: '30' }],
          },
        },
      ],
    },
  ],
  ...['stages', 'triggers', 'parameterConfig', 'expectedArtifacts', 'notifications', 'tags'].map(
    (list): [string, JsonObject, RegExp] => [
      `null among ${list}`,
      { stages: [wait], [list]: list === 'stages' ? [null, wait] : [null] },
      /\[0\]: The entry is null/,
    ],
  ),
  [
    'null among variables',
    {
      stages: [
        stage('evaluateVariables', { variables: [null, { key: 'a', value: '1' }] }),
        { ...wait, refId: '2', stageEnabled: 'false' },
      ],
    },
    /variables\[0\]: The entry is null.*as if it were not there/,
  ],
  [
    'expressions that are never values',
    {
      stages: [
        { ...wait, comments: '${ "x" instanceof T(String) }' },
        { ...wait, refId: '2', comments: '${ "".getClass() }' },
        { ...wait, refId: '3', comments: '${ new java.util.UUID(1, 2) }' },
      ],
    },
    /instanceof" is not allowed.*method "getClass.*cannot be created/,
  ],
  [
    'an instance with stages',
    {
      type: 'templatedPipeline',
      schema: 'v2',
      template: { reference: `spinnaker://${templateId}` },
      stages: [wait],
    },
    /no stages of its own/,
  ],
  [
    'an instance of a file',
    {
      type: 'templatedPipeline',
      schema: 'v2',
      template: { reference: 'https://git.example/t.json', type: 'github/file' },
    },
    /names no template of this store/,
  ],
  [
    'constraints that are no patterns',
    {
      stages: [wait],
      triggers: [
        { type: 'webhook', source: 'odd', enabled: true, payloadConstraints: { a: { b: 1 } } },
        { type: 'git', source: 'github', project: 'a', slug: 'b', enabled: 1, events: 'push:push' },
        { type: 'cron', enabled: true, cronExpression: '0 0 1 ? * *', timeZone: 'Mars/Phobos' },
      ],
    },
    /can never match.*counts as empty.*no time zone "Mars/,
  ],
  [
    'failed expressions',
    { stages: [{ ...wait, failOnFailedExpressions: true, skipExpressionEvaluation: false }] },
  ],
]

/** The same said otherwise, as generators and hands write it; Spinnaker's reader takes each of them. */
const spellings: [what: string, spell: (value: unknown) => unknown][] = [
  ['flags as texts', (value) => (typeof value === 'boolean' ? String(value) : value)],
  ['numbers as texts', (value) => (typeof value === 'number' ? String(value) : value)],
  ['empty lists as null', (value) => (Array.isArray(value) && value.length === 0 ? null : value)],
  [
    'expressions for texts',
    (value) => (value === 'Deploy' || value === 'web' ? '${ "x" }' : value),
  ],
]

function spelt(value: unknown, spell: (value: unknown) => unknown): unknown {
  const inner = Array.isArray(value)
    ? value.map((item) => spelt(item, spell))
    : typeof value === 'object' && value !== null
      ? Object.fromEntries(Object.entries(value).map(([key, item]) => [key, spelt(item, spell)]))
      : value
  return spell(inner)
}

const named = (kind: string, what: string, fields: JsonObject): JsonObject => ({
  application,
  name: `${kind}: ${what}`,
  ...fields,
})

function collect(): CorpusDefinition[] {
  const enabled = (trigger: JsonObject) => ({ enabled: true, ...trigger })
  const once: CorpusDefinition[] = [
    ...running.map(([type, fields, ends = 'SUCCEEDED' as const], index) => ({
      kind: 'stages that run',
      definition: named('runs', `${type} ${index}`, { stages: [stage(type, fields)] }),
      ends,
    })),
    ...stages.map(([type, fields], index) => ({
      kind: 'stages',
      definition: named('stage', `${type} ${index}`, { stages: [stage(type, fields)] }),
    })),
    ...triggers.map(([what, trigger, doubt]) => ({
      kind: 'triggers',
      definition: named('trigger', what, { stages: [wait], triggers: [enabled(trigger)] }),
      ...(doubt && { doubt }),
    })),
    ...expected.map(([what, each]) => ({
      kind: 'artifacts',
      definition: named('artifact', what, { stages: [wait], expectedArtifacts: [each] }),
      ...(String(each['usePriorArtifact']) === 'true' && { lacks: /no artifact that matches/ }),
    })),
    ...parameters.map(([what, parameterConfig]) => ({
      kind: 'parameters',
      definition: named('parameter', what, { stages: [wait], parameterConfig }),
    })),
    ...notifications.map(([what, each]) => ({
      kind: 'notifications',
      definition: named('notification', what, { stages: [wait], notifications: [each] }),
    })),
    ...whole.map(([what, fields, doubt]) => ({
      kind: 'whole pipelines',
      definition: named('whole', what, fields),
      ...(String(fields['disabled']) === 'true' && { lacks: /is disabled/ }),
      ...(doubt && { doubt }),
    })),
  ]
  const again = once.filter(({ kind, doubt }) => doubt === undefined && kind !== 'stages that run')
  // One of four: each shape has a turn in one of the spellings.
  const other = spellings.flatMap(([how, spell], turn) =>
    again.flatMap(({ kind, definition, lacks }, index): CorpusDefinition[] => {
      if (index % spellings.length !== turn || kind === 'triggers') return []
      const written = spelt(definition, spell) as JsonObject
      if (JSON.stringify(written) === JSON.stringify(definition)) return []
      const name = `${definition['name']}, ${how} (${kind})`
      return [{ kind: how, definition: { ...written, name }, ...(lacks && { lacks }) }]
    }),
  )
  return [...once, ...other]
}

export const definitions: readonly CorpusDefinition[] = collect()
