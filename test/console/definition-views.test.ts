/** Views of a draft besides its graph: text, difference, history, dry run. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listChanges, mergeDefinitions } from '../../console/src/editor/changes.ts'
import {
  expressionSuggestions,
  matchingSuggestions,
  suggestionsAt,
  wordInExpression,
} from '../../console/src/editor/completions.ts'
import {
  findRanges,
  openTextSession,
  placeAt,
  readDefinitionFile,
  readText,
  writeText,
} from '../../console/src/editor/definition-text.ts'
import {
  describeChanges,
  summaryOf,
  toDraft,
  toRevisions,
} from '../../console/src/editor/describe-changes.ts'
import { Draft } from '../../console/src/editor/draft.ts'
import { notesOf, toQuestion, withValues } from '../../console/src/editor/dry-run.ts'
import type { StageTypes } from '../../console/src/editor/stages.ts'
import type { JsonObject } from '../../packages/base/json/values.ts'
import { stageDescriptions } from '../../packages/model/stage-types/all.ts'
import { toStageTypesAnswer } from '../../packages/model/stage-types/answer.ts'

const types = toStageTypesAnswer(stageDescriptions.values(), new Map()) as unknown as StageTypes

const release: JsonObject = {
  application: 'web',
  name: 'release',
  stages: [
    { refId: '1', requisiteStageRefIds: [], type: 'wait', name: 'Pause', waitTime: 5 },
    {
      refId: '2',
      requisiteStageRefIds: ['1'],
      type: 'webhook',
      name: 'Call',
      url: 'https://example.org/${parameters.version}',
    },
  ],
}
const [pause, call] = release['stages'] as [JsonObject, JsonObject]

for (const format of ['json', 'yaml'] as const) {
  const write = (definition: JsonObject) => writeText(definition, format)
  test(`a definition survives its text as ${format}`, () => {
    const odd = {
      ...release,
      'key: with "signs"': 'no',
      list: [null, true, 1.5, '1', 'yes', '', '# x', 'a\nb\n', {}],
      nested: { '': [] },
    }
    assert.deepEqual(readText(write(odd)), { definition: odd })
  })

  test(`numbers keep their digits as ${format}`, () => {
    const long = JSON.parse('{"a": 9007199254740991, "b": 0.5, "c": 1e300}') as JsonObject
    const exact = { ...long, account: 12345678901234567890n, list: [-9007199254740993n] }
    const text = write(exact)
    assert.match(text, /\b12345678901234567890\b[^"]/)
    assert.deepEqual(readText(text), { definition: exact })
    const draft = new Draft('web', { stored: exact, definition: exact })
    draft.set(['b'], 1, 'b')
    const others = listChanges(exact, draft.definition.value)
    assert.deepEqual(
      [others.length, JSON.stringify(draft.definition.value).includes(':12345678901234567890')],
      [1, true],
    )
    const { definition } = mergeDefinitions(exact, draft.definition.value, { ...exact, c: 2 })
    assert.deepEqual(definition, { ...exact, b: 1, c: 2 })
  })

  test(`a problem is found at its place in ${format}`, () => {
    const text = write(release)
    const shown = (path: readonly (string | number)[]) => {
      const { from, to } = findRanges(text)(path) ?? { from: 0, to: 0 }
      return text.slice(from, to).replaceAll('"', '')
    }
    assert.equal(shown(['stages', 1, 'url']), 'https://example.org/${parameters.version}')
    assert.equal(shown(['stages', 1, 'requisiteStageRefIds', 0]), '1')
    assert.match(
      shown(['stages', 1, 'missing']),
      /^(?:\{|r)/,
      'what is missing is marked at its holder',
    )
  })
}

/** `|` is where the problem is. */
const broken: [text: string, problem: RegExp][] = [
  ['{"a": 1 |"b": 2}', /Expected ',' or '}' after property value/],
  ['{"a": [1, 2|', /Expected ',' or '\]' after array element|ends too early/],
  ['{"a": 1, |// no\n}', /Expected double-quoted property name/],
  ['|[1]', /A pipeline is an object/],
  ['a: 1\n b: 2', /./],
  ['a: &x [*x]', /./],
  ['|- a', /A pipeline is an object/],
]

