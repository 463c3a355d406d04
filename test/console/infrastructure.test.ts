/** Load balancers, security groups and images at the console: what their forms read and send. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  pipelinesThatDeploy,
  toBakeLog,
  toBalancerDraft,
  toBalancerJob,
  toSecurityGroupDraft,
  toSecurityGroupJob,
} from '../../console/src/model/infrastructure.ts'

test('a load balancer that is saved unchanged stays as it is', () => {
  const balancer = {
    name: 'web-front',
    account: 'dev',
    region: 'east',
    listeners: [
      { externalProtocol: 'HTTPS', externalPort: 443, internalProtocol: 'HTTP', internalPort: 8080, sslCertificateId: 'site' },
    ],
    healthCheck: { target: 'HTTP:/health', interval: 0.2, timeout: 5, unhealthyThreshold: 2, healthyThreshold: 1 },
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
    listeners: [{ externalProtocol: 'HTTPS', externalPort: 443, internalProtocol: 'HTTP', sslCertificateId: 'site' }],
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
      { protocol: 'tcp', portRanges: [{ startPort: 0, endPort: 65_535 }], securityGroup: { name: 'gate' } },
    ],
  }
  assert.partialDeepStrictEqual(toSecurityGroupJob(toSecurityGroupDraft(group, place), 'local'), {
    name: 'office',
    regions: ['east'],
    ipIngress: [
      { cidr: '10.0.0.0/8', type: 'tcp', startPort: 80, endPort: 80 },
      { cidr: '10.0.0.0/8', type: 'tcp', startPort: 443, endPort: 444 },
    ],
    securityGroupIngress: [{ name: 'gate', type: 'tcp' }],
  })
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
    found.map(({ id, parameters }) => [id, parameters]),
    [
      ['a', { version: '1.2' }],
      ['b', { 'image name': 'shop:1.2' }],
      ['c', {}],
    ],
  )
})

test('the log of a bake has no markup of its own', () => {
  assert.equal(toBakeLog('<pre>The bake begins.\n<pre>ours</pre>\n</pre>'), 'The bake begins.\n<pre>ours</pre>\n')
  assert.deepEqual([toBakeLog({ logsContent: 'a' }), toBakeLog('b'), toBakeLog(undefined)], ['a', 'b', ''])
})
