/** Drift: what deployed objects no longer have of their manifests. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { JsonObject } from '../../../../packages/base/json/values.ts'
import {
  IgnoreRule,
  withoutIgnored,
} from '../../../../packages/providers/kubernetes/drift/ignore.ts'
import type { KubeObject } from '../../../../packages/providers/kubernetes/objects.ts'
import { startKubernetesInfrastructure } from '../../../support/kubernetes-infrastructure.ts'
import {
  configMap,
  type Operations,
  service,
  startOperations,
  workload,
} from '../../../support/kubernetes-operations.ts'
import { createFolder, removeFolder } from '../../../support/temporary-folder.ts'
import { waitUntil } from '../../../support/wait-until.ts'

const folder = createFolder('drift')
after(() => removeFolder(folder))

interface Drifted {
  readonly name: string
  readonly manager: string | null
  readonly since: string | null
  readonly deleted?: boolean
  readonly note?: string
  readonly fields: readonly string[]
  readonly changes: readonly { readonly live: unknown; readonly wanted: unknown }[]
}

const unversioned = { annotations: { 'strategy.spinnaker.io/versioned': 'false' } }
const plain = (apiVersion: string, kind: string, name: string, more: JsonObject): JsonObject => ({
  apiVersion,
  kind,
  metadata: { name },
  ...more,
})
const target = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }
const cpu = (value: number) => ({
  type: 'Resource',
  resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: value } },
})
const memory = {
  type: 'Resource',
  resource: { name: 'memory', target: { type: 'Utilization', averageUtilization: 70 } },
}

/** What a deployment may hold; each with a form that the API server writes in another way. */
const manifests: readonly JsonObject[] = [
  workload('Deployment', 'web', {
    replicas: 1,
    template: {
      metadata: { labels: { app: 'web' } },
      spec: {
        containers: [
          {
            name: 'main',
            image: 'app:1',
            env: [{ name: 'A', value: '1' }],
            ports: [{ containerPort: 80 }],
            resources: { requests: { cpu: 0.1, memory: '1024Mi' }, limits: {} },
          },
        ],
      },
    },
  }),
  workload('StatefulSet', 'db', { serviceName: 'db', replicas: 1 }),
  workload('DaemonSet', 'agent', {}),
  service('front', { app: 'web' }),
  configMap('conf', { color: 'red', size: '1' }, unversioned),
  plain('v1', 'Secret', 'login', {
    metadata: { name: 'login', ...unversioned },
    stringData: { user: 'bob' },
  }),
  plain('v1', 'ServiceAccount', 'robot', { metadata: { name: 'robot', creationTimestamp: null } }),
  plain('v1', 'PersistentVolumeClaim', 'disk', {
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1024Mi' } } },
  }),
  plain('rbac.authorization.k8s.io/v1', 'Role', 'reader', {
    rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }],
  }),
  plain('rbac.authorization.k8s.io/v1', 'RoleBinding', 'reader', {
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'reader' },
    subjects: [{ kind: 'ServiceAccount', name: 'robot' }],
  }),
  plain('networking.k8s.io/v1', 'Ingress', 'edge', {
    spec: { defaultBackend: { service: { name: 'front', port: { number: 80 } } } },
  }),
  plain('networking.k8s.io/v1', 'NetworkPolicy', 'closed', { spec: { podSelector: {} } }),
  plain('policy/v1', 'PodDisruptionBudget', 'web', {
    spec: { minAvailable: 1, selector: { matchLabels: { app: 'web' } } },
  }),
  plain('batch/v1', 'CronJob', 'nightly', {
    spec: {
      schedule: '0 3 * * *',
      jobTemplate: {
        spec: {
          template: {
            spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'app:1' }] },
          },
        },
      },
    },
  }),
  plain('autoscaling/v1', 'HorizontalPodAutoscaler', 'old', {
    spec: { maxReplicas: 5, targetCPUUtilizationPercentage: 70, scaleTargetRef: target },
  }),
  plain('autoscaling/v2', 'HorizontalPodAutoscaler', 'web', {
    spec: { maxReplicas: 5, metrics: [cpu(80), memory], scaleTargetRef: target },
  }),
  plain('v1', 'LimitRange', 'small', {
    spec: { limits: [{ type: 'Container', default: { cpu: '0.5' } }] },
  }),
]

