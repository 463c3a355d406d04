/** The report of a canary: the verdict and why, scores beside their thresholds, groups, and each metric with its measurements. */

import { numberOf } from '@fairlead/base/json/values.ts'
import { useState } from 'preact/hooks'
import { useLive } from '../api/live.ts'
import { useRun } from '../api/pipelines.ts'
import {
  intervalsOf,
  type Metric,
  quartilesOf,
  scoreStatus,
  toReport,
  toSeries,
} from '../model/canary.ts'
import type { Execution, Stage } from '../model/execution.ts'
import { formatClock } from '../model/time.ts'
import { Banner } from './button.tsx'
import { type Column, DataTable } from './data-table.tsx'
import { Lines, short } from './group-charts.tsx'
import { Loaded } from './screen.tsx'
import { Name, StatusMark } from './text.tsx'

type Report = ReturnType<typeof toReport>
type Interval = ReturnType<typeof intervalsOf>[number]

interface StageProps {
  readonly execution: Execution
  readonly stage: Stage
  readonly isBrief?: boolean
}

/** Verdict and scores of the stage of a run, as evidence among others. */
export function CanaryScores({ run, stage: id }: { run: string; stage: string }) {
  const { body } = useRun(run)
  const stage = body?.stages.find((one) => one.id === id)
  return body && stage ? <StageCanary execution={body} stage={stage} isBrief /> : null
}

/** The last analysis of a stage, unless the reader chooses an earlier one. */
export function StageCanary({ execution, stage, ...shown }: StageProps) {
  const intervals = intervalsOf(execution, stage)
  const [chosen, setChosen] = useState<string>()
  const analysis =
    chosen ?? intervals.findLast((interval) => interval.analysis !== undefined)?.analysis
  if (analysis === undefined) {
    const failure = intervals.find((interval) => interval.failure !== undefined)?.failure
    return failure === undefined ? (
      <p class="muted">No interval has been judged yet.</p>
    ) : (
      <Banner tone="failed">{`The canary could not be judged: ${failure}`}</Banner>
    )
  }
  const chart = { id: analysis, intervals, onChoose: setChosen, ...shown }
  return <CanaryReport key={analysis} {...chart} />
}

interface ReportProps {
  readonly id: string
  /** Without figures of the metrics. */
  readonly isBrief?: boolean
  readonly intervals?: readonly Interval[]
  readonly onChoose?: (analysis: string) => void
}

export function useAnalysis(id: string) {
  return useLive(
    '/v2/canaries/canary/{canaryConfigId}',
    // Of the analysis: another operation below this path gives the name.
    { path: { canaryConfigId: id }, query: {} },
    { refresh: 'live', isBusy: ({ complete }) => complete !== true },
  )
}

export function CanaryReport({ id, intervals = [], onChoose, isBrief }: ReportProps) {
  const live = useAnalysis(id)
  return (
    <Loaded live={live} rows={6}>
      {(answer) => {
        const report = toReport(answer)
        const { score, status, failure } = report
        const shown =
          intervals.length > 0 ? intervals : [{ number: 1, analysis: id, score, status, failure }]
        return (
          <div class="stack">
            <p class={`canary-verdict is-${report.status.kind}`} role="status">
              <StatusMark kind={report.status.kind} size={20} label={report.status.word} />
              <Name text={report.sentence} max={600} />
            </p>
            {report.outlook !== undefined && <p class="muted">{report.outlook}</p>}
            <Scores report={report} intervals={shown} id={id} onChoose={onChoose} />
            {!isBrief && <Metrics report={report} />}
          </div>
        )
      }}
    </Loaded>
  )
}

/** A bar for each interval, across lines at the thresholds; and the groups of the shown one. */
function Scores({
  report,
  id,
  intervals,
  onChoose,
}: ReportProps & { report: Report; intervals: readonly Interval[] }) {
  const { pass, marginal, groups } = report
  const lines = Object.entries({ pass, marginal }).flatMap(([name, at]) =>
    at === undefined ? [] : [{ name, at }],
  )
  return (
    <div class="canary-scores">
      <ol class="score-bars" aria-label="Scores by interval">
        {lines.map(({ name, at }) => (
          <li key={name} class={`score-line is-${name}`} style={{ top: `${100 - at}%` }}>
            {`${name} ${at}`}
          </li>
        ))}
        {intervals.map(({ number, score, analysis, status, failure }) => {
          const { kind, word } =
            score === undefined ? status : scoreStatus({ score, pass, marginal })
          const said = `Interval ${number}: ${[score, word, failure].filter((part) => part !== undefined).join(', ')}`
          return (
            <li key={number}>
              <button
                type="button"
                class={`score-bar is-${kind}`}
                style={{ '--score': score ?? 0 }}
                aria-label={said}
                aria-pressed={analysis === id}
                aria-disabled={analysis === undefined || onChoose === undefined}
                title={said}
                onClick={() => analysis !== undefined && onChoose?.(analysis)}
              >
                <span>{score ?? '–'}</span>
              </button>
            </li>
          )
        })}
      </ol>
      <dl class="score-groups">
        {groups.map(({ name, score }) => (
          <div key={name}>
            <dt>{String(name)}</dt>
            <dd>
              <progress aria-hidden="true" value={Number(score)} max={100} />{' '}
              <span class="number">{short(Number(score))}</span>
            </dd>
          </div>
        ))}
      </dl>
    </div>
  )
}

