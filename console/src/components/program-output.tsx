/** What a program has written, an instance or a job. */
import { findInOutput, type OutputPlace, useOutput } from '../api/output.ts'
import { describeError } from '../words.ts'
import { LogView } from './log-view.tsx'
import { act } from './notices.tsx'
import { ErrorState, Loading } from './screen.tsx'

interface OutputProps extends OutputPlace {
  /** The first byte of the line that is marked, as the address has it. */
  readonly line: string | undefined
  readonly isEnded?: boolean
  readonly openAt?: number
}

export function ProgramOutput({ line, openAt, isEnded = false, ...place }: OutputProps) {
  const byte = line !== undefined && /^\d+$/.test(line) ? Number(line) : undefined
  const { output, error, readEarlier, readAt } = useOutput(place, byte)
  if (output === undefined)
    return error === undefined ? (
      <Loading rows={8} />
    ) : (
      <ErrorState error={error} onRetry={() => location.reload()} />
    )
  const { nextByte, ...shown } = output
  return (
    <>
      {error !== undefined && <p class="stale">{describeError(error).title}</p>}
      {byte !== undefined && byte < output.startByte && (
        <p class="muted">The line of this address is no longer kept.</p>
      )}
      <LogView
        {...shown}
        name={place.id}
        isEnded={isEnded}
        openAt={openAt}
        readEarlier={() => act(`Read earlier output of ${place.id}`, readEarlier)}
        readAt={readAt}
        find={nextByte === undefined ? undefined : (query) => findInOutput(place, query)}
      />
    </>
  )
}
