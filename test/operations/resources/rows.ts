/** Operations of one call: the request to the gateway, and the call to the service. */
import { Reply } from '../../support/upstream.ts'
import type { Row } from './platform.ts'

const list: unknown[] = [{ name: 'one' }]
const names = ['one', 'two']

export const definitionRows: Row[] = [
  {
    id: 'getAllPipelineConfigsUsingGET',
    ask: 'GET /pipelineConfigs',
    call: 'front50 GET /pipelines',
    gives: list,
  },
  {
    id: 'releasePipeline',
    ask: 'PUT /pipelines/p%201/release',
    call: 'front50 PUT /pipelines/p%201/release',
    gives: list,
  },
  {
    id: 'getPipelineConfigHistoryUsingGET',
    ask: 'GET /pipelineConfigs/p%201/history',
    call: 'front50 GET /pipelines/p%201/history?limit=20',
    gives: list,
  },
  {
    id: 'getAllStrategyConfigsUsingGET',
    ask: 'GET /strategyConfigs',
    call: 'front50 GET /strategies',
    gives: list,
  },
  {
    id: 'getStrategyConfigHistoryUsingGET',
    ask: 'GET /strategyConfigs/s1/history?limit=3',
    call: 'front50 GET /strategies/s1/history?limit=3',
    gives: list,
  },
  {
    id: 'saveStrategyUsingPOST',
    ask: 'POST /strategies',
    body: { name: 's' },
    call: 'front50 POST /strategies',
    answer: null,
  },
  {
    id: 'moveStrategyUsingPOST',
    ask: 'POST /strategies/move',
    body: { application: 'a', from: 'x', to: 'y' },
    call: 'front50 POST /strategies/move',
    answer: null,
  },
  { id: 'getApp', ask: 'GET /apps/web', call: 'orca GET /apps/web' },
  { id: 'deleteApp', ask: 'DELETE /apps/web', call: 'orca DELETE /apps/web' },
  {
    id: 'planApp',
    ask: 'POST /apps/web/plan',
    body: { file: 'application: web' },
    call: 'orca POST /apps/web/plan',
  },
  {
    id: 'deployApp',
    ask: 'POST /apps/web/deployments',
    body: { file: 'application: web', image: 'web:1' },
    call: 'orca POST /apps/web/deployments',
    status: 202,
  },
  {
    id: 'rollBackApp',
    ask: 'POST /apps/web/rollback?dryRun=true',
    body: { to: '1' },
    call: 'orca POST /apps/web/rollback?dryRun=true',
  },
  {
    id: 'promoteApp',
    ask: 'POST /apps/web/promotions',
    body: { to: 'production' },
    call: 'orca POST /apps/web/promotions',
    status: 202,
  },
  {
    id: 'scaleApp',
    ask: 'PUT /apps/web/scale',
    body: { services: { web: 3 } },
    call: 'orca PUT /apps/web/scale',
  },
  {
    id: 'getAppVariables',
    ask: 'GET /apps/web/variables?environment=staging',
    call: 'orca GET /apps/web/variables?environment=staging',
  },
  {
    id: 'getAppDomains',
    ask: 'GET /apps/web/domains',
    call: 'clouddriver GET /apps/web/domains',
    gives: list,
  },
  {
    id: 'addAppDomain',
    ask: 'PUT /apps/web/domains/a.example',
    body: {},
    call: 'clouddriver PUT /apps/web/domains/a.example',
  },
  {
    id: 'removeAppDomain',
    ask: 'DELETE /apps/web/domains/a.example',
    call: 'clouddriver DELETE /apps/web/domains/a.example',
  },
  {
    id: 'connectApp',
    ask: 'PUT /apps/web/connection',
    body: { repository: 'https://git.example/web.git' },
    call: 'orca PUT /apps/web/connection',
  },
  {
    id: 'disconnectApp',
    ask: 'DELETE /apps/web/connection',
    call: 'orca DELETE /apps/web/connection',
  },
  { id: 'getAppDatabases', ask: 'GET /apps/web/databases', call: 'orca GET /apps/web/databases' },
  ...['backups', 'restore', 'upgrade', 'removal'].map((action, index) => ({
    id:
      ['backUpAppDatabase', 'restoreAppDatabase', 'upgradeAppDatabase', 'removeAppDatabase'][
        index
      ] ?? '',
    ask: `POST /apps/web/databases/db/${action}`,
    body: { environment: 'production' },
    call: `orca POST /apps/web/databases/db/${action}`,
    status: 202,
  })),
  { id: 'ejectApp', ask: 'POST /apps/web/eject', call: 'orca POST /apps/web/eject' },
  {
    id: 'listApplicationSecretsUsingGET',
    ask: 'GET /applications/web/secrets',
    call: 'front50 GET /secrets/application/web',
    gives: list,
  },
  {
    id: 'deleteApplicationSecretUsingDELETE',
    ask: 'DELETE /applications/web/secrets/db-password',
    call: 'front50 DELETE /secrets/application/web/db-password',
    answer: null,
  },
  {
    id: 'getApplicationSecretUsesUsingGET',
    ask: 'GET /applications/web/secrets/db-password/uses',
    call: 'front50 GET /secrets/application/web/db-password/uses',
  },
  {
    id: 'listAccountSecretsUsingGET',
    ask: 'GET /accounts/web/secrets',
    call: 'front50 GET /secrets/account/web',
    gives: list,
  },
  {
    id: 'deleteAccountSecretUsingDELETE',
    ask: 'DELETE /accounts/web/secrets/db-password',
    call: 'front50 DELETE /secrets/account/web/db-password',
    answer: null,
  },
  {
    id: 'getAccountSecretUsesUsingGET',
    ask: 'GET /accounts/web/secrets/db-password/uses',
    call: 'front50 GET /secrets/account/web/db-password/uses',
  },
  {
    id: 'updateStrategyUsingPUT',
    ask: 'PUT /strategies/s1',
    body: { id: 's1' },
    call: 'front50 PUT /strategies/s1',
  },
  {
    id: 'deleteStrategyUsingDELETE',
    ask: 'DELETE /strategies/web/my%20strategy',
    call: 'front50 DELETE /strategies/web/my%20strategy',
    answer: null,
  },
]

