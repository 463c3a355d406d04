/** The selected stage: what it did, why it failed, what can be done. */

import {
  type JsonObject,
  numberOf,
  objectOf,
  objectsOf,
  scalarOf,
} from '@fairlead/base/json/values.ts'
import { to, useQueryChange } from '../address.ts'
import { urlOf } from '../api/client.ts'
import { useHasManifests } from '../api/cloud-providers.ts'
import { ActionButton } from '../components/button.tsx'
import { RecordText } from '../components/record-panel.tsx'
import { Lazy, Panel } from '../components/screen.tsx'
import { StepRows, toStep } from '../components/step-rows.tsx'
import { Tabs } from '../components/tabs.tsx'
import {
  Duration,
  Icon,
  KeyValue,
  Name,
  NameLink,
  PlainText,
  StatusMark,
  StatusText,
  Time,
} from '../components/text.tsx'
import { useLetters } from '../letter-keys.ts'
import { deploymentsOf } from '../model/deployment.ts'
import {
  causeOf,
  type Execution,
  instanceStatus,
  isComplete,
  isFailed,
  isWaiting,
  reasonOf,
  type Stage,
  stageStatus,
  titleOf,
} from '../model/execution.ts'
import { stageWord } from '../model/names.ts'
import { healthReason, instanceId } from '../model/server-groups.ts'
import {
  accountIn,
  buildOf,
  deployedBy,
  type GroupPlace,
  logOf,
  type StageBuild,
} from '../model/stage-output.ts'
import { now } from '../model/time.ts'
import { plural, showing } from '../words.ts'
import { useStageActions } from './execution-actions.tsx'
import { Output, placeLinks, useNotUp } from './stage-output.tsx'

export const loadDeploymentPicture = async () =>
  (await import('../components/deployment-picture.tsx')).DeploymentPicture
const loadCanary = async () => (await import('../components/canary-report.tsx')).StageCanary
const loadStageManifests = async () =>
  (await import('../manifests/stage-manifests.tsx')).StageManifests

/** Server groups of a failed stage that are looked at, and instances of each. */
const [maxExamined, maxInstances] = [3, 5]

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
  const { stage, inner, query, close } = props
  const change = useQueryChange()
  const name = titleOf(stage)
  const log = logOf([stage, ...inner])
  const openAt = [stage, ...inner].map(causeOf).find((cause) => cause?.line !== undefined)?.line
  const ofLog = { name, line: query['line'], openAt, isEnded: isComplete(stage.status) }
  const record = { context: stage.context, outputs: stage.outputs }
  const tabs = [
    { id: 'summary', label: 'Summary', body: () => <Summary {...props} /> },
    { id: 'tasks', label: 'Steps', body: () => <Steps stage={stage} /> },
    ...(log === undefined
      ? []
      : [{ id: 'log', label: 'Log', body: () => <Output output={log} {...ofLog} /> }]),
    { id: 'record', label: 'Record', body: () => <RecordText value={record} name={name} /> },
  ]
  // A running command opens on its output.
  const isRunning = stage.type === 'runCommand' && stage.status === 'RUNNING'
  const at = Math.max(
    0,
    tabs.findIndex(({ id }) => id === (query['tab'] ?? (isRunning ? 'log' : 'summary'))),
  )
  const select = (tab: string | undefined) => change({ stage: stage.id, tab, line: undefined })
  useLetters({ t: () => select(tabs[(at + 1) % tabs.length]?.id) })
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
  return (
    <Panel class="stage-panel" title={title} actions={closer}>
      <Tabs label={name} options={tabs} selected={tabs[at]?.id ?? ''} onSelect={select}>
        {tabs[at]?.body()}
      </Tabs>
    </Panel>
  )
}

