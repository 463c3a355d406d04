/** How the stages of an execution are drawn: what folds, what stays outside, and what is broken. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Stage, toStageTree } from '../../console/src/model/execution.ts'
import {
  ancestorsOf,
  commonTitle,
  countWords,
  kindOf,
  toStageGraph,
} from '../../console/src/model/stage-graph.ts'

type Given = Partial<Stage> & { readonly refId: string; readonly after?: readonly string[] }

function toGraph(
  given: readonly Given[],
  { opened = [] as readonly string[], foldsChains = true } = {},
) {
  const stages = given.map(
    ({ after = [], ...stage }) =>
      ({
        id: `s${stage.refId}`,
        type: 'wait',
        name: `Stage ${stage.refId}`,
        status: 'SUCCEEDED',
        context: {},
        outputs: {},
        tasks: [],
        requisiteStageRefIds: [...after],
        ...stage,
      }) as Stage,
  )
  return toStageGraph(toStageTree(stages), new Set(opened), foldsChains)
}

const row = (count: number, status = 'SUCCEEDED'): Given[] =>
  Array.from({ length: count }, (_, at) => ({
    refId: `${at}`,
    status: status as Stage['status'],
    ...(at > 0 && { after: [`${at - 1}`] }),
  }))

const ids = (graph: ReturnType<typeof toGraph>) => graph.nodes.map(({ id }) => id)

test('more than six siblings become a stack, without those that failed', () => {
  const regions = Array.from({ length: 9 }, (_, at): Given => ({ refId: `r${at}`, after: ['a'] }))
  const failed = regions.map((region, at) =>
    at === 4 ? { ...region, status: 'TERMINAL' as const } : region,
  )
  const given: Given[] = [
    { refId: 'a' },
    ...failed,
    { refId: 'z', after: regions.map(({ refId }) => refId), status: 'NOT_STARTED' },
  ]
  const graph = toGraph(given)
  assert.deepEqual(ids(graph), ['sa', 'stack:sr0', 'sr4', 'sz'])
  const stack = graph.nodes[1]
  assert.ok(stack?.kind === 'stack' && stack.stages.length === 8)
  assert.deepEqual(graph.edges.map(({ from, to }) => `${from} ${to}`).toSorted(), [
    'sa sr4',
    'sa stack:sr0',
    'sr4 sz',
    'stack:sr0 sz',
  ])
  assert.equal(graph.nodeOf.get('sr0'), 'stack:sr0')
  assert.deepEqual(ids(toGraph(given, { opened: ['stack:sr0'] })).length, 11)
})

test('siblings stand in the order of the definition', () => {
  assert.deepEqual(ids(toGraph(['1', '10', '2'].map((refId) => ({ refId })))), ['s1', 's2', 's10'])
})

test('six siblings, or siblings with other followers, stay apart', () => {
  const six = Array.from({ length: 6 }, (_, at): Given => ({ refId: `r${at}`, after: ['a'] }))
  assert.equal(toGraph([{ refId: 'a' }, ...six]).nodes.length, 7)
  const eight = Array.from({ length: 8 }, (_, at): Given => ({ refId: `r${at}`, after: ['a'] }))
  const followers = eight.map(({ refId }, at): Given => ({ refId: `f${at}`, after: [refId] }))
  assert.equal(
    toGraph([{ refId: 'a' }, ...eight, ...followers], { foldsChains: false }).nodes.length,
    17,
  )
})

test('more than eight successes in a row fold, but not beside a failure', () => {
  const stages = [
    ...row(14).slice(0, 13),
    { refId: '13', after: ['12'], status: 'TERMINAL' as const },
  ]
  const graph = toGraph(stages)
  assert.deepEqual(ids(graph), ['chain:s0', 's11', 's12', 's13'])
  assert.deepEqual(ids(toGraph(stages, { foldsChains: false })).length, 14)
  assert.deepEqual(ids(toGraph(stages, { opened: ['chain:s0'] })).length, 14)
  assert.equal(
    toGraph([...row(8), { refId: 'x', status: 'RUNNING' }]).nodes.length,
    9,
    'eight are not too many',
  )
})

test('inner stages are counted, and show themselves when they fail', () => {
  const inner = (refId: string, status: Stage['status']): Given => ({
    refId,
    parentStageId: 'sa',
    status,
  })
  const given = [
    { refId: 'a', status: 'TERMINAL' as const },
    inner('1', 'SUCCEEDED'),
    inner('2', 'TERMINAL'),
  ]
  const [node] = toGraph(given).nodes
  assert.ok(node?.kind === 'stage')
  assert.deepEqual([node.inner.length, node.shown.map(({ id }) => id)], [2, ['s2']])
  const [open] = toGraph(given, { opened: ['sa'] }).nodes
  assert.deepEqual(open?.kind === 'stage' && open.shown.map(({ id }) => id), ['s1', 's2'])
  assert.equal(toGraph(given).nodeOf.get('s2'), 'sa')
})

test('circles and missing requisites are drawn as broken', () => {
  const graph = toGraph([
    { refId: '1', after: ['3'] },
    { refId: '2', after: ['1'] },
    { refId: '3', after: ['2', 'nowhere'] },
    { refId: '4', after: ['4'] },
  ])
  assert.deepEqual(ids(graph).toSorted(), ['missing:nowhere', 's1', 's2', 's3', 's4'])
  const broken = graph.edges
    .filter(({ isBroken }) => isBroken)
    .map(({ from, to }) => `${from} ${to}`)
  assert.equal(broken.length, 3, broken.join())
  assert.ok(broken.includes('missing:nowhere s3') && broken.includes('s4 s4'))
})

test('what leads to what stays the same while stages change their state', () => {
  const stages = row(12) as unknown as readonly Stage[]
  const trees = ['RUNNING', 'SUCCEEDED'].map((status) =>
    toStageTree(
      stages.map(
        (stage, at) =>
          ({
            ...stage,
            id: `s${at}`,
            tasks: [],
            context: {},
            ...(at === 11 && { status }),
          }) as Stage,
      ),
    ),
  )
  const [before, after] = trees.map((tree) => toStageGraph(tree, new Set(), false))
  assert.deepEqual(trees[0]?.links, trees[1]?.links)
  assert.deepEqual(before?.edges, after?.edges)
})

test('a long row is walked without recursion', () => {
  assert.equal(toGraph(row(20_000), { foldsChains: false }).edges.length, 19_999)
})

test('the path to a failure has its ancestors only', () => {
  const { edges } = toGraph([
    { refId: '1' },
    { refId: '2', after: ['1'] },
    { refId: '3', after: ['1'] },
    { refId: '4', after: ['2'] },
  ])
  assert.deepEqual([...ancestorsOf('s4', edges)], ['s4', 's2', 's1'])
})

test('a stack says what its stages have in common', () => {
  const stages = toGraph(
    [1, 2, 3].map((at) => ({ refId: `${at}`, name: `Deploy in region-${at}` })),
  ).nodes
  const members = stages.flatMap((node) => node.stages)
  assert.equal(commonTitle(members), 'Deploy in region')
  assert.equal(
    commonTitle(members.map((stage, at) => ({ ...stage, name: `${'abc'[at]}` }))),
    'wait',
  )
  assert.equal(countWords(members), '3 succeeded')
  const running = members.map(
    (stage, at): Stage => ({ ...stage, status: at === 0 ? 'RUNNING' : 'SUCCEEDED' }),
  )
  assert.equal(kindOf({ stages: running }), 'running')
})
