/** Pods by their state, those that fail first and with the reason. */
import { to } from '../address.ts'
import { Icon } from '../components/icon.tsx'
import { Name, NameLink } from '../components/name.tsx'
import { Panel } from '../components/panel.tsx'
import { StatusMark } from '../components/status-mark.tsx'
import { VirtualList } from '../components/virtual-list.tsx'
import { objectsOf, textOf } from '../model/read.ts'
import { type Instance, instanceId } from '../model/server-groups.ts'
import { instanceStatus } from '../model/status.ts'
import { bareName } from './names.ts'
import type { ObjectPlace } from './object.ts'
import { podReasonsOf } from './pods.ts'
import { useManifest } from './use-object.ts'
import { manifestWords } from './words.ts'

const rowHeight = 45
/** Pods that are not up whose manifests are read for the reason. */
const maxExplained = 8

interface PodRowsProps {
  readonly application: string
  /** Where they run. */
  readonly place: ObjectPlace
  readonly pods: readonly Instance[]
  readonly owner: string
}

export function PodRows({ application, place, pods, owner }: PodRowsProps) {
  const isUp = ({ healthState }: Instance) => healthState === 'Up' || healthState === 'Succeeded'
  const sorted = [...pods.filter((pod) => !isUp(pod)), ...pods.filter(isUp)]
  const explained = new Set(sorted.slice(0, maxExplained).filter((pod) => !isUp(pod)))
  return (
    <Panel title={manifestWords.pods} count={pods.length} flush={pods.length > 0}>
      {pods.length === 0 ? (
        <p class="quiet">It has no pods.</p>
      ) : (
        <VirtualList
          label={`${manifestWords.pods}, ${owner}`}
          items={sorted}
          keyOf={instanceId}
          rowHeight={rowHeight}
          row={(pod) => (
            <PodRow
              application={application}
              place={{ ...place, name: instanceId(pod) }}
              pod={pod}
              isExplained={explained.has(pod)}
            />
          )}
        />
      )}
    </Panel>
  )
}

interface PodRowProps {
  readonly application: string
  readonly place: ObjectPlace
  readonly pod: Instance
  readonly isExplained: boolean
}

function PodRow({ application, place, pod, isExplained }: PodRowProps) {
  const { kind, word } = instanceStatus(pod.healthState)
  return (
    <div class="run-row pod-row">
      <StatusMark kind={kind} label={word} />
      <NameLink class="row-link" href={to.manifest(application, place)} text={bareName(place.name)} max={50} />
      <span class="grow muted pod-reason">{isExplained && <PodReason place={place} pod={pod} />}</span>
      <a
        class="button small"
        href={to.manifest(application, place, { tab: 'logs' })}
        aria-label={`Logs of ${bareName(place.name)}`}
      >
        <Icon name="terminal" /> {manifestWords.tabs.logs}
      </a>
    </div>
  )
}

/** In one sentence, from its manifest; until that is read, the word of its checks. */
export function PodReason({ place, pod }: { place: ObjectPlace; pod: Instance }) {
  const { body } = useManifest(place).reading.value
  const word = objectsOf(pod.health).flatMap(({ description }) => textOf(description) ?? [])[0]
  const [reason = word ?? instanceStatus(pod.healthState).word] = body === undefined ? [] : podReasonsOf(body)
  return <Name text={reason} max={240} />
}