export const templateRows: Row[] = [
  {
    id: 'listPipelineTemplatesUsingGET',
    ask: 'GET /pipelineTemplates?scopes=global,web',
    call: 'front50 GET /pipelineTemplates?scopes=global&scopes=web',
    gives: list,
  },
  {
    id: 'resolveTemplatesUsingGET',
    ask: 'GET /pipelineTemplates/resolve?source=spinnaker%3A%2F%2Ft1',
    call: 'orca GET /pipelineTemplate?source=spinnaker%3A%2F%2Ft1',
  },
  {
    id: 'getPipelineTemplateUsingGET',
    ask: 'GET /pipelineTemplates/t1',
    call: 'front50 GET /pipelineTemplates/t1',
  },
  {
    id: 'listPipelineTemplateDependentsUsingGET',
    ask: 'GET /pipelineTemplates/t1/dependents?recursive=true',
    call: 'front50 GET /pipelineTemplates/t1/dependentPipelines?recursive=true',
    gives: [{ application: 'web', id: 'p1', name: 'build', stages: [] }],
    answer: [{ application: 'web', pipelineConfigId: 'p1', pipelineName: 'build' }],
  },
  {
    id: 'listV2PipelineTemplatesUsingGET',
    ask: 'GET /v2/pipelineTemplates',
    call: 'front50 GET /v2/pipelineTemplates',
    gives: list,
  },
  {
    id: 'listV2PipelineTemplateVersionsUsingGET',
    ask: 'GET /v2/pipelineTemplates/versions',
    call: 'front50 GET /v2/pipelineTemplates/versions',
  },
  {
    id: 'planV2PipelineTemplateUsingPOST',
    ask: 'POST /v2/pipelineTemplates/plan',
    body: { schema: 'v2' },
    call: 'orca POST /v2/pipelineTemplates/plan',
  },
  {
    id: 'getV2PipelineTemplateUsingGET',
    ask: 'GET /v2/pipelineTemplates/t1?tag=stable',
    call: 'front50 GET /v2/pipelineTemplates/t1?tag=stable',
  },
  {
    id: 'listV2PipelineTemplateDependentsUsingGET',
    ask: 'GET /v2/pipelineTemplates/t1/dependents',
    call: 'front50 GET /v2/pipelineTemplates/t1/dependentPipelines',
    gives: [{ application: 'web', id: 'p1', name: 'build' }],
    answer: [{ application: 'web', pipelineConfigId: 'p1', pipelineName: 'build' }],
  },
]

export const executionRows: Row[] = [
  {
    id: 'searchForPipelineExecutionsByTriggerUsingGET',
    ask: 'GET /applications/web/executions/search?triggerTypes=manual&triggerTimeStartBoundary=1700000000000',
    call: 'orca GET /applications/web/pipelines/search?triggerTypes=manual&triggerTimeStartBoundary=1700000000000&startIndex=0&size=10&reverse=false&expand=false',
    gives: list,
  },
  {
    id: 'searchForPipelineExecutionsByTriggerUsingGET',
    ask: 'GET /applications/web/executions/search?parameter=v%3D1.0&text=Main',
    call: `orca GET /applications/web/pipelines/search?startIndex=0&size=10&reverse=false&expand=false&trigger=${base64Query({ parameters: { v: RegExp.escape('1.0') } })}`,
    gives: [
      { id: '1', name: 'main' },
      { id: '2', name: 'other' },
    ],
    answer: [{ id: '1', name: 'main' }],
  },
  {
    id: 'searchForPipelineExecutionsByTriggerUsingGET',
    ask: `GET /applications/web/executions/search?parameter=v&trigger=${base64Query({ parameters: { w: '1' } })}`,
    call: `orca GET /applications/web/pipelines/search?startIndex=0&size=10&reverse=false&expand=false&trigger=${base64Query({ parameters: { w: '1', v: '(?s).*' } })}`,
    gives: list,
  },
  ...[undefined, { type: 'cron' }].map((pattern) => ({
    id: 'searchForPipelineExecutionsByTriggerUsingGET',
    ask: `GET /applications/web/executions/search?user=a.b${pattern === undefined ? '' : `&trigger=${base64Query(pattern)}`}`,
    call: `orca GET /applications/web/pipelines/search?startIndex=0&size=10&reverse=false&expand=false&trigger=${base64Query({ user: RegExp.escape('a.b'), ...pattern })}`,
    gives: [
      { id: '1', authentication: { user: 'a.b' }, trigger: { user: 'cron' } },
      { id: '2', authentication: { user: 'A.B' }, trigger: { user: 'a.b' } },
      { id: '3', authentication: { user: 'A.B' }, trigger: { user: 'A.B' } },
      { id: '4' },
    ],
    answer: [
      { id: '1', authentication: { user: 'a.b' }, trigger: { user: 'cron' } },
      { id: '2', authentication: { user: 'A.B' }, trigger: { user: 'a.b' } },
    ],
  })),
  {
    id: 'getFailedStagesForPipelineExecutionUsingGET',
    ask: 'GET /executions/failedStages?executionId=e1',
    call: 'orca GET /pipelines/failedStages?executionId=e1&limit=1',
    gives: list,
  },
  {
    id: 'evaluateExpressionForExecutionAtStageUsingGET',
    ask: 'GET /pipelines/e1/s1/evaluateExpression?expression=%24%7B1%2B1%7D',
    call: 'orca GET /pipelines/e1/s1/evaluateExpression?expression=%24%7B1%2B1%7D',
    gives: { result: 2 },
  },
  {
    id: 'evaluateVariablesUsingPOST',
    ask: 'POST /pipelines/e1/evaluateVariables?requisiteStageRefIds=1,2&spelVersion=v4',
    body: [{ key: 'k', value: '1' }],
    call: 'orca POST /pipelines/e1/evaluateVariables?requisiteStageRefIds=1%2C2&spelVersion=v4',
  },
]

