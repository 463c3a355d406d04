/** Requests, errors, latency, memory and processor time of server groups in the last minutes, one line each. */

import { numberOf, objectsOf, textsOf } from '@fairlead/base/json/values.ts'
import { useAccounts, useCloudProvider } from '../api/cloud-providers.ts'
import { useLive } from '../api/live.ts'
import { groupPlace, type ServerGroup, versionIn } from '../model/server-groups.ts'
import { now } from '../model/time.ts'

const shownMs = 900_000

/** By the names of their metrics: title, unit, and what the value is divided by. */
const charts = Object.entries({
  requests: ['Requests', '/s', 1],
  errors: ['Errors', '/s', 1],
  latency: ['Latency', ' ms', 1],
  memory: ['Memory', ' MB', 1024 ** 2],
  cpu: ['Processor', ' mCPU', 0.001],
} as const).map(([name, [title, unit, by]]) => ({
  name,
  title,
  isRate: unit === '/s',
  format: (value: number) => `${short(value / by)}${unit}`,
}))

/** Made once, as in `toLocaleString` each would be made for each value. */
const [whole, tenths] = [0, 1].map(
  (maximumFractionDigits) => new Intl.NumberFormat(undefined, { maximumFractionDigits }).format,
) as [Format, Format]
type Format = (value: number) => string

export function short(value: number): string {
  return value < 10 ? tenths(value) : whole(value)
}

/** Nothing where no metric has values for a line. @param groups The last two are compared, the old one first. */
export function GroupCharts({ groups }: { groups: readonly ServerGroup[] }) {
  const compared = groups.slice(-2)
  const provider = useCloudProvider(compared[0]?.cloudProvider ?? compared[0]?.type)
  const account = useAccounts().body?.find(({ name }) => name === compared[0]?.account)
  const metrics = textsOf(account?.['metrics'] ?? provider?.metrics)
  const shown = charts.filter(({ name }) => metrics.includes(name))
  if (shown.length === 0) return null
  return (
    <div class="charts">
      {shown.map((chart) => (
        <ChartOf key={chart.name} chart={chart} groups={compared} />
      ))}
    </div>
  )
}

function ChartOf({
  chart,
  groups,
}: {
  chart: (typeof charts)[number]
  groups: readonly ServerGroup[]
}) {
  const reads = [useValues(chart.name, groups[0]), useValues(chart.name, groups[1])].slice(
    0,
    groups.length,
  )
  const all = reads.map(({ body }) =>
    objectsOf(body?.datapoints).flatMap(({ timestamp, sum, average }): Point[] => {
      const [atMs, value] = [numberOf(timestamp), numberOf(sum ?? average)]
      return atMs === undefined || value === undefined
        ? []
        : [[atMs, value / (chart.isRate ? (body?.period ?? 1) : 1)]]
    }),
  )
  const from = now.peek() - shownMs
  const hasFailed = reads.some(({ error, body }) => error !== undefined && body === undefined)
  if (!hasFailed && all.every((points) => points.length < 2)) return null
  const most = Math.max(0, ...all.flat().map(([, value]) => value))
  const isOfOne = groups.every(({ cluster }) => cluster === groups[0]?.cluster)
  return (
    <figure class="chart">
      <figcaption>
        <span
          class="muted"
          title={most > 0 ? `At most ${chart.format(most)} in the last 15 minutes` : undefined}
        >
          {chart.title}
        </span>
        {groups.map((group, at) => {
          const last = all[at]?.at(-1)?.[1]
          return (
            <span key={group.name} class={at === groups.length - 1 ? 'is-new' : 'is-old'}>
              {groups.length > 1 &&
                `${isOfOne ? versionIn(group.name) : (group.moniker?.detail ?? group.name)} `}
              <b>{hasFailed ? 'not known now' : last === undefined ? '–' : chart.format(last)}</b>
            </span>
          )
        })}
      </figcaption>
      <Lines
        all={all.map((points) => points.filter(([atMs]) => atMs >= from))}
        from={from}
        until={from + shownMs}
        most={most}
      />
    </figure>
  )
}

function useValues(metricName: string, group: ServerGroup | undefined) {
  const cloudProvider = group?.cloudProvider ?? group?.type ?? ''
  return useLive(
    '/cloudMetrics/{cloudProvider}/{account}/{region}/{metricName}/statistics',
    group && {
      path: { cloudProvider, ...groupPlace(group), metricName },
      query: { serverGroup: group.name },
    },
    'live',
  )
}

type Point = readonly [atMs: number, value: number]

const [width, height] = [300, 40]

interface LinesProps {
  /** The old one first; values that are not numbers are no points. */
  readonly all: readonly (readonly Point[])[]
  readonly from: number
  readonly until: number
  readonly least?: number
  readonly most: number
}

/** Pauses between measurements that are longer by so much are gaps. */
const mostUsual = 2.5
/** The end of a line, and so a point between two gaps, is a short dash. */
const dot = 2

/** One line for each, across the whole room. */
export function Lines({ all, from, until, least = 0, most }: LinesProps) {
  const across = (at: number) => (((at - from) / (until - from || 1)) * width).toFixed(1)
  const down = (value: number) =>
    (height - 2 - ((value - least) / (most - least || 1)) * (height - 4)).toFixed(1)
  return (
    <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true">
      {all.map((points, at) => {
        const measured = points.filter(([, value]) => !Number.isNaN(value))
        const pauses = measured.slice(1).map(([x], index) => x - (measured[index]?.[0] ?? x))
        // Its step may be shorter than the pause between measurements.
        const usual = pauses.toSorted((a, b) => a - b)[(pauses.length - 1) >> 1] ?? 0
        const isGap = (index: number) => !((pauses[index] ?? Number.NaN) <= mostUsual * usual)
        const places = measured.map(
          ([x, y], index) =>
            `${isGap(index - 1) ? 'M' : 'L'}${across(x)} ${down(y)}${isGap(index) ? `m-${dot / 2} 0h${dot}` : ''}`,
        )
        return (
          <path key={at} class={at === all.length - 1 ? 'is-new' : 'is-old'} d={places.join('')} />
        )
      })}
    </svg>
  )
}