async function driftOf({ infrastructure, namespace }: Operations, app = 'shop') {
  const all = await infrastructure.read<Drifted[]>(
    `/applications/${app}/drift?location=${namespace}`,
  )
  return all.toSorted((one, other) => one.name.localeCompare(other.name))
}

const briefly = (found: readonly Drifted[]) =>
  found.map(({ name, manager, fields }) => [name, manager, fields])

test('drift of what a deployment holds', async (t) => {
  const operations = await startOperations(t, {
    account: {
      ignoreDifferences: [
        {
          group: 'apps',
          kind: 'StatefulSet',
          jqPathExpressions: ['.spec.replicas'],
          respectIgnoreDifferences: true,
        },
      ],
    },
  })
  if (operations === undefined) return
  const { plane, namespace, deploy, run } = operations
  const patch = (object: string, body: JsonObject, manager = 'kubectl-edit', ...more: string[]) =>
    plane.kubectl(
      ...['patch', object, '-n', namespace, '--type=strategic', '-p', JSON.stringify(body)],
      ...[`--field-manager=${manager}`, ...more],
    )
  const kept = { jqPathExpressions: ['.spec.ports[].targetPort'], respectIgnoreDifferences: true }
  const ignore = JSON.stringify([{ jsonPointers: ['/spec/ports'] }, kept])
  await deploy(manifests)

  await t.test('objects-scenario 91, 97, 106 a deployment has none', async () => {
    assert.deepEqual(briefly(await driftOf(operations)), [])
  })

  await t.test('objects-scenario 96, 98, 100 controllers write no drift', async () => {
    await patch(
      'service/front',
      { metadata: { finalizers: ['service.k8s.aws/resources'] } },
      'aws-load-balancer-controller',
    )
    const env = [{ name: 'STAKATER_CONF', value: 'x' }]
    const template = {
      metadata: { annotations: { 'kubectl.kubernetes.io/restartedAt': 'now' } },
      spec: { containers: [{ name: 'main', env }] },
    }
    await patch('deployment/web', { spec: { replicas: 3, template } }, 'Reloader')
    assert.deepEqual(briefly(await driftOf(operations)), [])
    await patch('service/front', { metadata: { finalizers: null } })
  })

  await t.test('objects-scenario 92, 94 edits show path, values and manager', async () => {
    await plane.kubectl(
      ...['set', 'image', 'deployment/web', 'main=app:9', '-n', namespace],
      '--field-manager=alice',
    )
    await patch('configmap/conf', { data: { color: null, size: '2' } })
    await patch('secret/login', { data: { user: 'YWRh' } })
    const found = await driftOf(operations)
    assert.deepEqual(briefly(found), [
      ['configMap conf', null, ['data.color']],
      ['configMap conf', 'kubectl-edit', ['data.size']],
      ['deployment web', 'alice', ['spec.template.spec.containers[name=main].image']],
      ['secret login', 'kubectl-edit', ['data.user']],
    ])
    const [, size, image, secret] = found.map(({ changes }) => changes[0])
    assert.deepEqual([size?.live, size?.wanted], ['2', '1'])
    assert.deepEqual([image?.live, image?.wanted], ['app:9', 'app:1'])
    assert.match(String(secret?.live), /^sha256:[0-9a-f]{16}$/)
    assert.notEqual(secret?.live, secret?.wanted)
    assert.doesNotMatch(JSON.stringify(found), /YWRh|bob|Ym9i/)
    await deploy(manifests)
    assert.deepEqual(briefly(await driftOf(operations)), [])
  })

  await t.test('large config maps and lists with equal keys drift by their content', async () => {
    const large = configMap('large', { a: 'x'.repeat(300_000) }, unversioned)
    const container = { name: 'main', image: 'app:1', ports: [{ containerPort: 80 }] }
    const twice = { ...container, ports: [{ containerPort: 80 }, { containerPort: 80, name: 'b' }] }
    const template = { metadata: { labels: { app: 'twice' } }, spec: { containers: [twice] } }
    await deploy([large, workload('Deployment', 'twice', { replicas: 1, template })])
    assert.deepEqual(briefly(await driftOf(operations)), [])
    await patch('configmap/large', { data: { a: 'y' } })
    const found = await driftOf(operations)
    assert.deepEqual(briefly(found), [['configMap large', 'kubectl-edit', ['data.a']]])
    await run('deleteManifest', { manifestName: 'configMap large', location: namespace })
  })

  await t.test('what kubectl applies in their place drifts, with and without labels', async () => {
    const manifest = service('taken', { app: 'web' })
    const own = join(folder, 'taken.json')
    const changed = service('taken', { app: 'other' })
    writeFileSync(own, JSON.stringify({ ...changed, metadata: { name: 'taken', namespace } }))
    for (const options of [[], ['--server-side', '--force-conflicts']]) {
      await deploy([manifest])
      await plane.kubectl('apply', ...options, '-f', own)
      const [taken, ...more] = await driftOf(operations)
      assert.deepEqual([taken?.name, more], ['service taken', []])
      assert.match(`${taken?.manager}: ${taken?.note}`, /^kubectl.*: Another client has applied/)
      assert.ok(
        taken?.fields.includes('spec.selector.app') || taken?.fields.includes('spec.selector'),
      )
    }
    await run('deleteManifest', { manifestName: 'service taken', location: namespace })
  })

  await t.test('scaling drifts by hand, and not by Fairlead', async () => {
    await deploy([workload('Deployment', 'lone', { replicas: 1 })])
    await run('scaleManifest', {
      manifestName: 'deployment lone',
      location: namespace,
      replicas: 2,
    })
    assert.deepEqual(briefly(await driftOf(operations)), [])
    await plane.kubectl('scale', 'deployment/lone', '--replicas=4', '-n', namespace)
    assert.deepEqual(briefly(await driftOf(operations)), [
      ['deployment lone', 'kubectl', ['spec.replicas']],
    ])
  })

  await t.test(
    'objects-scenario 93 a deleted object is drift unless Fairlead deletes it',
    async () => {
      await plane.kubectl('delete', 'deployment/lone', 'service/front', '-n', namespace)
      const deleted = async () =>
        (await driftOf(operations)).flatMap(({ name, deleted: isGone }) => (isGone ? [name] : []))
      assert.deepEqual(await deleted(), ['deployment lone', 'service front'])
      await run('deleteManifest', { manifestName: 'configMap conf', location: namespace })
      await deploy([service('front', { app: 'web' })])
      assert.deepEqual(await deleted(), ['deployment lone'])
      const place = await plane.namespace()
      const inPlace = (name: string) => ({
        ...service(name, {}),
        metadata: { name, namespace: place },
      })
      await deploy([inPlace('one'), inPlace('two')], { moniker: { app: 'lost' } })
      const lost = () => operations.infrastructure.read<Drifted[]>('/applications/lost/drift')
      assert.deepEqual(await lost(), [])
      await plane.kubectl('delete', 'namespace', place)
      const notes = (await lost()).map(({ name, note }) => `${name}: ${note}`)
      assert.equal(notes.length, 2)
      for (const note of notes) assert.match(note, new RegExp(`namespace ${place} is gone.*forget`))
      await run('deleteManifest', { manifestName: 'service one', location: place })
      assert.deepEqual(
        (await lost()).map(({ name }) => name),
        ['service two'],
      )
      await run('deleteManifest', { manifestName: `namespace ${place}`, location: '' })
      assert.deepEqual(await lost(), [])
    },
  )

  await t.test('objects-scenario 102 account and object ignore fields', async () => {
    await patch('statefulset/db', { spec: { replicas: 2 } })
    const annotations = { 'drift.fairlead.io/ignore': ignore }
    await deploy([{ ...service('side', { app: 'web' }), metadata: { name: 'side', annotations } }])
    await patch('service/side', { spec: { ports: [{ port: 80, targetPort: 9 }] } })
    const names = (await driftOf(operations)).map(({ name }) => name)
    assert.deepEqual(names, ['deployment lone'])
  })

  await t.test('objects-scenario 103 the next deployment keeps ignored fields', async () => {
    const annotations = { 'drift.fairlead.io/ignore': ignore }
    const ports = [{ port: 80, targetPort: 8080 }]
    const side = service('side', { app: 'web' })
    const spec = { ...(side['spec'] as JsonObject), ports }
    const set = workload('StatefulSet', 'db', { serviceName: 'db', replicas: 1 })
    await deploy([set, { ...side, metadata: { name: 'side', annotations }, spec }])
    const { stdout } = await plane.kubectl(
      ...['get', 'statefulset/db', 'service/side', '-n', namespace],
      ...['-o', 'jsonpath={.items[*].spec.replicas} {.items[*].spec.ports[*].targetPort}'],
    )
    assert.equal(stdout, '2 9')
  })

  await t.test('objects-scenario 104 without a dry run the answer says so', async () => {
    const user = plane.user()
    const verbs = ['get', 'list', 'watch']
    await plane.grant(user, [{ apiGroups: ['*'], resources: ['*'], verbs }], namespace)
    const reading = await startKubernetesInfrastructure(t, {
      accounts: [
        { name: 'k8s', kubeconfigContents: plane.kubeconfig(user), namespaces: [namespace] },
      ],
    })
    await patch('daemonset/agent', { metadata: { labels: { 'app.kubernetes.io/name': 'x' } } })
    const found = await driftOf({ ...operations, infrastructure: reading })
    const agent = found.find(({ name }) => name === 'daemonSet agent')
    assert.deepEqual(agent?.fields, ['metadata.labels.app.kubernetes.io/name'])
    assert.match(String(agent?.note), /refuses a dry run \(.*forbidden/)
  })

  await t.test('objects-scenario 101 rules that a controller aggregates are no drift', async () => {
    const selected = { matchLabels: { 'test.fairlead/role': namespace } }
    const role = (name: string, more: JsonObject) =>
      plain('rbac.authorization.k8s.io/v1', 'ClusterRole', `${name}-${namespace}`, more)
    const rules = [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }]
    const part = role('part', { rules })
    const whole = role('whole', {
      aggregationRule: { clusterRoleSelectors: [selected] },
      rules: [],
    })
    const labels = selected.matchLabels
    const name = `part-${namespace}`
    await deploy([{ ...part, metadata: { name, labels } }, whole], { moniker: { app: 'roles' } })
    await waitUntil(async () => {
      const { stdout } = await plane.kubectl(
        'get',
        'clusterrole',
        `whole-${namespace}`,
        '-o',
        'json',
      )
      return /"pods"/.test(stdout)
    }, 'the rules of the role')
    const { read } = operations.infrastructure
    assert.deepEqual(await read('/applications/roles/drift'), [])
    await plane.kubectl('delete', 'clusterrole', name, `whole-${namespace}`)
  })

  await t.test(
    'objects-scenario 118 what is too large to be kept drifts by its parts',
    async () => {
      const long = 'x'.repeat(300_000)
      const group = `${namespace}.test`
      const text = { type: 'object', description: long }
      const schema = { openAPIV3Schema: { type: 'object', properties: { spec: text } } }
      await deploy(
        [
          configMap('bulk', { long, short: '1' }, unversioned),
          plain('v1', 'Secret', 'vault', {
            metadata: { name: 'vault', ...unversioned },
            stringData: { long, short: '1' },
          }),
          plain('apiextensions.k8s.io/v1', 'CustomResourceDefinition', `widgets.${group}`, {
            spec: {
              group,
              scope: 'Namespaced',
              names: { kind: 'Widget', plural: 'widgets' },
              versions: [{ name: 'v1', served: true, storage: true, schema }],
            },
          }),
        ],
        { moniker: { app: 'bulk' } },
      )
      const found = async () => {
        const all = await operations.infrastructure.read<Drifted[]>('/applications/bulk/drift')
        return all.toSorted((one, other) => one.name.localeCompare(other.name))
      }
      assert.deepEqual(await found(), [])
      await patch('configmap/bulk', { data: { short: '2' } })
      await patch('secret/vault', { stringData: { long: 'y' } })
      await patch(`crd/widgets.${group}`, { spec: { names: { shortNames: ['w'] } } }, 'alice')
      const spec = {
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: {
              openAPIV3Schema: { type: 'object' },
            },
          },
        ],
      }
      await plane.kubectl(
        ...[
          'patch',
          `crd/widgets.${group}`,
          '--type=merge',
          '--field-manager=alice',
          '-p',
          JSON.stringify({ spec }),
        ],
      )
      const drifted = await found()
      assert.deepEqual(briefly(drifted), [
        ['configMap bulk', 'kubectl-edit', ['data.short']],
        [`customResourceDefinition widgets.${group}`, 'alice', ['spec.versions']],
        ['secret vault', 'kubectl-edit', ['data.long']],
      ])
      assert.doesNotMatch(JSON.stringify(drifted), /xxxx|yyyy/)
      await plane.kubectl('delete', 'crd', `widgets.${group}`)
    },
  )

  await t.test('objects of others are not listed', async () => {
    await deploy([service('vault', { app: 'vault' })], { moniker: { app: 'bank' } })
    await patch('service/vault', { spec: { selector: { app: 'x' } } }, 'alice')
    assert.deepEqual(briefly(await driftOf(operations, 'bank')), [
      ['service vault', 'alice', ['spec.selector.app']],
    ])
  })
})