export const eventRows: Row[] = [
  {
    id: 'getTriggerEventsUsingGET',
    ask: 'GET /triggerEvents?type=git&outcome=nothing&from=5&limit=10&cursor=e1',
    call: 'echo GET /events?type=git&outcome=nothing&from=5&limit=10&cursor=e1',
    gives: list,
  },
  {
    id: 'getApplicationTriggerEventsUsingGET',
    ask: 'GET /applications/web/triggerEvents?pipeline=p1&outcome=started',
    call: 'echo GET /events?application=web&pipeline=p1&outcome=started',
    gives: list,
  },
  {
    id: 'preconfiguredWebhooksUsingGET',
    ask: 'GET /webhooks/preconfigured',
    call: 'orca GET /webhooks/preconfigured',
    gives: list,
  },
  {
    id: 'preconfiguredJobsUsingGET',
    ask: 'GET /jobs/preconfigured',
    call: 'orca GET /jobs/preconfigured',
    gives: list,
  },
  {
    id: 'getNotificationConfigsUsingGET',
    ask: 'GET /notifications/application/web',
    call: 'front50 GET /notifications/application/web',
  },
  {
    id: 'saveNotificationConfigUsingPOST',
    ask: 'POST /notifications/application/web',
    body: { email: [] },
    call: 'front50 POST /notifications/application/web',
    answer: null,
  },
  {
    id: 'testNotificationUsingPOST',
    ask: 'POST /notifications/application/web/test',
    body: { type: 'email', address: 'a@b.example', application: 'web' },
    call: 'echo POST /notifications/test',
  },
  {
    id: 'deleteNotificationConfigUsingDELETE',
    ask: 'DELETE /notifications/application/web',
    call: 'front50 DELETE /notifications/application/web',
    answer: null,
  },
  {
    id: 'getNotificationTypeMetadataUsingGET',
    ask: 'GET /notifications/metadata',
    call: 'echo GET /notifications/metadata',
    gives: list,
  },
  {
    id: 'getDeploymentMonitorsUsingGET',
    ask: 'GET /capabilities/deploymentMonitors',
    call: 'orca GET /capabilities/deploymentMonitors',
    gives: list,
  },
  {
    id: 'getExpressionCapabilitiesUsingGET',
    ask: 'GET /capabilities/expressions',
    call: 'orca GET /capabilities/expressions',
  },
  {
    id: 'getQuietPeriodStateUsingGET',
    ask: 'GET /capabilities/quietPeriod',
    call: 'echo GET /quietPeriod',
  },
  {
    id: 'getSubscriptionsUsingGET',
    ask: 'GET /pubsub/subscriptions',
    call: 'echo GET /pubsub/subscriptions',
    gives: list,
  },
]

