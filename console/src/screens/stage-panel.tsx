/** The selected stage: what it did, why it failed, what can be done. */
import { to } from '../address.ts'
import { hasManifests, useCloudProviders } from '../api/cloud-providers.ts'
import { ActionButton } from '../components/button.tsx'
import { useQueryChange } from '../components/filter-field.tsx'
import { Icon } from '../components/icon.tsx'
import { SearchedTree } from '../components/json-tree.tsx'
import { KeyValue } from '../components/key-value.tsx'
import { Name, NameLink } from '../components/name.tsx'
import { Panel } from '../components/panel.tsx'
import { PlainText } from '../components/plain-text.tsx'
import { StatusMark, StatusText } from '../components/status-mark.tsx'
import { StepRows, toStep } from '../components/step-rows.tsx'
import { Tabs } from '../components/tabs.tsx'
import { Duration, Time } from '../components/time.tsx'
import { Lazy } from '../editor/lazy.tsx'
import { deploymentsOf } from '../model/deployment.ts'
import {
  type Execution,
  isWaiting,
  reasonIn,
  reasonOf,
  remainingWait,
  type Stage,
  stageStatus,
  titleOf,
} from '../model/execution.ts'
import { stageWord } from '../model/names.ts'
import { objectOf, textOf } from '../model/read.ts'
import { healthReason, instanceId } from '../model/server-groups.ts'
import { accountOf, deployedBy, type GroupPlace, logOf } from '../model/stage-output.ts'
import { instanceStatus, isComplete, isFailed } from '../model/status.ts'
import { formatDuration, now } from '../model/time.ts'
import { plural, showing } from '../words.ts'
import { buildFacts } from './build-stage.tsx'
import { useStageActions } from './execution-actions.tsx'
import { placeLinks, StageLog, useNotUp } from './stage-output.tsx'

export const loadDeploymentPicture = async () => (await import('../components/deployment-picture.tsx')).DeploymentPicture
const loadStageManifests = async () => (await import('../manifests/stage-manifests.tsx')).StageManifests

/** Server groups of a failed stage that are looked at, and instances of each. */
const maxExamined = 3
const maxInstances = 5

const tabs = [
  { id: 'summary', label: 'Summary' },
  { id: 'tasks', label: 'Steps' },
  { id: 'log', label: 'Log' },
  { id: 'record', label: 'Record' },
] as const

/** Those that the stage has, and the one of the address. */
function tabsOf({ stages }: Execution, stage: Stage, tab: string | undefined) {
  const log = logOf([stage, ...stages.filter(({ parentStageId }) => parentStageId === stage.id)])
  const offered = tabs.filter(({ id }) => id !== 'log' || log !== undefined)
  return { offered, log, selected: offered.find(({ id }) => id === tab)?.id ?? 'summary' }
}

export function nextTab(execution: Execution, stage: Stage, tab: string | undefined): string | undefined {
  const { offered, selected } = tabsOf(execution, stage, tab)
  return offered[(offered.findIndex(({ id }) => id === selected) + 1) % offered.length]?.id
}

interface StagePanelProps {
  readonly execution: Execution
  readonly stage: Stage
  readonly inner: readonly Stage[]
  /** `tab` and `line` of the address. */
  readonly query: Readonly<Record<string, string>>
  /** The screen says why it failed. */
  readonly isExplained: boolean
  /** The address without the stage, where the reader has chosen it. */
  readonly close: string | undefined
}

export function StagePanel(props: StagePanelProps) {
  const { execution, stage, query, close } = props
  const change = useQueryChange()
  const { offered, log, selected } = tabsOf(execution, stage, query['tab'])
  const name = titleOf(stage)
  const title = (
    <>
      <StatusMark kind={stageStatus(stage).kind} />
      <Name text={name} max={60} />
      <span class="muted regular">{stageWord(stage.type)}</span>
    </>
  )
  const closer = close !== undefined && (
    <a class="icon-button" href={close} aria-label="Close" title="Close (Esc)">
      <Icon name="close" />
    </a>
  )
  const select = (tab: string) => change({ stage: stage.id, tab, line: undefined })
  return (
    <Panel class="stage-panel" title={title} actions={closer}>
      <Tabs label={name} tabs={offered} selected={selected} onSelect={select}>
        {selected === 'summary' && <Summary {...props} />}
        {selected === 'tasks' && <Steps stage={stage} />}
        {selected === 'log' && log && (
          <StageLog output={log} name={name} isEnded={isComplete(stage.status)} line={query['line']} />
        )}
        {selected === 'record' && <SearchedTree value={{ context: stage.context, outputs: stage.outputs }} name="record" />}
      </Tabs>
    </Panel>
  )
}