test('objects-scenario 99, 102 rules ignore fields by pointer, path of jq and manager', () => {
  const hook = (name: string, ca: string) => ({ name, clientConfig: { caBundle: ca, url: 'u' } })
  const manifest = {
    spec: { 'a/b': 1, kept: 2, owned: 3 },
    webhooks: [hook('one', 'x'), hook('two', 'y')],
  }
  const live = {
    apiVersion: 'example.test/v1',
    kind: 'Hooks',
    metadata: {
      name: 'web',
      managedFields: [
        { manager: 'robot', operation: 'Update', fieldsV1: { 'f:spec': { 'f:owned': {} } } },
      ],
    },
  } as unknown as KubeObject
  const left = (rule: JsonObject) => withoutIgnored(manifest, live, [IgnoreRule.parse(rule)])
  assert.deepEqual(left({ jsonPointers: ['/spec/a~1b'] })['spec'], { kept: 2, owned: 3 })
  assert.deepEqual(left({ managedFieldsManagers: ['robot'] })['spec'], { 'a/b': 1, kept: 2 })
  assert.deepEqual(
    left({ jqPathExpressions: ['.spec["a/b"]', '.webhooks[]?.clientConfig.caBundle'] }),
    {
      spec: { kept: 2, owned: 3 },
      webhooks: [hook('one', ''), hook('two', '')].map(({ name }) => ({
        name,
        clientConfig: { url: 'u' },
      })),
    },
  )
  const chosen =
    '.webhooks[] | select(.name == "two" and (.name | startswith("t"))) | .clientConfig'
  assert.deepEqual(left({ jqPathExpressions: [chosen] })['webhooks'], [
    hook('one', 'x'),
    { name: 'two' },
  ])
  assert.deepEqual(left({ kind: 'Other', jsonPointers: ['/spec'] }), manifest)
  assert.throws(() => IgnoreRule.parse({ jqPathExpressions: ['.a | map(.b)'] }), /no path of jq/)
})
