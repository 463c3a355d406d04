/** What the program of an instance or a job has written. */
import { useOutput } from '../api/output.ts'
import { describeError } from '../words.ts'
import { LogView } from './log-view.tsx'
import { ErrorState, Loading } from './states.tsx'

interface ProgramOutputProps {
  readonly account: string
  readonly region: string
  readonly id: string
  readonly provider: string | undefined
}

export function ProgramOutput(place: ProgramOutputProps) {
  const { text, dropped, error } = useOutput(place).value
  if (text === undefined)
    return error === undefined ? <Loading rows={8} /> : <ErrorState error={error} onRetry={() => location.reload()} />
  return (
    <>
      {error !== undefined && <p class="stale">{describeError(error).title}</p>}
      <LogView text={text} name={place.id} dropped={dropped} />
    </>
  )
}
