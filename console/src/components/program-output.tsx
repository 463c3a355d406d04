/** What the program of an instance or a job has written. */
import { useOutput } from '../api/output.ts'
import { describeError, words } from '../words.ts'
import { useQueryChange } from './filter-field.tsx'
import { LogView } from './log-view.tsx'
import { ErrorState, Loading } from './states.tsx'

interface ProgramOutputProps {
  readonly account: string
  readonly region: string
  readonly id: string
  readonly provider: string | undefined
  /** Of the address: the first byte of the line that is marked. */
  readonly line: string | undefined
}

export function ProgramOutput({ line, ...place }: ProgramOutputProps) {
  const change = useQueryChange()
  const byte = line !== undefined && /^\d+$/.test(line) ? Number(line) : undefined
  const { output, readEarlier } = useOutput(place, byte)
  const { text, from, startByte, hasEarlier, error } = output.value
  if (text === undefined)
    return error === undefined ? <Loading rows={8} /> : <ErrorState error={error} onRetry={() => location.reload()} />
  return (
    <>
      {error !== undefined && <p class="stale">{describeError(error).title}</p>}
      {byte !== undefined && byte < startByte && <p class="muted">{words.lineGone}</p>}
      <LogView
        text={text}
        name={place.id}
        from={from}
        {...(startByte > 0 && { earlier: { read: hasEarlier ? readEarlier : undefined } })}
        lines={{ startByte, byte, onChoose: (chosen) => change({ line: chosen === byte ? undefined : String(chosen) }) }}
      />
    </>
  )
}
