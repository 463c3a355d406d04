/** What the console says differs between two executions, and between a canary and its baseline. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toRevisions } from '../../console/src/editor/describe-changes.ts'
import { quartilesOf, scoreStatus, toReport, toSeries } from '../../console/src/model/canary.ts'
import { compareExecutions, describeChanges } from '../../console/src/model/compare.ts'
import type { Execution, Stage } from '../../console/src/model/execution.ts'

function run(parameters: object, stages: readonly Partial<Stage>[]): Execution {
  const whole = stages.map((stage, index) => ({
    id: `${index}`,
    refId: `${index}`,
    type: 'deploy',
    context: {},
    outputs: {},
    tasks: [],
    requisiteStageRefIds: [],
    ...stage,
  }))
  return {
    id: 'run',
    status: 'SUCCEEDED',
    trigger: { type: 'manual', parameters },
    stages: whole,
  } as unknown as Execution
}

test('values that differ are named by their paths', () => {
  const left = run({ version: '1', list: [1, 2], same: null }, [])
  const right = run({ version: '2', list: [1, 3, 4], same: null }, [])
  const differing = compareExecutions(left, right).filter(({ before, after }) => before !== after)
  assert.deepEqual(
    differing.map(({ name, before, after }) => [name, before, after]),
    [
      ['parameters.version', '1', '2'],
      ['parameters.list.1', '2', '3'],
      ['parameters.list.2', undefined, '4'],
    ],
  )
})

test('stages are paired by reference and name; one that is missing stays alone', () => {
  const left = run({}, [
    { name: 'Bake', status: 'SUCCEEDED' },
    { name: 'Deploy', status: 'TERMINAL' },
  ])
  const right = run({}, [
    { name: 'Deploy', status: 'SUCCEEDED' },
    { name: 'Notify', status: 'SUCCEEDED' },
  ])
  const statuses = compareExecutions(left, right).filter(({ name }) => name.endsWith('.status'))
  assert.deepEqual(
    statuses.map(({ name, before, after }) => [name, before, after]),
    [
      ['Bake.status', 'SUCCEEDED', undefined],
      ['Deploy.status', 'TERMINAL', 'SUCCEEDED'],
      ['Notify.status', undefined, 'SUCCEEDED'],
    ],
  )
})

test('a value without end, a hostile key and an empty record are compared', () => {
  let deep: Record<string, unknown> = {}
  for (let depth = 0; depth < 1000; depth++) deep = { deep }
  const hostile = JSON.parse('{"__proto__": {"x": 1}, "": ""}') as object
  const values = compareExecutions(run({ deep, ...hostile }, []), run({ deep }, []))
  const differs = (start: string) =>
    values.some(({ name, before, after }) => name.startsWith(start) && before !== after)
  assert.deepEqual([differs('parameters.'), differs('parameters.deep')], [true, false])
})

test('changes are told in sentences, input first', () => {
  const older = {
    ...run({ version: '2.3.9', region: 'eu' }, [
      {
        name: 'Deploy prod',
        status: 'SUCCEEDED',
        startTime: 1,
        endTime: 10_001,
        context: { imageId: 'r/web:2.3.9', targetHealthy: 100 },
      },
      { name: 'Notify', type: 'wait', status: 'SUCCEEDED' },
    ]),
  }
  older.trigger = {
    ...older.trigger,
    hash: 'a1b2c3d4e5',
    source: 'github',
    project: 'acme',
    slug: 'shop',
    user: 'ann',
  }
  const newer = run({ version: '2.4.0', region: 'eu' }, [
    {
      name: 'Deploy prod',
      status: 'TERMINAL',
      startTime: 1,
      endTime: 268_001,
      context: { imageId: 'r/web:2.4.0', targetHealthy: 60 },
    },
    { name: 'Notify', type: 'wait', status: 'NOT_STARTED' },
  ])
  newer.trigger = {
    ...older.trigger,
    ...newer.trigger,
    type: 'cron',
    hash: 'c3d4e5f6a7',
    user: undefined,
  } as never
  const definition = (targetHealthy: number, updateTs: number) => ({
    stages: [{ refId: '0', type: 'deploy', name: 'Deploy prod', targetHealthy }],
    ...{ updateTs, lastModifiedBy: 'ben' },
  })
  Object.assign(older, { buildTime: 100 })
  Object.assign(newer, { buildTime: 200 })
  const changes = describeChanges(
    older,
    newer,
    toRevisions([definition(60, 150), definition(100, 50)]),
  )
  assert.deepEqual(
    changes.map(({ text }) => text),
    [
      'version went from 2.3.9 to 2.4.0',
      'Image web went from 2.3.9 to 2.4.0',
      'Commit went from a1b2c3d4 to c3d4e5f6',
      'Started by schedule, before by hand by ann',
      'Stage Deploy prod: target healthy went from 100 to 60 (by ben)',
      'Deploy prod: failed, before succeeded',
      'Notify did not run',
      'Deploy prod took 4m 18s longer',
    ],
  )
  assert.equal(changes[2]?.href, 'https://github.com/acme/shop/compare/a1b2c3d4e5...c3d4e5f6a7')
  assert.deepEqual(describeChanges(older, older), [])
})

test('the verdict on a canary is one sentence with its causes', () => {
  const judge = (score: number, ...metrics: [name: string, classification: string][]) =>
    toReport({
      complete: true,
      canaryExecutionRequest: { thresholds: { pass: 90, marginal: 50 } },
      result: {
        judgeResult: {
          score: { score, classificationReason: '' },
          groupScores: [{ name: 'Errors', score }],
          results: metrics.map(([name, classification]) => ({
            id: name,
            name,
            classification,
            groups: ['Errors'],
          })),
        },
      },
    })
  assert.equal(
    judge(95, ['errors', 'Pass']).sentence,
    'The canary is good: its score of 95 reaches 90.',
  )
  const bad = judge(30, ['calm', 'Pass'], ['gone', 'Nodata'], ['errors', 'High'], ['load', 'Low'])
  const causes = 'errors is higher than the baseline, load is lower than the baseline'
  assert.equal(bad.sentence, `The canary is bad: its score of 30 is below 90: ${causes}.`)
  assert.deepEqual(
    bad.metrics.map(({ name, status }) => [name, status.word]),
    [
      ['errors', 'higher than the baseline'],
      ['load', 'lower than the baseline'],
      ['gone', 'no data, not compared'],
      ['calm', 'like the baseline'],
    ],
  )
  assert.deepEqual(
    [90, 89, 50, undefined].map((score) => scoreStatus({ score, pass: 90, marginal: 50 }).word),
    ['pass', 'marginal', 'fail', 'not judged yet'],
  )
  const failed = toReport({
    complete: true,
    status: 'terminal',
    exception: { details: { errors: ['The metrics are away.'] } },
  })
  assert.equal(failed.sentence, 'The canary could not be judged: The metrics are away.')
  assert.deepEqual(failed.status, { kind: 'failed', word: 'could not be judged' })
})

test('measurements keep their gaps, and boxes leave them out', () => {
  const { canary } = toSeries({
    values: { experiment: [1, 'NaN', null, 3, 5] },
    scopes: { experiment: { stepMillis: 1000 } },
  })
  assert.deepEqual(
    [canary.values.map(Number.isNaN), canary.stepMs],
    [[false, true, true, false, false], 1000],
  )
  assert.deepEqual(quartilesOf(canary.values), [1, 2, 3, 4, 5])
  assert.equal(quartilesOf([Number.NaN]), undefined)
})
