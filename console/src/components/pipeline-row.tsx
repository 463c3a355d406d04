/** A pipeline in a list: its last runs as bars, and how the last one stands, since when, and who started it. */
import type { ComponentChildren } from 'preact'
import { to } from '../address.ts'
import { type Execution, isComplete, shortId, startedBy, statusOf } from '../model/execution.ts'
import { RunStrip } from './run-strip.tsx'
import { Duration, Name, NameLink, StatusMark, Time } from './text.tsx'

interface PipelineRowProps {
  readonly application: string
  readonly id: string
  readonly name: string
  readonly note: string | undefined
  readonly isDisabled?: boolean
  /** Newest first; undefined while they are not known. */
  readonly runs: readonly Execution[] | undefined
  readonly isUnknown?: boolean
  /** Actions. */
  readonly children?: ComponentChildren
}

export function PipelineRow({ application, id, name, note, isDisabled, runs, isUnknown, children }: PipelineRowProps) {
  const last = runs?.[0]
  return (
    <div class="run-row pipeline-row">
      <div class="pipeline-name">
        <NameLink class="row-title" href={to.pipeline(application, id)} text={name} max={60} />
        {isDisabled && <span class="chip">disabled</span>}
        {note && <Name class="muted cut" text={note} max={80} />}
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

function LastRun({ run }: { run: Execution }) {
  const { kind, word } = statusOf(run)
  const user = startedBy(run)
  return (
    <a class="last-run-link" href={to.execution(run.id)}>
      <StatusMark kind={kind} />
      <span class="strong">{word}</span>
      <span class="muted">
        {isComplete(run.status) ? <Time at={run.endTime ?? run.startTime} /> : <Duration from={run.startTime ?? run.buildTime} />}
        {user !== undefined && ', by '}
        {user !== undefined && <Name text={user} max={24} />}
      </span>
      <span class="run-id">{shortId(run.id)}</span>
    </a>
  )
}
