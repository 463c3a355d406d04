/** The selected stage: what it did, why it failed, what can be done. */
import { useState } from 'preact/hooks'
import { to } from '../address.ts'
import { hasManifests, useCloudProviders } from '../api/cloud-providers.ts'
import { useLive } from '../api/live.ts'
import { startOperation, useRight } from '../api/rights.ts'
import { Banner } from '../components/banner.tsx'
import { ActionButton, Button } from '../components/button.tsx'
import { useQueryChange } from '../components/filter-field.tsx'
import { Icon } from '../components/icon.tsx'
import { JsonTree } from '../components/json-tree.tsx'
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
import { type Execution, isWaiting, reasonOf, remainingWait, type Stage, stageStatus, titleOf } from '../model/execution.ts'
import { objectOf, objectsOf, textOf, textsOf } from '../model/read.ts'
import { healthReason, instanceId, instancesOf } from '../model/server-groups.ts'
import { instanceStatus, isFailed } from '../model/status.ts'
import { formatDuration, now } from '../model/time.ts'
import { words } from '../words.ts'
import { BuildLog, buildFacts, buildOf } from './build-stage.tsx'
import { confirmJudgment, judgedBy, useStageActions } from './execution-actions.tsx'

const loadStageManifests = async () => (await import('../manifests/stage-manifests.tsx')).StageManifests

/** Server groups of a failed stage that are looked at, and instances of each. */
const maxExamined = 3
const maxInstances = 5

const tabs = [
  { id: 'summary', label: words.summary },
  { id: 'tasks', label: words.steps },
  { id: 'context', label: words.context },
  { id: 'outputs', label: words.outputs },
  { id: 'log', label: words.log },
] as const

interface StagePanelProps {
  readonly execution: Execution
  readonly stage: Stage
  readonly inner: readonly Stage[]
  readonly tab: string | undefined
}

export function StagePanel({ execution, stage, inner, tab }: StagePanelProps) {
  const change = useQueryChange()
  const actions = useStageActions(execution, stage)
  const log = logOf(stage)
  const build = buildOf(stage)
  const offered = tabsOf(stage)
  const selected = selectedTab(stage, tab)
  const status = stageStatus(stage)
  return (
    <Panel
      class="stage-panel"
      title={
        <>
          <StatusMark kind={status.kind} />
          <Name text={titleOf(stage)} max={60} />
          <span class="muted regular">{stage.type}</span>
        </>
      }
      actions={actions.map((action) => <ActionButton key={action.label} action={action} small />)}
    >
      {isWaiting(stage) && <Judgment key={stage.id} execution={execution} stage={stage} />}
      <Tabs
        label={titleOf(stage)}
        tabs={offered}
        selected={selected}
        onSelect={(id) => change({ stage: stage.id, tab: id === 'summary' ? undefined : id })}
      >
        {selected === 'summary' && <Summary execution={execution} stage={stage} inner={inner} />}
        {selected === 'tasks' && <Steps stage={stage} />}
        {selected === 'context' && <JsonTree value={stage.context} name="context" />}
        {selected === 'outputs' &&
          (Object.keys(stage.outputs).length === 0 ? (
            <p class="quiet">{words.noOutputs}</p>
          ) : (
            <JsonTree value={stage.outputs} name="outputs" />
          ))}
        {selected === 'log' && build !== undefined && (
          <BuildLog key={stage.id} stage={stage} build={build} name={titleOf(stage)} />
        )}
        {selected === 'log' && build === undefined && log !== undefined && (
          <LogView key={stage.id} text={log} name={titleOf(stage)} isEnded />
        )}
      </Tabs>
    </Panel>
  )
}

function tabsOf(stage: Stage) {
  return tabs.filter(({ id }) => id !== 'log' || buildOf(stage) !== undefined || logOf(stage) !== undefined)
}

function selectedTab(stage: Stage, tab: string | undefined) {
  return tabsOf(stage).find(({ id }) => id === tab)?.id ?? 'summary'
}

