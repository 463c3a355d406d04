/** Places that name other objects, what may be renamed, and the order of manifests, without an API server. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isObject, type JsonObject, textOf } from '../../../../packages/base/json/values.ts'
import { parseDocuments } from '../../../../packages/engine/orchestration/stages/manifests/manifest-source.ts'
import {
  documentsOf,
  packDocuments,
} from '../../../../packages/engine/orchestration/stages/manifests/packed-documents.ts'
import { withoutDumps } from '../../../../packages/providers/kubernetes/api/dumps.ts'
import {
  KindTable,
  kindOfManifest,
  removalStage,
} from '../../../../packages/providers/kubernetes/kinds.ts'
import { bindArtifacts } from '../../../../packages/providers/kubernetes/manifests/artifacts.ts'
import { describeDuplicates } from '../../../../packages/providers/kubernetes/manifests/duplicates.ts'
import { immutableChangeOf } from '../../../../packages/providers/kubernetes/manifests/immutable.ts'
import { manifestsOf } from '../../../../packages/providers/kubernetes/manifests/input.ts'
import { describeSizeProblem } from '../../../../packages/providers/kubernetes/manifests/limits.ts'
import { toReferenceRule } from '../../../../packages/providers/kubernetes/manifests/references.ts'
import { Renaming } from '../../../../packages/providers/kubernetes/manifests/renaming.ts'
import { wavesOf } from '../../../../packages/providers/kubernetes/manifests/waves.ts'

const kinds = new KindTable([])

function object(apiVersion: string, kind: string, fields: JsonObject, name = 'x'): JsonObject {
  return { apiVersion, kind, metadata: { name }, ...fields }
}

const pod = (spec: JsonObject) => ({ containers: [{ name: 'c', image: 'x' }], ...spec })
const template = (spec: JsonObject) => ({ spec: { template: { spec: pod(spec) } } })
const deployment = (spec: JsonObject, name = 'web') =>
  object('apps/v1', 'Deployment', template(spec), name)
const keyRef = { env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'conf', key: 'k' } } }] }
const nginx = (name: string, value: string) => ({
  metadata: { name: 'x', annotations: { [`nginx.ingress.kubernetes.io/${name}`]: value } },
})

/** Each names `conf` once. */
const places: readonly (readonly [what: string, to: string, manifest: JsonObject])[] = [
  ['72 a pull secret', 'secret', deployment({ imagePullSecrets: [{ name: 'conf' }] })],
  [
    '72 a service account',
    'secret',
    object('v1', 'ServiceAccount', { imagePullSecrets: [{ name: 'conf' }] }),
  ],
  [
    '73 the TLS of an ingress',
    'secret',
    object('networking.k8s.io/v1', 'Ingress', { spec: { tls: [{ secretName: 'conf' }] } }),
  ],
  [
    '74 a projected volume',
    'configMap',
    deployment({
      volumes: [{ name: 'v', projected: { sources: [{ configMap: { name: 'conf' } }] } }],
    }),
  ],
  [
    '74 a CSI volume',
    'secret',
    deployment({ volumes: [{ name: 'v', csi: { nodePublishSecretRef: { name: 'conf' } } }] }),
  ],
  [
    '74 a flexVolume',
    'secret',
    deployment({ volumes: [{ name: 'v', flexVolume: { secretRef: { name: 'conf' } } }] }),
  ],
  [
    '75 a bare pod',
    'secret',
    object('v1', 'Pod', { spec: pod({ containers: [{ name: 'c', ...keyRef }] }) }),
  ],
  [
    '75 an init container',
    'secret',
    object('v1', 'Pod', { spec: pod({ initContainers: [{ name: 'i', ...keyRef }] }) }),
  ],
  [
    '75 an ephemeral container',
    'secret',
    object('v1', 'Pod', { spec: pod({ ephemeralContainers: [{ name: 'e', ...keyRef }] }) }),
  ],
  [
    '76 a cron job',
    'configMap',
    object('batch/v1', 'CronJob', {
      spec: { jobTemplate: template({ volumes: [{ name: 'v', configMap: { name: 'conf' } }] }) },
    }),
  ],
  [
    '76 a scaled job',
    'secret',
    object('keda.sh/v1alpha1', 'ScaledJob', {
      spec: {
        jobTargetRef: { template: { spec: pod({ containers: [{ name: 'c', ...keyRef }] }) } },
      },
    }),
  ],
  [
    '87 an annotation with namespace',
    'secret',
    object('networking.k8s.io/v1', 'Ingress', nginx('auth-secret', 'n1/conf')),
  ],
  [
    '87 an annotation',
    'configMap',
    object('networking.k8s.io/v1', 'Ingress', nginx('fastcgi-params-configmap', 'conf')),
  ],
  [
    '88 a replica set as target',
    'replicaSet',
    object('autoscaling/v2', 'HorizontalPodAutoscaler', {
      spec: { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'conf' } },
    }),
  ],
  [
    '85 a rule of the account',
    'configMap',
    object('example.test/v1', 'Gadget', { spec: { sources: [{ name: 'conf' }] } }),
  ],
]

