/** Artifacts, versions and names of manifests, without an API server. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fieldAt, type JsonObject } from '../../../../packages/base/json/values.ts'
import {
  annotationOf,
  claimedApplications,
  manifestStrategyOf,
} from '../../../../packages/providers/kubernetes/manifests/annotations.ts'
import {
  artifactsOf,
  bindArtifacts,
  imageName,
} from '../../../../packages/providers/kubernetes/manifests/artifacts.ts'
import {
  normalized,
  originalOf,
} from '../../../../packages/providers/kubernetes/manifests/input.ts'
import { monikerOf } from '../../../../packages/providers/kubernetes/manifests/moniker.ts'
import { parseSelectors } from '../../../../packages/providers/kubernetes/manifests/selectors.ts'
import {
  chooseVersion,
  type PriorVersion,
} from '../../../../packages/providers/kubernetes/manifests/versions.ts'

const images = [
  ['app', 'app'],
  ['app:1', 'app'],
  ['reg.test/app@sha256:abc', 'reg.test/app'],
  ['host.test:5000/app', 'host.test:5000/app'],
  ['host.test:5000/app:1', 'host.test:5000/app'],
  ['host.test:5000/team/app:1@sha256:abc', 'host.test:5000/team/app'],
] as const

test('kubernetes-scenario 45 the name of an image ends before its tag', () => {
  for (const [image, name] of images) assert.equal(imageName(image), name)
})

const podSpec = {
  initContainers: [{ name: 'init', image: 'reg.test/init:1' }],
  containers: [
    {
      name: 'main',
      image: 'reg.test/app:1',
      env: [{ name: 'S', valueFrom: { secretKeyRef: { name: 'key', key: 'k' } } }],
      envFrom: [{ secretRef: { name: 'key' } }],
    },
  ],
  volumes: [
    { name: 'a', secret: { secretName: 'key' } },
    {
      name: 'b',
      projected: { sources: [{ secret: { name: 'key' } }, { configMap: { name: 'conf' } }] },
    },
  ],
  imagePullSecrets: [{ name: 'key' }],
}

const binding = { account: 'k8s', namespace: 'n1', matchesImages: 'match-name-and-tag' } as const

function artifact(
  type: string,
  name: string,
  reference: string,
  fields: JsonObject = {},
): JsonObject {
  return { type, name, reference, ...fields }
}

const secret = artifact('kubernetes/secret', 'key', 'key-v001', {
  location: 'n1',
  metadata: { account: 'k8s' },
})
const init = artifact('docker/image', 'reg.test/init', 'reg.test/init:2')

test('kubernetes-scenario 42 secrets are bound at every place', () => {
  const cronJob = {
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    spec: { jobTemplate: { spec: { template: { spec: podSpec } } } },
  }
  const { manifest, bound } = bindArtifacts(cronJob, { ...binding, artifacts: [secret, init] })
  assert.deepEqual(bound, [init, secret])
  const spec = fieldAt(
    manifest,
    'spec',
    'jobTemplate',
    'spec',
    'template',
    'spec',
  ) as typeof podSpec
  assert.equal(JSON.stringify(spec).match(/"key-v001"/g)?.length, 5)
  assert.equal(spec.initContainers[0]?.image, 'reg.test/init:2')
})

test('kubernetes-scenario 45, objects-scenario 75 plain pods and their init containers are bound', () => {
  const pod = { apiVersion: 'v1', kind: 'Pod', spec: podSpec }
  const app = artifact('docker/image', 'reg.test/app', 'reg.test/app:2')
  const { manifest } = bindArtifacts(pod, { ...binding, artifacts: [app, init, secret] })
  const spec = fieldAt(manifest, 'spec') as typeof podSpec
  assert.deepEqual(
    [spec.containers[0]?.image, spec.initContainers[0]?.image],
    ['reg.test/app:2', 'reg.test/init:2'],
  )
  assert.equal(JSON.stringify(spec).match(/"key-v001"/g)?.length, 5)
})

const misfits: readonly (readonly [string, JsonObject])[] = [
  ['another namespace', { ...secret, location: 'n2' }],
  ['another account', { ...secret, metadata: { account: 'other' } }],
  ['another type', { ...secret, type: 'kubernetes/configMap' }],
  ['no reference', { ...secret, reference: '' }],
]

for (const [what, misfit] of misfits) {
  test(`an artifact with ${what} is not bound`, () => {
    const deployment = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      spec: { template: { spec: podSpec } },
    }
    const { manifest, bound } = bindArtifacts(deployment, { ...binding, artifacts: [misfit] })
    assert.deepEqual([manifest, bound], [deployment, []])
  })
}

test('match-name-only leaves images with tags alone', () => {
  const deployment = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    spec: { template: { spec: podSpec } },
  }
  const { bound } = bindArtifacts(deployment, {
    ...binding,
    artifacts: [init],
    matchesImages: 'match-name-only',
  })
  assert.deepEqual(bound, [])
})

test('kubernetes-scenario 106 the artifacts of an object are listed', () => {
  const deployment = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    spec: { template: { spec: podSpec } },
  }
  assert.deepEqual(
    artifactsOf(deployment).map(({ type, name, reference }) => [type, name, reference]),
    [
      ['docker/image', 'reg.test/app', 'reg.test/app:1'],
      ['docker/image', 'reg.test/init', 'reg.test/init:1'],
      ['kubernetes/configMap', 'conf', 'conf'],
      ['kubernetes/secret', 'key', 'key'],
    ],
  )
  assert.deepEqual(artifactsOf({ apiVersion: 'v1', kind: 'Service', spec: {} }), [])
})

function prior(number: number, applied: JsonObject, writtenBy?: string): PriorVersion {
  return { number, name: `conf-v00${number}`, applied, digest: undefined, writtenBy }
}

const content = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'conf' },
  data: { a: '1' },
}
const other = { ...content, data: { a: '2' } }

const versions: readonly (readonly [
  string,
  readonly PriorVersion[],
  readonly string[],
  number,
  boolean,
])[] = [
  ['the first is 0', [], [], 0, true],
  ['the same content keeps its number', [prior(0, content), prior(1, other)], [], 0, false],
  ['other content has the next number', [prior(3, other), prior(1, other)], [], 4, true],
  ['a name that is taken is skipped', [prior(0, other)], ['conf-v001'], 2, true],
  ['what a crash left is continued', [prior(0, other), prior(1, other, 'task-0')], [], 1, true],
]

for (const [what, before, taken, number, isNew] of versions) {
  test(`kubernetes-scenario 37, 41 of versions, ${what}`, () => {
    const question = {
      manifest: content,
      artifact: 'conf',
      prior: before,
      taken: new Set(taken),
      writer: 'task-0',
    }
    const { version, ...chosen } = chooseVersion(question)
    assert.deepEqual(chosen, { number, isNew })
    assert.equal(version, `v00${number}`)
  })
}

const names: readonly (readonly [string, JsonObject, readonly (string | number | null)[]])[] = [
  ['shop-main-v003', {}, [null, 'shop-main', 3]],
  ['web-7d9f', {}, [null, 'web-7d9f', null]],
  ['system:node-v002', {}, [null, 'system:node', 2]],
  [
    'web',
    {
      'moniker.spinnaker.io/application': '"shop"',
      'moniker.spinnaker.io/cluster': 'deployment web',
    },
    ['shop', 'deployment web', null],
  ],
  [
    'web-v001',
    { 'moniker.spinnaker.io/sequence': '7', 'deployment.kubernetes.io/revision': '2' },
    [null, 'web', 7],
  ],
  ['web-v001', { 'deployment.kubernetes.io/revision': '2' }, [null, 'web', 2]],
  ['web-v001', { 'moniker.spinnaker.io/sequence': 'seven' }, [null, 'web', null]],
]

for (const [name, annotations, expected] of names) {
  test(`kubernetes-scenario 34 the moniker of ${name} with ${JSON.stringify(annotations)}`, () => {
    const metadata = { name, annotations: annotations as Record<string, string> }
    const { app, cluster, sequence } = monikerOf({
      kind: 'ReplicaSet',
      apiVersion: 'apps/v1',
      metadata,
    })
    assert.deepEqual([app, cluster, sequence], expected)
  })
}

test('an unreadable sequence is reported', () => {
  const problems: string[] = []
  const metadata = { name: 'web', annotations: { 'moniker.spinnaker.io/sequence': 'x' } }
  monikerOf({ kind: 'Deployment', apiVersion: 'apps/v1', metadata }, (problem) =>
    problems.push(problem),
  )
  assert.match(problems[0] ?? '', /sequence of web should be a whole number/)
})

test('strategies are read without regard to case', () => {
  const annotations = {
    'strategy.spinnaker.io/versioned': 'False',
    'strategy.spinnaker.io/recreate': 'TRUE',
    'strategy.spinnaker.io/server-side-apply': 'yes',
    'strategy.spinnaker.io/max-version-history': 'many',
    'strategy.spinnaker.io/use-source-capacity': true,
  }
  assert.deepEqual(manifestStrategyOf({ metadata: { annotations } }), {
    isVersioned: false,
    recreates: true,
    orphans: false,
    replaces: false,
    serverSide: 'off',
    clientSide: undefined,
    maxVersionHistory: undefined,
    usesSourceCapacity: true,
  })
})

test('claims of applications are found in templates, too', () => {
  const claim = (app: string) => ({
    metadata: { annotations: { 'moniker.spinnaker.io/application': app } },
  })
  const manifest = {
    ...claim('"one"'),
    spec: {
      template: claim('two'),
      jobTemplate: { ...claim('three'), spec: { template: claim('four') } },
    },
  }
  assert.deepEqual(claimedApplications(manifest), ['one', 'two', 'three', 'four'])
})

test('kubernetes-scenario 50 an edited version is its artifact', () => {
  const annotations = {
    'artifact.spinnaker.io/name': 'web',
    'artifact.spinnaker.io/version': 'v000',
    'moniker.spinnaker.io/sequence': '0',
    keep: 'me',
  }
  const original = originalOf({
    metadata: { name: 'web-v000', annotations, labels: { 'moniker.spinnaker.io/sequence': '0' } },
  })
  assert.deepEqual(original, { metadata: { name: 'web', annotations: { keep: 'me' }, labels: {} } })
  assert.equal(originalOf({ metadata: { name: 'web-v001', annotations } }), undefined)
})

test('what belongs to the API server is not applied', () => {
  const metadata = {
    name: 'web',
    uid: '1',
    resourceVersion: '2',
    managedFields: [],
    creationTimestamp: null,
    annotations: { n: 1, gone: null },
    labels: null,
  }
  const manifest = normalized({ kind: 'ConfigMap', metadata })
  assert.deepEqual(manifest, {
    kind: 'ConfigMap',
    metadata: { name: 'web', annotations: { n: '1' } },
  })
  assert.equal(annotationOf(manifest, 'n'), '1')
})

const selectors: readonly (readonly [JsonObject, string, boolean])[] = [
  [{ kind: 'EQUALS', key: 't', values: ['x'] }, 't=x', true],
  [{ kind: 'NOT_EQUALS', key: 't', values: ['x'] }, 't!=x', false],
  [{ kind: 'CONTAINS', key: 't', values: ['x', 'y'] }, 't in (x,y)', true],
  [{ kind: 'NOT_CONTAINS', key: 'u', values: ['x'] }, 'u notin (x)', true],
  [{ kind: 'EXISTS', key: 'u' }, 'u', false],
  [{ kind: 'NOT_EXISTS', key: 'u' }, '!u', true],
  [{ kind: 'ANY' }, '', true],
]

test('selectors of labels are read as the API server reads them', () => {
  for (const [selector, text, matches] of selectors) {
    const parsed = parseSelectors({ selectors: [selector] })
    assert.deepEqual([parsed.text, parsed.matches({ t: 'x' })], [text, matches])
  }
})

const wrongSelectors: readonly JsonObject[] = [
  { kind: 'EQUALS', key: 't', values: [] },
  { kind: 'EQUALS', key: 't', values: ['x,!y'] },
  { kind: 'EQUALS', key: 't in (a)', values: ['x'] },
  { kind: 'EXISTS' },
  { kind: 'LIKE', key: 't', values: ['x'] },
]

test('selectors that cannot be understood are refused', () => {
  for (const selector of wrongSelectors)
    assert.throws(() => parseSelectors({ selectors: [selector] }), /labelSelectors/)
})