function Summary({ execution, stage, inner, isExplained }: StagePanelProps) {
  const { application } = execution
  const { status, startTime, endTime } = stage
  const all = [stage, ...inner]
  const reason = isExplained ? undefined : reasonOf(stage)
  const groups = deployedBy(all)
  const deployments = deploymentsOf(execution, stage)
  const isOfManifests = useHasManifests(scalarOf(stage.context['cloudProvider']))
  const actions = useStageActions(execution, stage)
  return (
    <>
      <p class="row stage-state">
        <StatusText status={stageStatus(stage)} />
        {startTime && (
          <span class="muted">
            <Duration from={startTime} until={endTime} />, started <Time at={startTime} />
          </span>
        )}
      </p>
      {reason !== undefined && (
        <p class={`reason is-${isFailed(status) ? 'failed' : 'warning'}`}>
          <PlainText text={reason} links={placeLinks(application, all, reason)} />
        </p>
      )}
      {deployments.length > 0 && (
        <Lazy load={loadDeploymentPicture} props={{ application, deployments }} />
      )}
      <Facts
        stage={stage}
        application={application}
        groups={deployments.length > 0 ? [] : groups}
      />
      {isFailed(status) &&
        groups
          .slice(0, maxExamined)
          .map((group) => <NotUp key={group.name} application={application} group={group} />)}
      {stage.type === 'kayentaCanary' && <Lazy load={loadCanary} props={{ execution, stage }} />}
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

function Facts({
  stage,
  application,
  groups,
}: {
  stage: Stage
  application: string
  groups: readonly GroupPlace[]
}) {
  const { context, type, status, startTime } = stage
  const text = (key: string) => scalarOf(context[key])
  const [child, command, seconds] = [
    text('executionId'),
    text('command'),
    numberOf(context['waitTime']),
  ]
  const { expression, enabled } = objectOf(context['stageEnabledEvaluation'])
  const isLeft = type === 'wait' && status === 'RUNNING' && seconds !== undefined && startTime
  const deployed = groups.map((group) => (
    <NameLink
      key={`${group.region} ${group.name}`}
      href={to.serverGroup(application, group)}
      text={group.name}
      max={60}
    />
  ))
  const judge = text('lastModifiedBy') ?? scalarOf(stage.lastModified?.['user'])
  return (
    <KeyValue
      facts={[
        ['Now', !isComplete(status) && text('waiting.for')],
        ['Note', text('notice')],
        [
          'Left',
          isLeft && (
            <Duration from={now.value} until={Math.max(now.value, startTime + seconds * 1000)} />
          ),
        ],
        ['Judged by', type === 'manualJudgment' && !isWaiting(stage) && judge],
        ['Answer', text('judgmentInput')],
        ['Account', accountIn(context)],
        ['Image', type === 'bake' && text('imageId')],
        ['Call', type === 'webhook' && [text('method'), text('url')].filter(Boolean).join(' ')],
        [
          'Started run',
          child && <a href={to.execution(child)}>{text('executionName') ?? child}</a>,
        ],
        ['Deployed', deployed.length > 0 && <span class="row">{deployed}</span>],
        ['Command', command && <code class="command">{command.slice(0, 600)}</code>],
        ...buildFacts(objectOf(context['buildInfo']), buildOf(context)),
        [
          'Why',
          text('skipReason') ??
            (enabled === false && `${scalarOf(expression) ?? 'Its condition'} is false.`),
        ],
      ]}
    />
  )
}

function buildFacts(
  { url, scm, artifacts, testResults }: JsonObject,
  build: StageBuild | undefined,
) {
  if (build === undefined) return []
  const title = `${build.job} #${build.number}, ${build.host}`
  const [commit] = objectsOf(scm)
  const files = objectsOf(artifacts)
  return [
    ['Build', scalarOf(url)?.startsWith('http') ? <a href={url as string}>{title}</a> : title],
    ['Tests', testsOf(objectsOf(testResults))],
    [
      'Commit',
      commit &&
        `${scalarOf(commit['sha1'])?.slice(0, 8) ?? ''} ${scalarOf(commit['message']) ?? ''}`,
    ],
    ['Artifacts', files.length > 0 && <Artifacts build={build} artifacts={files} />],
  ] as const
}

const maxArtifacts = 10

/** Archived files can be downloaded. */
function Artifacts({
  build: { host, job, number },
  artifacts,
}: {
  build: StageBuild
  artifacts: readonly JsonObject[]
}) {
  return (
    <ul class="plain-list">
      {artifacts.slice(0, maxArtifacts).map(({ reference, type, fileName }) => {
        const path = scalarOf(reference) ?? ''
        const file = { path: { buildMaster: host, number }, query: { job, path } }
        const href = urlOf('/v3/builds/{buildMaster}/build/{number}/file', file)
        const name = <Name text={path} max={60} />
        const isFile = /\/(?:build-)?file$/.test(scalarOf(type) ?? '')
        return (
          <li key={path}>
            {isFile ? (
              <a href={href} download={scalarOf(fileName)}>
                {name}
              </a>
            ) : (
              name
            )}
          </li>
        )
      })}
      {artifacts.length > maxArtifacts && (
        <li class="muted">and {artifacts.length - maxArtifacts} more</li>
      )}
    </ul>
  )
}

function testsOf(reports: readonly JsonObject[]) {
  if (reports.length === 0) return undefined
  const sum = (key: string) =>
    reports.reduce((total, report) => total + (numberOf(report[key]) ?? 0), 0)
  const [failed, skipped] = [sum('failCount'), sum('skipCount')]
  const passed = `${sum('totalCount') - failed - skipped} passed`
  return [passed, failed > 0 && `${failed} failed`, skipped > 0 && `${skipped} skipped`]
    .filter(Boolean)
    .join(', ')
}

/** Instances that are not up in a server group that a failed stage has made, each with the way to what it wrote. */
function NotUp({ application, group }: { application: string; group: GroupPlace }) {
  const { account, region, name } = group
  const instances = useNotUp(application, group)?.instances ?? []
  if (instances.length === 0) return null
  const rows = instances.slice(0, maxInstances).map((instance) => {
    const id = instanceId(instance)
    const address = (tab?: string) => to.instance(application, { account, region, id }, { tab })
    const status = instanceStatus(instance.healthState)
    return {
      key: id,
      status,
      title: <NameLink class="row-link" href={address()} text={id} max={24} />,
      note: <Name text={healthReason(instance) ?? status.word} max={160} />,
      action: (
        <ActionButton
          action={{ label: 'Console output', icon: 'terminal', href: address('console') }}
          small
        />
      ),
    }
  })
  return (
    <>
      <h3 class="sub">Not up in {name} now</h3>
      <StepRows steps={rows} isBoxed />
      {instances.length > maxInstances && (
        <p class="muted">{showing(maxInstances, instances.length)}</p>
      )}
    </>
  )
}

function Inner({ execution, inner }: Pick<StagePanelProps, 'execution' | 'inner'>) {
  const rows = inner.map((stage) => ({
    key: stage.id,
    status: stageStatus(stage),
    title: (
      <NameLink
        class="row-link"
        href={to.execution(execution.id, { stage: stage.id })}
        text={titleOf(stage)}
        max={60}
      />
    ),
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
    return (
      <p class="muted">
        {begun ? 'Only its inner stages have steps.' : 'This stage has not begun.'}
      </p>
    )
  }
  return <StepRows steps={tasks.map(toStep)} isBoxed />
}
