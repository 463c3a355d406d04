/** The console before a clouddriver of another cloud, with an application of so many clusters that only those in view are read. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  matchesCluster,
  toClusterNames,
  toClusters,
} from '../../console/src/model/server-groups.ts'
import { findBarriers } from '../support/barriers.ts'
import { openChromium } from '../support/chromium.ts'
import { startGateway } from '../support/gateway.ts'
import { type RecordedRequest, Reply, startUpstream } from '../support/upstream.ts'
import { waitUntil } from '../support/wait-until.ts'

const size = 320
const names = Array.from(
  { length: size },
  (_, at) => `deployment shop-c${String(at).padStart(3, '0')}`,
)

/** As clouddriver lists a replica set of a Kubernetes deployment. */
function replicaSet(cluster: string, version: number): Record<string, unknown> {
  const name = `replicaSet ${cluster.replace('deployment ', '')}-v00${version}`
  return {
    name,
    account: 'k8s-prod',
    region: 'shop-namespace',
    type: 'kubernetes',
    cloudProvider: 'kubernetes',
    cluster,
    application: 'shop',
    moniker: { app: 'shop', cluster, sequence: version },
    createdTime: Date.UTC(2026, 0, 5, version),
    isDisabled: version === 0,
    capacity: { desired: 1, pinned: false },
    instanceCounts: { total: 1, up: 1, down: 0, outOfService: 0, starting: 0, unknown: 0 },
    instances: [{ id: `uid-${name}`, name: `pod ${name}`, healthState: 'Up', health: [] }],
    loadBalancers: ['service shop'],
    serverGroupManagers: [{ account: 'k8s-prod', location: 'shop-namespace', name: cluster }],
    buildInfo: { images: ['registry.example.org/shop:1.0'] },
  }
}

const groupsOf = (cluster: string) => [replicaSet(cluster, 0), replicaSet(cluster, 1)]

function answerTo({ path, query }: RecordedRequest): unknown {
  const wanted = new URLSearchParams(query)
  if (path === '/applications/shop/clusters') return { 'k8s-prod': names }
  if (path === '/applications/shop/serverGroups') {
    const clusters = wanted.get('clusters')?.split(',')
    return (clusters?.map((one) => one.slice(one.indexOf(':') + 1)) ?? names).flatMap(groupsOf)
  }
  const group = /^\/applications\/shop\/serverGroups\/k8s-prod\/shop-namespace\/(.*)$/.exec(
    path,
  )?.[1]
  if (group !== undefined) {
    const name = decodeURIComponent(group)
    // The details lack the cluster beside the moniker.
    const { cluster: _, ...details } = replicaSet(
      name.replace('replicaSet', 'deployment').slice(0, -5),
      Number(name.at(-1)),
    )
    return details
  }
  if (path.endsWith('/events'))
    return [
      { createdAt: '2026-11-20T10:00:00Z', message: 'Scaled up replica set', status: 'Normal' },
    ]
  if (path.endsWith('/scalingActivities')) return []
  if (path === '/securityGroups') {
    const summary = (name: string, app: string) => ({ id: name, name, moniker: { app } })
    const groups = [summary('networkPolicy shop', 'shop'), summary('shop-like', 'cart')]
    return { 'k8s-prod': { kubernetes: { 'shop-namespace': groups } } }
  }
  if (path.startsWith('/securityGroups/'))
    return { name: 'networkPolicy shop', inboundRules: [], region: 'shop-namespace' }
  if (path === '/credentials/k8s-prod') return { name: 'k8s-prod', type: 'kubernetes' }
  if (path === '/credentials')
    return [{ name: 'k8s-prod', type: 'kubernetes', cloudProvider: 'kubernetes' }]
  if (path === '/health') return { status: 'UP' }
  return path.startsWith('/applications/shop') && !path.endsWith('/loadBalancers')
    ? { name: 'shop', attributes: {} }
    : []
}