/** As the address names it: the first is none. */
export function nextTab(stage: Stage, tab: string | undefined): string | undefined {
  const offered = tabsOf(stage)
  const at = offered.findIndex(({ id }) => id === selectedTab(stage, tab))
  const next = offered[(at + 1) % offered.length]
  return next?.id === 'summary' ? undefined : next?.id
}

function Summary({ execution, stage, inner }: { execution: Execution; stage: Stage; inner: readonly Stage[] }) {
  const reason = reasonOf(stage)
  const child = textOf(stage.context['executionId'])
  const groups = deployedBy([stage, ...inner]).filter(({ account }) => account !== '')
  const isOfManifests = hasManifests(useCloudProviders(), textOf(stage.context['cloudProvider']))
  return (
    <>
      {reason !== undefined && (
        <Banner tone={isFailed(stage.status) ? 'failed' : 'warning'}>
          <PlainText text={reason} />
        </Banner>
      )}
      <KeyValue
        facts={[
          [words.state, <StatusText key="state" status={stageStatus(stage)} />],
          [words.started, stage.startTime ? <Time at={stage.startTime} /> : undefined],
          [words.length, stage.startTime ? <Duration from={stage.startTime} until={stage.endTime} /> : undefined],
          [words.left, remainingWait(stage, 0) === undefined ? undefined : <Left key="left" stage={stage} />],
          [words.judgedBy, stage.type === 'manualJudgment' && !isWaiting(stage) ? judgedBy(stage) : undefined],
          [words.judgedWith, textOf(stage.context['judgmentInput'])],
          [words.account, textOf(stage.context['account']) ?? textOf(stage.context['credentials'])],
          [words.startedExecution, child === undefined ? undefined : <a href={to.execution(child)}>{child}</a>],
          [words.deployed, groups.length > 0 && <Deployed key="deployed" application={execution.application} groups={groups} />],
          ...buildFacts(stage),
          [words.why, textOf(stage.context['skipReason'])],
        ]}
      />
      {isFailed(stage.status) &&
        groups
          .slice(0, maxExamined)
          .map((group) => <NotUp key={`${group.region} ${group.name}`} application={execution.application} place={group} />)}
      {isOfManifests && <Lazy load={loadStageManifests} props={{ application: execution.application, stage }} />}
      {inner.length > 0 && <Inner execution={execution} inner={inner} />}
    </>
  )
}

/** What a wait has left, which changes every second. */
function Left({ stage }: { stage: Stage }) {
  return <span class="number">{formatDuration(remainingWait(stage, now.value) ?? 0)}</span>
}

/** Server groups that the stage or one of its inner stages has created. */
function deployedBy(stages: readonly Stage[]): readonly { account: string; region: string; name: string }[] {
  const found = stages.flatMap(({ context }) => {
    const account = textOf(context['account']) ?? textOf(context['credentials']) ?? ''
    return Object.entries(objectOf(context['deploy.server.groups'])).flatMap(([region, names]) =>
      textsOf(names).map((name) => ({ account, region, name })),
    )
  })
  return [...new Map(found.map((group) => [`${group.region} ${group.name}`, group])).values()]
}

function Deployed({ application, groups }: { application: string; groups: ReturnType<typeof deployedBy> }) {
  return (
    <span class="row">
      {groups.map((group) => (
        <NameLink key={`${group.region} ${group.name}`} href={to.serverGroup(application, group)} text={group.name} max={60} />
      ))}
    </span>
  )
}

