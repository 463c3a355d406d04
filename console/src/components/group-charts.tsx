/** Requests, errors, latency and memory of server groups in the last quarter of an hour, one line each. */
import { useCloudProvider } from '../api/cloud-providers.ts'
import { useLive } from '../api/live.ts'
import { numberOf, objectsOf } from '../model/read.ts'
import { accountOf, type ServerGroup, versionIn } from '../model/server-groups.ts'
import { now } from '../model/time.ts'

const shownMs = 900_000

interface Chart {
  readonly name: string
  readonly title: string
  /** @param value Of `perSecond` metrics, the rate. */
  readonly format: (value: number) => string
  readonly isRate: boolean
}

const charts: readonly Chart[] = [
  { name: 'requests', title: 'Requests', isRate: true, format: (value) => `${short(value)}/s` },
  { name: 'errors', title: 'Errors', isRate: true, format: (value) => `${short(value)}/s` },
  { name: 'latency', title: 'Latency', isRate: false, format: (value) => `${short(value)} ms` },
  { name: 'memory', title: 'Memory', isRate: false, format: (value) => `${short(value / 1024 ** 2)} MB` },
]

function short(value: number): string {
  return value.toLocaleString(undefined, { maximumFractionDigits: value < 10 ? 1 : 0 })
}

interface GroupChartsProps {
  /** One, or two to compare: the old one first. Others are left out. */
  readonly groups: readonly ServerGroup[]
}

/** Nothing where no metric has values for a line. */
export function GroupCharts({ groups }: GroupChartsProps) {
  const compared = groups.slice(-2)
  const provider = useCloudProvider(compared[0]?.cloudProvider ?? compared[0]?.type)
  const shown = charts.filter(({ name }) => provider?.metrics?.includes(name))
  if (shown.length === 0) return null
  return (
    <div class="charts">
      {shown.map((chart) => (
        <ChartOf key={chart.name} chart={chart} groups={compared} />
      ))}
    </div>
  )
}

interface Series {
  readonly group: ServerGroup
  readonly points: readonly (readonly [atMs: number, value: number])[]
}

function ChartOf({ chart, groups }: { chart: Chart; groups: readonly ServerGroup[] }) {
  const [first, second] = groups
  const reads = [useValues(chart.name, first), useValues(chart.name, second)]
  const all = groups.flatMap((group, at): readonly Series[] => {
    const body = reads[at]?.reading.value.body
    const divisor = chart.isRate ? (body?.period ?? 1) : 1
    const points = objectsOf(body?.datapoints).flatMap((point) => {
      const [atMs, value] = [numberOf(point['timestamp']), numberOf(point['sum'] ?? point['average'])]
      return atMs === undefined || value === undefined ? [] : [[atMs, value / divisor] as const]
    })
    return [{ group, points }]
  })
  const hasFailed = reads.some(({ reading }) => reading.value.error !== undefined && reading.value.body === undefined)
  if (!hasFailed && all.every(({ points }) => points.length < 2)) return null
  const most = Math.max(0, ...all.flatMap(({ points }) => points.map(([, value]) => value)))
  return (
    <figure class="chart">
      <figcaption>
        <span class="muted" title={most > 0 ? `At most ${chart.format(most)} in the last 15 minutes` : undefined}>
          {chart.title}
        </span>
        {all.map(({ group, points }, at) => {
          const last = points.at(-1)?.[1]
          return (
            <span key={group.name} class={at === all.length - 1 ? 'is-new' : 'is-old'}>
              {all.length > 1 && `${versionIn(group.name)} `}
              <b>{hasFailed ? 'not known now' : last === undefined ? '–' : chart.format(last)}</b>
            </span>
          )
        })}
      </figcaption>
      <Lines series={all} most={most} />
    </figure>
  )
}

function useValues(metricName: string, group: ServerGroup | undefined) {
  const path = group && {
    ...{ cloudProvider: group.cloudProvider ?? group.type ?? '', account: accountOf(group) },
    ...{ region: group.region, metricName },
  }
  return useLive(
    '/cloudMetrics/{cloudProvider}/{account}/{region}/{metricName}/statistics',
    path && group && { path, query: { serverGroup: group.name } },
    { refresh: 'live' },
  )
}

const [width, height] = [300, 40]

function Lines({ series, most }: { series: readonly Series[]; most: number }) {
  const fromMs = now.peek() - shownMs
  const toText = ([atMs, value]: Series['points'][number]) =>
    `${(((atMs - fromMs) / shownMs) * width).toFixed(1)} ${(height - 2 - (most === 0 ? 0 : value / most) * (height - 4)).toFixed(1)}`
  return (
    <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true">
      {series.map(({ group, points }, at) => {
        const shown = points.filter(([atMs]) => atMs >= fromMs)
        return (
          shown.length > 0 && (
            <path key={group.name} class={at === series.length - 1 ? 'is-new' : 'is-old'} d={`M${shown.map(toText).join('L')}`} />
          )
        )
      })}
    </svg>
  )
}
