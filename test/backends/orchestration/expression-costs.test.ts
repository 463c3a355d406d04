import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isRawNumber, parseJson } from '../../../packages/base/json/json.ts'
import { matchesWhole } from '../../../packages/base/regex/bounded-regex.ts'
import { Meter } from '../../../packages/base/regex/meter.ts'
import {
  createExpressionMeter,
  evaluateNode,
  type Scope,
} from '../../../packages/engine/orchestration/expressions/evaluator.ts'
import { expressionFunctions } from '../../../packages/engine/orchestration/expressions/functions.ts'
import { javaClasses } from '../../../packages/engine/orchestration/expressions/java/classes.ts'
import { ExpressionError } from '../../../packages/engine/orchestration/expressions/lexer.ts'
import { methods } from '../../../packages/engine/orchestration/expressions/methods.ts'
import { parseExpression } from '../../../packages/engine/orchestration/expressions/parser.ts'
import { evaluateTree } from '../../../packages/engine/orchestration/expressions/template.ts'
import { occurrences } from '../../../packages/engine/orchestration/expressions/text-search.ts'
import { graphOf } from '../../../packages/engine/orchestration/machine/graph.ts'
import { createStage } from '../../../packages/engine/orchestration/machine/new-stage.ts'
import type { Execution } from '../../../packages/engine/orchestration/model.ts'

let accesses = 0

/** A value, and all within it, that counts how often anything looks into it. */
function watched<T>(value: T): T {
  if (typeof value !== 'object' || value === null || isRawNumber(value)) return value
  const count = () => {
    accesses++
  }
  return new Proxy(value, {
    get(target, key) {
      count()
      return Reflect.get(target, key)
    },
    has(target, key) {
      count()
      return Reflect.has(target, key)
    },
    ownKeys(target) {
      const keys = Reflect.ownKeys(target)
      accesses += keys.length
      return keys
    },
    getOwnPropertyDescriptor(target, key) {
      count()
      return Reflect.getOwnPropertyDescriptor(target, key)
    },
  })
}

/** Numbers that are the same in every run. */
function createRandom(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    return state % below
  }
}

const numbers = (from: number) => Array.from({ length: 2000 }, (_each, index) => from + index)
const rows = Array.from({ length: 500 }, (_each, index) =>
  watched({ key: `k${index}`, value: index }),
)
let shared: unknown[] = [1, 2]
for (let level = 0; level < 60; level++) shared = [shared, shared]

/** What expressions are tried on, by name; a new kind of value is tried with everything. */
const values: Readonly<Record<string, unknown>> = {
  list: watched(numbers(0)),
  other: watched(numbers(1_000_000)),
  rows: watched(rows),
  map: watched(Object.fromEntries(numbers(0).map((number) => [`k${number}`, number]))),
  same: watched(Object.fromEntries(numbers(0).map((number) => [`k${number}`, number]))),
  // Looks as if it had 2^60 members.
  shared,
  text: 'ab'.repeat(10_000),
  periodic: `b${'a'.repeat(5000)}`,
  digits: '9'.repeat(20_000),
  yaml: 'a: 1\n'.repeat(500),
  aliases: `- &a [1, 2]\n${'- *a\n'.repeat(500)}`,
  json: JSON.stringify(numbers(0)),
  pattern: `[${'a-z'.repeat(600)}]*`,
  groups: `${'(a'.repeat(90)}${')*'.repeat(90)}`,
  raw: parseJson('1'.repeat(1_000)),
  number: 7,
  nothing: null,
}

const stages = Array.from({ length: 300 }, (_each, index) => {
  const context = {
    manifests: rows,
    judgmentInput: 'yes',
    'deploy.server.groups': { a: numbers(0) },
    deploymentDetails: rows,
  }
  const stage = createStage({
    id: `s${index}`,
    refId: `${index}`,
    type: 'deploy',
    requisiteStageRefIds: [],
    context,
  })
  return watched(Object.assign(stage, { status: 'SUCCEEDED', outputs: { artifacts: [1, 2] } }))
})
const execution = {
  type: 'PIPELINE',
  id: 'E',
  application: 'app',
  status: 'RUNNING',
  stages: watched(stages),
  trigger: { parameters: {}, resolvedExpectedArtifacts: watched(rows) },
  authentication: { user: 'ann', allowedAccounts: [] },
  engine: { headers: {}, followUps: [] },
} as unknown as Execution

