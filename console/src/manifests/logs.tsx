/** Output of pods: of one container or all, of the present run or the one before. */
import { useQueryChange } from '../components/filter-field.tsx'
import { ProgramOutput } from '../components/program-tabs.tsx'
import { EmptyState } from '../components/states.tsx'
import { Segments } from '../components/tabs.tsx'
import { instanceId, instancesOf, type ServerGroup } from '../model/server-groups.ts'
import type { ScreenProps } from '../screen.ts'
import type { ActedObject } from './actions.tsx'
import { bareName, isKind } from './names.ts'
import { containerNamesOf, type ManifestView } from './object.ts'
import { manifestWords } from './words.ts'

interface LogsProps {
  readonly view: ManifestView
  readonly object: ActedObject
  readonly groups: readonly ServerGroup[]
  readonly query: ScreenProps['query']
}

const runs = [
  { id: 'live', label: 'Present run' },
  { id: 'previous', label: 'Previous run' },
] as const

export function Logs({ view, object: { place, provider }, groups, query }: LogsProps) {
  const change = useQueryChange()
  const pods = isKind(place.name, 'pod') ? [place.name] : groups.flatMap(instancesOf).map(instanceId)
  const containers = containerNamesOf(view)
  const pod = pods.find((name) => name === query['pod']) ?? pods[0]
  if (pod === undefined) return <EmptyState icon="terminal" text="It has no pods, so there are no logs." />
  const container = containers.find((name) => name === query['container']) ?? containers.at(-1)
  const isPrevious = query['previous'] === 'true'
  const choose = (name: string, value: string | undefined) => change({ [name]: value, line: undefined })
  const from = { account: place.account, region: place.location, id: pod, provider: provider || undefined }
  return (
    <>
      <div class="filters">
        {pods.length > 1 && <Choice label="Pod" value={pod} values={pods} onChoose={(name) => choose('pod', name)} />}
        {containers.length > 1 && (
          <Choice
            label={manifestWords.container}
            value={container ?? ''}
            values={containers}
            onChoose={(name) => choose('container', name)}
          />
        )}
        <Segments
          label="Run"
          options={runs}
          selected={isPrevious ? 'previous' : 'live'}
          onSelect={(id) => choose('previous', id === 'previous' ? 'true' : undefined)}
        />
      </div>
      <ProgramOutput
        key={[pod, container, isPrevious].join('\n')}
        {...from}
        {...(container !== undefined && { container })}
        isPrevious={isPrevious}
        line={query['line']}
      />
    </>
  )
}

interface ChoiceProps {
  readonly label: string
  readonly value: string
  readonly values: readonly string[]
  readonly onChoose: (value: string) => void
}

function Choice({ label, value, values, onChoose }: ChoiceProps) {
  return (
    <select aria-label={label} value={value} onChange={(event) => onChoose(event.currentTarget.value)}>
      {values.map((name) => (
        <option key={name} value={name}>
          {bareName(name)}
        </option>
      ))}
    </select>
  )
}