export const infrastructureRows: Row[] = [
  {
    id: 'getAppLogs',
    ask: 'GET /apps/web/logs?service=api&tail=5&other=1',
    call: 'clouddriver GET /apps/web/logs?service=api&tail=5',
  },
  {
    id: 'readAppSession',
    ask: 'GET /apps/web/sessions/s1/output',
    call: 'clouddriver GET /apps/web/sessions/s1/output',
  },
  {
    id: 'writeAppSession',
    ask: 'POST /apps/web/sessions/s1/input',
    body: { stdin: 'aGk=' },
    call: 'clouddriver POST /apps/web/sessions/s1/input',
  },
  { id: 'allUsingGET3', ask: 'GET /projects', call: 'front50 GET /v2/projects', gives: list },
  {
    id: 'getProjectUsingGET',
    ask: 'GET /projects/My%20Project',
    call: 'front50 GET /v2/projects/My%20Project',
  },
  {
    id: 'getProjectClustersUsingGET',
    ask: 'GET /projects/p1/clusters',
    call: 'clouddriver GET /projects/p1/clusters',
    gives: list,
  },
  {
    id: 'getServerGroupManagersForApplicationUsingGET',
    ask: 'GET /applications/web/serverGroupManagers',
    call: 'clouddriver GET /applications/web/serverGroupManagers',
    gives: list,
  },
  {
    id: 'getApplicationRawResourcesUsingGET',
    ask: 'GET /applications/web/rawResources',
    call: 'clouddriver GET /applications/web/rawResources',
    gives: list,
  },
  {
    id: 'getApplicationFunctionsUsingGET',
    ask: 'GET /applications/web/functions',
    call: 'clouddriver GET /applications/web/functions',
    gives: list,
  },
  {
    id: 'getServerGroupEventsUsingGET',
    ask: 'GET /applications/web/serverGroups/prod/web-v001/events?region=r&provider=ecs',
    call: 'clouddriver GET /applications/web/serverGroups/prod/web-v001/events?region=r&provider=ecs',
    gives: list,
  },
  {
    id: 'getFunctionsUsingGET',
    ask: 'GET /functions?region=r',
    call: 'clouddriver GET /functions?region=r',
    gives: list,
  },
  {
    id: 'findServerGroupsUsingGET',
    ask: 'GET /serverGroups?ids=prod:ns:web-v001&ids=prod:ns:web-v002&cloudProvider=kubernetes',
    call: 'clouddriver GET /serverGroups?ids=prod%3Ans%3Aweb-v001&ids=prod%3Ans%3Aweb-v002&cloudProvider=kubernetes',
    gives: list,
  },
  {
    id: 'getManifestUsingGET',
    ask: 'GET /manifests/prod/ns/replicaSet%20web-abc',
    call: 'clouddriver GET /manifests/prod/ns/replicaSet%20web-abc',
  },
  {
    id: 'planManifestsUsingPOST',
    ask: 'POST /manifests/plan',
    call: 'clouddriver POST /manifests/plan',
    body: { account: 'prod', application: 'web', manifests: [] },
    gives: list,
  },
  {
    id: 'getApplicationDriftUsingGET',
    ask: 'GET /applications/web/drift?account=prod&location=ns',
    call: 'clouddriver GET /applications/web/drift?account=prod&location=ns',
    gives: list,
  },
  {
    id: 'listLocalImages',
    ask: 'GET /local/images',
    call: 'clouddriver GET /local/images',
    gives: list,
  },
  {
    id: 'getLocalImage',
    ask: 'GET /local/images/shop/1.0%2B2',
    call: 'clouddriver GET /local/images/shop/1.0%2B2',
  },
  {
    id: 'putLocalImage',
    ask: 'PUT /local/images/shop/2?accounts=prod&label%3Acommit=abc',
    body: { passed: 'on as it is' },
    call: 'clouddriver PUT /local/images/shop/2?accounts=prod&label%3Acommit=abc',
    status: 201,
  },
  {
    id: 'createAppSource',
    ask: 'POST /apps/shop/sources',
    body: { passed: 'on as it is' },
    call: 'igor POST /apps/shop/sources',
  },
  {
    id: 'putAppSource',
    ask: 'PUT /apps/shop/sources/4f7c',
    body: { passed: 'on as it is' },
    call: 'igor PUT /apps/shop/sources/4f7c',
  },
  {
    id: 'deleteLocalImage',
    ask: 'DELETE /local/images/shop/2',
    call: 'clouddriver DELETE /local/images/shop/2',
    answer: null,
  },
  {
    id: 'getKeyPairsUsingGET',
    ask: 'GET /keyPairs',
    call: 'clouddriver GET /keyPairs',
    gives: list,
  },
  {
    id: 'getCertificatesUsingGET',
    ask: 'GET /certificates',
    call: 'clouddriver GET /certificates',
    gives: list,
  },
  {
    id: 'getCertificatesByProviderUsingGET',
    ask: 'GET /certificates/aws',
    call: 'clouddriver GET /certificates/aws',
    gives: list,
  },
  {
    id: 'getRolesUsingGET',
    ask: 'GET /roles/ecs',
    call: 'clouddriver GET /roles/ecs',
    gives: list,
  },
  {
    id: 'findCloudMetricsUsingGET',
    ask: 'GET /cloudMetrics/aws/prod/us-east-1?namespace=AWS%2FELB&constructor=x',
    call: 'clouddriver GET /cloudMetrics/aws/prod/us-east-1?namespace=AWS%2FELB&constructor=x',
    gives: list,
  },
  {
    id: 'getCloudMetricStatisticsUsingGET',
    ask: 'GET /cloudMetrics/aws/prod/us-east-1/CPU/statistics?startTime=1&filter=x',
    call: 'clouddriver GET /cloudMetrics/aws/prod/us-east-1/CPU/statistics?startTime=1&filter=x',
  },
  { id: 'getStorageUsingGET', ask: 'GET /storage', call: 'clouddriver GET /storage', gives: names },
  {
    id: 'findChartsUsingGET',
    ask: 'GET /charts/find?provider=helm&q=ngi&count=5&stack=x',
    call: 'clouddriver GET /helm/charts/find?q=ngi&count=5&stack=x',
    gives: list,
  },
  {
    id: 'findChartTagsUsingGET',
    ask: 'GET /charts/tags?account=reg&repository=org%2Fapp',
    call: 'clouddriver GET /aws/charts/tags?account=reg&repository=org%2Fapp',
    gives: names,
  },
  {
    id: 'getChartDetailsUsingGET',
    ask: 'GET /charts/reg/eu/nginx?provider=helm',
    call: 'clouddriver GET /helm/charts/reg/eu/nginx',
    gives: list,
  },
  {
    id: 'getAllEcsClustersUsingGET',
    ask: 'GET /ecs/ecsClusters',
    call: 'clouddriver GET /ecs/ecsClusters',
    gives: list,
  },
  {
    id: 'getAllEcsClusterDescriptionsUsingGET',
    ask: 'GET /ecs/ecsClusterDescriptions/prod/eu',
    call: 'clouddriver GET /ecs/ecsClusterDescriptions/prod/eu',
    gives: list,
  },
  {
    id: 'getAllEcsMetricAlarmsUsingGET',
    ask: 'GET /ecs/cloudMetrics/alarms',
    call: 'clouddriver GET /ecs/cloudMetrics/alarms',
    gives: list,
  },
  {
    id: 'getAllEcsSecretsUsingGET',
    ask: 'GET /ecs/secrets',
    call: 'clouddriver GET /ecs/secrets',
    gives: list,
  },
  {
    id: 'getAllEcsServiceDiscoveryRegistriesUsingGET',
    ask: 'GET /ecs/serviceDiscoveryRegistries',
    call: 'clouddriver GET /ecs/serviceDiscoveryRegistries',
    gives: list,
  },
  {
    id: 'listServiceBrokerServicesUsingGET',
    ask: 'GET /servicebroker/prod/services?region=r',
    call: 'clouddriver GET /servicebroker/prod/services?region=r',
    gives: list,
  },
  {
    id: 'getServiceInstanceUsingGET',
    ask: 'GET /servicebroker/prod/serviceInstance?cloudProvider=cf&region=r&serviceInstanceName=db',
    call: 'clouddriver GET /servicebroker/prod/serviceInstance?cloudProvider=cf&region=r&serviceInstanceName=db',
  },
  {
    id: 'getStaticDataUsingGET',
    ask: 'GET /v1/data/static/d1',
    call: 'clouddriver GET /v1/data/static/d1',
  },
  {
    id: 'getAdhocDataUsingGET',
    ask: 'GET /v1/data/adhoc/g/b/reports/2026%20q1.json',
    call: 'clouddriver GET /v1/data/adhoc/g/b/reports/2026%20q1.json',
  },
  { id: 'allFirewallsUsingGET', ask: 'GET /firewalls', call: 'clouddriver GET /securityGroups' },
  {
    id: 'allFirewallsByAccountUsingGET',
    ask: 'GET /firewalls/prod?provider=kubernetes',
    call: 'clouddriver GET /securityGroups/prod/kubernetes',
  },
  {
    id: 'allFirewallsByAccountAndRegionUsingGET',
    ask: 'GET /firewalls/prod/eu',
    call: 'clouddriver GET /securityGroups/prod/aws?region=eu',
    gives: list,
  },
  {
    id: 'getFirewallUsingGET',
    ask: 'GET /firewalls/prod/eu/web?vpcId=v1',
    call: 'clouddriver GET /securityGroups/prod/aws/eu/web?vpcId=v1',
  },
  {
    id: 'getAccountsByTypeUsingGET',
    ask: 'GET /credentials/type/kubernetes?limit=100&startingAccountName=m',
    call: 'clouddriver GET /credentials/type/kubernetes?limit=100&startingAccountName=m',
    gives: list,
  },
  {
    id: 'listEntityTagsUsingGET',
    ask: 'GET /tags?maxResults=5000&application=web',
    call: 'clouddriver GET /tags?maxResults=5000&application=web',
    gives: list,
  },
  {
    id: 'getEntityTagsUsingGET',
    ask: 'GET /tags/aws:ServerGroup:web-v001:1:eu',
    call: 'clouddriver GET /tags/aws%3Aservergroup%3Aweb-v001%3A1%3Aeu',
  },
]

