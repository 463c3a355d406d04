/** Places the nodes of a graph: ranks from left to right, in each the order of the list; long edges have lanes of their own. */

export interface GraphPlaces {
  readonly width: number
  readonly height: number
  readonly nodeWidth: number
  /** Upper left corners. */
  readonly places: ReadonlyMap<string, { readonly x: number; readonly y: number }>
  readonly lines: readonly string[]
}

export interface Edge {
  readonly from: string
  readonly to: string
}

/** Where edges begin and end, from the top of a node. */
const anchor = 28
/** Handles of the editor stand around nodes. */
export const graphMargin = 24
/** Height of a stage without what is folded open below it, in pixels. */
export const nodeHeight = 56
/** Between two nodes of a rank: the button that folds stands there. */
const rowGap = 26
const laneHeight = 6
const corner = 6
const sweeps = 9

/** What takes room in a rank: a node, or an edge on its way. Its place is that of its anchor. */
interface Item {
  readonly above: number
  readonly below: number
  readonly before: Item[]
  readonly after: Item[]
  y: number
}

interface GivenNode {
  readonly id: string
  readonly height: number
}

/** @param nodes Each after those before it. @returns places for any width of the nodes */
export function planGraph(nodes: readonly GivenNode[], edges: readonly Edge[]) {
  const rankOf = ranksOf(nodes, edges)
  const ranks = 1 + Math.max(0, ...rankOf.values())
  const items = new Map(
    nodes.map(({ id, height }) => [id, toItem(anchor + rowGap / 2, height - anchor + rowGap / 2)]),
  )
  const { ways, lanes } = waysOf(edges, items, rankOf)
  const byRank = Map.groupBy(items, ([id]) => rankOf.get(id) ?? 0)
  const columns = Array.from({ length: ranks }, (_, rank) =>
    (byRank.get(rank) ?? []).map(([, item]) => item),
  )
  settle(
    columns.map((column, rank) => withLanes(column, lanes[rank] ?? [], columns[rank - 1] ?? [])),
  )
  const all = [...items.values(), ...lanes.flat()]
  const top = all.reduce((least, { y, above }) => Math.min(least, y - above), 0)
  const bottom = all.reduce((most, { y, below }) => Math.max(most, y + below), top)
  const shift = graphMargin - (top + rowGap / 2)
  const yOf = ({ y }: Item) => y + shift
  const place = (nodeWidth: number, rankGap: number): GraphPlaces => {
    const step = nodeWidth + rankGap
    const xOf = (id: string) => graphMargin + (rankOf.get(id) ?? 0) * step
    return {
      width: graphMargin * 2 + ranks * step - rankGap,
      height: Math.max(0, bottom - top - rowGap) + graphMargin * 2,
      nodeWidth,
      places: new Map([...items].map(([id, item]) => [id, { x: xOf(id), y: yOf(item) - anchor }])),
      lines: edges.map(({ from, to }, at) =>
        toLine((ways[at] ?? []).map(yOf), {
          from: xOf(from) + nodeWidth,
          to: xOf(to),
          step,
          bend: rankGap / 2,
        }),
      ),
    }
  }
  return { ranks, place }
}

function toItem(above: number, below: number): Item {
  return { above, below, before: [], after: [], y: 0 }
}

/** What each edge passes, and the lanes of each rank; edges from one node share them. */
function waysOf(
  edges: readonly Edge[],
  items: ReadonlyMap<string, Item>,
  rankOf: ReadonlyMap<string, number>,
) {
  const byStart: Map<string, Item>[] = []
  const laneOf = (from: string, rank: number): Item => {
    byStart[rank] ??= new Map()
    const lane = byStart[rank].get(from) ?? toItem(laneHeight, laneHeight)
    byStart[rank].set(from, lane)
    return lane
  }
  const ways = edges.map(({ from, to }) => {
    const [first, last] = [rankOf.get(from) ?? 0, rankOf.get(to) ?? 0]
    const between = Array.from({ length: Math.max(0, last - first - 1) }, (_, at) =>
      laneOf(from, first + 1 + at),
    )
    const way = [items.get(from), ...between, items.get(to)].filter((item) => item !== undefined)
    if (last > first) link(way)
    return way
  })
  return { ways, lanes: Array.from(byStart, (lanes) => [...(lanes?.values() ?? [])]) }
}

