/** Infrastructure, builds and bakery: processed answers, and answers without services. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Reply } from '../../support/upstream.ts'
import { startServices } from './contract.ts'

test('an unknown cluster is an empty answer', async (t) => {
  const platform = await startServices(t, {
    'clouddriver GET /applications/shop/clusters/dev/a.b': [],
  })
  const { status, body, headers } = await platform.ask('GET /applications/shop/clusters/dev/a.b')
  assert.deepEqual([status, body, headers.get('content-type')], [200, undefined, null])
})

test('server groups of a cluster without any are an empty list', async (t) => {
  const platform = await startServices(t, {
    'clouddriver GET /applications/shop/clusters/dev/main': [{ name: 'main' }],
  })
  assert.deepEqual(
    (await platform.ask('GET /applications/shop/clusters/dev/main/serverGroups')).body,
    [],
  )
  assert.deepEqual(
    (await platform.ask('GET /applications/shop/clusters/dev/main/serverGroups/main-v000')).body,
    [],
  )
})

test('a missing target is named with all of its coordinates', async (t) => {
  const platform = await startServices(t, {})
  const { status, body } = await platform.ask(
    'GET /applications/shop/clusters/dev/main/aws/east/serverGroups/target/newest',
  )
  assert.equal(status, 404)
  assert.match((body as { message: string }).message, /newest in aws\/dev\/east\/main/)
})

test('optional parameters reach the infrastructure only when they are given', async (t) => {
  const platform = await startServices(t, {})
  const rows: [ask: string, call: string][] = [
    ['/applications/shop/serverGroups', '/applications/shop/serverGroups?expand=false'],
    [
      '/applications/shop/serverGroups?expand=maybe',
      '/applications/shop/serverGroups?expand=maybe',
    ],
    [
      '/applications/shop/clusters/dev/m/serverGroups/m-v0/scalingActivities?provider=gce',
      '/applications/shop/clusters/dev/m/gce/serverGroups/m-v0/scalingActivities',
    ],
    [
      '/applications/shop/clusters/dev/m/aws/east/serverGroups/target/newest',
      '/applications/shop/clusters/dev/m/aws/east/serverGroups/target/newest',
    ],
    [
      '/instances/dev/east/i-1/console?provider=gce',
      '/instances/dev/east/i-1/console?provider=gce',
    ],
    [
      '/instances/dev/east/i-1/console?offset=5000000000&tail=2',
      '/instances/dev/east/i-1/console?provider=aws&tail=2&offset=5000000000',
    ],
    ['/images/dev/east/ami?provider=', '/aws/images/dev/east/ami'],
    ['/securityGroups/dev?provider=gce', '/securityGroups/dev/gce'],
    ['/securityGroups/dev/east/web', '/securityGroups/dev/aws/east/web'],
  ]
  for (const [ask, call] of rows) {
    platform.next()
    await platform.ask(`GET ${ask}`)
    assert.deepEqual(platform.calls(), [`clouddriver GET ${call}`])
  }
})

test('a missing part of a server group is named', async (t) => {
  const path = '/applications/shop/serverGroups/dev/east/shop-v001'
  const platform = await startServices(t, {})
  for (const answers of [{}, { 'clouddriver GET /credentials/dev': { name: 'dev' } }]) {
    platform.next(answers)
    const { status, body } = await platform.ask(`GET ${path}`)
    assert.equal(status, 404)
    assert.match((body as { message: string }).message, /shop-v001/)
  }
})

test('an instance of an unknown account is 404', async (t) => {
  const platform = await startServices(t, {
    'clouddriver GET /instances/dev/east/i-1': { name: 'i-1' },
  })
  assert.equal((await platform.ask('GET /instances/dev/east/i-1')).status, 404)
  assert.deepEqual(platform.calls(), ['clouddriver GET /credentials/dev'])
})

test('links are filled from the path, the resource and the account', async (t) => {
  const link = (url: string, cloudProvider?: string) => ({
    url: url.replaceAll('#', '$'),
    label: 'Logs',
    ...(cloudProvider && { cloudProvider }),
  })
  const account = { name: 'dev', accountId: '12', cloudProvider: 'aws', environment: 'test' }
  const platform = await startServices(
    t,
    {
      'clouddriver GET /credentials/dev': account,
      'clouddriver GET /applications/shop/serverGroups/dev/east/shop-main-v005': {
        name: 'shop-main-v005',
        vpcId: 'v1',
        size: 3,
      },
      'clouddriver GET /instances/dev/east/i-1': { name: 'i-1', serverGroup: 'shop-main-v005' },
      'clouddriver GET /aws/loadBalancers/dev/east/front': [
        { name: 'front', dnsName: 'front.example.org' },
      ],
      'clouddriver GET /applications/shop/jobs/dev/east/j1': { name: 'j1', cloudProvider: 'gce' },
    },
    {
      insights: {
        serverGroup: [
          link(
            'https://l/#{application}/#{account}/#{region}/#{serverGroup}/#{cluster}/#{vpcId}/#{accountId}/#{missing}',
          ),
          link('x', 'gce'),
        ],
        instance: [link('https://l/#{application}/#{instanceId}/#{environment}')],
        loadBalancer: [link('https://l/#{dnsName}/#{account}/#{accountId}', 'aws')],
        job: [link('https://l/#{application}/#{jobName}/#{region}'), link('https://aws', 'aws')],
      },
    },
  )
  const actions = async (path: string) => {
    const { body } = await platform.ask(`GET ${path}`)
    const [first] = Array.isArray(body) ? body : [body]
    return (first as { insightActions: unknown }).insightActions
  }
  assert.deepEqual(await actions('/applications/shop/serverGroups/dev/east/shop-main-v005'), [
    { url: 'https://l/shop/dev/east/shop-main-v005/shop-main/v1/12/null', label: 'Logs' },
  ])
  assert.deepEqual(await actions('/instances/dev/east/i-1'), [
    { url: 'https://l/shop/i-1/test', label: 'Logs' },
  ])
  assert.deepEqual(await actions('/loadBalancers/dev/east/front'), [
    { url: 'https://l/front.example.org/dev/12', label: 'Logs' },
  ])
  assert.deepEqual(await actions('/applications/shop/jobs/dev/east/j1'), [
    { url: 'https://l/shop/j1/east', label: 'Logs' },
  ])
})

test('other parameters of an image search are filters', async (t) => {
  const platform = await startServices(t, { 'clouddriver GET /gce/images/find': [] })
  await platform.ask(
    'GET /images/find?provider=gce&Q=no&Region=no&COUNT=3&tag:a=1&tag:a=2&account=dev',
  )
  assert.deepEqual(platform.calls(), ['clouddriver GET /gce/images/find?tag%3Aa=1&account=dev'])
})

test('a short search finds nothing without a call', async (t) => {
  const platform = await startServices(t, { 'clouddriver GET /search': [{ results: [1] }] })
  for (const query of [
    'q=ab&type=clusters',
    'q=&type=clusters',
    'type=clusters',
    'q=ab&type=service',
  ]) {
    const { status, body } = await platform.ask(`GET /search?${query}`)
    assert.deepEqual([status, body], [200, []], query)
  }
  assert.deepEqual(platform.calls(), [])
})

test('an allowed short search is made', async (t) => {
  const platform = await startServices(t, { 'clouddriver GET /search': [] })
  await platform.ask('GET /search?q=ab&type=clusters&allowShortQuery=true&platform=aws')
  await platform.ask('GET /search?type=service&pageSize=500')
  await platform.ask('GET /search?q=abc&type=a,b&type=c&page=2&account=dev&account=prod&Q=x')
  assert.deepEqual(platform.calls(), [
    'clouddriver GET /search?q=ab&type=clusters&platform=aws&pageSize=10000&page=1',
    'clouddriver GET /search?q=&type=service&pageSize=500&page=1',
    'clouddriver GET /search?account=dev&Q=x&q=abc&type=a&type=b&type=c&pageSize=10000&page=2',
  ])
})

test('a security group is found by its id through the search', async (t) => {
  const search = 'clouddriver GET /search?q=sg-1&type=securityGroups&pageSize=10000&page=1'
  const found = (hit: unknown) => [
    { results: [hit, { url: '/securityGroups/no/no/no?region=no' }] },
  ]
  const rows: [what: string, hits: unknown, call: string | undefined][] = [
    [
      'with its network',
      found({ url: '/securityGroups/dev/aws/web?region=east', vpcId: 'v1' }),
      '/securityGroups/dev/aws/east/web?vpcId=v1',
    ],
    [
      'without network',
      found({ url: '/securityGroups/dev/aws/web?region=east' }),
      '/securityGroups/dev/aws/east/web',
    ],
    [
      'in a longer address',
      found({ url: '/securityGroups/dev/aws/x/a%20b?region=east' }),
      '/securityGroups/dev/aws/east/a%20b',
    ],
    ['no hit', [{ results: [] }], undefined],
    ['no result set', [], undefined],
    ['no answer', undefined, undefined],
    ['a hit without address', found({}), undefined],
    ['a hit without region', found({ url: '/securityGroups/dev/aws/web' }), undefined],
  ]
  const platform = await startServices(t, {})
  for (const [what, hits, call] of rows) {
    await t.test(what, async () => {
      platform.next({
        'clouddriver GET /search': new Reply(200, hits),
        ...(call && { [`clouddriver GET ${call}`]: { id: 'sg-1' } }),
      })
      const { status, body } = await platform.ask('GET /securityGroups?id=sg-1')
      assert.deepEqual(
        platform.calls(),
        call === undefined ? [search] : [search, `clouddriver GET ${call}`],
      )
      if (call !== undefined) assert.deepEqual([status, body], [200, { id: 'sg-1' }])
      else assert.match(`${status} ${(body as { message: string }).message}`, /^404 .*sg-1/)
    })
  }
})

test('a blank id lists all security groups', async (t) => {
  const platform = await startServices(t, { 'clouddriver GET /securityGroups': { dev: {} } })
  for (const query of ['', '?id=', '?id=%20'])
    assert.deepEqual((await platform.ask(`GET /securityGroups${query}`)).body, { dev: {} })
})

test('an unknown build is 404 with its names, even **', async (t) => {
  const platform = await startServices(t, {})
  const rows: [path: string, named: RegExp][] = [
    ['/v2/builds/ci/jobs', /"ci"/],
    ['/v2/builds/ci/jobs/a/b', /"a\/b".*"ci"/],
    ['/v2/builds/ci/builds/a.b', /"a\.b".*"ci"/],
    ['/v2/builds/ci/build/7/a', /7.*"a".*"ci"/],
    ['/v2/builds/ci/build/x/**', /x.*"\*\*".*"ci"/],
    ['/v2/builds/ci/builds/**', /"\*\*"/],
  ]
  for (const [path, named] of rows) {
    const { status, body } = await platform.ask(`GET ${path}`)
    assert.equal(status, 404, path)
    assert.match((body as { message: string }).message, named)
  }
})

test('the list of jobs may end in a slash', async (t) => {
  const platform = await startServices(t, { 'igor GET /jobs/ci': ['a'] })
  assert.deepEqual((await platform.ask('GET /v2/builds/ci/jobs/')).body, ['a'])
})

test('an encoded slash in the name of a job is refused', async (t) => {
  const platform = await startServices(t, {})
  assert.equal((await platform.ask('GET /v2/builds/ci/jobs/a%2Fb')).status, 400)
  assert.deepEqual(platform.calls(), [])
})

test('bakery-scenario 26: a bake log is JSON, or a page for browsers', async (t) => {
  const platform = await startServices(t, {
    'rosco GET /api/v1/east/logs/b1': { logsContent: '<script>1 & 2</script>' },
  })
  const get = (accept?: string) =>
    platform.ask('GET /bakery/logs/east/b1', undefined, accept === undefined ? {} : { accept })
  assert.equal((await get()).body, '<pre><script>1 & 2</script></pre>')
  const page = await get('text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8')
  assert.match(page.headers.get('content-type') ?? '', /^text\/html/)
  assert.equal(page.body, '<pre>&#60;script&#62;1 &#38; 2&#60;/script&#62;</pre>')
  const plain = await get('text/plain')
  assert.match(plain.headers.get('content-type') ?? '', /^text\/plain/)
  assert.equal(plain.body, '<pre><script>1 & 2</script></pre>')
})

test('bakery-scenario 26: a bake without a log is 404', async (t) => {
  const platform = await startServices(t, { 'rosco GET /api/v1/east/logs/b1': { id: 'b1' } })
  assert.equal((await platform.ask('GET /bakery/logs/east/b1')).status, 404)
})

test('configured base images replace only the list of the bakery', async (t) => {
  const own = { cloudProvider: 'docker', baseImages: [{ id: 'slim' }] }
  const rosco = { defaults: { useDefaultBakeOptions: true, bakeOptions: [own] } }
  const platform = await startServices(
    t,
    { 'rosco GET /bakeOptions/docker': { cloudProvider: 'docker' } },
    { services: { rosco } },
  )
  assert.deepEqual((await platform.ask('GET /bakery/options')).body, [own])
  assert.deepEqual((await platform.ask('GET /bakery/options/docker')).body, {
    cloudProvider: 'docker',
  })
})

test('bakery-scenario 27: without a bakery the configured base images are listed', async (t) => {
  const own = { cloudProvider: 'docker', baseImages: [] }
  const platform = await startServices(
    t,
    {},
    { services: { rosco: { enabled: false, defaults: { bakeOptions: [own] } } } },
  )
  assert.deepEqual((await platform.ask('GET /bakery/options/docker')).body, own)
})
