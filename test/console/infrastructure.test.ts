/** Load balancers, security groups and images at the console: what their forms read and send. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deploymentsOf } from '../../console/src/model/deployment.ts'
import type { Execution } from '../../console/src/model/execution.ts'
import {
  pipelinesThatDeploy,
  toBakeLog,
  toBalancerDraft,
  toBalancerJob,
  toSecurityGroupDraft,
  toSecurityGroupJob,
} from '../../console/src/model/infrastructure.ts'
import { picturesOf, picturesThen, sentenceOf, sharersIn } from '../../console/src/model/traffic.ts'

test('a load balancer that is saved unchanged stays as it is', () => {
  const balancer = {
    name: 'web-front',
    account: 'dev',
    region: 'east',
    listeners: [
      {
        externalProtocol: 'HTTPS',
        externalPort: 443,
        internalProtocol: 'HTTP',
        internalPort: 8080,
        sslCertificateId: 'site',
      },
    ],
    healthCheck: {
      target: 'HTTP:/health',
      interval: 0.2,
      timeout: 5,
      unhealthyThreshold: 2,
      healthyThreshold: 1,
    },
    isInternal: true,
    securityGroups: ['office'],
  }
  assert.deepEqual(toBalancerJob(toBalancerDraft(balancer), 'local'), {
    type: 'upsertLoadBalancer',
    cloudProvider: 'local',
    credentials: 'dev',
    account: 'dev',
    region: 'east',
    name: 'web-front',
    loadBalancerName: 'web-front',
    listeners: [
      {
        externalProtocol: 'HTTPS',
        externalPort: 443,
        internalProtocol: 'HTTP',
        sslCertificateId: 'site',
      },
    ],
    healthCheck: 'HTTP:/health',
    healthInterval: 0.2,
    healthTimeout: 5,
    unhealthyThreshold: 2,
    healthyThreshold: 1,
    isInternal: true,
    securityGroups: ['office'],
  })
})

test('rules of a security group survive the form', () => {
  const place = { account: 'dev', region: 'east' }
  const group = {
    name: 'office',
    description: 'People',
    inboundRules: [
      {
        protocol: 'tcp',
        portRanges: [
          { startPort: 80, endPort: 80 },
          { startPort: 443, endPort: 444 },
        ],
        range: { ip: '10.0.0.0', cidr: '/8' },
      },
      {
        protocol: 'tcp',
        portRanges: [{ startPort: 0, endPort: 65_535 }],
        securityGroup: { name: 'gate' },
      },
    ],
  }
  assert.partialDeepStrictEqual(
    toSecurityGroupJob(toSecurityGroupDraft({ ...group, ...place }), 'local'),
    {
      name: 'office',
      regions: ['east'],
      ipIngress: [
        { cidr: '10.0.0.0/8', type: 'tcp', startPort: 80, endPort: 80 },
        { cidr: '10.0.0.0/8', type: 'tcp', startPort: 443, endPort: 444 },
      ],
      securityGroupIngress: [{ name: 'gate', type: 'tcp' }],
    },
  )
})

test('pipelines that deploy an image are found with the values of their parameters', () => {
  const pipeline = (id: string, imageId: string) => ({
    id,
    name: id,
    application: 'shop',
    stages: [{ type: 'deploy', clusters: [{ imageId }] }],
  })
  const found = pipelinesThatDeploy('shop:1.2', [
    pipeline('a', 'shop:${parameters.version}'),
    pipeline('b', "${ trigger.parameters['image name'] }"),
    pipeline('c', 'shop:1.2'),
    pipeline('d', 'shop:1.1'),
    pipeline('e', 'cart:${parameters.version}'),
    { id: 'f', name: 'f', application: 'shop', stages: null },
  ])
  assert.deepEqual(
    found.map(({ id, fills }) => [id, fills]),
    [
      ['a', { 'p.version': '1.2', image: 'shop:1.2' }],
      ['b', { 'p.image name': 'shop:1.2', image: 'shop:1.2' }],
      ['c', { image: 'shop:1.2' }],
    ],
  )
})

test('the log of a bake has no markup of its own', () => {
  assert.equal(
    toBakeLog('<pre>The bake begins.\n<pre>ours</pre>\n</pre>'),
    'The bake begins.\n<pre>ours</pre>\n',
  )
  assert.deepEqual(
    [toBakeLog({ logsContent: 'a' }), toBakeLog('b'), toBakeLog(undefined)],
    ['a', 'b', ''],
  )
})

test('a run tells how its deployment went', () => {
  const place = { account: 'dev', region: 'east', application: 'shop' }
  const step = (name: string, endTime: number) => ({
    id: name,
    name,
    status: 'SUCCEEDED',
    startTime: endTime - 1,
    endTime,
  })
  const stage = (id: string, type: string, context: object, more: object = {}) => ({
    ...{
      id,
      type,
      name: type,
      status: 'SUCCEEDED',
      startTime: 10,
      endTime: 40,
      tasks: [],
      outputs: {},
    },
    ...{ parentStageId: id === '1' ? null : '1', context: { ...place, ...context }, ...more },
  })
  const created = {
    capacity: { desired: 2 },
    loadBalancers: ['shop-front'],
    source: { serverGroupName: 'shop-v000' },
    'deploy.server.groups': { east: ['shop-v001'] },
  }
  const tasks = [step('createServerGroup', 20), step('waitForUpInstances', 30)]
  const stages = [
    stage('1', 'deploy', {}),
    stage('2', 'createServerGroup', created, { tasks }),
    stage('3', 'disableCluster', { cluster: 'shop', chosenServerGroups: [{ name: 'shop-v000' }] }),
    // What an analysis compared has gone with it.
    stage('4', 'kayentaCanary', {}),
    stage(
      '5',
      'createServerGroup',
      { 'deploy.server.groups': { east: ['shop-canary-v000'] } },
      { parentStageId: '4' },
    ),
  ]
  const [deployment, ...others] = deploymentsOf({ stages } as unknown as Execution)
  assert.ok(deployment)
  assert.equal(others.length, 0)
  assert.deepEqual(
    deployment.events.map(({ atMs, text }) => [atMs, text]),
    [
      [20, 'v001 created'],
      [30, '2 of 2 up, took traffic'],
      [40, 'v000 disabled'],
    ],
  )
  const group = (
    name: string,
    createdTime: number,
    states: readonly string[],
    isDisabled = false,
  ) => ({
    ...{
      name,
      createdTime,
      isDisabled,
      region: 'east',
      account: 'dev',
      loadBalancers: ['shop-front'],
    },
    instances: states.map((healthState, at) => ({ name: `${name}-${at}`, healthState })),
  })
  const now = [group('shop-v000', 1, ['Up', 'Up']), group('shop-v001', 15, ['Up', 'Starting'])]
  assert.equal(
    sentenceOf(picturesOf(now)),
    'v001 takes 33 % of the traffic, 1 up, 1 starting; v000 takes 67 % of the traffic, 2 up.',
  )
  const [serving] = now
  assert.ok(serving)
  const all = [serving, { ...group('shop-canary-v000', 20, ['Up']), trafficPercent: 10 }]
  assert.equal(sentenceOf(picturesOf([serving], { all })), 'v000 takes 90 % of the traffic, 2 up.')
  const later = [group('shop-v001', 15, ['Up'], true), group('shop-v002', 90, ['Up'])]
  assert.equal(
    sentenceOf(picturesThen(deployment, later)),
    'v001 takes all traffic, 2 up; v000 is disabled.',
  )
  const balancer = (trafficPercent: number | undefined, state: string) => {
    const instances = [{ name: 'i', health: { state } }]
    return {
      name: 'shop-front',
      account: 'dev',
      region: 'east',
      serverGroups: [{ name: 'x', trafficPercent, instances }],
    }
  }
  const shared = sharersIn(balancer(10, 'InService'))
  assert.equal(
    sentenceOf(picturesOf([serving], { all: [serving, ...shared] })),
    'v000 takes 90 % of the traffic, 2 up.',
  )
  assert.equal(
    sentenceOf(picturesThen(deployment, later, shared)),
    'v001 runs, 2 up; v000 is disabled.',
    'others had a part',
  )
  const idle = sharersIn(balancer(undefined, 'OutOfService'))
  assert.match(sentenceOf(picturesThen(deployment, later, idle)), /v001 takes all traffic/)
  const given = stage('6', 'shareTraffic', {
    cluster: 'shop',
    serverGroupName: 'shop-v001',
    percent: 10,
  })
  const [partial] = deploymentsOf({
    stages: [...stages.slice(0, 2), given],
  } as unknown as Execution)
  assert.match(
    sentenceOf(picturesThen(partial as never, now)),
    /v001 takes 10 % of the traffic.*v000 takes 90 %/,
  )
  // While the analysis runs, what it deployed is shown as it is.
  const running = { ...stages[3], status: 'RUNNING' }
  const canary = deploymentsOf({ stages: [running, stages[4]] } as unknown as Execution)
  assert.deepEqual([canary.length, canary[0]?.isOver], [1, false])
})
