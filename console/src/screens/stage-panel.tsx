/** The selected stage: what it did, why it failed, what can be done. */
import { to } from '../address.ts'
import { hasManifests, useCloudProviders } from '../api/cloud-providers.ts'
import { ActionButton } from '../components/button.tsx'
import { useQueryChange } from '../components/filter-field.tsx'
import { Icon } from '../components/icon.tsx'
import { SearchedTree } from '../components/json-tree.tsx'
import { KeyValue } from '../components/key-value.tsx'
import { LogView } from '../components/log-view.tsx'
import { Name, NameLink } from '../components/name.tsx'
import { Panel } from '../components/panel.tsx'
import { PlainText } from '../components/plain-text.tsx'
import { StatusMark, StatusText } from '../components/status-mark.tsx'
import { StepRows } from '../components/step-rows.tsx'
import { Tabs } from '../components/tabs.tsx'
import { Duration, Time } from '../components/time.tsx'
import { Lazy } from '../editor/lazy.tsx'
import { deploymentsOf } from '../model/deployment.ts'
import { type Execution, isWaiting, reasonOf, remainingWait, type Stage, stageStatus, titleOf } from '../model/execution.ts'
import { stageWord } from '../model/names.ts'
import { objectOf, textOf } from '../model/read.ts'
import { healthReason, instanceId } from '../model/server-groups.ts'
import { deployedBy, type GroupPlace, operationsLogOf, outputOf } from '../model/stage-output.ts'
import { instanceStatus, isComplete, isFailed } from '../model/status.ts'
import { formatDuration, now } from '../model/time.ts'
import { plural, showing } from '../words.ts'
import { buildFacts } from './build-stage.tsx'
import { useStageActions } from './execution-actions.tsx'
import { StageLog, useNotUp } from './stage-output.tsx'
import { placeLinks } from './stage-places.ts'

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

export function StagePanel({ execution, stage, inner, query, isExplained, close }: StagePanelProps) {
  const change = useQueryChange()
  const selected = selectedTab(execution, stage, query['tab'])
  return (
    <Panel
      class="stage-panel"
      title={
        <>
          <StatusMark kind={stageStatus(stage).kind} />
          <Name text={titleOf(stage)} max={60} />
          <span class="muted regular">{stageWord(stage.type)}</span>
        </>
      }
      actions={
        close !== undefined && (
          <a class="icon-button" href={close} aria-label="Close" title="Close (Esc)">
            <Icon name="close" />
          </a>
        )
      }
    >
      <Tabs
        label={titleOf(stage)}
        tabs={tabsOf(execution, stage)}
        selected={selected}
        onSelect={(id) => change({ stage: stage.id, tab: id === 'summary' ? undefined : id, line: undefined })}
      >
        {selected === 'summary' && <Summary execution={execution} stage={stage} inner={inner} isExplained={isExplained} />}
        {selected === 'tasks' && <Steps stage={stage} />}
        {selected === 'log' && <Log stage={stage} inner={inner} line={query['line']} />}
        {selected === 'record' && <SearchedTree value={{ context: stage.context, outputs: stage.outputs }} name="record" />}
      </Tabs>
    </Panel>
  )
}

function tabsOf({ stages }: Execution, stage: Stage) {
  const all = [stage, ...stages.filter(({ parentStageId }) => parentStageId === stage.id)]
  const hasLog = outputOf(all) !== undefined || operationsLogOf(stage) !== undefined
  return tabs.filter(({ id }) => id !== 'log' || hasLog)
}

function selectedTab(execution: Execution, stage: Stage, tab: string | undefined) {
  return tabsOf(execution, stage).find(({ id }) => id === tab)?.id ?? 'summary'
}

/** As the address names it: the first is none. */
export function nextTab(execution: Execution, stage: Stage, tab: string | undefined): string | undefined {
  const offered = tabsOf(execution, stage)
  const at = offered.findIndex(({ id }) => id === selectedTab(execution, stage, tab))
  const next = offered[(at + 1) % offered.length]
  return next?.id === 'summary' ? undefined : next?.id
}

interface SummaryProps extends Pick<StagePanelProps, 'execution' | 'stage' | 'inner' | 'isExplained'> {}

function Summary({ execution, stage, inner, isExplained }: SummaryProps) {
  const { application } = execution
  const reason = isExplained ? undefined : reasonOf(stage)
  const groups = deployedBy([stage, ...inner])
  const hasPicture = deploymentsOf(execution, stage).length > 0
  const isOfManifests = hasManifests(useCloudProviders(), textOf(stage.context['cloudProvider']))
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
      <Actions execution={execution} stage={stage} />
    </>
  )
}

