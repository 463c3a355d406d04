/** Output of pods: of one container, of the present run or the one before. */
import { Filters } from '../components/filter-field.tsx'
import { ProgramOutput } from '../components/program-output.tsx'
import { EmptyState } from '../components/states.tsx'
import { textOf } from '../model/read.ts'
import { instanceId, instancesOf } from '../model/server-groups.ts'
import type { ScreenProps } from '../screen.ts'

import { bareName, isKind } from './names.ts'
import { containerSpecsOf } from './object.ts'
import type { ObjectTabProps } from './use-object.ts'

export function Logs({ view, object: { place, provider }, groups, query }: ObjectTabProps & Pick<ScreenProps, 'query'>) {
  const pods = isKind(place.name, 'pod') ? [place.name] : groups.flatMap(instancesOf).map(instanceId)
  const containers = containerSpecsOf(view).flatMap(({ name }) => textOf(name) ?? [])
  const [firstPod, mainContainer] = [pods[0], containers.at(-1)]
  if (firstPod === undefined) return <EmptyState icon="terminal" text="It has no pods, so there are no logs." />
  const pod = pods.find((name) => name === query['pod']) ?? firstPod
  const container = containers.find((name) => name === query['container']) ?? mainContainer
  const isPrevious = query['previous'] === 'true'
  return (
    <>
      <Filters
        filters={[
          { ...toFilter(pods, firstPod, pod), name: 'pod', label: 'Pod' },
          { ...toFilter(containers, mainContainer, container), name: 'container', label: 'Container' },
          { name: 'previous', label: 'Run', any: 'Present run', choices: [['true', 'Previous run']], least: 1, clears: ['line'] },
        ]}
      />
      <ProgramOutput
        key={[pod, container, isPrevious].join('\n')}
        {...{ account: place.account, region: place.location, id: pod, provider: provider || undefined }}
        {...{ container, isPrevious, line: query['line'] }}
      />
    </>
  )
}

/** @param usual What is shown without a choice */
function toFilter(values: readonly string[], usual = '', chosen = usual) {
  const choices = values.filter((value) => value !== usual).map((value) => [value, bareName(value)] as const)
  return { any: bareName(usual), choices, least: 1, value: chosen === usual ? undefined : chosen, clears: ['line'] }
}
