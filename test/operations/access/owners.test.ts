import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Owners } from '../../../src/operations/access/owners.ts'
import type { OperationRequest } from '../../../src/operations/operation.ts'

test('the owner of a run is cached until its deletion', async () => {
  let application = 'web'
  const call = async () => ({ status: 200, headers: {}, text: JSON.stringify({ application }) })
  const request = { call } as unknown as OperationRequest
  const owners = new Owners()
  const ownerOf = async (id: string) => {
    const { needs } = await owners.needsOf(request, { kind: 'owned', what: 'execution', id, authorization: 'READ' })
    return needs.map((need) => ('name' in need ? need.name : undefined))
  }

  assert.deepEqual(await ownerOf('E'), ['web'])
  application = 'shop'
  assert.deepEqual(await ownerOf('E'), ['web'])
  owners.forget('E')

  assert.deepEqual(await ownerOf('E'), ['shop'])
})
