/** Figures of delivery and canary analyses of an application; and the report of one analysis. */

import { numberOf, scalarOf } from '@fairlead/base/json/values.ts'
import { useMemo } from 'preact/hooks'
import { type ScreenProps, to } from '../address.ts'
import type { Schemas } from '../api/client.ts'
import { useLive } from '../api/live.ts'
import { CanaryReport, useAnalysis } from '../components/canary-report.tsx'
import { type Column, DataTable } from '../components/data-table.tsx'
import { Lines } from '../components/group-charts.tsx'
import { applicationCrumbs, Loaded, PageHead, Panel } from '../components/screen.tsx'
import { KeyValue, Name, NameLink, StatusText, Time } from '../components/text.tsx'
import { toReport } from '../model/canary.ts'
import { formatDuration, presentMs } from '../model/time.ts'

type Analysis = Schemas['CanaryResult']

export function DeliveryDetails({ application }: { application: string }) {
  const analyses = useLive(
    '/v2/canaries/{application}/executions',
    { path: { application }, query: { limit: 20 } },
    { events: 'executions' },
  )
  const configured = useLive('/v2/canaryConfig', { query: { application } }, 'open').body
  const names = configured?.map(({ name }) => name).join(', ')
  return (
    <div class="stack">
      <Figures application={application} />
      <Year application={application} />
      <Panel title="Canary analyses" flush>
        <Loaded live={analyses} icon="graph" empty="No canary was analysed.">
          {(found) => (
            <DataTable
              label="Canary analyses"
              rows={found}
              keyOf={idOf}
              columns={columnsOf(application)}
            />
          )}
        </Loaded>
      </Panel>
      <p class="muted">
        {names !== undefined &&
          (names === ''
            ? 'No canary configuration names this application.'
            : `Canary configurations: ${names}.`)}
      </p>
    </div>
  )
}

function Figures({ application }: { application: string }) {
  const live = useLive(
    '/applications/{application}/delivery',
    { path: { application } },
    { refresh: 'slow', events: 'executions' },
  )
  return (
    <Panel title={['The last 30 days', live.body?.environment].filter(Boolean).join(', ')}>
      <Loaded live={live}>
        {({ figures }) => (
          <KeyValue
            look="numbers"
            facts={Object.values(figures).map(({ title, text, definition }) => {
              return [title, [text, <p key="definition" class="muted" children={definition} />]]
            })}
          />
        )}
      </Loaded>
    </Panel>
  )
}

const [dayMs, weeks] = [86_400_000, 52]

/** Curve over one figure of the weeks. */
const curves = {
  'Deployments a week': ['deployments', String],
  'Failed a week': ['failed', String],
  'From commit to deployment': ['leadMs', formatDuration],
  'Time to restore': ['restoreMs', formatDuration],
} as const

/** A point for each week. */
function Year({ application }: { application: string }) {
  const since = useMemo(() => (Math.ceil(presentMs() / dayMs) - weeks * 7) * dayMs, [])
  const { body } = useLive(
    '/applications/{application}/delivery',
    { path: { application }, query: { since } },
    'rare',
  )
  if (!body?.weeks.some(({ deployments }) => deployments > 0)) return null
  return (
    <Panel title="The last year">
      <div class="charts">
        {Object.entries(curves).map(([title, [figure, format]]) => {
          const points = body.weeks.flatMap((week) => {
            const value = week[figure]
            return value === null ? [] : [[week.fromMs, value] as const]
          })
          const most = Math.max(0, ...points.map(([, value]) => value))
          return (
            <figure key={title} class="chart">
              <figcaption>
                <span class="muted">{title}</span>
                <b>{points.length === 0 ? 'none' : `at most ${format(most)}`}</b>
              </figcaption>
              <Lines
                all={[points]}
                from={since}
                until={since + 7 * (weeks - 1) * dayMs}
                most={most}
              />
            </figure>
          )
        })}
      </div>
    </Panel>
  )
}

const idOf = (analysis: Analysis) => scalarOf(analysis['pipelineId']) ?? ''

function columnsOf(application: string): readonly Column<Analysis>[] {
  const name = (analysis: Analysis) => toReport(analysis).name ?? 'Analysis'
  return [
    { head: 'Verdict', cell: (analysis) => <StatusText status={toReport(analysis).status} /> },
    {
      head: 'Configuration',
      cell: (one) => (
        <NameLink href={to.canary(application, idOf(one))} text={name(one)} max={60} />
      ),
    },
    {
      head: 'Why',
      grow: true,
      hideBelow: 'phone',
      cell: (analysis) => <Name text={toReport(analysis).sentence} max={400} />,
    },
    {
      head: 'Started',
      hideBelow: 'phone',
      cell: (analysis) => <Time at={numberOf(analysis['buildTimeMillis'])} />,
    },
  ]
}

/** One analysis, whichever run it belongs to. */
export function CanaryScreen({ params: { application = '', id = '' } }: ScreenProps) {
  const { body } = useAnalysis(id)
  const name = body && toReport(body).name
  return (
    <>
      <PageHead
        tab={['Canary analysis', name].filter(Boolean).join(' ')}
        crumbs={applicationCrumbs(application)}
      />
      <CanaryReport id={id} />
    </>
  )
}