test('text that cannot be read says where and why', () => {
  for (const [marked, says] of broken) {
    const { problem } = readText(marked.replace('|', ''))
    assert.ok(problem !== undefined, marked)
    assert.match(problem.message, says)
    if (marked.includes('|')) assert.equal(problem.from, marked.indexOf('|'), marked)
  }
})

/** The path and what is typed there, as `path role word`. */
const places: [text: string, place: string | undefined][] = [
  ['{"stages": [{"ty|', 'stages.0 key ty'],
  ['{"stages": [{"a": 1}, {"type": "wa|"}]}', 'stages.1.type value wa'],
  ['{"stages": [{"clusters": [{"account": de|', 'stages.0.clusters.0.account value de'],
  ['{"stages": [{"a": "x, \\" {", |', 'stages.0 key '],
  ['|', ' key '],
  ['stages:\n  - type: wa|', 'stages.0.type value wa'],
  ['stages:\n- type: wait\n- name: b\n  wai|', 'stages.1 key wai'],
  [
    'stages:\n  - type: x\n    clusters:\n      - account: a\n      - acc|',
    'stages.0.clusters.1 key acc',
  ],
  ['stages:\n  - requisiteStageRefIds:\n      - "1|', 'stages.0.requisiteStageRefIds.0 key 1'],
  ['stages:\n  - instructions: |-\n      type: |'.replace('|-', '\u0001'), undefined],
  ['name: x # comm|', undefined],
]

test('the cursor is located in text that is not finished', () => {
  for (const [marked, expected] of places) {
    const offset = marked.lastIndexOf('|')
    const text = (marked.slice(0, offset) + marked.slice(offset + 1)).replace('\u0001', '|-')
    const at = marked.includes('\u0001') ? offset + 1 : offset
    const place = placeAt(text, at)
    const shown = place && `${place.path.join('.')} ${place.role} ${text.slice(place.from, at)}`
    assert.equal(shown, expected, marked)
  }
})

test('completions come from the descriptions of the stage types', () => {
  const at = (path: (string | number)[], role: 'key' | 'value') =>
    suggestionsAt(types, release, { path, role, from: 0, isQuoted: false }).map(
      ({ value }) => value,
    )
  const keys = at(['stages', 0], 'key')
  assert.ok(keys.includes('skipWaitText') && keys.includes('stageEnabled'), keys.join())
  assert.ok(!keys.includes('waitTime'), 'what is there already is not offered')
  assert.deepEqual(at(['stages', 0, 'failPipeline'], 'value'), [true, false])
  assert.deepEqual(at(['stages', 1, 'requisiteStageRefIds', 0], 'key'), ['1'])
  assert.ok(at(['stages', 1, 'method'], 'value').includes('POST'))
  assert.ok(
    at(['stages', 1, 'type'], 'value').includes('deploy') &&
      !at(['stages', 1, 'type'], 'value').includes('createApplication'),
  )
  assert.deepEqual(at(['stages', 0, 'stageEnabled'], 'key'), ['type', 'expression'])
  const root = at([], 'key')
  assert.ok(root.includes('limitConcurrent') && !root.includes('name'), root.join())
  const fired = { ...release, triggers: [{ type: 'pipeline' }] }
  const inTrigger = (path: (string | number)[], role: 'key' | 'value') =>
    suggestionsAt(types, fired, {
      path: ['triggers', 0, ...path],
      role,
      from: 0,
      isQuoted: false,
    }).map(({ value }) => value)
  assert.ok(inTrigger([], 'key').includes('application'))
  assert.ok(inTrigger(['type'], 'value').includes('cron'))
  assert.deepEqual(at(['unknown', 0], 'key'), [])
})