const accountRule = toReferenceRule({
  from: 'Gadget.example.test',
  path: 'spec.sources[].name',
  to: 'ConfigMap',
  use: 'bound',
})
const binding = { account: 'k8s', namespace: 'n1', matchesImages: 'match-name-and-tag' } as const

for (const [what, to, manifest] of places) {
  test(`objects-scenario ${what} is bound`, () => {
    const artifact = {
      type: `kubernetes/${to}`,
      name: 'conf',
      location: 'n1',
      reference: 'conf-v003',
    }
    const { manifest: changed, bound } = bindArtifacts(manifest, {
      ...binding,
      artifacts: [artifact],
      references: [accountRule],
    })
    assert.deepEqual(bound, [artifact])
    assert.equal(JSON.stringify(changed).replace('conf-v003', 'conf'), JSON.stringify(manifest))
  })
}

const unbound: readonly (readonly [what: string, manifest: JsonObject])[] = [
  [
    '86 a gateway names another namespace',
    object('gateway.networking.k8s.io/v1', 'Gateway', {
      spec: { listeners: [{ tls: { certificateRefs: [{ name: 'conf', namespace: 'n2' }] } }] },
    }),
  ],
  [
    '86 an annotation names another namespace',
    object('networking.k8s.io/v1', 'Ingress', nginx('auth-secret', 'n2/conf')),
  ],
  [
    '84 a certificate writes it',
    object('cert-manager.io/v1', 'Certificate', { spec: { secretName: 'conf' } }),
  ],
]

for (const [what, manifest] of unbound) {
  test(`objects-scenario ${what}, and is not bound`, () => {
    const artifact = {
      type: 'kubernetes/secret',
      name: 'conf',
      location: 'n1',
      reference: 'conf-v003',
    }
    const { manifest: same } = bindArtifacts(manifest, { ...binding, artifacts: [artifact] })
    assert.equal(same, manifest)
  })
}

const config = (name = 'conf', metadata: JsonObject = {}) => ({
  ...object('v1', 'ConfigMap', { data: { a: '1' } }, name),
  metadata: { name, ...metadata },
})
const reader = deployment({ volumes: [{ name: 'v', configMap: { name: 'conf' } }] })
const told = deployment({
  containers: [{ name: 'c', args: ['--configmap=$(NS)/conf'] }],
  volumes: [{ name: 'v', configMap: { name: 'conf' } }],
})
const role = object('rbac.authorization.k8s.io/v1', 'Role', {
  rules: [{ apiGroups: [''], resources: ['configmaps'], resourceNames: ['conf'], verbs: ['get'] }],
})
const annotated = (key: string, value: string) => ({ annotations: { [key]: value } })

interface Choice {
  readonly what: string
  readonly manifests: readonly JsonObject[]
  readonly versioning?: 'clouddriver'
  readonly isVersioned: boolean
  readonly note?: RegExp
}