test('of very many clusters only those in view are read', { timeout: 300_000 }, async (t) => {
  const browser = await openChromium(t)
  if (browser === undefined) return
  const clouddriver = await startUpstream(t, (request) => new Reply(200, answerTo(request)))
  const front50 = await startUpstream(t, ({ path }) =>
    path === '/v2/applications/shop' ? { name: 'SHOP', email: 'ops@example.org' } : [],
  )
  const services = { clouddriver: { baseUrl: clouddriver.url }, front50: { baseUrl: front50.url } }
  const url = await startGateway(t, { services }, { embedded: true })
  const page = await browser.newPage()
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(String(error)))
  const asked: URL[] = []
  page.on('request', (request) => asked.push(new URL(request.url())))
  const lists = () =>
    clouddriver.requests.filter(({ path }) => path === '/applications/shop/serverGroups')
  const read = () =>
    new Set(
      lists().flatMap(({ query }) => new URLSearchParams(query).get('clusters')?.split(',') ?? []),
    )
  const region = (name: string | undefined) =>
    page.getByRole('region', { name: new RegExp(`^${name}, `) })

  await page.goto(`${url}/console/applications/shop`)
  await page.getByText(`${size} clusters`).waitFor()
  await region(names[0]).getByRole('link', { name: /v001$/ }).waitFor()
  assert.deepEqual(await findBarriers(page), [])
  assert.ok(read().size > 0 && read().size < 60, `${read().size} clusters are read`)

  await page.getByLabel('Filter by cluster or account').fill('shop-c200-v001')
  await region(names[200]).getByText('100 % of traffic').waitFor()
  assert.match(page.url(), /q=shop-c200-v001/)
  assert.equal(await page.getByRole('region', { name: /^deployment/ }).count(), 1)
  await page.getByLabel('Filter by cluster or account').fill('nothing')
  await page.getByText('No cluster matches “nothing”.').waitFor()
  await page.getByRole('button', { name: 'Clear filters' }).click()

  await region(names[0]).waitFor()
  await page.mouse.move(640, 600)
  const last = region(names.at(-1))
  await waitUntil(async () => {
    await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)')
    return (await last.getByRole('link', { name: /v001$/ }).count()) === 1
  }, 'the last cluster')
  assert.ok(read().size < 150, `${read().size} clusters are read after a jump to the end`)

  const inView = () =>
    page.evaluate<string>(`(() => {
      const tops = [...document.querySelectorAll('.cluster')].map((each) => [each.getBoundingClientRect().top, each.ariaLabel])
      return tops.find(([top]) => top > 100)?.join()
    })()`)
  await page.evaluate('scrollTo(0, 9000)')
  await waitUntil(async () => /,/.test(await inView()), 'clusters in the middle')
  await page.waitForTimeout(2000)
  const before = await inView()
  const chosen = before.slice(before.indexOf(',') + 1, before.lastIndexOf(','))
  await region(chosen).getByRole('link', { name: chosen, exact: true }).click()
  await page.getByRole('heading', { level: 1, name: chosen }).waitFor()
  await page.goBack()
  await waitUntil(async () => (await inView()) === before, 'the place in the list')

  await page.goto(
    `${url}/console/applications/shop/server-groups/k8s-prod/shop-namespace/replicaSet%20shop-c123-v001`,
  )
  await page.getByRole('heading', { level: 1, name: 'replicaSet shop-c123-v001' }).waitFor()
  await page.getByRole('link', { name: 'deployment shop-c123' }).waitFor()
  await waitUntil(async () => read().has(`k8s-prod:${names[123]}`), 'the rest of its cluster')
  await page.getByRole('button', { name: 'Actions of replicaSet shop-c123-v001' }).click()
  await page.getByRole('menuitem', { name: 'Roll back', exact: true }).click()
  await page
    .getByRole('dialog')
    .getByRole('option', { name: /replicaSet shop-c123-v000/ })
    .waitFor({ state: 'attached' })
  await page.getByRole('button', { name: 'Cancel' }).click()

  await page.getByRole('tab', { name: 'Events' }).click()
  await page.getByRole('row', { name: /Scaled up replica set Normal/ }).waitFor()
  await page.getByText('It has not been scaled.').waitFor()
  assert.match(page.url(), /tab=events/)
  assert.deepEqual(await findBarriers(page), [])

  await page.goto(`${url}/console/applications/shop/security-groups`)
  await page.getByRole('link', { name: 'networkPolicy shop' }).waitFor()
  assert.equal(
    await page.getByRole('link', { name: 'shop-like' }).count(),
    0,
    'it belongs to another application',
  )
  await page.getByRole('link', { name: 'networkPolicy shop' }).click()
  await page.getByRole('heading', { level: 2, name: 'networkPolicy shop' }).waitFor()
  assert.match(
    page.url(),
    /security-groups\/k8s-prod\/shop-namespace\/networkPolicy%20shop\?provider=kubernetes/,
  )
  await page.goBack()
  await page.goBack()

  await page.getByRole('link', { name: 'deployment shop-c123' }).click()
  await page.getByRole('heading', { level: 1, name: 'deployment shop-c123' }).waitFor()
  await region(names[123]).getByRole('link', { name: 'replicaSet shop-c123-v000' }).waitFor()
  assert.ok(
    asked
      .filter(({ pathname }) => pathname === '/applications/shop/serverGroups')
      .every(({ searchParams }) => searchParams.has('clusters')),
    'the page never reads all server groups',
  )
  assert.deepEqual(complaints, [])
})

test('clusters are read with their neighbours in the list', () => {
  const clusters = toClusterNames({ prod: names.slice(0, 11), dev: [names[0] as string] })
  assert.deepEqual(
    clusters.slice(0, 2).map(({ account, name }) => [account, name]),
    [
      ['dev', names[0]],
      ['prod', names[0]],
    ],
  )
  assert.deepEqual(
    clusters.map(({ batch }) => batch.split(',').length),
    [...Array(10).fill(10), 2, 2],
  )
  const found = (q: string, account?: string) =>
    clusters.filter((cluster) => matchesCluster(cluster, { q, ...(account && { account }) })).length
  assert.deepEqual(
    [found(''), found('C00'), found('c000'), found('c000', 'dev'), found('deployment shop-c00-v1')],
    [12, 11, 2, 1, 0],
  )
})

test('server groups are put together by cluster, region or image', () => {
  const groups = [...groupsOf('a'), ...groupsOf('b')] as unknown as Parameters<typeof toClusters>[0]
  const sizes = (by: 'cluster' | 'region' | 'image') =>
    toClusters(groups, by).map(({ name, groups: some }) => [name, some.length])
  assert.deepEqual(sizes('cluster'), [
    ['a', 2],
    ['b', 2],
  ])
  assert.deepEqual(
    [sizes('region'), sizes('image')],
    [[['shop-namespace', 4]], [['registry.example.org/shop:1.0', 4]]],
  )
  const ofOneSecond = groups.slice(0, 2).map((group) => ({ ...group, createdTime: 1 }))
  const [cluster] = toClusters(ofOneSecond)
  assert.deepEqual(
    cluster?.groups.map(({ name }) => name),
    ['replicaSet a-v001', 'replicaSet a-v000'],
  )
})