export const buildRows: Row[] = [
  {
    id: 'getBuildMastersUsingGET1',
    ask: 'GET /v3/builds?type=jenkins',
    call: 'igor GET /masters?type=jenkins',
    gives: names,
  },
  {
    id: 'getJobsForBuildMasterUsingGET1',
    ask: 'GET /v3/builds/ci-main/jobs',
    call: 'igor GET /jobs/ci-main',
    gives: names,
  },
  {
    id: 'getJobConfigUsingGET1',
    ask: 'GET /v3/builds/ci-main/job?job=folder%2Fjob%2Fmy%20app',
    call: 'igor GET /jobs/ci-main/folder/job/my%20app',
  },
  {
    id: 'getBuildsUsingGET1',
    ask: 'GET /v3/builds/ci-main/builds?job=folder/job/app',
    call: 'igor GET /builds/all/ci-main/folder/job/app',
    gives: list,
  },
  {
    id: 'getBuildUsingGET1',
    ask: 'GET /v3/builds/ci-main/build/7?job=app',
    call: 'igor GET /builds/status/7/ci-main/app',
  },
  {
    id: 'getBuildFileUsingGET',
    ask: 'GET /v3/builds/ci-main/build/7/file?job=team/app&path=out/a.txt',
    call: 'igor GET /builds/file/7/ci-main/team/app?path=out%2Fa.txt',
  },
  {
    id: 'getBuildOutputUsingGET',
    ask: 'GET /v3/builds/ci-main/build/7/output?job=team/app',
    call: 'igor GET /builds/output/7/ci-main/team/app',
  },
  {
    id: 'getArtifactCredentialsUsingGET',
    ask: 'GET /artifacts/credentials',
    call: 'clouddriver GET /artifacts/credentials',
    gives: list,
  },
  {
    id: 'getArtifactUsingPUT',
    ask: 'PUT /artifacts/fetch',
    body: { type: 'http/file', reference: 'x' },
    call: 'clouddriver PUT /artifacts/fetch',
  },
  {
    id: 'getArtifactNamesUsingGET',
    ask: 'GET /artifacts/account/reg/names?type=helm%2Fchart',
    call: 'clouddriver GET /artifacts/account/reg/names?type=helm%2Fchart',
    gives: names,
  },
  {
    id: 'getArtifactVersionsUsingGET',
    ask: 'GET /artifacts/account/reg/versions?type=helm&artifactName=a',
    call: 'clouddriver GET /artifacts/account/reg/versions?type=helm&artifactName=a',
    gives: names,
  },
  {
    id: 'getPackageVersionsUsingGET',
    ask: 'GET /artifacts/debian/app?releaseStatus=final',
    call: 'igor GET /artifacts/debian/app?releaseStatus=final',
    gives: names,
  },
  {
    id: 'getPackageArtifactUsingGET',
    ask: 'GET /artifacts/debian/app/1.0',
    call: 'igor GET /artifacts/debian/app/1.0',
  },
  {
    id: 'getStoredArtifactUsingGET',
    ask: 'GET /artifacts/content-address/web/abc',
    call: 'clouddriver GET /artifacts/content-address/web/abc',
  },
  {
    id: 'getArtifactoryNamesUsingGET',
    ask: 'GET /artifactory/names',
    call: 'igor GET /artifactory/names',
    gives: names,
  },
  {
    id: 'getNexusNamesUsingGET',
    ask: 'GET /nexus/names',
    call: 'igor GET /nexus/names',
    gives: names,
  },
  {
    id: 'getCodeBuildAccountsUsingGET',
    ask: 'GET /codebuild/accounts',
    call: 'igor GET /codebuild/accounts',
    gives: names,
  },
  {
    id: 'getCodeBuildProjectsUsingGET',
    ask: 'GET /codebuild/projects/prod',
    call: 'igor GET /codebuild/projects/prod',
    gives: names,
  },
  {
    id: 'getGoogleCloudBuildAccountsUsingGET',
    ask: 'GET /gcb/accounts',
    call: 'igor GET /gcb/accounts',
    gives: names,
  },
  {
    id: 'getGoogleCloudBuildTriggersUsingGET',
    ask: 'GET /gcb/triggers/prod',
    call: 'igor GET /gcb/triggers/prod',
    gives: list,
  },
  {
    id: 'getConcourseTeamsUsingGET',
    ask: 'GET /concourse/c1/teams',
    call: 'igor GET /concourse/c1/teams',
    gives: names,
  },
  {
    id: 'getConcoursePipelinesUsingGET',
    ask: 'GET /concourse/c1/teams/t/pipelines',
    call: 'igor GET /concourse/c1/teams/t/pipelines',
    gives: names,
  },
  {
    id: 'getConcourseJobsUsingGET',
    ask: 'GET /concourse/c1/teams/t/pipelines/p/jobs',
    call: 'igor GET /concourse/c1/teams/t/pipelines/p/jobs',
    gives: names,
  },
  {
    id: 'getConcourseResourcesUsingGET',
    ask: 'GET /concourse/c1/teams/t/pipelines/p/resources',
    call: 'igor GET /concourse/c1/teams/t/pipelines/p/resources',
    gives: names,
  },
  {
    id: 'getCiBuildsUsingGET',
    ask: 'GET /ci/builds?projectKey=k&repoSlug=r&completionStatus=ALL',
    call: 'igor GET /ci/builds?projectKey=k&repoSlug=r&completionStatus=ALL',
    gives: list,
  },
  {
    id: 'getCiBuildOutputUsingGET',
    ask: 'GET /ci/builds/b1/output',
    call: 'igor GET /ci/builds/b1/output',
  },
  {
    id: 'stageExecutionUsingPOST',
    ask: 'POST /concourse/stage/start?stageId=s&job=j&buildNumber=3',
    call: 'orca POST /concourse/stage/start?stageId=s&job=j&buildNumber=3',
    answer: null,
  },
]