/** The first manifest is the one that is judged. */
const choices: readonly Choice[] = [
  { what: '72 a bound config map is renamed', manifests: [config(), reader], isVersioned: true },
  {
    what: '78 one that nothing binds keeps its name',
    manifests: [config()],
    isVersioned: false,
    note: /keeps its name: nothing in this request binds it/,
  },
  {
    what: '78 one that is only named in arguments keeps its name',
    manifests: [config(), deployment({ containers: [{ name: 'c', args: ['--config', 'conf'] }] })],
    isVersioned: false,
    note: /nothing in this request/,
  },
  {
    what: '79 one that is bound and named in arguments keeps its name',
    manifests: [config(), told],
    isVersioned: false,
    note: /deployment web also names it in spec\.template\.spec\.containers\[0\]\.args\[0\]/,
  },
  {
    what: '83 one that a role names keeps its name',
    manifests: [config(), reader, role],
    isVersioned: false,
    note: /role x names it in resourceNames/,
  },
  ...[
    object('monitoring.coreos.com/v1', 'Prometheus', { spec: { configMaps: ['conf'] } }),
    object('helm.toolkit.fluxcd.io/v2', 'HelmRelease', {
      spec: { valuesFrom: [{ kind: 'ConfigMap', name: 'conf' }] },
    }),
    object('example.test/v1', 'Thing', { spec: { configRef: { name: 'conf' } } }),
  ].map((custom) => ({
    what: `79 one that a ${textOf(custom['kind'])} names, too, keeps its name`,
    manifests: [config(), reader, custom],
    isVersioned: false,
    note: /also names it in spec/,
  })),
  {
    what: '72 a service of the same name keeps no config map',
    manifests: [
      config(),
      reader,
      object('gateway.networking.k8s.io/v1', 'HTTPRoute', {
        spec: { rules: [{ backendRefs: [{ name: 'conf', port: 80 }] }] },
      }),
    ],
    isVersioned: true,
  },
  {
    what: '80 an annotation renames against the default',
    manifests: [config('conf', annotated('strategy.spinnaker.io/versioned', 'true'))],
    isVersioned: true,
    note: /although nothing in this request binds it/,
  },
  {
    what: '80 an annotation keeps the name',
    manifests: [config('conf', annotated('strategy.spinnaker.io/versioned', 'false')), reader],
    isVersioned: false,
  },
  {
    what: '81 clouddriver renames all',
    manifests: [config()],
    versioning: 'clouddriver',
    isVersioned: true,
  },
  {
    what: '77 argocd-cm keeps its name',
    manifests: [
      config('argocd-cm'),
      deployment({ volumes: [{ name: 'v', configMap: { name: 'argocd-cm' } }] }),
    ],
    isVersioned: false,
    note: /Argo CD looks it up/,
  },
  {
    what: '77 what has a label of Argo CD keeps its name',
    manifests: [config('conf', { labels: { 'app.kubernetes.io/part-of': 'argocd' } }), reader],
    isVersioned: false,
    note: /Argo CD/,
  },
  {
    what: '84 a secret that a certificate writes keeps its name',
    manifests: [
      object('v1', 'Secret', {}, 'conf'),
      deployment({ volumes: [{ name: 'v', secret: { secretName: 'conf' } }] }),
      object('cert-manager.io/v1', 'Certificate', { spec: { secretName: 'conf' } }),
    ],
    isVersioned: false,
    note: /Certificate\.cert-manager\.io x writes it/,
  },
]

function named(manifest: JsonObject) {
  const kind = kinds.kindOf(kindOfManifest(manifest))
  return { manifest, kind, namespace: kind.isNamespaced ? 'n1' : '' }
}

for (const { what, manifests, versioning = 'bound', isVersioned, note } of choices) {
  test(`objects-scenario ${what}`, () => {
    const all = manifests.map(named)
    const renaming = new Renaming(all, { versioning, references: [], isVersioned: undefined })
    const choice = renaming.choose(all[0] ?? named(config()))
    assert.equal(choice.isVersioned, isVersioned)
    if (note === undefined && versioning === 'bound') assert.equal(choice.note, undefined)
    else if (note !== undefined) assert.match(choice.note ?? '', note)
  })
}

test('objects-scenario 86 a reference in another namespace renames nothing', () => {
  const all = [{ ...named(config()), namespace: 'n2' }, named(reader)]
  const renaming = new Renaming(all, {
    versioning: 'bound',
    references: [],
    isVersioned: undefined,
  })
  assert.equal(renaming.choose(all[0] ?? named(config())).isVersioned, false)
})

test('objects-scenario 107, 109, 112 kinds are applied after what they need, and go before it', () => {
  const order = [
    'v1 Namespace',
    'scheduling.k8s.io/v1 PriorityClass',
    'networking.k8s.io/v1 NetworkPolicy',
    'v1 ServiceAccount',
    'rbac.authorization.k8s.io/v1 Role',
    'rbac.authorization.k8s.io/v1 RoleBinding',
    'v1 Secret',
    'v1 PersistentVolumeClaim',
    'v1 Service',
    'policy/v1 PodDisruptionBudget',
    'apps/v1 Deployment',
    'batch/v1 Job',
    'autoscaling/v2 HorizontalPodAutoscaler',
    'networking.k8s.io/v1 Ingress',
    'apiregistration.k8s.io/v1 APIService',
    'admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration',
    'example.test/v1 Gadget',
    'coordination.k8s.io/v1 Lease',
  ].map((text) => {
    const [apiVersion = '', kind = ''] = text.split(' ')
    return kinds.kindOf(kindOfManifest({ apiVersion, kind }))
  })
  const priorities = order.map(({ priority }) => priority)
  assert.deepEqual(
    priorities.toSorted((one, other) => one - other),
    priorities,
  )
  const stageOf = (name: string) =>
    removalStage(order.find((kind) => kind.name === name) ?? { priority: -1 })
  const stages = [
    'apiService',
    'Gadget.example.test',
    'deployment',
    'PriorityClass',
    'namespace',
  ].map(stageOf)
  assert.deepEqual(stages, [0, 1, 2, 3, 4])
})