test('expressions complete from functions, parameters and variables', () => {
  const at = (line: string) => {
    const from = wordInExpression(line)
    return from === undefined ? undefined : line.slice(from)
  }
  assert.deepEqual(['${par', 'x ${a} ${ #sta', '${#', '${a + ', 'a: ${b} c', 'plain'].map(at), [
    'par',
    '#sta',
    '#',
    '',
    undefined,
    undefined,
  ])
  const definition = {
    parameterConfig: [{ name: 'region' }],
    stages: [{ type: 'evaluateVariables', name: 'Set', variables: [{ key: 'size', value: 2 }] }],
  }
  const values = expressionSuggestions(definition, [
    { name: 'stage', description: 'A stage.' },
  ]).map(({ value }) => value)
  assert.deepEqual(
    values.filter((value) => /region|size|stage/.test(String(value))),
    ['parameters.region', 'size', '#stage('],
  )
})

test('completions of a form begin with what is typed', () => {
  const definition = { parameterConfig: [{ name: 'region' }, { name: 'trigger' }] }
  const matching = (word: string) =>
    matchingSuggestions(definition, [{ name: 'stage' }], word).map(({ value }) => value)
  assert.deepEqual(matching('tri'), ['trigger', 'parameters.trigger'])
  assert.deepEqual([matching('#STA'), matching('nothing')], [['#stage('], []])
})

test('a file becomes a definition, or says why not', async () => {
  const read = (name: string, ...text: string[]) => readDefinitionFile(new File(text, name))
  assert.deepEqual(await read('a.json', '\uFEFF', JSON.stringify(release)), { definition: release })
  assert.deepEqual(await read('a.txt', 'name: a\n'), { definition: { name: 'a' } })
  assert.match(
    (await read('a.json', '[1]')).error ?? '',
    /^a\.json is no pipeline\. A pipeline is an object/,
  )
  assert.match((await read('a.png', '\u0000\u0001PNG')).error ?? '', /^a\.png is no pipeline/)
  assert.match(
    (await read('big.json', 'x'.repeat(10_000_001))).error ?? '',
    /big\.json is larger than 10 MB/,
  )
})

test('text becomes the draft once it can be read', () => {
  const draft = new Draft('web', { stored: release, definition: release })
  const session = openTextSession(draft, 'json')
  session.edit(session.text.replace('5', '50'))
  session.edit(session.text.replace('5', '500'))
  assert.equal((draft.definition.value['stages'] as JsonObject[])[0]?.['waitTime'], 500)
  assert.equal(session.outsideText(), undefined, 'its own change does not come back')

  session.edit(session.text.replace('5', '500]'))
  assert.equal(
    draft.unreadable.value?.message,
    "Line 10: Expected ',' or '}' after property value.",
  )
  assert.equal(
    (draft.definition.value['stages'] as JsonObject[])[0]?.['waitTime'],
    500,
    'the last valid state stays',
  )
  assert.equal(
    openTextSession(draft, 'json').text,
    session.text.replace('5', '500]'),
    'the text survives a change of the view',
  )

  draft.undo()
  assert.deepEqual(draft.definition.value, release, 'typing without a rest is one step of undo')
  assert.equal(session.outsideText(), session.text)
  assert.equal(draft.unreadable.value, undefined)
})

test('changes are listed by stage and field', () => {
  const added = { refId: '3', requisiteStageRefIds: ['1'], type: 'noop', name: 'New' }
  const after = {
    ...release,
    description: 'x',
    updateTs: '5',
    stages: [
      added,
      { ...call, requisiteStageRefIds: ['3'] },
      { ...pause, waitTime: 9, nested: { a: 1 } },
    ],
  }
  const parts = describeChanges(release, after)
  assert.deepEqual(
    parts.map(({ title, kind, fields }) => [title, kind, fields.map(({ field }) => field).join()]),
    [
      ['Pipeline', 'changed', 'description'],
      ['Stage New', 'added', 'runs after,type'],
      ['Stage Call', 'moved', 'runs after'],
      ['Stage Pause', 'changed', 'wait time,nested'],
      ['Order of the stages', 'moved', ''],
    ],
  )
  assert.equal(parts[2]?.fields[0]?.after, 'New', 'references have names')
  const scaled = (max: number) => ({
    stages: [{ refId: '1', type: 'deploy', clusters: [{ account: 'a', capacity: { max } }] }],
  })
  const [deploy] = describeChanges(scaled(1), scaled(2))
  assert.deepEqual(deploy?.fields, [{ field: 'clusters 1 capacity max', before: 1, after: 2 }])
  assert.deepEqual(
    describeChanges(release, { ...release, updateTs: '7', lastModifiedBy: 'ann' }),
    [],
  )
})

