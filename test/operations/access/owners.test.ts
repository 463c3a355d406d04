import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deployedNeeds, Owners } from '../../../packages/gateway/operations/access/owners.ts'
import type { OperationRequest } from '../../../packages/gateway/operations/operation.ts'

test('the owner of a run is cached until its deletion', async () => {
  let application = 'web'
  const call = async () => ({ status: 200, headers: {}, text: JSON.stringify({ application }) })
  const request = { call } as unknown as OperationRequest
  const owners = new Owners()
  const ownerOf = async (id: string) => {
    const { needs } = await owners.needsOf(request, {
      kind: 'owned',
      what: 'execution',
      id,
      authorization: 'READ',
    })
    return needs.map((need) => ('name' in need ? need.name : undefined))
  }

  assert.deepEqual(await ownerOf('E'), ['web'])
  application = 'shop'
  assert.deepEqual(await ownerOf('E'), ['web'])
  owners.forget('E')

  assert.deepEqual(await ownerOf('E'), ['shop'])
})

test('a manifest needs its authorization on the application that the infrastructure knows', async () => {
  const asked: string[] = []
  const request = {
    call: async (_service: string, { path }: { path: string }) => {
      asked.push(path)
      const isKnown = path.includes('front')
      return {
        status: isKnown ? 200 : 404,
        headers: {},
        text: JSON.stringify(isKnown ? { moniker: { app: 'shop' } } : {}),
      }
    },
  } as unknown as OperationRequest
  const needsOf = async (id: string, region?: string) => {
    const place = { account: 'prod', region, authorization: 'WRITE' } as const
    return (await deployedNeeds(request, { kind: 'deployed', what: 'manifest', id, ...place }))
      .needs
  }
  assert.deepEqual(await needsOf('deployment front', 'web'), [
    { kind: 'application', name: 'shop', authorization: 'WRITE' },
  ])
  assert.deepEqual(await needsOf('deployment gone', 'web'), [])
  assert.deepEqual(await needsOf('deployment front'), [])
  assert.deepEqual(asked, [
    '/manifests/prod/web/deployment%20front',
    '/manifests/prod/web/deployment%20gone',
  ])
})
