import assert from 'node:assert/strict'
import { createHook } from 'node:async_hooks'
import { test } from 'node:test'
import { setImmediate as nextIteration } from 'node:timers/promises'
import { keepTickShape } from '../src/node-ticks.ts'
import { giveBackMemory } from '../src/telemetry/memory.ts'

test('an entry of the tick queue outlives garbage collections', async () => {
  const entries: WeakRef<object>[] = []
  const hook = createHook({
    trackPromises: false,
    init: (_id, type, _trigger, entry: object) => {
      if (type === 'TickObject') entries.push(new WeakRef(entry))
    },
  })
  hook.enable()
  keepTickShape()
  hook.disable()
  await nextIteration()
  giveBackMemory()

  assert.ok(entries.some((entry) => entry.deref() !== undefined))
})