/** Instances that are not up in a server group that a failed stage has made, each with the way to what it wrote. */
function NotUp({ application, place }: { application: string; place: { account: string; region: string; name: string } }) {
  const { account, region, name } = place
  const group = useLive(
    '/applications/{applicationName}/serverGroups/{account}/{region}/{serverGroupName}',
    { path: { applicationName: application, account, region, serverGroupName: name } },
    { refresh: 'steady' },
  ).reading.value.body
  const instances = group === undefined ? [] : instancesOf(group).filter(({ healthState }) => healthState !== 'Up')
  if (instances.length === 0) return null
  return (
    <>
      <h3 class="sub">{words.notUpIn(name)}</h3>
      <ul class="rows boxed-rows">
        {instances.slice(0, maxInstances).map((instance) => {
          const { kind, word } = instanceStatus(instance.healthState)
          const id = instanceId(instance)
          return (
            <li key={id} class="run-row">
              <StatusMark kind={kind} label={word} />
              <NameLink class="row-link" href={to.instance(application, { account, region, id })} text={id} max={40} />
              <span class="grow cut muted">
                <Name text={healthReason(instance) ?? word} max={160} />
              </span>
              <a class="button small" href={to.instance(application, { account, region, id }, { tab: 'console' })}>
                <Icon name="terminal" /> {words.console}
              </a>
            </li>
          )
        })}
      </ul>
      {instances.length > maxInstances && <p class="quiet">{words.cut(maxInstances, instances.length)}</p>}
    </>
  )
}

/** What the stage was made of: before it, after it. */
function Inner({ execution, inner }: { execution: Execution; inner: readonly Stage[] }) {
  return (
    <>
      <h3 class="sub">{words.innerStages(inner.length)}</h3>
      <ul class="rows boxed-rows">
        {inner.map((stage) => {
          const { kind, word } = stageStatus(stage)
          return (
            <li key={stage.id} class="run-row">
              <StatusMark kind={kind} label={word} />
              <NameLink class="row-link" href={to.execution(execution.id, { stage: stage.id })} text={titleOf(stage)} max={60} />
              <span class="grow cut muted">
                {reasonOf(stage) !== undefined && <Name text={reasonOf(stage) ?? ''} max={120} />}
              </span>
              <Duration from={stage.startTime} until={stage.endTime} />
            </li>
          )
        })}
      </ul>
    </>
  )
}

function Steps({ stage }: { stage: Stage }) {
  if (stage.tasks.length === 0) return <p class="quiet">{stage.startTime ? words.noSteps : words.notBegun}</p>
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

/** Output of a command or a job, else the history of the operations. */
function logOf({ context }: Stage): string | undefined {
  const output = textOf(context['buildOutput']) ?? textOf(context['logs']) ?? textOf(context['stdout'])
  if (output !== undefined) return output
  const lines = objectsOf(context['kato.tasks']).flatMap((task) =>
    objectsOf(task['history']).map((entry) => `${textOf(entry['phase']) ?? ''}  ${textOf(entry['status']) ?? ''}`),
  )
  return lines.length === 0 ? undefined : lines.join('\n')
}

function Judgment({ execution, stage }: { execution: Execution; stage: Stage }) {
  const { reason } = useRight({ operation: startOperation, application: execution.application })
  const inputs = objectsOf(stage.context['judgmentInputs']).flatMap(({ value }) => textOf(value) ?? [])
  const [input, setInput] = useState<string | undefined>(undefined)
  const instructions = textOf(stage.context['instructions'])
  const denied = reason ?? (inputs.length > 0 && input === undefined ? words.chooseAnswer : undefined)
  return (
    <div class="judgment">
      {instructions !== undefined && (
        <p>
          <PlainText text={instructions} />
        </p>
      )}
      {inputs.length > 0 && (
        <fieldset class="row" aria-label={words.judgmentInput}>
          {inputs.map((value) => (
            <label key={value} class="check">
              <input type="radio" name="judgment" checked={input === value} onChange={() => setInput(value)} />{' '}
              <Name text={value} />
            </label>
          ))}
        </fieldset>
      )}
      <div class="row">
        <Button kind="primary" denied={denied} onClick={() => confirmJudgment(execution, stage, 'continue', input)}>
          {words.continueRun}
        </Button>
        <Button denied={reason} onClick={() => confirmJudgment(execution, stage, 'stop', input)}>
          {words.stopRun}
        </Button>
        {denied !== undefined && <span class="muted">{denied}</span>}
      </div>
    </div>
  )
}
