/** The last runs of a pipeline as bars: height is the duration, shape and colour the status. */
import { to } from '../address.ts'
import { durationOf, type Execution, shortId, statusOf } from '../model/execution.ts'
import { formatDuration, formatRelative, now, thisMinute } from '../model/time.ts'
import { kept } from './kept.tsx'

const maxRuns = 30

/** The same runs, newest first, are not drawn again: a list of pipelines has a thousand of them. */
export const RunStrip = kept(({ runs, label }: { readonly runs: readonly Execution[]; readonly label: string }) => {
  const shown = runs.slice(0, maxRuns).toReversed()
  const nowMs = Math.max(now.peek(), thisMinute.value)
  const lengths = shown.map((run) => durationOf(run, nowMs))
  const usual = lengths.map((length) => length ?? 0).sort((a, b) => a - b)[Math.floor(lengths.length * 0.9)] || 1
  return (
    <div class="run-strip" role="group" aria-label={label} onKeyDown={move}>
      {shown.map((run, index) => {
        const { kind, word } = statusOf(run)
        const length = lengths[index]
        const step = Math.max(1, Math.min(4, Math.ceil(((length ?? 0) / usual) * 4)))
        const time = run.startTime ?? run.buildTime
        const ago = time && formatRelative(time, nowMs)
        const text = [`run ${shortId(run.id)}`, word, ago, length && formatDuration(length)].filter(Boolean).join(', ')
        const tabIndex = index === shown.length - 1 ? 0 : -1
        // The style sheet draws the bar and its sign: one element for each run keeps long lists quick.
        const link = { class: `run is-${kind} step-${step}`, title: text, tabIndex }
        return <a key={run.id} href={to.execution(run.id)} aria-label={text} {...link} />
      })}
    </div>
  )
})

function move(event: KeyboardEvent): void {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
  if (step === undefined) return
  event.preventDefault()
  const links = [...(event.currentTarget as HTMLElement).querySelectorAll('a')]
  links.at((links.indexOf(document.activeElement as HTMLAnchorElement) + step) % links.length)?.focus()
}