export const canaryRows: Row[] = [
  {
    id: 'getCanaryConfigsUsingGET',
    ask: 'GET /v2/canaryConfig?application=web',
    call: 'kayenta GET /canaryConfig?application=web',
    gives: list,
  },
  {
    id: 'createCanaryConfigUsingPOST',
    ask: 'POST /v2/canaryConfig',
    body: { name: 'c' },
    call: 'kayenta POST /canaryConfig',
  },
  {
    id: 'getCanaryConfigUsingGET',
    ask: 'GET /v2/canaryConfig/c1',
    call: 'kayenta GET /canaryConfig/c1',
  },
  {
    id: 'getCanaryConfigUsingGET',
    ask: 'GET /v2/canaryConfig/undefined',
    call: 'kayenta GET /canaryConfig/undefined',
    gives: new Reply(404, { message: 'There is none.' }),
    answer: { metrics: [] },
  },
  {
    id: 'updateCanaryConfigUsingPUT',
    ask: 'PUT /v2/canaryConfig/c1',
    body: { name: 'c' },
    call: 'kayenta PUT /canaryConfig/c1',
  },
  {
    id: 'deleteCanaryConfigUsingDELETE',
    ask: 'DELETE /v2/canaryConfig/c1',
    call: 'kayenta DELETE /canaryConfig/c1',
    answer: null,
  },
  {
    id: 'listCredentialsUsingGET',
    ask: 'GET /v2/canaries/credentials',
    call: 'kayenta GET /credentials',
    gives: list,
  },
  {
    id: 'listMetricsServiceMetadataUsingGET',
    ask: 'GET /v2/canaries/metadata/metricsService?filter=cpu&metricsAccountName=m',
    call: 'kayenta GET /metadata/metricsService?filter=cpu&metricsAccountName=m',
    gives: list,
  },
  {
    id: 'listJudgesUsingGET',
    ask: 'GET /v2/canaries/judges',
    call: 'kayenta GET /judges',
    gives: list,
  },
  {
    id: 'initiateCanaryWithConfigUsingPOST',
    ask: 'POST /v2/canaries/canary?metricsAccountName=m&storageAccountName=s',
    body: { canaryConfig: {}, executionRequest: {} },
    call: 'kayenta POST /canary?metricsAccountName=m&storageAccountName=s',
    gives: { canaryExecutionId: 'x' },
  },
  {
    id: 'initiateCanaryUsingPOST',
    ask: 'POST /v2/canaries/canary/c1?application=web',
    body: { scopes: {} },
    call: 'kayenta POST /canary/c1?application=web',
    gives: { canaryExecutionId: 'x' },
  },
  {
    id: 'getCanaryResultUsingGET',
    ask: 'GET /v2/canaries/canary/x1',
    call: 'kayenta GET /canary/x1',
  },
  {
    id: 'getCanaryResultUsingGET1',
    ask: 'GET /v2/canaries/canary/c1/x1',
    call: 'kayenta GET /canary/x1',
  },
  {
    id: 'getCanaryResultsByApplicationUsingGET',
    ask: 'GET /v2/canaries/web/executions?limit=20',
    call: 'kayenta GET /canary/executions?application=web&limit=20',
    gives: list,
  },
  {
    id: 'getMetricSetPairListUsingGET',
    ask: 'GET /v2/canaries/metricSetPairList/l1?storageAccountName=minio',
    call: 'kayenta GET /metricSetPairList/l1?accountName=minio',
    gives: list,
  },
  { id: 'showCanaryUsingGET', ask: 'GET /canaries/c1', call: 'mine GET /canaries/c1' },
  {
    id: 'generateCanaryResultUsingPOST',
    ask: 'POST /canaries/c1/generateCanaryResult',
    call: 'mine POST /canaries/c1/generateCanaryResult?duration=0',
    status: 201,
    answer: null,
  },
  { id: 'endCanaryUsingPUT', ask: 'PUT /canaries/c1/end', call: 'mine PUT /canaries/c1/end' },
  {
    id: 'showCanaryAnalysisHistoryUsingGET',
    ask: 'GET /canaryDeployments/d1/canaryAnalysisHistory',
    call: 'mine GET /canaryDeployments/d1/canaryAnalysisHistory',
    gives: list,
  },
  {
    id: 'canaryConfigNamesForApplicationUsingGET',
    ask: 'GET /canaryConfig/names?application=web',
    call: 'mine GET /canaryConfig/names?application=web',
    gives: names,
  },
  {
    id: 'canaryConfigsForApplicationUsingGET',
    ask: 'GET /canaryConfigs/web',
    call: 'mine GET /canaryConfigs?application=web',
    gives: list,
  },
]

