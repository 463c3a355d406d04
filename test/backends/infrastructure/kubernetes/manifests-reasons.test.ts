/** Reasons why objects are not stable. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../../../packages/base/json/values.ts'
import {
  crashedContainers,
  reasonsOf,
} from '../../../../packages/providers/kubernetes/manifests/reasons.ts'
import type { KubeObject } from '../../../../packages/providers/kubernetes/objects.ts'

function object(kind: string, spec: JsonObject, status?: JsonObject): KubeObject {
  const metadata = { name: 'web', namespace: 'n1', generation: 2 }
  return {
    apiVersion: 'batch/v1',
    kind,
    metadata,
    spec,
    ...(status !== undefined && { status }),
  }
}

const condition = (fields: JsonObject) => ({ conditions: [fields] })

function pod(status: JsonObject, name = 'web-1'): KubeObject {
  const spec = { nodeName: 'node', containers: [{ name: 'main', image: 'bad:1' }] }
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, uid: name }, spec, status }
}

function container(fields: JsonObject): JsonObject {
  return {
    phase: 'Pending',
    containerStatuses: [{ name: 'main', image: 'bad:1', restartCount: 0, ready: false, ...fields }],
  }
}

function event(reason: string, message: string, uid = 'web-1', kind = 'Pod'): JsonObject {
  return {
    reason,
    message,
    involvedObject: { kind, name: uid, uid },
    lastTimestamp: '2026-01-01T00:00:00Z',
  }
}

const waiting = (reason: string, message?: string) =>
  container({ state: { waiting: { reason, ...(message !== undefined && { message }) } } })
const unscheduled = {
  phase: 'Pending',
  conditions: [
    {
      type: 'PodScheduled',
      status: 'False',
      reason: 'Unschedulable',
      message: '0/3 nodes are available',
    },
  ],
}
const crash = {
  state: { waiting: { reason: 'CrashLoopBackOff' } },
  lastState: { terminated: { exitCode: 3, reason: 'Error' } },
  restartCount: 4,
}
const replicaSet: KubeObject = {
  apiVersion: 'apps/v1',
  kind: 'ReplicaSet',
  metadata: { name: 'web-5f', uid: 'rs' },
  spec: { replicas: 2 },
  status: {
    conditions: [
      {
        type: 'ReplicaFailure',
        status: 'True',
        message: 'pods "web" is forbidden: exceeded quota: small',
      },
    ],
  },
}

const reasons: readonly (readonly [string, Parameters<typeof reasonsOf>[0], RegExp, boolean])[] = [
  [
    'an image that is missing',
    {
      objects: [],
      pods: [pod(waiting('ImagePullBackOff', 'Back-off pulling image'))],
      events: [event('Failed', 'Failed to pull image "bad:1": not found')],
    },
    /^The image bad:1 of the container main cannot be pulled in pod web-1: Failed to pull image "bad:1": not found\.$/,
    false,
  ],
  [
    'an invalid image',
    { objects: [], pods: [pod(waiting('InvalidImageName', 'bad name'))], events: [] },
    /cannot be pulled.*bad name/,
    true,
  ],
  [
    'a missing config map',
    {
      objects: [],
      pods: [pod(waiting('CreateContainerConfigError', 'configmap "conf" not found'))],
      events: [],
    },
    /cannot be created in pod web-1: configmap "conf" not found\.$/,
    true,
  ],
  [
    'a crash with its output',
    {
      objects: [],
      pods: [pod(container(crash))],
      events: [],
      logs: new Map([['web-1/main', 'starting\nno database\n']]),
    },
    /ended with exit code 3 in pod web-1 after 4 restarts\. Its last output: starting\nno database$/,
    false,
  ],
  [
    'too little memory',
    {
      objects: [],
      pods: [
        pod(
          container({
            ...crash,
            lastState: { terminated: { exitCode: 137, reason: 'OOMKilled' } },
          }),
        ),
      ],
      events: [],
    },
    /exceeded its memory limit/,
    false,
  ],
  [
    'a failing probe',
    {
      objects: [],
      pods: [pod({ ...container({ state: { running: {} } }), phase: 'Running' })],
      events: [
        event('Unhealthy', 'Readiness probe failed: HTTP probe failed with statuscode: 500'),
      ],
    },
    /A probe of the container main fails in pod web-1: Readiness probe failed.*500\.$/,
    false,
  ],
  [
    'no node',
    { objects: [], pods: [{ ...pod(unscheduled), spec: { containers: [] } }], events: [] },
    /^No node can run pod web-1: 0\/3 nodes are available\.$/,
    false,
  ],
  [
    'a quota',
    { objects: [replicaSet], pods: [], events: [] },
    /^ReplicaSet web-5f cannot create pods because of a quota: .*small\.$/,
    false,
  ],
  [
    'a volume',
    {
      objects: [],
      pods: [pod({ phase: 'Pending' })],
      events: [event('FailedMount', 'MountVolume.SetUp failed')],
    },
    /^A volume of pod web-1 cannot be mounted: MountVolume\.SetUp failed\.$/,
    false,
  ],
  [
    'a job that failed',
    {
      objects: [
        object(
          'Job',
          {},
          condition({
            type: 'Failed',
            status: 'True',
            message: 'Job has reached the specified backoff limit',
          }),
        ),
      ],
      pods: [],
      events: [],
    },
    /^Job web failed: Job has reached the specified backoff limit\.$/,
    true,
  ],
]

for (const [what, sources, text, isHopeless] of reasons) {
  test(`the reason tells ${what}`, () => {
    const [reason, ...more] = reasonsOf(sources)
    assert.match(reason?.text ?? '', text)
    assert.equal(reason?.isHopeless, isHopeless)
    assert.deepEqual(more, [])
  })
}

test('pods with the same cause share a sentence', () => {
  const pods = ['web-1', 'web-2', 'web-3'].map((name) =>
    pod(waiting('ErrImagePull', 'not found'), name),
  )
  const found = reasonsOf({ objects: [], pods, events: [] })
  assert.equal(found.length, 1)
  assert.match(found[0]?.text ?? '', /in 3 pods, such as web-1: not found/)
})

test('ready pods and pods that end give no reason', () => {
  const healthy = pod({
    phase: 'Running',
    containerStatuses: [
      {
        name: 'main',
        ready: true,
        state: { running: {} },
        restartCount: 2,
        lastState: { terminated: { exitCode: 1 } },
      },
    ],
  })
  const leaving = {
    ...pod(waiting('ErrImagePull')),
    metadata: { name: 'x', deletionTimestamp: '2026-01-01T00:00:00Z' },
  }
  assert.deepEqual(reasonsOf({ objects: [], pods: [healthy, leaving], events: [] }), [])
})

test('crashed containers are named with the run that wrote', () => {
  const ended = pod(container({ state: { terminated: { exitCode: 1 } } }), 'web-2')
  assert.deepEqual(crashedContainers([pod(container(crash)), ended]), [
    { pod: 'web-1', container: 'main', isPrevious: true },
    { pod: 'web-2', container: 'main', isPrevious: false },
  ])
})
