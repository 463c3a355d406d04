/** Names, order, refusals and removal of objects, on a real API server. */

import assert from 'node:assert/strict'
import { createServer } from 'node:https'
import { type TestContext, test } from 'node:test'
import {
  fieldAt,
  type JsonObject,
  objectOf,
  objectsOf,
  textsOf,
} from '../../../../packages/base/json/values.ts'
import { toCaller } from '../../../../packages/ports/caller.ts'
import { createAuthority } from '../../../support/authority.ts'
import { freePort } from '../../../support/free-port.ts'
import {
  configMap,
  deployment,
  job,
  secret,
  service,
  statefulSet,
} from '../../../support/kubernetes-manifests.ts'
import {
  type Operations,
  startOperations,
  type TaskView,
} from '../../../support/kubernetes-operations.ts'
import { waitFor, waitUntil } from '../../../support/wait-until.ts'

const strategy = (name: string, value = 'true') => ({
  annotations: { [`strategy.spinnaker.io/${name}`]: value },
})

/** Of a kind `Gadget` in a group of its own. */
function gadgets(group: string): JsonObject {
  const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `gadgets.${group}`, namespace: undefined },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind: 'Gadget', plural: 'gadgets', singular: 'gadget', listKind: 'GadgetList' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', properties: { spec: open } } },
        },
      ],
    },
  }
}

const definitionPath = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'

function warningsOf(result: JsonObject): string {
  return textsOf(result['warnings']).join('\n')
}

/** Begins an operation and does not wait for it. */
async function begin(
  { infrastructure }: Operations,
  name: string,
  description: JsonObject,
): Promise<() => Promise<TaskView>> {
  const body = [{ [name]: { account: 'k8s', credentials: 'k8s', ...description } }]
  const answer = await infrastructure.ask('POST', '/kubernetes/ops', body, 'alice')
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  const path = `/task/${String(objectOf(answer.body)['id'])}`
  return async () => (await infrastructure.ask('GET', path, undefined, 'alice')).body as TaskView
}

type Scenario = (operations: Operations, t: TestContext) => Promise<void>

