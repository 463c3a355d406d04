/** Differences of objects, secrets, and sets of managed fields. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../../../packages/base/json/values.ts'
import {
  diffObjects,
  withMaskedValues,
} from '../../../../packages/providers/kubernetes/manifests/diff.ts'
import {
  missingFields,
  unionOf,
  withoutFields,
  withoutFieldsOf,
} from '../../../../packages/providers/kubernetes/manifests/managed-fields.ts'
import { withoutSecretValues } from '../../../../packages/providers/kubernetes/manifests/secrets.ts'

function pods(containers: readonly JsonObject[], more: JsonObject = {}): JsonObject {
  return { spec: { template: { spec: { containers, ...more } } } }
}

const path = 'spec.template.spec'
const cases: readonly (readonly [string, JsonObject, JsonObject, readonly JsonObject[]])[] = [
  [
    'entries are matched by name',
    pods([
      { name: 'main', image: 'app:1' },
      { name: 'side', image: 's:1' },
    ]),
    pods([
      { name: 'side', image: 's:1' },
      { name: 'main', image: 'app:2' },
    ]),
    [
      {
        path: `${path}.containers[name=main].image`,
        change: 'changed',
        before: 'app:1',
        after: 'app:2',
      },
    ],
  ],
  [
    'an entry is added and another removed',
    pods([{ name: 'main' }]),
    pods([{ name: 'other' }]),
    [
      { path: `${path}.containers[name=main]`, change: 'removed', before: { name: 'main' } },
      { path: `${path}.containers[name=other]`, change: 'added', after: { name: 'other' } },
    ],
  ],
  [
    'mounts are matched by path',
    {
      mounts: [
        { name: 'a', mountPath: '/x' },
        { name: 'a', mountPath: '/y' },
      ],
    },
    {
      mounts: [
        { name: 'a', mountPath: '/y', readOnly: true },
        { name: 'a', mountPath: '/x' },
      ],
    },
    [{ path: 'mounts[mountPath=/y].readOnly', change: 'added', after: true }],
  ],
  [
    'entries without key are matched by place',
    { rules: [{ a: 1 }, { a: 2 }] },
    { rules: [{ a: 1 }, { a: 3 }] },
    [{ path: 'rules[1].a', change: 'changed', before: 2, after: 3 }],
  ],
  [
    'lists of texts change as a whole',
    { args: ['a'] },
    { args: ['a', 'b'] },
    [{ path: 'args', change: 'changed', before: ['a'], after: ['a', 'b'] }],
  ],
  [
    'bookkeeping does not count',
    {
      metadata: {
        name: 'web',
        resourceVersion: '1',
        annotations: { 'artifact.spinnaker.io/name': 'web' },
      },
      status: { a: 1 },
    },
    {
      metadata: { name: 'web', resourceVersion: '2', uid: 'x', managedFields: [] },
      status: { a: 2 },
    },
    [],
  ],
]

for (const [what, before, after, expected] of cases) {
  test(`of differences, ${what}`, () => {
    assert.deepEqual(diffObjects(before, after), expected)
  })
}

test('values of secrets are masked', () => {
  const changes = diffObjects({ data: { a: '1', b: '1' } }, { data: { a: '2', c: '1' }, type: 'x' })
  assert.deepEqual(withMaskedValues(changes), [
    { path: 'data.a', change: 'changed', before: '***', after: '***' },
    { path: 'data.b', change: 'removed', before: '***' },
    { path: 'data.c', change: 'added', after: '***' },
    { path: 'type', change: 'added', after: 'x' },
  ])
})

test('secrets lose their values and what repeats them', () => {
  const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': '{}', keep: 'me' }
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'key', annotations },
    data: { a: 'b' },
    stringData: {},
    type: 'Opaque',
  }
  assert.deepEqual(withoutSecretValues(secret), {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'key', annotations: { keep: 'me' } },
    type: 'Opaque',
  })
  const map = { ...secret, kind: 'ConfigMap' }
  assert.equal(withoutSecretValues(map), map)
})

const main = 'k:{"name":"main"}'
const side = 'k:{"name":"side"}'

test('fields that a manifest lacks are found by their keys', () => {
  const set = {
    'f:spec': {
      'f:replicas': {},
      'f:list': {
        [main]: { '.': {}, 'f:image': {}, 'f:tty': {} },
        [side]: { '.': {}, 'f:image': {} },
      },
    },
    'f:metadata': { 'f:finalizers': { '.': {}, 'v:"keep"': {}, 'v:"drop"': {} } },
  }
  const manifest = {
    spec: { replicas: 1, list: [{ name: 'main', image: 'x' }] },
    metadata: { finalizers: ['keep'] },
  }
  assert.deepEqual(missingFields(set, manifest), {
    'f:spec': { 'f:list': { [main]: { 'f:tty': {} }, [side]: {} } },
    'f:metadata': { 'f:finalizers': { 'v:"drop"': {} } },
  })
  assert.equal(missingFields({ 'f:spec': { 'f:replicas': {} } }, manifest), undefined)
})

test('a key that is left to its default is no difference', () => {
  const set = {
    'f:ports': { 'k:{"containerPort":80,"protocol":"TCP"}': { '.': {}, 'f:containerPort': {} } },
  }
  assert.equal(missingFields(set, { ports: [{ containerPort: 80 }] }), undefined)
})

test('sets of fields are united and reduced', () => {
  const one = { 'f:a': {}, 'f:l': { [main]: { '.': {}, 'f:x': {} } } }
  const other = { 'f:b': {}, 'f:l': { [main]: {}, [side]: { '.': {}, 'f:y': {} } } }
  assert.deepEqual(unionOf(one, other), {
    'f:a': {},
    'f:b': {},
    'f:l': { [main]: { '.': {}, 'f:x': {} }, [side]: { '.': {}, 'f:y': {} } },
  })
  assert.deepEqual(withoutFields(one, { 'f:a': {}, 'f:l': { [main]: { 'f:x': {} } } }), {
    'f:l': { [main]: {} },
  })
  assert.equal(withoutFields(one, { 'f:a': {}, 'f:l': { [main]: {} } }), undefined)
})

test('an object loses the fields of a set', () => {
  const object = { spec: { replicas: 1, list: [{ name: 'main', tty: true }, { name: 'side' }] } }
  const set = { 'f:spec': { 'f:list': { [main]: { 'f:tty': {} }, [side]: {} } } }
  assert.deepEqual(withoutFieldsOf(object, set), {
    spec: { replicas: 1, list: [{ name: 'main' }] },
  })
})