// The index of its stages is made once.
graphOf(execution).find('')

const scope: Scope = {
  has: (name) => Object.hasOwn(values, name),
  lookUp: (name) => values[name],
  all: () => ({ ...values }),
  functions: new Map(
    expressionFunctions.map((each) => [
      each.name,
      (args: unknown[], meter: Meter) => each.call({ execution, stage: stages[0] }, args, meter),
    ]),
  ),
  strict: false,
}

/** Less than expressions may take, so that the end of the meter is seen as well. */
const limit = 10_000

/** Evaluates an expression and checks that what it has done was counted. */
function checkCost(source: string): void {
  const meter = new Meter(limit, () => new ExpressionError('limit'))
  accesses = 0
  let result: unknown
  try {
    result = evaluateNode(parseExpression(source), scope, { now: 0, meter })
  } catch (error) {
    assert.ok(
      error instanceof Error && ['ExpressionError', 'RegexError'].includes(error.name),
      `${source}: ${error}`,
    )
  }
  assert.ok(
    accesses <= 10 * meter.spent + 200,
    `${source}: ${accesses} accesses for ${meter.spent} steps`,
  )
  if (typeof result === 'string') {
    assert.ok(result.length <= 1_000_000, source)
    assert.ok(
      meter.spent >= result.length / 64,
      `${source}: ${result.length} characters for ${meter.spent} steps`,
    )
  }
}

const names = Object.keys(values)
const operators = [
  '+',
  '-',
  '*',
  '/',
  '%',
  '^',
  '==',
  '!=',
  '<',
  '<=',
  '>',
  '>=',
  'between',
  'matches',
  'and',
  'or',
]

test('every operator counts what it does', () => {
  for (const operator of operators) {
    for (const left of names) for (const right of names) checkCost(`${left} ${operator} ${right}`)
  }
})

test('every selection and projection counts what it does', () => {
  const tests = [
    'true',
    '#this == 7',
    '#this == list',
    'key == text',
    '#this.equals(shared)',
    '#root == #this',
  ]
  for (const target of names) {
    for (const each of tests)
      for (const sign of ['?[', '^[', '$[', '![']) checkCost(`${target}.${sign}${each}]`)
    for (const other of names) checkCost(`${target}[${other}]`)
    for (const sign of ['-', '+', '!']) checkCost(`${sign}${target}`)
  }
})

const methodNames = [...new Set(Object.values(methods).flatMap((each) => Object.keys(each)))]
for (const method of methodNames) {
  test(`method ${method} counts what it does`, () => {
    const random = createRandom(method.length * 7919 + method.charCodeAt(0))
    const any = () => names[random(names.length)]
    for (const target of names) {
      checkCost(`${target}.${method}()`)
      for (const first of names) checkCost(`${target}.${method}(${first})`)
      for (let round = 0; round < 10; round++) checkCost(`${target}.${method}(${any()}, ${any()})`)
      checkCost(`${target}.${method}('a', text)`)
      checkCost(`${target}.${method}('', periodic)`)
      checkCost(`${target}.${method}(0, 2000)`)
    }
  })
}

test('every class counts what its calls do', () => {
  const dates = [
    'new java.util.Date()',
    'T(java.time.LocalDate).now()',
    'T(java.time.ZonedDateTime).now()',
    'T(java.time.Instant).now()',
  ]
  for (const { name, create, statics } of javaClasses) {
    const calls = Object.keys(statics ?? {}).map((each) => `T(${name}).${each}`)
    for (const call of create === undefined ? calls : [...calls, `new ${name}`]) {
      checkCost(`${call}()`)
      for (const first of [...names, ...dates]) {
        checkCost(`${call}(${first})`)
        for (const second of ['text', 'list', 'number', 'shared', 'map'])
          checkCost(`${call}(${first}, ${second})`)
      }
    }
  }
  for (const target of dates) for (const name of names) checkCost(`${target} == ${name}`)
})

test('every method of a date counts what it does', () => {
  for (const { name, methods: own } of javaClasses) {
    const made = [
      `new ${name}('7')`,
      `T(${name}).now()`,
      `T(${name}).of(2)`,
      `T(${name}).ofPattern('yyyy')`,
      `T(${name}).randomUUID()`,
    ]
    for (const method of Object.keys(own ?? {})) {
      for (const target of made)
        for (const first of names) checkCost(`${target}.${method}(${first}, ${first})`)
    }
  }
})

