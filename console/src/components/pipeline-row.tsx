/** A pipeline in a list: its last runs as bars, and how the last one stands, since when, and who started it. */
import type { ComponentChildren } from 'preact'
import { to } from '../address.ts'
import type { Schemas } from '../api/client.ts'
import {
  durationOf,
  type Execution,
  isComplete,
  shortId,
  startedBy,
  statusOf,
} from '../model/execution.ts'
import { formatDuration, formatRelative, now, thisMinute } from '../model/time.ts'
import { plural } from '../words.ts'
import { kept } from './kept.tsx'
import { Duration, Name, NameLink, StatusMark, Time } from './text.tsx'

interface PipelineRowProps {
  readonly application: string
  readonly id: string
  readonly name: string
  readonly note: string | undefined
  readonly isDisabled?: boolean
  readonly findings?: readonly Schemas['Finding'][]
  /** Newest first; undefined while they are not known. */
  readonly runs: readonly Execution[] | undefined
  readonly isUnknown?: boolean
  /** Actions. */
  readonly children?: ComponentChildren
}

export function PipelineRow({
  application,
  id,
  name,
  note,
  isDisabled,
  findings = [],
  runs,
  isUnknown,
  children,
}: PipelineRowProps) {
  const last = runs?.[0]
  return (
    <div class="run-row pipeline-row">
      <div class="pipeline-name">
        <NameLink class="row-title" href={to.pipeline(application, id)} text={name} max={60} />
        {isDisabled && <span class="chip">disabled</span>}
        <FindingCounts findings={findings} href={to.editPipeline(application, id)} />
        {note && <Name class="muted cut" text={note} />}
      </div>
      <RunStrip runs={runs ?? []} label={`Last runs of ${name}`} />
      <span class="grow last-run">
        {last !== undefined && <LastRun run={last} />}
        {runs?.length === 0 && <span class="muted">has not run yet</span>}
        {isUnknown && <span class="muted">last run unknown</span>}
      </span>
      {children}
    </div>
  )
}

const severities = [
  ['error', 'failed'],
  ['warning', 'warning'],
] as const

function FindingCounts({
  findings,
  href,
}: {
  readonly findings: readonly Schemas['Finding'][]
  readonly href: string
}) {
  return severities.map(([severity, kind]) => {
    const found = findings.filter((finding) => finding.severity === severity)
    if (found.length === 0) return null
    const title = found.map(({ message }) => message).join('\n')
    return (
      <a key={severity} class="chip" href={href} title={title}>
        <StatusMark kind={kind} /> {plural(found.length, severity)}
      </a>
    )
  })
}

function LastRun({ run }: { run: Execution }) {
  const { kind, word } = statusOf(run)
  const user = startedBy(run)
  return (
    <a class="last-run-link" href={to.execution(run.id)}>
      <StatusMark kind={kind} />
      <span class="strong">{word}</span>
      <span class="muted">
        {isComplete(run.status) ? (
          <Time at={run.endTime ?? run.startTime} />
        ) : (
          <Duration from={run.startTime ?? run.buildTime} />
        )}
        {user !== undefined && ', by '}
        {user !== undefined && <Name text={user} max={24} />}
      </span>
      <span class="run-id">{shortId(run.id)}</span>
    </a>
  )
}

const maxRuns = 30

/** The same runs, newest first, are not drawn again: a list of pipelines has a thousand of them. */
export const RunStrip = kept(
  ({ runs, label }: { readonly runs: readonly Execution[]; readonly label: string }) => {
    const shown = runs.slice(0, maxRuns).toReversed()
    const nowMs = Math.max(now.peek(), thisMinute.value)
    const lengths = shown.map((run) => durationOf(run, nowMs))
    const usual =
      lengths.map((length) => length ?? 0).sort((a, b) => a - b)[
        Math.floor(lengths.length * 0.9)
      ] || 1
    return (
      <div class="run-strip" role="group" aria-label={label} onKeyDown={move}>
        {shown.map((run, index) => {
          const { kind, word } = statusOf(run)
          const length = lengths[index]
          const step = Math.max(1, Math.min(4, Math.ceil(((length ?? 0) / usual) * 4)))
          const time = run.startTime ?? run.buildTime
          const ago = time && formatRelative(time, nowMs)
          const text = [`run ${shortId(run.id)}`, word, ago, length && formatDuration(length)]
            .filter(Boolean)
            .join(', ')
          const tabIndex = index === shown.length - 1 ? 0 : -1
          // The style sheet draws the bar and its sign: one element for each run keeps long lists quick.
          const link = { class: `run is-${kind} step-${step}`, title: text, tabIndex }
          return <a key={run.id} href={to.execution(run.id)} aria-label={text} {...link} />
        })}
      </div>
    )
  },
)

function move(event: KeyboardEvent) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
  if (step === undefined) return
  event.preventDefault()
  const links = [...(event.currentTarget as HTMLElement).querySelectorAll('a')]
  links
    .at((links.indexOf(document.activeElement as HTMLAnchorElement) + step) % links.length)
    ?.focus()
}