const noted = (notes: JsonObject, name = 'x') => ({
  ...object('batch/v1', 'Job', {}, name),
  metadata: { name, namespace: 'n1', annotations: notes },
})

test('objects-scenario 111 waves are hooks, then numbers, weights and dependencies', () => {
  const waves = wavesOf([
    noted({}),
    noted({ 'argocd.argoproj.io/sync-wave': '-2' }),
    noted({ 'strategy.fairlead.io/wave': '3' }),
    noted({ 'helm.sh/hook': 'pre-install,pre-upgrade', 'helm.sh/hook-weight': '5' }),
    noted({ 'helm.sh/hook': 'post-install' }),
    noted({ 'helm.sh/hook': 'test' }),
    noted({ 'config.kubernetes.io/depends-on': 'batch/namespaces/n1/Job/db' }, 'app'),
    noted({}, 'db'),
  ])
  assert.deepEqual(waves, [
    [0, 0, 0, 0],
    [0, -2, 0, 0],
    [0, 3, 0, 0],
    [-1, 0, 5, 0],
    [1, 0, 0, 0],
    undefined,
    [0, 0, 0, 1],
    [0, 0, 0, 0],
  ])
  const circle = ['a', 'b'].map((name, index, both) =>
    noted(
      { 'config.kubernetes.io/depends-on': `batch/namespaces/n1/Job/${both[1 - index]}` },
      name,
    ),
  )
  assert.throws(() => wavesOf(circle), /depends on itself/)
})

test('objects-scenario 117 typed lists and lists within lists are expanded', () => {
  const items = [{ metadata: { name: 'a' } }, config('b')]
  const inner = { apiVersion: 'v1', kind: 'ConfigMapList', items }
  const roles = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleList',
    items: [{ metadata: { name: 'r' } }],
  }
  const found = manifestsOf({
    manifests: [{ kind: 'List', apiVersion: 'v1', items: [inner, roles] }],
  })
  assert.deepEqual(
    found.map(({ apiVersion, kind, metadata }) => [
      apiVersion,
      kind,
      textOf(isObject(metadata) ? metadata['name'] : undefined),
    ]),
    [
      ['v1', 'ConfigMap', 'a'],
      ['v1', 'ConfigMap', 'b'],
      ['rbac.authorization.k8s.io/v1', 'Role', 'r'],
    ],
  )
})

test('objects-scenario 119 variables and ports that repeat are named', () => {
  const container = {
    name: 'c',
    env: [{ name: 'A' }, { name: 'A' }, { name: 'B' }],
    ports: [
      { containerPort: 80 },
      { containerPort: 80, protocol: 'TCP' },
      { containerPort: 80, protocol: 'UDP' },
    ],
  }
  const imagePullSecrets = [{ name: 'p' }, { name: 'p' }]
  assert.deepEqual(describeDuplicates(deployment({ containers: [container], imagePullSecrets })), [
    'the container c sets the variable A more than once; the last value counts',
    'the container c lists the port 80/TCP more than once',
    'the pod names the pull secret p more than once',
  ])
})

test('objects-scenario 123 what is too large for the API server is not sent', () => {
  const large = (bytes: number) => ({ ...config(), data: { a: 'x'.repeat(bytes) } })
  assert.equal(describeSizeProblem(large(1024 * 1024 - 10)), undefined)
  assert.match(describeSizeProblem(large(1024 * 1024 + 1)) ?? '', /its data has 1048577 bytes/)
  const binary = {
    ...config(),
    data: {},
    binaryData: { a: Buffer.alloc(900_000).toString('base64') },
  }
  assert.equal(describeSizeProblem(binary), undefined)
  assert.match(
    describeSizeProblem(config('conf', annotated('a', 'x'.repeat(262_200)))) ?? '',
    /annotations/,
  )
})

