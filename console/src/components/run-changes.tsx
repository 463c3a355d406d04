/** What changed since an earlier run of the same pipeline. */
import { to } from '../address.ts'
import { useLive } from '../api/live.ts'
import { useRevisions } from '../api/pipelines.ts'
import { searchPath } from '../api/waiting.ts'
import { toRevisions } from '../editor/describe-changes.ts'
import { type Change, describeChanges } from '../model/compare.ts'
import type { Execution } from '../model/execution.ts'
import { Icon, type IconName, NameLink } from './text.tsx'

export type Baseline = 'previous' | 'last-success'

/** The last run of the pipeline before this one, or the last that has succeeded: a list of one, or of none. */
export function useEarlierRun(run: Execution | undefined, baseline: Baseline) {
  const { id, name, application = '', buildTime, pipelineConfigId } = run ?? {}
  const query = {
    ...(baseline === 'last-success' && { statuses: 'SUCCEEDED' }),
    pipelineName: name ?? '',
    triggerTimeEndBoundary: String(buildTime),
    size: 2,
    expand: true,
  }
  const isStored = Boolean(name && pipelineConfigId && buildTime)
  const { body, error } = useLive(
    searchPath,
    isStored ? { path: { application }, query } : undefined,
    'open',
  )
  return {
    found: isStored ? body?.filter((other) => other.id !== id).slice(0, 1) : run && [],
    error,
  }
}

/** None while the older one is not known. */
export function useRunChanges(older: Execution | undefined, newer: Execution): readonly Change[] {
  const { application, pipelineConfigId: id } = newer
  const isKnown = id && older?.pipelineConfigId === id
  const { body } = useRevisions(isKnown ? id : undefined, 50)
  const changes = older === undefined ? [] : describeChanges(older, newer, toRevisions(body))
  return changes.map(({ revision, ...change }) =>
    revision === undefined || !id
      ? change
      : { ...change, href: to.editPipeline(application, id, { tab: 'history', revision }) },
  )
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

export function ChangeList({
  changes,
  max = changes.length,
}: {
  changes: readonly Change[]
  max?: number
}) {
  return (
    <ul class="changes">
      {changes.slice(0, max).map(({ kind, text, href }) => (
        <li key={text}>
          <Icon name={icons[kind]} />
          <NameLink href={href} text={text} max={300} />
        </li>
      ))}
      {changes.length > max && <li>and {changes.length - max} more</li>}
    </ul>
  )
}
