/** What changed since an earlier run of the same pipeline. */
import { to } from '../address.ts'
import { useLive } from '../api/live.ts'
import { searchPath } from '../api/waiting.ts'
import { describeChanges as describeFields, showValue } from '../editor/describe-changes.ts'
import { type Revision, toRevisions } from '../editor/history.ts'
import { type Change, changeWords, describeChanges } from '../model/compare.ts'
import type { Execution } from '../model/execution.ts'
import { formatRelative, now } from '../model/time.ts'
import { Icon, type IconName } from './icon.tsx'
import { Name, NameLink } from './name.tsx'

export type Baseline = 'previous' | 'last-success'

/** The last run of the pipeline before this one, or the last that has succeeded: a list of one, or of none. */
export function useEarlierRun(run: Execution | undefined, baseline: Baseline) {
  const { id, name, application = '', buildTime, pipelineConfigId } = run ?? {}
  const query = {
    ...(baseline === 'last-success' && { statuses: 'SUCCEEDED' }),
    ...{ pipelineName: name ?? '', triggerTimeEndBoundary: String(buildTime), size: 2, expand: true },
  }
  const isStored = Boolean(name && pipelineConfigId && buildTime)
  const { body, error } = useLive(searchPath, isStored ? { path: { application }, query } : undefined, { refresh: 'open' })
    .reading.value
  return { found: isStored ? body?.filter((other) => other.id !== id).slice(0, 1) : run && [], error }
}

const maxRevisions = 50

/** What the store knows of the definition is better than what the records of both runs hint at. */
export function useRunChanges(older: Execution, newer: Execution): readonly Change[] {
  const id = newer.pipelineConfigId ?? ''
  const isSame = id !== '' && older.pipelineConfigId === id
  const parameters = isSame ? { path: { pipelineConfigId: id }, query: { limit: maxRevisions } } : undefined
  const { body } = useLive('/pipelineConfigs/{pipelineConfigId}/history', parameters, { refresh: 'open' }).reading.value
  const changes = describeChanges(older, newer)
  const revisions = toRevisions(body)
  const [from, until] = [older.buildTime ?? 0, newer.buildTime ?? 0]
  const isKnown = revisions.some(({ savedAtMs = Number.POSITIVE_INFINITY }) => savedAtMs <= Math.min(from, until))
  if (!isKnown) return changes
  const between = revisions.filter(({ savedAtMs = 0 }) => savedAtMs > from && savedAtMs <= until)
  const saved = between.flatMap((revision) => savedChanges(revision, newer.application, id))
  const isResult = ({ kind }: Change) => kind === 'stage' || kind === 'duration'
  const input = changes.filter((change) => change.kind !== 'definition' && !isResult(change))
  return [...input, ...saved, ...changes.filter(isResult)]
}

const maxFields = 8

function savedChanges(revision: Revision, application: string, pipeline: string): readonly Change[] {
  const { id, author = 'someone', savedAtMs = 0, definition, previous } = revision
  if (previous === undefined) return []
  const href = to.editPipeline(application, pipeline, { tab: 'history', revision: id })
  const sentences = describeFields(previous, definition).flatMap(({ title, kind, fields }) => {
    if (fields.length === 0) return `${title} was ${kind}`
    const values = fields.map(({ field, before, after }) => ({ name: field, before: showValue(before), after: showValue(after) }))
    return values.filter(({ name }) => name !== 'index').map((value) => `${title}: ${changeWords(value)}`)
  })
  const by = `by ${author}, ${formatRelative(savedAtMs, now.peek())}`
  return sentences.slice(0, maxFields).map((text) => ({ kind: 'definition', text: `${text} (${by})`, href }))
}

const icons: Readonly<Record<Change['kind'], IconName>> = {
  parameter: 'settings',
  image: 'box',
  commit: 'link',
  definition: 'edit',
  stage: 'pipeline',
  duration: 'clock',
  trigger: 'play',
}

export function ChangeList({ changes, max = changes.length }: { changes: readonly Change[]; max?: number }) {
  return (
    <ul class="changes">
      {changes.slice(0, max).map(({ kind, text, href }) => (
        <li key={text}>
          <Icon name={icons[kind]} />
          {href === undefined ? <Name text={text} max={300} /> : <NameLink href={href} text={text} max={300} />}
        </li>
      ))}
      {changes.length > max && <li>and {changes.length - max} more</li>}
    </ul>
  )
}