const body = { a: 1 }

export const managedRows: Row[] = [
  {
    id: 'getApplicationDetailsUsingGET',
    ask: 'GET /managed/application/web?entities=resources,artifacts',
    call: 'keel GET /application/web?includeDetails=false&entities=resources&entities=artifacts',
  },
  {
    id: 'getConfigByUsingGET',
    ask: 'GET /managed/application/web/config',
    call: 'keel GET /application/web/config',
  },
  {
    id: 'deleteManifestByAppUsingDELETE',
    ask: 'DELETE /managed/application/web/config',
    call: 'keel DELETE /application/web/config',
  },
  {
    id: 'pauseApplicationUsingPOST',
    ask: 'POST /managed/application/web/pause',
    call: 'keel POST /application/web/pause',
    answer: null,
  },
  {
    id: 'resumeApplicationUsingDELETE',
    ask: 'DELETE /managed/application/web/pause',
    call: 'keel DELETE /application/web/pause',
    answer: null,
  },
  {
    id: 'createPinUsingPOST',
    ask: 'POST /managed/application/web/pin',
    body,
    call: 'keel POST /application/web/pin',
    answer: null,
  },
  {
    id: 'deletePinUsingDELETE',
    ask: 'DELETE /managed/application/web/pin/prod?reference=deb',
    call: 'keel DELETE /application/web/pin/prod?reference=deb',
    answer: null,
  },
  {
    id: 'vetoUsingPOST',
    ask: 'POST /managed/application/web/veto',
    body,
    call: 'keel POST /application/web/veto',
    answer: null,
  },
  {
    id: 'deleteVetoUsingDELETE',
    ask: 'DELETE /managed/application/web/veto/prod/deb/1.0',
    call: 'keel DELETE /application/web/veto/prod/deb/1.0',
    answer: null,
  },
  {
    id: 'markBadUsingPOST',
    ask: 'POST /managed/application/web/mark/bad',
    body,
    call: 'keel POST /application/web/mark/bad',
    answer: null,
  },
  {
    id: 'markGoodUsingPOST',
    ask: 'POST /managed/application/web/mark/good',
    body,
    call: 'keel POST /application/web/mark/good',
    answer: null,
  },
  {
    id: 'getEnvironmentsUsingGET',
    ask: 'GET /managed/environments/web',
    call: 'keel GET /environments/web',
    gives: list,
  },
  {
    id: 'getConstraintStateUsingGET',
    ask: 'GET /managed/application/web/environment/prod/constraints',
    call: 'keel GET /application/web/environment/prod/constraints?limit=10',
    gives: list,
  },
  {
    id: 'updateConstraintStatusUsingPOST',
    ask: 'POST /managed/application/web/environment/prod/constraint',
    body,
    call: 'keel POST /application/web/environment/prod/constraint',
    answer: null,
  },
  {
    id: 'overrideVerificationUsingPOST',
    ask: 'POST /managed/web/environment/prod/verifications',
    body,
    call: 'keel POST /application/web/environment/prod/verifications',
    answer: null,
  },
  {
    id: 'retryVerificationUsingPOST',
    ask: 'POST /managed/web/environment/prod/verifications/retry',
    body,
    call: 'keel POST /application/web/environment/prod/verifications/retry',
    answer: null,
  },
  {
    id: 'getResourceUsingGET',
    ask: 'GET /managed/resources/ec2:cluster:test:web',
    call: 'keel GET /resources/ec2%3Acluster%3Atest%3Aweb',
  },
  {
    id: 'getResourceStatusUsingGET',
    ask: 'GET /managed/resources/r1/status',
    call: 'keel GET /resources/r1/status',
    gives: 'HAPPY',
    answer: { status: 'HAPPY' },
  },
  {
    id: 'pauseResourceUsingPOST',
    ask: 'POST /managed/resources/r1/pause',
    call: 'keel POST /resources/r1/pause',
    answer: null,
  },
  {
    id: 'resumeResourceUsingDELETE',
    ask: 'DELETE /managed/resources/r1/pause',
    call: 'keel DELETE /resources/r1/pause',
    answer: null,
  },
  {
    id: 'diffResourceUsingPOST',
    ask: 'POST /managed/resources/diff',
    body,
    call: 'keel POST /resources/diff',
  },
  {
    id: 'exportResourceUsingGET',
    ask: 'GET /managed/resources/export/aws/prod/cluster/web?serviceAccount=bot',
    call: 'keel GET /export/aws/prod/cluster/web?serviceAccount=bot',
    answer: 'from: keel\n',
  },
  {
    id: 'exportArtifactUsingGET',
    ask: 'GET /managed/resources/export/artifact/aws/prod/web-main',
    call: 'keel GET /export/artifact/aws/prod/web-main',
    answer: 'from: keel\n',
  },
  {
    id: 'getResourceHistoryUsingGET',
    ask: 'GET /history/r1?limit=5',
    call: 'keel GET /resources/events/r1?limit=5',
    gives: list,
  },
  {
    id: 'graphqlUsingPOST',
    ask: 'POST /managed/graphql',
    body: { query: '{a}' },
    call: 'keel POST /graphql',
  },
  {
    id: 'onboardingReportUsingGET',
    ask: 'GET /managed/reports/onboarding',
    call: 'keel GET /reports/onboarding',
  },
  {
    id: 'adoptionReportUsingGET',
    ask: 'GET /managed/reports/adoption',
    call: 'keel GET /reports/adoption',
  },
  {
    id: 'getDeliveryConfigUsingGET',
    ask: 'GET /managed/delivery-configs/web',
    call: 'keel GET /delivery-configs/web',
  },
  {
    id: 'getDeliveryConfigArtifactsUsingGET',
    ask: 'GET /managed/delivery-configs/web/artifacts',
    call: 'keel GET /delivery-configs/web/artifacts',
    gives: list,
  },
  {
    id: 'upsertDeliveryConfigUsingPOST',
    ask: 'POST /managed/delivery-configs',
    body,
    call: 'keel POST /delivery-configs',
  },
  {
    id: 'deleteDeliveryConfigUsingDELETE',
    ask: 'DELETE /managed/delivery-configs/web',
    call: 'keel DELETE /delivery-configs/web',
  },
  {
    id: 'validateDeliveryConfigUsingPOST',
    ask: 'POST /managed/delivery-configs/validate',
    body,
    call: 'keel POST /delivery-configs/validate',
  },
  {
    id: 'diffDeliveryConfigUsingPOST',
    ask: 'POST /managed/delivery-configs/diff',
    body,
    call: 'keel POST /delivery-configs/diff',
    gives: list,
  },
  {
    id: 'getDeliveryConfigSchemaUsingGET',
    ask: 'GET /managed/delivery-configs/schema',
    call: 'keel GET /delivery-configs/schema',
  },
]

