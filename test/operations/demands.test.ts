/** Demands that operations declare. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allOperations } from '../../packages/gateway/operations/all.ts'
import { type Demand, formatDemands } from '../../packages/gateway/operations/demands.ts'
import type { Operation } from '../../packages/gateway/operations/operation.ts'
import { routeOf } from '../../packages/gateway/operations/route.ts'

test('every operation says what it demands, or why it demands nothing', () => {
  for (const { id, demands } of allOperations) {
    assert.ok(Array.isArray(demands) && demands.length > 0, `${id} does not say what it demands`)
    for (const demand of demands) {
      if (demand.kind !== 'nothing') continue
      assert.ok(demand.why.length > 20, `${id} does not say why it demands nothing`)
      assert.equal(demands.length, 1, `${id} demands nothing and something`)
    }
    assert.doesNotMatch(formatDemands(demands), /undefined/)
  }
})

test('what a demand is about stands where the demand says', () => {
  for (const operation of allOperations) {
    for (const demand of operation.demands) {
      if (demand.kind === 'account' && demand.of === 'path')
        assertNamed(operation, ['account', 'accountName'])
      if (demand.kind === 'build-service') assertNamed(operation, [demand.parameter])
      if (demand.kind === 'jobs' || demand.kind === 'definitions')
        assert.ok(operation.body, `${operation.id} has no body`)
      if (demand.kind !== 'application') continue
      if (demand.of === 'path') assertNamed(operation, ['application', 'applicationName'])
      if (demand.of === 'body') assert.ok(operation.body, `${operation.id} has no body`)
      if (demand.of === 'query') assertNamed(operation, ['application'])
      if (['execution', 'task', 'definition', 'strategy'].includes(demand.of))
        assertNamed(operation, [demand.parameter ?? 'id'])
    }
  }
})

test('an application in a path is demanded', () => {
  for (const operation of allOperations) {
    if (!/\{application(Name)?\}/.test(operation.path)) continue
    assert.ok(
      operation.demands.some(({ kind }) => kind === 'application'),
      `${operation.id} names an application and does not demand anything on it`,
    )
  }
})

test('whatever changes an application, its pipelines or an execution demands something', () => {
  const free = allOperations.filter(
    ({ method, path, demands }) =>
      !['GET', 'HEAD', 'OPTIONS'].includes(method) &&
      demands[0].kind === 'nothing' &&
      /^\/(applications|pipelines|strategies|tasks|actions|credentials|plugins|admin)\b/.test(path),
  )
  assert.deepEqual(
    free.map(({ id }) => id),
    [],
  )
})

/** Where a parameter or a body may name something, and nothing is demanded on it. */
const harmless: Readonly<Record<string, readonly string[]>> = {
  'chooses among what the caller may see': [
    'application of GET /auth/user/serviceAccounts',
    'application of GET /auth/explain',
    'application of GET /audit/events',
    'executionIds of GET /executions',
    'pipelineConfigIds of GET /executions',
    'applications of GET /serverGroups',
  ],
  'is for administrators': [
    'executionId of PUT /admin/executions/forceCancel',
    'executionId of POST /admin/executions/hydrate',
  ],
  'becomes part of the execution in the path, and is judged when it runs': [
    'body of PATCH /pipelines/{id}/stages/{stageId}',
    'body of PUT /pipelines/{id}/stages/{stageId}/restart',
  ],
  'is evaluated against the execution in the path': [
    'body of POST /pipelines/{id}/evaluateExpression',
    'body of POST /pipelines/{id}/evaluateVariables',
  ],
  'concerns the application in the path alone': [
    'body of POST /notifications/{type}/{application}',
    'body of POST /notifications/{type}/{application}/test',
    'body of POST /apps/{application}/exec',
    'body of POST /apps/{application}/run',
    'body of POST /apps/{application}/sessions/{session}/input',
    'body of POST /managed/application/{application}/pin',
    'body of POST /managed/application/{application}/veto',
    'body of POST /managed/application/{application}/mark/bad',
    'body of POST /managed/application/{application}/mark/good',
    'body of POST /managed/application/{application}/environment/{environment}/constraint',
    'body of POST /managed/{application}/environment/{environment}/verifications',
    'body of POST /managed/{application}/environment/{environment}/verifications/retry',
  ],
  'holds tags of entities, on each of which the handler demands WRITE': [
    'body of POST /tags',
    'body of POST /batch/tags',
  ],
  'holds what is compared, and not stored, in the name of the application in the query': [
    'body of POST /v2/canaries/canary',
    'body of POST /v2/canaries/canary/{canaryConfigId}',
  ],
  'is about an id that only the service knows, which decides': [
    'body of POST /canaries/{id}/generateCanaryResult',
    'body of PUT /canaries/{id}/end',
    'body of POST /managed/resources/diff',
    'body of POST /managed/graphql',
    'canaryExecutionId of GET /v2/canaries/canary/{canaryExecutionId}',
    'canaryExecutionId of GET /v2/canaries/canary/{canaryConfigId}/{canaryExecutionId}',
    'canaryConfigId of GET /v2/canaries/canary/{canaryConfigId}/{canaryExecutionId}',
  ],
  'comes from a sender who proves himself to the service': [
    'body of POST /webhooks/{type}/{source}',
    'body of POST /webhooks/cdevents/{source}',
    'body of POST /notifications/callbacks/{source}',
    'body of POST /managed/notifications/callbacks/{source}',
  ],
  'is an archive, and the service decides by WRITE on the accounts': [
    'body of PUT /local/images/{name}/{version}',
  ],
  'is a folder of the application in the path': [
    'body of POST /apps/{application}/sources',
    'body of PUT /apps/{application}/sources/{source}',
  ],
  'can name no application': [
    'body of POST /applications/{application}/findings',
    'body of POST /apps/{application}/plan',
    'body of POST /apps/{application}/deployments',
    'body of POST /apps/{application}/rollback',
    'body of POST /apps/{application}/promotions',
    ...['backups', 'restore', 'upgrade', 'rotation', 'removal'].map(
      (action) => `body of POST /apps/{application}/databases/{name}/${action}`,
    ),
    'body of PUT /apps/{application}/scale',
    'body of PUT /apps/{application}/connection',
    'body of PUT /apps/{application}/domains/{host}',
    'body of PUT /apps/{application}/secrets/{name}',
    'body of POST /auth/apiTokens',
    'body of POST /auth/apiTokens/{id}/rotate',
    'body of POST /auth/device',
    'body of POST /auth/device/decision',
    'body of POST /auth/device/token',
    'body of POST /auth/explain',
    'body of POST /auth/users',
    'body of POST /credentials',
    'body of PUT /artifacts/fetch',
    'body of PUT /applications/{application}/secrets/{name}',
    'body of PUT /accounts/{account}/secrets/{name}',
    'body of PUT /auth/users/{username}/password',
    'body of PUT /auth/users/{username}/roles',
    'body of POST /plugins/info',
    'body of PUT /plugins/info',
    'body of POST /plugins/publish/{pluginId}/{pluginVersion}',
    'body of DELETE /proxies/{proxy}',
    'body of POST /proxies/{proxy}',
    'body of PUT /proxies/{proxy}',
    'body of DELETE /proxies/{proxy}/**',
    'body of POST /proxies/{proxy}/**',
    'body of PUT /proxies/{proxy}/**',
    'body of POST /integrations/gremlin/templates/command',
    'body of POST /integrations/gremlin/templates/target',
    'body of PUT /banners',
    'body of POST /banners/{id}',
  ],
}