/** Deciding metrics that are open at first. */
const openAtFirst = 2

function Metrics({ report: { metrics, measurements } }: { report: Report }) {
  const asked =
    measurements === undefined
      ? undefined
      : { path: { metricSetPairListId: measurements }, query: {} }
  const { body, error } = useLive(
    '/v2/canaries/metricSetPairList/{metricSetPairListId}',
    asked,
    'open',
  )
  return (
    <ul class="rows boxed-rows canary-metrics" aria-label="Metrics">
      {metrics.map((metric, at) => {
        const pair = body?.find(({ id }) => id === metric.id)
        return (
          <li key={metric.id || at}>
            <details open={at < openAtFirst && metric.status.kind === 'failed'}>
              <summary class="row">
                <StatusMark kind={metric.status.kind} />
                <Name class="strong" text={metric.name} max={60} />
                <span class="grow muted">{metric.status.word}</span>
                {metric.isCritical && <span class="chip">critical</span>}
                {metric.isMuted && <span class="chip">not counted</span>}
                {metric.ratio !== undefined && metric.status.kind !== 'unknown' && (
                  <span class="number muted">{`${short(metric.ratio)} × the baseline`}</span>
                )}
              </summary>
              {metric.reason && <Name class="muted" text={metric.reason} max={400} />}
              {pair !== undefined && <Measurements metric={metric} {...toSeries(pair)} />}
              {pair === undefined && (
                <p class="muted">
                  {error === undefined ? 'Loading' : 'Its measurements are no longer kept.'}
                </p>
              )}
            </details>
          </li>
        )
      })}
    </ul>
  )
}

type Series = ReturnType<typeof toSeries>
const sides = ['baseline', 'canary'] as const
const styles = { baseline: 'is-old', canary: 'is-new' }

/** Over time, and beside it as boxes on the same scale; the figures are in the table below. */
function Measurements({ metric, ...series }: Series & { readonly metric: Metric }) {
  const boxes = sides.map((side) => quartilesOf(series[side].values))
  const ends = boxes.flatMap((found = []) => found)
  if (ends.length === 0)
    return <p class="muted">Neither the baseline nor the canary has a measurement.</p>
  const [least, most] = [Math.min(0, ...ends), Math.max(...ends)]
  const all = sides.map((side) => series[side].values.map((value, at) => [at, value] as const))
  const { fromMs, stepMs } = series.canary
  // The canary may have begun later, or ended earlier.
  const until = Math.max(...all.map(({ length }) => length)) - 1
  return (
    <>
      <div class="measurements chart">
        <span class="muted scale">{short(most)}</span>
        <Lines all={all} least={least} most={most} from={0} until={until} />
        <svg class="boxes" viewBox="0 0 60 100" preserveAspectRatio="none" aria-hidden="true">
          {boxes.map((found, at) => {
            const [low, first, median, third, high] = (found ?? []).map(
              (value) => 98 - ((value - least) / (most - least || 1)) * 96,
            )
            const box = `M15 ${high}V${third}M5 ${third}h20V${first}h-20ZM5 ${median}h20M15 ${first}V${low}`
            return (
              found && (
                <path
                  key={at}
                  class={styles[sides[at] ?? 'canary']}
                  transform={`translate(${at * 30} 0)`}
                  d={box}
                />
              )
            )
          })}
        </svg>
        <span class="muted scale">{short(least)}</span>
        <span class="muted">
          {fromMs > 0 && `${formatClock(fromMs)} – ${formatClock(fromMs + stepMs * until)}`}
        </span>
      </div>
      <Figures metric={metric} />
    </>
  )
}

const figures = { mean: 'Mean', std: 'Spread', min: 'Least', max: 'Most', count: 'Points' }

function Figures({ metric: { name, stats } }: { metric: Metric }) {
  const columns = Object.entries(figures).map(([key, head]): Column<keyof typeof styles> => {
    const rare = key === 'std' || key === 'min' ? ({ hideBelow: 'phone' } as const) : {}
    return { head, align: 'end', ...rare, cell: (side) => short(numberOf(stats[side][key]) ?? 0) }
  })
  const head: Column<keyof typeof styles> = {
    head: 'Side',
    cell: (side) => <span class={`swatch ${styles[side]}`}>{side}</span>,
  }
  return (
    <DataTable
      label={`Figures of ${name}`}
      rows={sides}
      keyOf={(side) => side}
      columns={[head, ...columns]}
    />
  )
}
