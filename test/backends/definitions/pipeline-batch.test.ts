/** A batch of pipelines beside other requests. */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { documentMigrations } from '../../../packages/base/stores/document-store.ts'
import { createDefinitions } from '../../../packages/engine/definitions/collections.ts'
import { saveBatch } from '../../../packages/engine/definitions/pipeline-batch.ts'
import { eventTriggerTypes } from '../../../packages/engine/events/kinds/all.ts'
import { triggerFindings } from '../../../packages/engine/orchestration/findings/trigger-findings.ts'
import { openEcho } from '../../../packages/external/echo.ts'
import { openOrca } from '../../../packages/external/orca.ts'
import type { BackendContext } from '../../../packages/ports/backend.ts'
import { defaults } from '../../support/backend-settings.ts'
import { countTurns } from '../../support/turns.ts'

function openDefinitions() {
  const db = new DatabaseSync(':memory:')
  for (const migration of documentMigrations) db.exec(migration)
  const call = () => Promise.reject(new Error('No service runs.'))
  const ports = {
    executions: { ...openOrca(call), runsOtherStages: false },
    events: { ...openEcho(call), triggerTypes: eventTriggerTypes },
  }
  const unwatched = { stateChanged: () => {}, permissionsChanged: () => {} }
  const context = { db, now: Date.now, settings: defaults, ports, ...unwatched }
  return createDefinitions(context as unknown as BackendContext)
}

test('others have their turn while a batch is checked, and what they save is not overwritten', async () => {
  const definitions = openDefinitions()
  const entries = Array.from({ length: 300 }, (_, index) => ({
    application: 'demo',
    name: `p${index}`,
  }))
  const events: string[] = []
  const report = await saveBatch(definitions, entries, {
    staleCheck: false,
    user: 'ann',
    noteHeld: () => {},
    checkSaver: ({ name }) => {
      if (name === 'p299') events.push('the last entry is checked')
      if (name !== 'p10' || events.length > 0) return
      events.push('the batch begins')
      setImmediate(() => {
        definitions.write(() =>
          definitions.pipelines.put('mine', { id: 'mine', application: 'demo', name: 'P7' }, 'bob'),
        )
        events.push('another one saves')
      })
    },
  })

  // After the save the batch is checked once more.
  const checked = 'the last entry is checked'
  assert.deepEqual(events, ['the batch begins', 'another one saves', checked, checked])
  assert.deepEqual([report.successful_pipelines_count, report.failed_pipelines_count], [299, 1])
  assert.match(
    String(report.failed_pipelines[0]?.['errorMsg']),
    /A pipeline named "p7" exists already/,
  )
  assert.equal(definitions.pipelines.named('p7', 'demo').length, 1)
})

test('each definition of a batch is judged in a turn of its own', async () => {
  const entries = Array.from({ length: 60 }, (_, index) => ({
    application: 'demo',
    name: `p${index}`,
  }))
  const options = { staleCheck: false, user: 'ann', noteHeld: () => {}, checkSaver: () => {} }
  const { result, turns } = await countTurns(() => saveBatch(openDefinitions(), entries, options))

  assert.equal(result.successful_pipelines_count, 60)
  assert.ok(turns >= 100, `${turns} turns`)
})

test('a batch is saved although others save without end', async () => {
  const definitions = openDefinitions()
  const entries = Array.from({ length: 5 }, (_, index) => ({
    application: 'demo',
    name: `p${index}`,
  }))
  let saves = 0
  let next = setImmediate(saveAnother)
  function saveAnother(): void {
    definitions.write(() =>
      definitions.pipelines.put('mine', { id: 'mine', application: 'demo', name: 'mine' }, 'bob'),
    )
    saves++
    next = setImmediate(saveAnother)
  }
  const report = await saveBatch(definitions, entries, {
    staleCheck: false,
    user: 'ann',
    noteHeld: () => {},
    checkSaver: () => {},
  })
  clearImmediate(next)

  assert.equal(report.successful_pipelines_count, 5)
  assert.ok(saves >= 12, `${saves} saves`)
})

test('patterns of one definition leave turns to other requests', async () => {
  const constraints = Object.fromEntries(
    Array.from({ length: 100 }, (_, index) => [`k${index}`, `(a|b){1,9}${index}`]),
  )
  const trigger = { type: 'webhook', enabled: true, payloadConstraints: constraints }
  const { turns } = await countTurns(() =>
    triggerFindings({ triggers: [trigger] }, eventTriggerTypes, { nowMs: 0, timeZone: 'UTC' }),
  )

  assert.ok(turns >= 15, `${turns} turns`)
})