const scenarios: Readonly<Record<string, Scenario>> = {
  'objects-scenario 72, 76, 82 what is bound gets the names of versions': async ({
    deploy,
    get,
    names,
  }) => {
    const account = {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: 'puller' },
      imagePullSecrets: [{ name: 'registry' }],
    }
    const large = configMap('large', { a: 'x'.repeat(300_000) })
    const manifests = [
      account,
      secret('registry', { a: 'b' }),
      large,
      deployment('bound', 'app:1', 1, {
        pod: {
          imagePullSecrets: [{ name: 'registry' }],
          volumes: [{ name: 'v', configMap: { name: 'large' } }],
        },
      }),
    ]
    await deploy(manifests)
    await deploy(manifests)
    const live = await get('deployments/bound')
    const pod = objectOf(fieldAt(live, 'spec', 'template', 'spec'))
    assert.equal(fieldAt(objectsOf(pod['volumes'])[0], 'configMap', 'name'), 'large-v000')
    assert.equal(objectsOf(pod['imagePullSecrets'])[0]?.['name'], 'registry-v000')
    assert.equal(
      objectsOf((await get('serviceaccounts/puller'))['imagePullSecrets'])[0]?.['name'],
      'registry-v000',
    )
    const configs = await names('configmaps')
    assert.deepEqual(
      configs.filter((name) => name.startsWith('large')),
      ['large-v000'],
    )
    assert.equal(live.metadata.generation, 1)
  },
  'objects-scenario 78, 90 a plan says what keeps its name and what is missing': async ({
    deploy,
    run,
    names,
    namespace,
  }) => {
    const manifests = [
      configMap('by-name', { a: '1' }, { namespace }),
      deployment('reader', 'app:1', 1, {
        metadata: { namespace },
        container: { args: ['--configmap=$(NS)/by-name'] },
        pod: { volumes: [{ name: 'v', secret: { secretName: 'absent' } }] },
      }),
    ]
    const { differences } = await run('planManifest', { moniker: { app: 'shop' }, manifests })
    const warnings = objectsOf(differences).map(warningsOf)
    assert.match(
      warnings[0] ?? '',
      /configMap by-name keeps its name: nothing in this request binds it/,
    )
    assert.match(
      warnings[1] ?? '',
      /names secret absent in .* in spec\.template\.spec\.volumes\[0\]\.secret\.secretName/,
    )
    assert.match(warningsOf(await deploy(manifests)), /by-name keeps its name/)
    assert.ok((await names('configmaps')).includes('by-name'))
  },
  'objects-scenario 89 a job binds what an earlier request has deployed': async ({
    deploy,
    run,
    get,
    namespace,
  }) => {
    const { createdArtifacts } = await deploy([
      configMap('early', { a: '1' }, strategy('versioned')),
    ])
    await run('runJob', {
      application: 'shop',
      namespace,
      manifest: job('late', 0, { pod: { volumes: [{ name: 'v', configMap: { name: 'early' } }] } }),
      optionalArtifacts: createdArtifacts,
    })
    const volumes = fieldAt(await get('jobs/late'), 'spec', 'template', 'spec', 'volumes')
    assert.equal(fieldAt(objectsOf(volumes)[0], 'configMap', 'name'), 'early-v000')
  },
  'objects-scenario 107, 109 classes come before and webhooks after what needs them': async (
    { plane, deploy, namespace, names },
    t,
  ) => {
    const name = `order-${namespace}`
    t.after(() => plane.api.delete(`/apis/scheduling.k8s.io/v1/priorityclasses/${name}`))
    t.after(() =>
      plane.api.delete(
        `/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/${name}`,
      ),
    )
    await deploy([
      {
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind: 'ValidatingWebhookConfiguration',
        metadata: { name, namespace: undefined },
        webhooks: [
          {
            name: 'judge.example.test',
            clientConfig: { service: { name: 'judge', namespace } },
            rules: [
              {
                apiGroups: ['apps'],
                apiVersions: ['v1'],
                resources: ['deployments'],
                operations: ['CREATE'],
              },
            ],
            namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
            admissionReviewVersions: ['v1'],
            sideEffects: 'None',
          },
        ],
      },
      deployment('vip', 'app:1', 1, { pod: { priorityClassName: name } }),
      service('judge', { app: 'vip' }),
      {
        apiVersion: 'scheduling.k8s.io/v1',
        kind: 'PriorityClass',
        metadata: { name, namespace: undefined },
        value: 1000,
      },
    ])
    await waitUntil(
      async () => (await names('pods')).some((pod) => pod.startsWith('vip-')),
      'a pod',
    )
    await plane.api.delete(
      `/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/${name}`,
    )
  },
  'objects-scenario 108, 110 a custom resource waits for its webhook': async (
    { plane, deploy, namespace },
    t,
  ) => {
    const group = `${namespace}.example.test`
    const name = `late-${namespace}`
    const port = await freePort()
    const ca = await createAuthority('CN=late')
    const { cert, key } = await ca.issue({
      subject: 'CN=late',
      hosts: ['127.0.0.1'],
      usage: 'server',
    })
    const server = createServer({ cert, key }, async (request, response) => {
      const body = JSON.parse((await request.toArray()).join('')) as JsonObject
      const uid = fieldAt(body, 'request', 'uid')
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ ...body, response: { uid, allowed: true } }))
    })
    t.after(() => server.close())
    t.after(() => plane.api.delete(`${definitionPath}/gadgets.${group}`))
    await plane.api.create(
      '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations',
      {
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind: 'ValidatingWebhookConfiguration',
        metadata: { name },
        webhooks: [
          {
            name: 'late.example.test',
            clientConfig: {
              url: `https://127.0.0.1:${port}/`,
              caBundle: Buffer.from(ca.certificate).toString('base64'),
            },
            rules: [
              {
                apiGroups: [group],
                apiVersions: ['v1'],
                resources: ['gadgets'],
                operations: ['CREATE'],
              },
            ],
            admissionReviewVersions: ['v1'],
            sideEffects: 'None',
          },
        ],
      },
    )
    t.after(() =>
      plane.api.delete(
        `/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/${name}`,
      ),
    )
    await deploy([gadgets(group)])
    const done = deploy([
      { apiVersion: `${group}/v1`, kind: 'Gadget', metadata: { name: 'g' }, spec: {} },
    ])
    const late = setTimeout(() => server.listen(port, '127.0.0.1'), 1500)
    t.after(() => clearTimeout(late))
    await done
    await plane.api.get(`/apis/${group}/v1/namespaces/${namespace}/gadgets/g`)
  },
  'objects-scenario 111 the next wave waits for the one before': async ({
    deploy,
    failDeploy,
    get,
    names,
  }) => {
    const { manifestNamesByNamespace } = await deploy([
      configMap('second', {}, { annotations: { 'argocd.argoproj.io/sync-wave': '2' } }),
      job('first', undefined, {
        metadata: { annotations: { 'argocd.argoproj.io/sync-wave': '1' } },
        podAnnotations: { 'test.fairlead/exit-code': '0' },
      }),
      job('before', 0, {
        metadata: {
          annotations: {
            'helm.sh/hook': 'pre-install',
            'helm.sh/hook-delete-policy': 'hook-succeeded',
          },
        },
      }),
      job('check', 0, { metadata: { annotations: { 'helm.sh/hook': 'test' } } }),
    ])
    const ended = Date.parse(String((await get('jobs/first')).status['completionTime']))
    assert.ok(Date.parse((await get('configmaps/second')).metadata.creationTimestamp) >= ended)
    const jobs = await names('jobs')
    assert.ok(!jobs.includes('before') && !jobs.includes('check'), jobs.join())
    // A stage waits for what results name.
    assert.deepEqual(Object.values(objectOf(manifestNamesByNamespace)).flat(), [
      'job first',
      'configMap second',
    ])
    const former = { apiVersion: 'extensions/v1beta1', kind: 'Ingress', metadata: { name: 'edge' } }
    assert.match(await failDeploy([former]), /serves Ingress in networking\.k8s\.io\/v1/)
  },
  'objects-scenario 112 custom resources go before their definition': async (operations, t) => {
    const { plane, deploy, namespace } = operations
    const group = `gone-${namespace}.example.test`
    const label = { labels: { set: group } }
    const path = `/apis/${group}/v1/namespaces/${namespace}/gadgets/g`
    t.after(() => plane.api.delete(`${definitionPath}/gadgets.${group}`))
    const definition = gadgets(group)
    await deploy([
      { ...definition, metadata: { ...objectOf(definition['metadata']), ...label } },
      {
        apiVersion: `${group}/v1`,
        kind: 'Gadget',
        metadata: { name: 'g', ...label, finalizers: ['example.test/hold'] },
        spec: {},
      },
    ])
    const look = await begin(operations, 'deleteManifest', {
      location: namespace,
      kinds: ['customResourceDefinition', `Gadget.${group}`],
      labelSelectors: { selectors: [{ kind: 'EQUALS', key: 'set', values: [group] }] },
    })
    await waitUntil(
      async () => (await plane.api.get(path)).metadata.deletionTimestamp !== undefined,
      'the deletion',
    )
    const held = await plane.api.get(`${definitionPath}/gadgets.${group}`)
    assert.equal(held.metadata.deletionTimestamp, undefined)
    await plane.api.patch(path, { metadata: { finalizers: null } })
    const ended = await waitFor(async () => {
      const task = await look()
      return task.status.completed ? task : undefined
    }, 'the end of the deletion')
    assert.equal(ended.status.failed, false, JSON.stringify(ended.resultObjects))
    assert.equal(await plane.api.find(`${definitionPath}/gadgets.${group}`), undefined)
  },
  'objects-scenario 113 what holds a deletion is named': async (operations) => {
    const { plane, deploy, path, namespace } = operations
    const finalizers = ['group.ingress.k8s.aws/x']
    await deploy([configMap('held', {}, { finalizers })])
    const look = await begin(operations, 'deleteManifest', {
      manifestName: 'configMap held',
      location: namespace,
    })
    const held = await waitFor(async () => {
      const { status } = (await look()).status
      return status.includes('finalizer') ? status : undefined
    }, 'the finalizer')
    assert.match(
      held,
      /configMap held is held by the finalizer group\.ingress\.k8s\.aws\/x, which the AWS load balancer controller removes/,
    )
    assert.match(held, new RegExp(`kubectl patch configmaps held --namespace ${namespace}`))
    await plane.api.patch(path('configmaps/held'), { metadata: { finalizers: null } })
    await waitUntil(async () => (await look()).status.completed, 'the end of the deletion')
  },
  'objects-scenario 113 a recreation that is held ends when it is cancelled': async (
    operations,
  ) => {
    const { plane, deploy, path, namespace } = operations
    await deploy([configMap('kept', {}, { finalizers: ['test.fairlead/held'] })])
    const annotations = { 'strategy.spinnaker.io/recreate': 'true' }
    const again = { ...configMap('kept', { a: 'b' }, { annotations }) }
    const look = await begin(operations, 'deployManifest', {
      moniker: { app: 'shop' },
      manifests: [{ ...again, metadata: { ...objectOf(fieldAt(again, 'metadata')), namespace } }],
    })
    const held = async () =>
      (await plane.api.get(path('configmaps/kept'))).metadata.deletionTimestamp !== undefined
    await waitUntil(held, 'the deletion')
    const { id } = await look()
    await operations.infrastructure.port().cancelTask(id, toCaller({ 'x-spinnaker-user': 'alice' }))
    const { resultObjects } = await waitFor(async () => {
      const task = await look()
      return task.status.failed ? task : undefined
    }, 'the end of the operation')
    assert.match(JSON.stringify(resultObjects), /It was cancelled\. .*configMap kept/)
    await plane.api.patch(path('configmaps/kept'), { metadata: { finalizers: null } })
  },
  'objects-scenario 114, 115, 127 immutable fields name the way and the cost': async ({
    deploy,
    failDeploy,
    get,
  }) => {
    const role = (name: string) => ({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: { name: 'bind' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
    })
    const claim = (mode: string) => ({
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'claim' },
      spec: { accessModes: [mode], resources: { requests: { storage: '1Gi' } } },
    })
    const address = (ip: string) => ({
      ...service('fixed', { a: 'b' }),
      spec: { clusterIP: ip, ports: [{ port: 80 }] },
    })
    const changes = [
      [
        deployment('im', 'app:1', 1),
        deployment('im', 'app:1', 1, {
          spec: {
            selector: { matchLabels: { other: 'x' } },
            template: {
              metadata: { labels: { other: 'x', app: 'im' } },
              spec: { containers: [{ name: 'main', image: 'app:1' }] },
            },
          },
        }),
        /spec\.selector.*recreate.*pods are down/,
      ],
      [
        job('im', undefined),
        job('im', undefined, { container: { image: 'run-forever:2' } }),
        /image cannot change once it exists \(run-forever:1 to run-forever:2\).*generateName.*logs/,
      ],
      [
        address('10.96.3.3'),
        address('10.96.3.4'),
        /clusterIP.*10\.96\.3\.3 to 10\.96\.3\.4.*address/,
      ],
      [role('a'), role('b'), /roleRef\.name.*\(a to b\).*rights/],
      [claim('ReadWriteOnce'), claim('ReadWriteMany'), /accessModes.*new claim under another name/],
    ] as const
    for (const [before, after, message] of changes) {
      await deploy([before])
      const said = await failDeploy([after])
      assert.match(said, message)
      assert.ok(said.length < 700, said)
    }
    const { uid } = (await get('persistentvolumeclaims/claim')).metadata
    await failDeploy([claim('ReadWriteMany')])
    assert.equal((await get('persistentvolumeclaims/claim')).metadata.uid, uid)
  },
  'objects-scenario 116 a stateful set is replaced around its pods': async ({ deploy, get }) => {
    await deploy([statefulSet('db', 'app:1', 1)])
    const pod = await waitFor(() => get('pods/db-0').catch(() => undefined), 'a pod')
    const { uid } = (await get('statefulsets/db')).metadata
    const other = statefulSet('db', 'app:1', 1, {
      spec: { podManagementPolicy: 'Parallel' },
      metadata: strategy('recreate', 'orphan'),
    })
    await deploy([other])
    assert.notEqual((await get('statefulsets/db')).metadata.uid, uid)
    assert.equal((await get('pods/db-0')).metadata.uid, pod.metadata.uid)
  },
  'objects-scenario 117, 122, 123 lists, repeated and oversized objects': async ({
    deploy,
    failDeploy,
    names,
    namespace,
  }) => {
    const items = [{ metadata: { name: 'listed', namespace }, data: {} }]
    await deploy([{ apiVersion: 'v1', kind: 'ConfigMapList', items }])
    assert.ok((await names('configmaps')).includes('listed'))
    const twice = await deploy([configMap('twin', { a: '1' }), configMap('twin', { a: '1' })])
    assert.match(warningsOf(twice), /configMap twin in .* is given twice, as manifests 1 and 2/)
    assert.match(
      await failDeploy([configMap('twin', { a: '1' }), configMap('twin', { a: '2' })]),
      /given twice with different content, as manifests 1 and 2/,
    )
    assert.match(
      await failDeploy([configMap('huge', { a: 'x'.repeat(1_048_577) })]),
      /configMap huge in .*: its data has 1048577 bytes/,
    )
  },
  'objects-scenario 119 repeated variables and ports are deployed with a warning': async ({
    deploy,
    get,
  }) => {
    const container = (last: string) => ({
      env: [
        { name: 'A', value: '1' },
        { name: 'A', value: last },
      ],
      ports: [
        { name: 'p', containerPort: 80 },
        { name: 'q', containerPort: 80 },
      ],
    })
    const first = await deploy([deployment('twice', 'app:1', 1, { container: container('2') })])
    assert.match(warningsOf(first), /variable A more than once/)
    await deploy([deployment('twice', 'app:1', 1, { container: container('3') })])
    const [main] = objectsOf(
      fieldAt(await get('deployments/twice'), 'spec', 'template', 'spec', 'containers'),
    )
    assert.deepEqual(main?.['env'], container('3').env)
    assert.equal(objectsOf(main?.['ports']).length, 2)
    await deploy([deployment('twice', 'app:1', 1)])
    const [plain] = objectsOf(
      fieldAt(await get('deployments/twice'), 'spec', 'template', 'spec', 'containers'),
    )
    assert.equal(plain?.['env'], undefined)
  },
  'objects-scenario 125 what YAML reads as booleans and numbers is named': async ({
    deploy,
    failDeploy,
  }) => {
    const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'bare' } }
    const labels = { on: true, mode: 511 }
    const ended = await deploy([{ ...map, metadata: { name: 'bare', labels } }])
    assert.match(warningsOf(ended), /labels\.on is true in YAML.*\n.*labels\.mode is 511/)
    const error = await failDeploy([{ ...map, data: { time: true } }])
    assert.match(error, /data\.time is true in YAML, and must be a text; put it in quotes/)
    const named = await failDeploy([{ ...map, metadata: { name: 7 } }])
    assert.match(named, /number 1 has the name 7, which is no text in YAML/)
  },
  'objects-scenario 120 unknown fields are refused with the near word, all at once': async ({
    deploy,
    failDeploy,
    fail,
    namespace,
  }) => {
    const wrong = (more: JsonObject = {}) =>
      deployment('typo', 'app:1', 1, {
        spec: { replicsa: 3 },
        container: { imge: 'x' },
        metadata: more,
      })
    const said =
      /unknown fields spec\.replicsa \(did you mean replicas\?\), spec\.template\.spec\.containers\[0\]\.imge \(did you mean image\?\)/
    for (const way of [
      {},
      strategy('replace'),
      strategy('client-side-apply'),
      strategy('recreate'),
    ])
      assert.match(await failDeploy([wrong(way)]), said)
    assert.match(await failDeploy([wrong({ name: undefined, generateName: 'typo-' })]), said)
    await deploy([deployment('typo', 'app:1', 1)])
    for (const way of [{}, strategy('replace'), strategy('client-side-apply')])
      assert.match(await failDeploy([wrong(way)]), said)
    const patched = await fail('patchManifest', {
      manifestName: 'deployment typo',
      location: namespace,
      patchBody: [{ spec: { replicsa: 3 } }],
      options: { mergeStrategy: 'merge' },
    })
    assert.match(patched, /spec\.replicsa \(did you mean replicas\?\)/)
  },
  'objects-scenario 121 a generated name makes an object each time': async ({ deploy, names }) => {
    const generated = { ...configMap('x', {}), metadata: { generateName: 'made-' } }
    await deploy([generated])
    await deploy([generated])
    assert.equal((await names('configmaps')).filter((name) => name.startsWith('made-')).length, 2)
  },
  'objects-scenario 118 results of megabytes have digests': async (
    { plane, deploy, namespace },
    t,
  ) => {
    const large = Array.from({ length: 5 }, (_, index) => {
      const group = `g${index}-${namespace}.example.test`
      t.after(() => plane.api.delete(`${definitionPath}/gadgets.${group}`))
      const definition = gadgets(group)
      const schema = { openAPIV3Schema: { type: 'object', description: 'd'.repeat(600_000) } }
      const version = { name: 'v1', served: true, storage: true, schema }
      return { ...definition, spec: { ...objectOf(definition['spec']), versions: [version] } }
    })
    const result = await deploy(large)
    const shown = objectsOf(result['manifests'])
    assert.equal(shown.length, 5)
    for (const each of shown) assert.match(String(each['digest']), /^sha256:[0-9a-f]{64}$/)
    assert.ok(JSON.stringify(result).length < 50_000)
  },
}

test('objects are deployed and removed as their kinds need it', async (t) => {
  const references = [
    { group: 'example.test', kind: 'Gadget', path: 'spec.config', to: 'ConfigMap' },
  ]
  const operations = await startOperations(t, { account: { versioning: 'bound', references } })
  if (operations === undefined) return
  for (const [name, run] of Object.entries(scenarios))
    await t.test(name, (inner) => run(operations, inner))
})