test('every parameter that names an application or id is demanded', () => {
  const found = allOperations.flatMap((operation) => {
    const { method, path, demands, query = {}, body } = operation
    const names = [...routeOf(operation).path.names, ...Object.keys(query)].filter((name) =>
      namesSomething.test(name),
    )
    return [
      ...names.filter((name) => !demands.some((demand) => isAbout(demand, name))),
      ...(body !== undefined && !demands.some(isAboutBody) ? ['body'] : []),
    ].map((name) => `${name} of ${method} ${path}`)
  })
  assert.deepEqual(found.sort(), Object.values(harmless).flat().sort())
})

const namesSomething =
  /^applications?$|^applicationName$|^executionIds?$|ExecutionId$|^pipelineConfigIds?$|^canaryConfigId$/

function isAbout(demand: Demand, name: string): boolean {
  if (demand.kind === 'filed') return name === 'application'
  if (demand.kind !== 'application') return false
  // What an id belongs to counts more than the application that stands in an older address.
  return (
    demand.parameter === name ||
    (demand.parameter === undefined ? name.startsWith('application') : name === 'application')
  )
}

function isAboutBody(demand: Demand): boolean {
  if (['definitions', 'jobs', 'trigger', 'canary-config'].includes(demand.kind)) return true
  return 'of' in demand && (demand.of === 'body' || demand.of === 'started')
}

function assertNamed(operation: Operation, names: readonly string[]): void {
  const known = [...routeOf(operation).path.names, ...Object.keys(operation.query ?? {})]
  assert.ok(
    names.some((name) => known.includes(name)),
    `${operation.id} has none of the parameters ${names.join(', ')}`,
  )
}