function Summary({ execution, stage, inner, isExplained }: StagePanelProps) {
  const { application } = execution
  const reason = isExplained ? undefined : reasonOf(stage)
  const groups = deployedBy([stage, ...inner])
  const hasPicture = deploymentsOf(execution, stage).length > 0
  const isOfManifests = hasManifests(useCloudProviders(), textOf(stage.context['cloudProvider']))
  const actions = useStageActions(execution, stage)
  return (
    <>
      <p class="row stage-state">
        <StatusText status={stageStatus(stage)} />
        {stage.startTime && (
          <span class="muted">
            <Duration from={stage.startTime} until={stage.endTime} />, started <Time at={stage.startTime} />
          </span>
        )}
      </p>
      {reason !== undefined && (
        <p class={`reason is-${isFailed(stage.status) ? 'failed' : 'warning'}`}>
          <PlainText text={reason} links={placeLinks(application, [stage, ...inner], reason)} />
        </p>
      )}
      {hasPicture && <Lazy load={loadDeploymentPicture} props={{ application, execution, stage }} />}
      <Facts stage={stage} application={application} groups={hasPicture ? [] : groups} />
      {isFailed(stage.status) &&
        groups
          .slice(0, maxExamined)
          .map((group) => <NotUp key={`${group.region} ${group.name}`} application={application} place={group} />)}
      {isOfManifests && <Lazy load={loadStageManifests} props={{ application, stage }} />}
      {inner.length > 0 && <Inner execution={execution} inner={inner} />}
      {actions.length > 0 && (
        <div class="foot row">
          {actions.map((action) => (
            <ActionButton key={action.label} action={action} small />
          ))}
        </div>
      )}
    </>
  )
}

function Facts({ stage, application, groups }: { stage: Stage; application: string; groups: readonly GroupPlace[] }) {
  const { context, type } = stage
  const text = (key: string) => textOf(context[key])
  const child = text('executionId')
  const deployed = groups.map((group) => (
    <NameLink key={`${group.region} ${group.name}`} href={to.serverGroup(application, group)} text={group.name} max={60} />
  ))
  const judge = text('lastModifiedBy') ?? textOf(objectOf(stage.lastModified)['user'])
  return (
    <KeyValue
      facts={[
        ['Left', remainingWait(stage, 0) !== undefined && <Left key="left" stage={stage} />],
        ['Judged by', type === 'manualJudgment' && !isWaiting(stage) && judge],
        ['Answer', text('judgmentInput')],
        ['Account', accountOf(context)],
        ['Started run', child && <a href={to.execution(child)}>{text('executionName') ?? child}</a>],
        ['Deployed', deployed.length > 0 && <span class="row">{deployed}</span>],
        ['Command', text('command') && <code class="command">{text('command')?.slice(0, 600)}</code>],
        ...buildFacts(stage),
        ['Why', text('skipReason')],
      ]}
    />
  )
}

/** What a wait has left, which changes every second. */
function Left({ stage }: { stage: Stage }) {
  return <span class="number">{formatDuration(remainingWait(stage, now.value) ?? 0)}</span>
}

/** Instances that are not up in a server group that a failed stage has made, each with the way to what it wrote. */
function NotUp({ application, place }: { application: string; place: GroupPlace }) {
  const { account, region, name } = place
  const instances = useNotUp(application, place)?.instances ?? []
  if (instances.length === 0) return null
  const rows = instances.slice(0, maxInstances).map((instance) => {
    const id = instanceId(instance)
    const at = { account, region, id }
    const status = instanceStatus(instance.healthState)
    return {
      key: id,
      status,
      title: <NameLink class="row-link" href={to.instance(application, at)} text={id} max={24} />,
      note: <Name text={healthReason(instance) ?? status.word} max={160} />,
      action: (
        <a class="button small" href={to.instance(application, at, { tab: 'console' })}>
          <Icon name="terminal" /> Console output
        </a>
      ),
    }
  })
  return (
    <>
      <h3 class="sub">Not up in {name} now</h3>
      <StepRows steps={rows} isBoxed />
      {instances.length > maxInstances && <p class="quiet">{showing(maxInstances, instances.length)}</p>}
    </>
  )
}

/** What the stage was made of: before it, after it. */
function Inner({ execution, inner }: Pick<StagePanelProps, 'execution' | 'inner'>) {
  const rows = inner.map((stage) => ({
    key: stage.id,
    status: stageStatus(stage),
    title: <NameLink class="row-link" href={to.execution(execution.id, { stage: stage.id })} text={titleOf(stage)} max={60} />,
    note: stageWord(stage.type),
    action: <Duration from={stage.startTime} until={stage.endTime} />,
  }))
  return (
    <>
      <h3 class="sub">{plural(inner.length, 'inner stage')}</h3>
      <StepRows steps={rows} isBoxed />
    </>
  )
}

function Steps({ stage: { tasks, startTime: begun } }: Pick<StagePanelProps, 'stage'>) {
  if (tasks.length === 0) {
    return <p class="quiet">{begun ? 'Only its inner stages have steps.' : 'This stage has not begun.'}</p>
  }
  const reasonOfStep = (details: unknown) => reasonIn(objectOf(details)['exception']) ?? ''
  return <StepRows steps={tasks.map((task) => toStep(task, reasonOfStep(task.taskExceptionDetails)))} isBoxed />
}
