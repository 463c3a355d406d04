import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMetricReads } from '../../../../packages/providers/kubernetes/reads/group-metrics.ts'
import { startUpstream } from '../../../support/upstream.ts'

type Parts = Parameters<typeof createMetricReads>[0]
type Statistics = ReturnType<typeof createMetricReads>['statistics']

test('what an annotation names as load balancer stays within the quotes of a query', async (t) => {
  const prometheus = await startUpstream(t, () => ({ data: { result: [] } }))
  const queries = { requests: 'sum(r{service=~"$services"})' }
  const settings = { prometheus: { baseUrl: prometheus.url, queries }, metrics: false }
  const reads = createMetricReads({
    now: () => 0,
    account: () => ({ settings }),
  } as unknown as Parts)
  const hostile = [
    'service a"}) or up{x="',
    'service a"',
    'service .*',
    'service a|b',
    'service a\\',
    'ingress b',
  ]
  const group = {
    account: 'k8s',
    region: 'web',
    name: 'replicaSet web',
    loadBalancers: [...hostile, 'service web.v1'],
  }
  await reads.statistics('requests', group as unknown as Parameters<Statistics>[1])
  const query = new URLSearchParams(prometheus.requests[0]?.query).get('query')
  assert.equal(query, 'sum(r{service=~"web\\\\.v1"})')
})
