/** Pods by their state, those that fail first and with the reason. */
import { to } from '../address.ts'
import { Icon } from '../components/icon.tsx'
import { Name, NameLink } from '../components/name.tsx'
import { Panel } from '../components/panel.tsx'
import { StatusMark } from '../components/status-mark.tsx'
import { VirtualList } from '../components/virtual-list.tsx'
import { type Instance, instanceId } from '../model/server-groups.ts'
import { instanceStatus } from '../model/status.ts'
import { bareName } from './names.ts'
import { type ObjectPlace, reasonsOf } from './object.ts'
import { useManifest } from './use-object.ts'

/** Pods that are not up whose manifests are read for the reason. */
const maxExplained = 8

/** @param place Of what they belong to */
export function PodRows({ application, place, pods }: { application: string; place: ObjectPlace; pods: readonly Instance[] }) {
  const isUp = ({ healthState }: Instance) => healthState === 'Up' || healthState === 'Succeeded'
  const down = pods.filter((pod) => !isUp(pod))
  const explained = down.slice(0, maxExplained)
  const row = (pod: Instance) => {
    const { kind, word } = instanceStatus(pod.healthState)
    const podPlace = { ...place, name: instanceId(pod) }
    return (
      <div class="run-row pod-row">
        <StatusMark kind={kind} label={word} />
        <NameLink class="row-link" href={to.manifest(application, podPlace)} text={bareName(podPlace.name)} max={50} />
        <span class="grow muted pod-reason">{explained.includes(pod) && <PodReason place={podPlace} pod={pod} />}</span>
        <LogsLink application={application} place={podPlace} />
      </div>
    )
  }
  const items = [...down, ...pods.filter(isUp)]
  const list = <VirtualList label={`Pods, ${place.name}`} items={items} keyOf={instanceId} rowHeight={45} row={row} />
  return (
    <Panel title="Pods" count={pods.length} flush={pods.length > 0}>
      {pods.length === 0 ? <p class="quiet">It has no pods.</p> : list}
    </Panel>
  )
}

export function LogsLink({ application, place }: { application: string; place: ObjectPlace }) {
  const href = to.manifest(application, place, { tab: 'logs' })
  return (
    <a class="button small" href={href} aria-label={`Logs of ${bareName(place.name)}`}>
      <Icon name="terminal" /> Logs
    </a>
  )
}

/** In one sentence, from its manifest; until that is read, the word of its state. */
export function PodReason({ place, pod }: { place: ObjectPlace; pod: Instance }) {
  const { body } = useManifest(place).reading.value
  const [reason = instanceStatus(pod.healthState).word] = body === undefined ? [] : reasonsOf(body)
  return <Name text={reason} max={240} />
}
