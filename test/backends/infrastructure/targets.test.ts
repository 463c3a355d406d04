import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findTarget } from '../../../packages/providers/infrastructure/clusters.ts'
import type { ServerGroup } from '../../../packages/providers/infrastructure/model.ts'

const group = (name: string, createdMs: number | undefined, instances: number) =>
  ({
    name,
    createdMs,
    region: 'east',
    zones: [],
    isDisabled: false,
    instances: Array.from({ length: instances }),
  }) as unknown as ServerGroup

const query = { target: 'largest', scope: 'east', onlyEnabled: false, validateOldest: true }

test('infrastructure-scenario 71: of equally large server groups the newest is the largest', () => {
  const outcome = findTarget(
    [group('old', 40_000, 2), group('new', 50_000, 2), group('small', 60_000, 1)],
    query,
  )
  assert.equal(outcome.kind === 'found' && outcome.group.name, 'new')
})

test('a server group without a time is no target', () => {
  assert.equal(
    findTarget([group('timeless', undefined, 3)], { ...query, target: 'current' }).kind,
    'none',
  )
})