test('a revision becomes a draft of the pipeline as it is stored now', () => {
  const stored = { ...release, id: 'p1', updateTs: '300', lastModifiedBy: 'ben' }
  const old = { ...release, id: 'p1', stages: [pause], updateTs: '100', lastModifiedBy: 'ann' }
  const [newest, oldest] = toRevisions([stored, old])
  assert.deepEqual(
    [newest?.id, newest?.author, oldest?.id, oldest?.previous],
    ['300', 'ben', '100', undefined],
  )
  assert.deepEqual(newest && summaryOf(newest), ['Stage Call'])
  assert.deepEqual(
    toDraft(old, stored),
    { ...stored, stages: [pause] },
    'the save after it is not stale',
  )
})

test('a dry run asks for each expression with what its stage would see', () => {
  const condition = { type: 'expression', expression: 'size > 1' }
  const inserted = { refId: '9', requisiteStageRefIds: ['1'], type: 'noop', name: 'Inserted' }
  const changed = {
    ...call,
    requisiteStageRefIds: ['9'],
    stageEnabled: condition,
    size: 2,
    list: ['a', { b: '${ #stage("Pause") }' }],
  }
  const definition = { ...release, stages: [pause, inserted, changed] }
  const question = toQuestion(changed, definition, new Set(['1']), types)
  assert.deepEqual(question?.requisites, ['1'])
  assert.deepEqual(
    question?.variables.slice(-3).map(({ key, value }) => [key, value]),
    [
      ['url', 'https://example.org/${parameters.version}'],
      ['stageEnabled', { ...condition, expression: '${size > 1}' }],
      ['list', ['a', { b: '${ #stage("Pause") }' }]],
    ],
  )
  assert.ok(
    question.variables.some(({ key, value }) => key === 'size' && value === 2),
    'own fields are in sight',
  )
  assert.equal(toQuestion(pause, definition, new Set(), types), undefined)
  const result = question.variables.map(({ key, value }) => ({
    value: key === 'url' ? 'https://example.org/2' : value,
  }))
  assert.equal(withValues(changed, question, { result })['url'], 'https://example.org/2')
})

test('variables of a stage see those above them', () => {
  const stage = {
    refId: '1',
    type: 'evaluateVariables',
    variables: [{ key: 'size', value: '${1 + 1}' }],
  }
  const question = toQuestion(stage, { stages: [stage] }, new Set(), types)
  assert.deepEqual(question?.variables, [{ key: 'size', value: '${1 + 1}' }])
  assert.deepEqual(
    question && withValues(stage, question, { result: [{ value: 2 }] })['variables'],
    [{ key: 'size', value: 2 }],
  )
})

test('a dry run says why an expression gives nothing', () => {
  const entry = (level: string, why: string) => ({
    level,
    description: `Failed to evaluate [value] parameters.region: ${why}`,
  })
  assert.deepEqual(
    notesOf(pause, {
      detail: {
        'parameters.region': [entry('ERROR', 'no such name.'), entry('INFO', 'it is null')],
      },
    }),
    [
      { title: 'Pause', expression: 'parameters.region', message: 'no such name.', isError: true },
      { title: 'Pause', expression: 'parameters.region', message: 'it is null', isError: false },
    ],
  )
})
