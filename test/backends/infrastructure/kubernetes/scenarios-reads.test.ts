/** What a gateway passes on of clusters, by names with blanks and by the rights of its users. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  fieldAt,
  type JsonObject,
  objectsOf,
  textsOf,
} from '../../../../packages/base/json/values.ts'
import { pathTo } from '../../../../packages/base/net/encode-path.ts'
import { deployment, secret, service } from '../../../support/kubernetes-manifests.ts'
import type { Place } from '../../../support/kubernetes-place.ts'
import { type Platform, startPlatform } from '../../../support/kubernetes-platform.ts'

const cases: Record<string, (platform: Platform, place: Place) => Promise<void>> = {
  'kubernetes-scenario 1, 3, 4, 10: accounts show their namespaces, rights and no secrets': async (
    platform,
  ) => {
    const { plane, one, read } = platform
    const accounts = await platform.until<JsonObject[]>('/credentials?expand=true', (body) =>
      body.some(({ name, namespaces }) => name === 'k8s' && textsOf(namespaces).includes(one)),
    )
    const [k8s, single] = ['k8s', 'k8s-one'].map((name) =>
      accounts.find((account) => account['name'] === name),
    )
    assert.partialDeepStrictEqual(k8s, { type: 'kubernetes', cloudProvider: 'kubernetes' })
    assert.ok(!textsOf(k8s?.['namespaces']).includes('kube-system'))
    assert.equal(k8s?.['regions'], undefined)
    assert.partialDeepStrictEqual(single, {
      namespaces: [one],
      environment: 'k8s-one',
      accountType: 'k8s-one',
    })
    const said = JSON.stringify(accounts)
    for (const text of [plane.token(), 'certificate-authority-data'])
      assert.ok(!said.includes(text))
    const ofBob = await read<JsonObject[]>('/credentials', 'bob')
    assert.equal(ofBob.find(({ name }) => name === 'k8s-ro')?.['authorized'], false)
  },
  'kubernetes-scenario 109, 111: an object is read by any form of its name': async (
    { ask, read },
    place,
  ) => {
    await place.deploy([deployment('web')])
    for (const name of ['deployment web', 'Deployment web', 'deploy web', 'deployment.apps web']) {
      assert.partialDeepStrictEqual(await place.manifest(name), {
        name: 'deployment web',
        location: place.namespace,
      })
    }
    for (const name of ['deployment none', 'none']) {
      const answer = await ask('GET', pathTo`/manifests/k8s/${place.namespace}/${name}`)
      assert.equal(answer.status, 404, name)
      assert.match(String(fieldAt(answer.body, 'message')), new RegExp(`Unable to find ${name} in`))
    }
    const role = await read(pathTo`/manifests/k8s/_/${'clusterRole view'}`)
    assert.equal(role['location'], '')
  },
  'kubernetes-scenario 114, 115, 117, 118: a rollout is read down to the console of a pod': async (
    { ask, read },
    place,
  ) => {
    await place.deploy([
      deployment('web', 'app:1', 1, { podAnnotations: { 'test.fairlead/log': 'all is well' } }),
    ])
    const own = (body: JsonObject[]) =>
      body.filter(({ account, region }) => account === 'k8s' && region === place.namespace)
    const [manager] = own(await read<JsonObject[]>('/applications/shop/serverGroupManagers'))
    const [group] = own(await read<JsonObject[]>('/applications/shop/serverGroups'))
    assert.equal(manager?.['name'], 'deployment web')
    assert.equal(objectsOf(manager?.['serverGroups'])[0]?.['name'], group?.['name'])
    assert.deepEqual(group?.['serverGroupManagers'], [
      { account: 'k8s', location: place.namespace, name: 'web' },
    ])
    const [pod] = objectsOf(group?.['instances'])
    const path = pathTo`/instances/k8s/${place.namespace}/${String(pod?.['name'])}`
    assert.equal((await read(path))['healthState'], 'Up')
    const { output } = await read(`${path}/console?provider=kubernetes`)
    assert.deepEqual(output, [{ name: 'main', output: 'all is well\n' }])
    const detail = pathTo`/applications/shop/serverGroups/k8s/${place.namespace}/${String(group?.['name']).toLowerCase()}`
    assert.equal((await read(detail))['kind'], 'replicaSet')
    assert.equal(
      (await ask('GET', pathTo`/instances/k8s/${place.namespace}/${'pod none'}`)).status,
      404,
    )
  },
  'kubernetes-scenario 119, 121: services are listed and found': async ({ read }, place) => {
    await place.deploy([service('front', { app: 'web' })])
    const balancers = await read<JsonObject[]>('/applications/shop/loadBalancers')
    const own = balancers.find(
      ({ account, region }) => account === 'k8s' && region === place.namespace,
    )
    assert.partialDeepStrictEqual(own, { name: 'service front', serverGroups: [] })
    const [page] = await read<JsonObject[]>(
      `/search?q=${place.namespace}&type=service&pageSize=500`,
    )
    const hit = objectsOf(page?.['results']).find(({ account }) => account === 'k8s')
    assert.partialDeepStrictEqual(hit, {
      ...{
        kubernetesKind: 'service',
        namespace: place.namespace,
        name: 'service front',
        type: 'loadBalancers',
      },
    })
  },
  'kubernetes-scenario 127, 128: accounts and secrets are for those with rights': async (
    { ask, read },
    place,
  ) => {
    await place.deploy([deployment('web'), secret('conf', { a: 'hidden' })], { account: 'k8s-ro' })
    const path = (name: string) => pathTo`/manifests/k8s-ro/${place.namespace}/${name}`
    assert.equal((await ask('GET', path('deployment web'), undefined, 'carol')).status, 403)
    for (const list of ['serverGroups', 'serverGroupManagers', 'loadBalancers']) {
      const found = await read<JsonObject[]>(`/applications/shop/${list}`, 'carol')
      assert.ok(!found.some(({ account }) => account === 'k8s-ro'), list)
    }
    const hidden = Buffer.from('hidden').toString('base64')
    assert.ok(!JSON.stringify(await read(path('secret conf-v000'), 'bob')).includes(hidden))
    assert.equal(fieldAt(await read(path('secret conf-v000')), 'manifest', 'data', 'a'), hidden)
  },
}

test('reads over the gateway', { concurrency: 4 }, async (t) => {
  const platform = await startPlatform(t)
  if (platform === undefined) return
  await Promise.all(
    Object.entries(cases).map(([title, run]) =>
      t.test(title, async () => run(platform, await platform.place())),
    ),
  )
})