function link(way: readonly Item[]) {
  for (const [at, to] of way.entries()) {
    const from = way[at - 1]
    if (from === undefined || from.after.includes(to)) continue
    from.after.push(to)
    to.before.push(from)
  }
}

/** One more than the highest rank before; what closes a circle does not count. */
function ranksOf(nodes: readonly { readonly id: string }[], edges: readonly Edge[]) {
  const before = Map.groupBy(edges, ({ to }) => to)
  const ranks = new Map<string, number>()
  for (const { id } of nodes) {
    const above = (before.get(id) ?? []).map(({ from }) => (ranks.get(from) ?? -1) + 1)
    ranks.set(id, Math.max(0, ...above))
  }
  return ranks
}

/** Nodes keep their order; a lane goes below those that come from above its own beginning, or from the same node. */
function withLanes(nodes: readonly Item[], lanes: readonly Item[], former: readonly Item[]) {
  if (lanes.length === 0) return nodes
  const keyOf = ({ before }: Item) => mean(before.map((item) => former.indexOf(item)))
  const keys = nodes.map(keyOf)
  const below = Map.groupBy(lanes, (lane) => keys.filter((key) => key <= keyOf(lane)).length)
  return [
    ...(below.get(0) ?? []),
    ...nodes.flatMap((node, at) => [node, ...(below.get(at + 1) ?? [])]),
  ]
}

/** Moves all to the middle of what is before them, and of what is after them, in turns. */
function settle(columns: readonly (readonly Item[])[]) {
  for (const column of columns) spread(column, () => 0)
  for (let sweep = 0; sweep < sweeps; sweep++) {
    const [list, side] =
      sweep % 2 === 0 ? ([columns, 'before'] as const) : ([columns.toReversed(), 'after'] as const)
    for (const column of list)
      spread(column, (item) =>
        item[side].length === 0 ? item.y : mean(item[side].map(({ y }) => y)),
      )
  }
}

/** Puts each as near to where it is wanted as order and size allow: neighbours that are too near move together. */
function spread(column: readonly Item[], wanted: (item: Item) => number) {
  const groups: { sum: number; items: { item: Item; offset: number }[] }[] = []
  let offset = 0
  for (const [at, item] of column.entries()) {
    const former = column[at - 1]
    offset += former === undefined ? 0 : former.below + item.above
    groups.push({ sum: wanted(item) - offset, items: [{ item, offset }] })
    for (
      let last = groups.at(-1), other = groups.at(-2);
      last && other && middleOf(other) > middleOf(last);
    ) {
      groups.splice(-2, 2, { sum: other.sum + last.sum, items: [...other.items, ...last.items] })
      ;[last, other] = [groups.at(-1), groups.at(-2)]
    }
  }
  for (const group of groups)
    for (const { item, offset: own } of group.items) item.y = middleOf(group) + own
}

function middleOf({ sum, items }: { readonly sum: number; readonly items: readonly unknown[] }) {
  return sum / items.length
}

function mean(numbers: readonly number[]) {
  return numbers.reduce((sum, number) => sum + number, 0) / Math.max(1, numbers.length)
}

/** Right angles with round corners; an edge back goes around. @param points Heights at each rank */
function toLine(
  points: readonly number[],
  along: { from: number; to: number; step: number; bend: number },
) {
  const { from, to, step, bend } = along
  const [first = 0, last = first] = [points[0], points.at(-1)]
  if (to <= from) {
    const below = Math.max(first, last) + anchor + rowGap
    return `M${from} ${first}h${bend}V${below}H${to - bend}V${last}H${to}`
  }
  let line = `M${from} ${first}`
  for (const [at, y] of points.entries()) {
    const before = points[at - 1] ?? y
    const way = Math.abs(y - before)
    if (way < 1) continue
    const [down, round] = [Math.sign(y - before), Math.min(corner, way / 2)]
    const x = from + (at - 1) * step + bend
    line += `H${x - round}q${round} 0 ${round} ${round * down}V${y - round * down}q0 ${round * down} ${round} ${round * down}`
  }
  return `${line}H${to}`
}