export const administrationRows: Row[] = [
  {
    id: 'getAllPluginInfoUsingGET',
    ask: 'GET /plugins/info?service=orca',
    call: 'front50 GET /pluginInfo?service=orca',
    gives: list,
  },
  {
    id: 'forceCancelPipelineUsingPUT',
    ask: 'PUT /admin/executions/forceCancel?executionId=e1',
    call: 'orca PUT /admin/forceCancelExecution?executionId=e1&executionType=PIPELINE&canceledBy=anonymous',
    answer: null,
  },
  {
    id: 'hydrateQueueUsingPOST',
    ask: 'POST /admin/executions/hydrate?executionId=e1&dryRun=false',
    call: 'orca POST /admin/queue/hydrate?executionId=e1&dryRun=false',
  },
  {
    id: 'getMarkedResourceUsingGET',
    ask: 'GET /cleanup/resources/ns/r1',
    call: 'swabbie GET /resources/marked/ns/r1',
  },
  {
    id: 'optOutUsingGET',
    ask: 'GET /cleanup/resources/ns/r1/optOut',
    call: 'swabbie PUT /resources/state/ns/r1/optOut',
  },
  {
    id: 'getMarkedResourcesUsingGET',
    ask: 'GET /cleanup/resources/marked',
    call: 'swabbie GET /resources/marked?list=true',
    gives: list,
  },
  {
    id: 'getDeletedResourcesUsingGET',
    ask: 'GET /cleanup/resources/deleted',
    call: 'swabbie GET /resources/deleted',
    gives: list,
  },
]

function base64Query(value: unknown): string {
  return encodeURIComponent(Buffer.from(JSON.stringify(value)).toString('base64'))
}