for (const { name } of expressionFunctions) {
  test(`function #${name} counts what it does`, () => {
    const random = createRandom(name.length * 104_729 + name.charCodeAt(0))
    const any = () => names[random(names.length)]
    checkCost(`#${name}()`)
    for (const first of names) checkCost(`#${name}(${first})`)
    for (let round = 0; round < 20; round++) checkCost(`#${name}(${any()}, ${any()}, ${any()})`)
    // Whatever a call costs, a hundred thousand of them end.
    checkCost(`list.![list.![#${name}('s299', 'a', 'b')]]`)
  })
}

test('comparing all elements of two lists ends at the limit', () => {
  const meter = createExpressionMeter()
  assert.throws(
    () => evaluateNode(parseExpression('list.containsAll(list)'), scope, { now: 0, meter }),
    /too many steps/,
  )
})

test('text search takes linear time', () => {
  for (const [text, part] of [
    ['a'.repeat(2000), `${'a'.repeat(500)}b`],
    ['a'.repeat(2000), `b${'a'.repeat(500)}`],
    ['ab'.repeat(1000), 'ab'.repeat(250)],
  ] as const) {
    let reads = 0
    const counting = (characters: string) =>
      ({
        length: characters.length,
        charCodeAt(at: number) {
          reads++
          return characters.charCodeAt(at)
        },
      }) as unknown as string
    const found = [...occurrences(counting(text), counting(part), createExpressionMeter())]
    const expected = Array.from({ length: text.length }, (_each, at) => at).filter((at) =>
      text.startsWith(part, at),
    )
    assert.deepEqual(found, expected)
    assert.ok(reads <= 8 * (text.length + part.length), String(reads))
  }
})

test('a slow pattern ends at the limit', () => {
  for (const pattern of [
    `[${'a-c'.repeat(600)}]*d`,
    `${'(a|b|ab)*'.repeat(100)}c`,
    `${'(a'.repeat(90)}${')*'.repeat(90)}`,
  ]) {
    const meter = new Meter(10_000, () => new Error('limit'))
    assert.throws(() => matchesWhole(pattern, 'a'.repeat(20_000), meter), /limit/)
    assert.ok(meter.spent < 20_000, String(meter.spent))
  }
})

test('expressions within one value share what they may take', () => {
  const meter = createExpressionMeter()
  const costly = Array.from({ length: 5000 }, () => '${list.![#this + 1].size()}')

  const { succeeded, value } = evaluateTree(costly, { scope, now: 0, meter })

  assert.ok(succeeded.size <= 1)
  assert.equal(value[4999], costly[4999])
  assert.ok(meter.spent < 700_000, String(meter.spent))
})

test('a result with one list many times is measured cheaply', () => {
  accesses = 0
  const wide = watched(Array.from({ length: 5000 }, () => values['list']))
  const names: Scope = { ...scope, has: (name) => name === 'wide', lookUp: () => wide }

  const { value, summary } = evaluateTree({ wide: '${wide}' }, { scope: names, now: 0 })

  assert.equal(value.wide, '${wide}')
  assert.match(JSON.stringify(summary), /too (large|many steps)/)
  assert.ok(accesses < 3_000_000, String(accesses))
})

test('a power of whole numbers wraps at every step', () => {
  for (const [base, exponent] of [
    [3n, 1000n],
    [-7n, 333n],
    [2n, 63n],
    [9_223_372_036_854_775_807n, 2n],
    [5n, 0n],
  ] as const) {
    const result = evaluateNode(parseExpression(`(${base}L) ^ ${exponent}`), scope, {
      now: 0,
      meter: createExpressionMeter(),
    })
    assert.equal(result, BigInt.asIntN(64, base ** exponent))
  }
})

test('a result that nests too deeply stays as it was written', () => {
  const deep = `\${{1}${'.![{#this}]'.repeat(250)}}`

  const { value, summary } = evaluateTree({ deep }, { scope, now: 0 })

  assert.equal(value.deep, deep)
  assert.match(JSON.stringify(summary), /nests deeper than 200 levels/)
})
