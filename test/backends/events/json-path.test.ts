import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findPathProblem, valueAt } from '../../../packages/engine/pipelines/json-path.ts'

const document = {
  labels: [
    { name: 'x', n: 1 },
    { name: 'deploy', n: 5, tags: ['a', 'b'] },
  ],
  nums: [3, 1, 2],
  one: { a: 1, b: { c: 2 } },
  'foo-bar': { 'a b': 1, '5': 2 },
}
const spend = () => undefined

for (const [path, value] of [
  ['$.labels[1].name', 'deploy'],
  ['labels[1].name', 'deploy'],
  ['$', document],
  ['$.foo-bar.5', 2],
  ["foo-bar['a b']", 1],
  ["$.['one'].a", 1],
  ['$.labels[-1:].name', ['deploy']],
  ['$.labels[0,1].name', ['x', 'deploy']],
  ['$.labels.*.n', [1, 5]],
  ['$..c', [2]],
  ["$.labels[?(@.name=='deploy')].n", [5]],
  ["$.labels[?@.n > 2 || @['name'] == 'x'].n", [1, 5]],
  ['$.labels[?(!@.tags)].n', [1]],
  ["$.labels[?match(@.name, 'd.*')].n", [5]],
  ['$.labels[?(@.name =~ /DEP.*/i)].n', [5]],
  ["$.labels[?(@.name in ['x', 'y'])].n", [1]],
  ["$.labels[?(@.name nin ['x'])].n", [5]],
  ["$.labels[?('a' in @.tags)].n", [5]],
  ["$.labels[?(@.tags contains 'b' && @.tags size 2 && @.tags empty false)].n", [5]],
  ["$.labels[?(@.tags anyof ['a'] && @.tags subsetof ['a', 'b'])].n", [5]],
  ['$.labels[?(@.tags.length() > 1)].n', [5]],
  ['$.labels[?(@.n == $.nums[1])].name', ['x']],
  ['$.one[?(@.a == 1)]', [document.one]],
  ['$.labels.length()', 2],
  ['$.labels[*].n.max()', 5],
  ['$.nums.min()', 1],
  ['$.nums.avg()', 2],
  ['$.nums.sum()', 6],
  ['concat("https://a.example/", $.one.b.c, \'?x\')', 'https://a.example/2?x'],
  ['$.labels[0].name.concat("-", $.one.a)', 'x-1'],
  ['$.nums.index(-1)', 2],
  ['$.one.keys()', ['a', 'b']],
  ['$.unknown[?(@.a)]', undefined],
  ['$.__proto__', undefined],
  ['$.constructor.name', undefined],
] as const) {
  test(`the path ${path} finds its values`, () => {
    assert.equal(findPathProblem(path), undefined)
    assert.deepEqual(valueAt(document, path, spend), value)
  })
}

for (const [path, problem] of [
  ['$.labels[', /ends too early/],
  ['$.labels[?(@.n ==', /ends too early/],
  ['$.labels[(@.length-1)]', /has "\(@\.length-1/],
  ['$.labels.nosuch()', /calls "nosuch\(\)"/],
  ['$.labels[?(process.exit(1))]', /has "process/],
  ["$.labels[?constructor('x')]", /constructor/],
  [`$[?${'('.repeat(1900)}@.a${')'.repeat(90)}]`, /./],
  [`$${'.a'.repeat(1000)}`, /more than 2000 characters/],
] as const) {
  test(`the path ${path.slice(0, 40)} has a problem`, () => {
    assert.match(findPathProblem(path) ?? '', problem)
    assert.equal(valueAt(document, path, spend), undefined)
  })
}

const wide = { a: Array.from({ length: 5_000 }, (_, at) => ({ a: at, text: 'a'.repeat(100) })) }
const nested = JSON.parse(`${'[['.repeat(150)}1${']]'.repeat(150)}`) as unknown

for (const [path, value] of [
  ['$..[?@..[?@..b]]', wide],
  ['$..*..*..*', wide],
  ['$.a[?(@ == $.a[0])]', { a: Array.from({ length: 3_000 }, () => wide.a.slice(0, 100)) }],
  ["$.a[?search(@.text, '(a+)+(a+)+b')]", wide],
  ['$..x', nested],
] as const) {
  test(`the costs of ${path} are counted and bounded`, () => {
    let left = 100_000
    assert.throws(
      () =>
        valueAt(value, path, (steps) => {
          left -= steps
          if (left < 0) throw new Error('too much work')
        }),
      /too much work/,
    )
  })
}
