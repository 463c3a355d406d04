/** Places the nodes of a graph: ranks from left to right, in each the order of the list; long edges have lanes of their own. */

export interface GraphPlaces {
  readonly width: number
  readonly height: number
  readonly nodeWidth: number
  /** Upper left corners. */
  readonly places: ReadonlyMap<string, { readonly x: number; readonly y: number }>
  /** Of each edge, as it is drawn. */
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
/** Of a stage without what is folded open below it, in pixels. */
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

/** Ranks, and the items that each edge passes. */
interface Plan {
  readonly rankOf: ReadonlyMap<string, number>
  readonly items: ReadonlyMap<string, Item>
  readonly ways: readonly (readonly Item[])[]
  readonly top: number
  readonly height: number
}

/** @param nodes Each after those before it. @returns places for any width of the nodes */
export function planGraph(
  nodes: readonly { readonly id: string; readonly height: number }[],
  edges: readonly Edge[],
): { readonly ranks: number; place(nodeWidth: number, rankGap: number): GraphPlaces } {
  const plan = toPlan(nodes, edges)
  const ranks = 1 + Math.max(0, ...plan.rankOf.values())
  return {
    ranks,
    place(nodeWidth, rankGap) {
      const step = nodeWidth + rankGap
      const { rankOf, items, ways, top, height } = plan
      const shift = graphMargin - top
      const xOf = (id: string) => graphMargin + (rankOf.get(id) ?? 0) * step
      const yOf = (item: Item) => item.y + shift
      return {
        width: graphMargin * 2 + ranks * step - rankGap,
        height: height + graphMargin * 2,
        nodeWidth,
        places: new Map([...items].map(([id, item]) => [id, { x: xOf(id), y: yOf(item) - anchor }])),
        lines: edges.map(({ from, to }, at) => {
          const points = ways[at]?.map(yOf) ?? []
          return toLine(points, { from: xOf(from) + nodeWidth, to: xOf(to), step, bend: rankGap / 2 })
        }),
      }
    },
  }
}

function toPlan(nodes: readonly { readonly id: string; readonly height: number }[], edges: readonly Edge[]): Plan {
  const rankOf = ranksOf(nodes, edges)
  const items = new Map(nodes.map(({ id, height }) => [id, toItem(anchor + rowGap / 2, height - anchor + rowGap / 2)]))
  const columns: { nodes: Item[]; lanes: Item[] }[] = []
  const columnAt = (rank: number) => {
    columns[rank] ??= { nodes: [], lanes: [] }
    return columns[rank]
  }
  for (const { id } of nodes) columnAt(rankOf.get(id) ?? 0).nodes.push(items.get(id) as Item)
  const lanes = new Map<string, Item>()
  /** Edges from one node share their lanes. */
  const laneOf = (from: string, rank: number): Item => {
    const lane = lanes.get(`${rank} ${from}`) ?? toItem(laneHeight, laneHeight)
    if (!lanes.has(`${rank} ${from}`)) columnAt(rank).lanes.push(lane)
    lanes.set(`${rank} ${from}`, lane)
    return lane
  }
  const ways = edges.map(({ from, to }) => {
    const [first, last] = [rankOf.get(from) ?? 0, rankOf.get(to) ?? 0]
    const between = Array.from({ length: Math.max(0, last - first - 1) }, (_, at) => laneOf(from, first + 1 + at))
    const way = [items.get(from), ...between, items.get(to)].filter((item) => item !== undefined)
    if (last > first) link(way)
    return way
  })
  settle(columns.map(({ nodes: inRank, lanes: passing }, rank) => withLanes(inRank, passing, columns[rank - 1]?.nodes ?? [])))
  const all = [...items.values(), ...lanes.values()]
  const top = all.reduce((least, { y, above }) => Math.min(least, y - above), 0)
  const bottom = all.reduce((most, { y, below }) => Math.max(most, y + below), top)
  return { rankOf, items, ways, top: top + rowGap / 2, height: Math.max(0, bottom - top - rowGap) }
}

function toItem(above: number, below: number): Item {
  return { above, below, before: [], after: [], y: 0 }
}

function link(way: readonly Item[]): void {
  for (const [at, to] of way.entries()) {
    const from = way[at - 1]
    if (from === undefined || from.after.includes(to)) continue
    from.after.push(to)
    to.before.push(from)
  }
}

/** One more than the highest rank before; what closes a circle does not count. */
function ranksOf(nodes: readonly { readonly id: string }[], edges: readonly Edge[]): ReadonlyMap<string, number> {
  const before = Map.groupBy(edges, ({ to }) => to)
  const ranks = new Map<string, number>()
  for (const { id } of nodes) {
    const above = (before.get(id) ?? []).map(({ from }) => (ranks.get(from) ?? -1) + 1)
    ranks.set(id, Math.max(0, ...above))
  }
  return ranks
}

/** Nodes keep their order; a lane goes below those that come from above its own beginning, or from the same node. */
function withLanes(nodes: readonly Item[], lanes: readonly Item[], former: readonly Item[]): readonly Item[] {
  if (lanes.length === 0) return nodes
  const keyOf = ({ before }: Item) => mean(before.map((item) => former.indexOf(item)))
  const keys = nodes.map(keyOf)
  const below = Map.groupBy(lanes, (lane) => keys.filter((key) => key <= keyOf(lane)).length)
  return [...(below.get(0) ?? []), ...nodes.flatMap((node, at) => [node, ...(below.get(at + 1) ?? [])])]
}

/** Moves all to the middle of what is before them, and of what is after them, in turns. */
function settle(columns: readonly (readonly Item[])[]): void {
  for (const column of columns) spread(column, () => 0)
  for (let sweep = 0; sweep < sweeps; sweep++) {
    const [list, side] = sweep % 2 === 0 ? ([columns, 'before'] as const) : ([columns.toReversed(), 'after'] as const)
    for (const column of list) spread(column, (item) => (item[side].length === 0 ? item.y : mean(item[side].map(({ y }) => y))))
  }
}

/** Puts each as near to where it is wanted as order and size allow: neighbours that are too near move together. */
function spread(column: readonly Item[], wanted: (item: Item) => number): void {
  const groups: { sum: number; items: { item: Item; offset: number }[] }[] = []
  let offset = 0
  for (const [at, item] of column.entries()) {
    const former = column[at - 1]
    offset += former === undefined ? 0 : former.below + item.above
    groups.push({ sum: wanted(item) - offset, items: [{ item, offset }] })
    for (let last = groups.at(-1), other = groups.at(-2); last && other && middleOf(other) > middleOf(last); ) {
      groups.splice(-2, 2, { sum: other.sum + last.sum, items: [...other.items, ...last.items] })
      ;[last, other] = [groups.at(-1), groups.at(-2)]
    }
  }
  for (const group of groups) for (const { item, offset: own } of group.items) item.y = middleOf(group) + own
}

function middleOf({ sum, items }: { readonly sum: number; readonly items: readonly unknown[] }): number {
  return sum / items.length
}

function mean(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0) / Math.max(1, numbers.length)
}

/** Right angles with round corners; an edge back goes around. @param points Heights at each rank */
function toLine(points: readonly number[], along: { from: number; to: number; step: number; bend: number }): string {
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
