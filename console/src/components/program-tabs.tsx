/** A program that runs somewhere, an instance or a job: its details and its output. */
import type { ComponentChildren } from 'preact'
import { useLocation } from 'preact-iso/router'
import { findInOutput, type OutputPlace, useOutput } from '../api/output.ts'
import type { Status } from '../model/status.ts'
import { describeError } from '../words.ts'
import { applicationCrumbs } from './application-head.tsx'
import type { Fact } from './key-value.tsx'
import { LogView } from './log-view.tsx'
import { Name } from './name.tsx'
import { act } from './notices.tsx'
import { PageHead } from './page-head.tsx'
import { RecordPanel } from './record-panel.tsx'
import { ErrorState, Loading } from './states.tsx'
import { StatusBadge } from './status-mark.tsx'
import { AddressTabs } from './tabs.tsx'

interface ProgramPageProps {
  readonly application: string
  readonly name: string
  /** What it belongs to. */
  readonly crumb: ReturnType<typeof applicationCrumbs>[number] | undefined
  readonly status: Status
  readonly place: OutputPlace
  readonly facts: readonly Fact[]
  readonly record: unknown
  /** Further details. */
  readonly children?: ComponentChildren
}

export function ProgramPage({ application, name, crumb, status, place, facts, record, children }: ProgramPageProps) {
  const { line } = useLocation().query
  const details = () => (
    <div class="stack">
      <RecordPanel title="Details" {...{ name, facts, record }} />
      {children}
    </div>
  )
  const tabs = [
    { id: 'details', label: 'Details', body: details },
    { id: 'console', label: 'Console output', body: () => <ProgramOutput key={place.id} {...place} line={line} /> },
  ]
  return (
    <>
      <PageHead
        tab={name}
        title={<Name text={name} max={70} />}
        crumbs={[...applicationCrumbs(application), ...(crumb === undefined ? [] : [crumb])]}
        state={<StatusBadge status={status} />}
      />
      <AddressTabs label={name} tabs={tabs} />
    </>
  )
}

interface OutputProps extends OutputPlace {
  /** The first byte of the line that is marked, as the address has it. */
  readonly line: string | undefined
}

/** What the program has written. */
export function ProgramOutput({ line, ...place }: OutputProps) {
  const byte = line !== undefined && /^\d+$/.test(line) ? Number(line) : undefined
  const { output, error, readEarlier, readAt } = useOutput(place, byte)
  if (output === undefined)
    return error === undefined ? <Loading rows={8} /> : <ErrorState error={error} onRetry={() => location.reload()} />
  const { text, nextByte, ...where } = output
  const part = {
    ...where,
    readEarlier: () => act(`Read earlier output of ${place.id}`, readEarlier),
    readAt,
    find: nextByte === undefined ? undefined : (query: string) => findInOutput(place, query),
  }
  return (
    <>
      {error !== undefined && <p class="stale">{describeError(error).title}</p>}
      {byte !== undefined && byte < where.startByte && <p class="muted">The line of this address is no longer kept.</p>}
      <LogView text={text} name={place.id} part={part} />
    </>
  )
}