function Actions({ execution, stage }: { execution: Execution; stage: Stage }) {
  const actions = useStageActions(execution, stage)
  if (actions.length === 0) return null
  return (
    <div class="foot row">
      {actions.map((action) => (
        <ActionButton key={action.label} action={action} small />
      ))}
    </div>
  )
}

interface FactsProps {
  readonly stage: Stage
  readonly application: string
  readonly groups: readonly GroupPlace[]
}

function Facts({ stage, application, groups }: FactsProps) {
  const { context } = stage
  const child = textOf(context['executionId'])
  const judge = textOf(context['lastModifiedBy']) ?? textOf(objectOf(stage.lastModified)['user'])
  const command = textOf(context['command'])
  return (
    <KeyValue
      facts={[
        ['Left', remainingWait(stage, 0) === undefined ? undefined : <Left key="left" stage={stage} />],
        ['Judged by', stage.type === 'manualJudgment' && !isWaiting(stage) ? judge : undefined],
        ['Answer', textOf(context['judgmentInput'])],
        ['Account', textOf(context['account']) ?? textOf(context['credentials'])],
        ['Started run', child && <a href={to.execution(child)}>{textOf(context['executionName']) ?? child}</a>],
        [
          'Deployed',
          groups.length > 0 && (
            <span class="row">
              {groups.map((group) => (
                <NameLink
                  key={`${group.region} ${group.name}`}
                  href={to.serverGroup(application, group)}
                  text={group.name}
                  max={60}
                />
              ))}
            </span>
          ),
        ],
        ['Command', command && <code class="command">{command.slice(0, 600)}</code>],
        ...buildFacts(stage),
        ['Why', textOf(context['skipReason'])],
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
  return (
    <>
      <h3 class="sub">Not up in {name} now</h3>
      <ul class="rows boxed-rows">
        {instances.slice(0, maxInstances).map((instance) => {
          const { kind, word } = instanceStatus(instance.healthState)
          const id = instanceId(instance)
          return (
            <li key={id} class="run-row">
              <StatusMark kind={kind} label={word} />
              <NameLink class="row-link" href={to.instance(application, { account, region, id })} text={id} max={24} />
              <span class="grow cut muted">
                <Name text={healthReason(instance) ?? word} max={160} />
              </span>
              <a class="button small" href={to.instance(application, { account, region, id }, { tab: 'console' })}>
                <Icon name="terminal" /> Console output
              </a>
            </li>
          )
        })}
      </ul>
      {instances.length > maxInstances && <p class="quiet">{showing(maxInstances, instances.length)}</p>}
    </>
  )
}

/** What the stage was made of: before it, after it. */
function Inner({ execution, inner }: { execution: Execution; inner: readonly Stage[] }) {
  return (
    <>
      <h3 class="sub">{plural(inner.length, 'inner stage')}</h3>
      <ul class="rows boxed-rows">
        {inner.map((stage) => {
          const { kind, word } = stageStatus(stage)
          return (
            <li key={stage.id} class="run-row">
              <StatusMark kind={kind} label={word} />
              <NameLink class="row-link" href={to.execution(execution.id, { stage: stage.id })} text={titleOf(stage)} max={60} />
              <span class="grow muted">{stageWord(stage.type)}</span>
              <Duration from={stage.startTime} until={stage.endTime} />
            </li>
          )
        })}
      </ul>
    </>
  )
}

function Steps({ stage }: { stage: Stage }) {
  if (stage.tasks.length === 0) {
    const text = stage.startTime
      ? 'This stage has no steps of its own; those of its inner stages are there.'
      : 'This stage has not begun.'
    return <p class="quiet">{text}</p>
  }
  return (
    <StepRows
      class="boxed-rows"
      steps={stage.tasks}
      errorOf={({ taskExceptionDetails }) =>
        textOf(objectOf(objectOf(objectOf(taskExceptionDetails)['exception'])['details'])['error'])
      }
    />
  )
}

/** Its own output, else what its operations report. */
function Log({ stage, inner, line }: { stage: Stage; inner: readonly Stage[]; line: string | undefined }) {
  const output = outputOf([stage, ...inner])
  const [name, isEnded] = [titleOf(stage), isComplete(stage.status)]
  if (output !== undefined) return <StageLog output={output} name={name} isEnded={isEnded} line={line} />
  return <LogView text={operationsLogOf(stage) ?? ''} name={name} isEnded />
}