const claim = (spec: JsonObject) => object('v1', 'PersistentVolumeClaim', { spec })
const job = (image: string) =>
  object('batch/v1', 'Job', template({ containers: [{ name: 'c', image }] }))

const changes: readonly (readonly [
  string,
  string,
  string[],
  JsonObject,
  JsonObject,
  RegExp,
  string,
  string,
])[] = [
  [
    'the template of a job',
    'job',
    ['spec.template'],
    job('m:1'),
    job('m:2'),
    /containers\[name=c\]\.image/,
    'm:1',
    'm:2',
  ],
  [
    'a claim',
    'persistentVolumeClaim',
    ['spec'],
    claim({ accessModes: ['A'] }),
    claim({ accessModes: ['B'] }),
    /^spec\.accessModes$/,
    '["A"]',
    '["B"]',
  ],
  [
    'a field of a stateful set',
    'statefulSet',
    ['spec'],
    { spec: { serviceName: 'a', replicas: 1 } },
    { spec: { replicas: 2, serviceName: 'b' } },
    /^spec\.serviceName$/,
    'a',
    'b',
  ],
]

for (const [what, kind, fields, live, wanted, field, old, next] of changes) {
  test(`objects-scenario 114, 115 ${what} names field, values, way and cost`, () => {
    const change = immutableChangeOf({
      kind,
      object: 'x',
      named: fields,
      live,
      wanted,
      isSecret: false,
    })
    assert.match(change.field, field)
    assert.deepEqual([change.old, change.new], [old, next])
    assert.ok(change.way.length > 10 && change.cost.length > 5)
    if (kind === 'persistentVolumeClaim') assert.doesNotMatch(change.way, /recreate/)
  })
}

const dump = `{"template":{"spec":"${'x'.repeat(300)} } \\" {"}}`
const messages: readonly (readonly [string, string])[] = [
  [
    `spec.template: Invalid value: ${dump}: field is immutable`,
    'spec.template: Invalid value: …: field is immutable',
  ],
  ['Invalid value: core.PodTemplateSpec{A:"}", B:map[string]string{}}: no', 'Invalid value: …: no'],
  ['spec: Forbidden: no\n@@ -1,6 +1,6 @@\n {\n- a', 'spec: Forbidden: no'],
  [
    'errors:\n  .spec.a: duplicate entries for key [name="A"]',
    'errors:\n  .spec.a: duplicate entries for key [name="A"]',
  ],
  [
    `patch: Invalid value: "map[a:{\\"b\\":\\"${'x'.repeat(200)}]": unknown field "spec.a"`,
    'patch: Invalid value: …: unknown field "spec.a"',
  ],
  ['value {"a":1} stays', 'value {"a":1} stays'],
]

test('objects-scenario 127 messages have no dumps of Go', () => {
  for (const [message, shown] of messages) assert.equal(withoutDumps(message), shown)
})

const streams: readonly (readonly [string, string, unknown[]])[] = [
  ['a byte order mark for each file', '\uFEFFa: 1\n---\n\uFEFFb: 2\n', [{ a: 1 }, { b: 2 }]],
  ['lines of Windows', 'a: |\r\n  x\r\n  y\r\n---\r\nb: 2\r\n', [{ a: 'x\ny\n' }, { b: 2 }]],
  ['empty documents', '---\n---\n# nothing\n---\na: 1\n', [null, null, { a: 1 }]],
]

test('objects-scenario 124 files are read as kubectl reads them', () => {
  for (const [what, text, documents] of streams)
    assert.deepEqual(parseDocuments(text, 'x'), documents, what)
  assert.throws(() => parseDocuments('a:\n\tb: 1\n', 'x'), /Tabs are not allowed.*line 2/)
})

test('objects-scenario 118 a record keeps a digest and one copy of 20 MB of manifests', () => {
  const manifests = Array.from({ length: 40 }, (_, index) => ({
    ...config(`c${index}`),
    data: { a: `line ${index}\n`.repeat(65_000) },
  }))
  const { context, shown } = packDocuments(manifests)
  assert.ok(JSON.stringify(manifests).length > 20_000_000)
  assert.ok(JSON.stringify(context).length < 1_000_000)
  assert.match(JSON.stringify(shown), /"digest":"sha256:[0-9a-f]{64}","bytes":\d+,"objects":40/)
  assert.deepEqual(documentsOf(context), manifests)
  const small = packDocuments([config()])
  assert.deepEqual(small, { context: { manifests: [config()] }, shown: [config()] })
})
