/** Why a run has failed: the cause, the last output of what failed, and what changed since the last success. */

import type { Cause } from '@fairlead/base/causes/cause.ts'
import { scalarOf } from '@fairlead/base/json/values.ts'
import type { ComponentChildren } from 'preact'
import { to } from '../address.ts'
import { useHasManifests } from '../api/cloud-providers.ts'
import { useLive } from '../api/live.ts'
import { changeOperation } from '../api/rights.ts'
import { ActionButton } from '../components/button.tsx'
import { ChangeList, useEarlierRun, useRunChanges } from '../components/run-changes.tsx'
import { Lazy, Loading, Panel } from '../components/screen.tsx'
import { Name, NameLink, PlainText, StatusMark, Time } from '../components/text.tsx'
import {
  type Execution,
  type Failure,
  failureOf,
  reasonOf,
  type Stage,
  shortId,
  startedBy,
  titleOf,
} from '../model/execution.ts'
import { stepWords } from '../model/names.ts'
import { healthReason, instanceId } from '../model/server-groups.ts'
import { deployedBy, type GroupPlace, outputOf } from '../model/stage-output.ts'
import { useStageActions } from './execution-actions.tsx'
import {
  CauseLines,
  instancesIn,
  Output,
  ProgramTail,
  placeLinks,
  useNotUp,
} from './stage-output.tsx'

const loadFailedObjects = async () =>
  (await import('../manifests/stage-manifests.tsx')).FailedObjects

/** Child pipelines that are followed to the stage that failed. */
const maxChildren = 5

interface FailureProps {
  readonly run: Execution
  /** The run in which the stage failed, and its failure. */
  readonly execution: Execution
  readonly failure: Failure
}

/** Follows the failure into the pipelines that stages have started. */
export function RunFailure({ depth = 0, ...props }: FailureProps & { readonly depth?: number }) {
  const { execution, failure } = props
  const { child, path } = failure
  const { body, error } = useLive(
    '/pipelines/{id}',
    child === undefined ? undefined : { path: { id: child } },
  )
  const inner = body && failureOf(body)
  if (body !== undefined && inner !== undefined && depth < maxChildren) {
    return <RunFailure run={props.run} execution={body} failure={inner} depth={depth + 1} />
  }
  // Until it is known that no child pipeline says more.
  const isFound = child === undefined || body !== undefined || error !== undefined
  return (
    <FailurePanel {...props}>
      {isFound && (
        <div class="cause-parts">
          <LastOutput execution={execution} path={path} cause={failure.cause} />
          <SinceSuccess execution={execution} />
        </div>
      )}
    </FailurePanel>
  )
}

function FailurePanel({
  run,
  execution,
  failure,
  children,
}: FailureProps & { readonly children: ComponentChildren }) {
  const { stage, path, reason } = failure
  const [top = stage] = path
  const { id, name = '', application } = execution
  // The run that is shown restarts; the stage is edited where it failed.
  const ofRun = useStageActions(run, failureOf(run)?.path[0] ?? top).filter(
    ({ href }) => href === undefined,
  )
  const actions = [
    ...ofRun,
    ...useStageActions(execution, top).filter(({ href }) => href !== undefined),
  ]
  const step = stage.tasks.at(-1)?.name
  const last = step && `Its last step was “${stepWords(step)}”.`
  const noReason = `“${titleOf(stage)}” gives no reason. ${last ?? ''} The record of the stage may help an operator.`
  const account = /^Access denied to account ([^\s.,]+)/.exec(reason ?? '')?.[1]
  const asked = { operation: changeOperation, application, account, username: startedBy(execution) }
  const title = (
    <>
      <StatusMark kind="failed" />
      <span>
        <Name text={titleOf(top)} max={60} /> failed{' '}
        {id !== run.id && (
          <span class="regular">
            in run <a href={to.execution(id, { stage: top.id })}>{`${name} ${shortId(id)}`}</a>
          </span>
        )}
      </span>
    </>
  )
  const buttons = actions.map((action) => <ActionButton key={action.label} action={action} small />)
  return (
    <Panel class="cause" title={title} actions={buttons}>
      <p role="alert">
        <PlainText text={reason ?? noReason} links={placeLinks(application, path, reason ?? '')} />
        {account !== undefined && '. '}
        {account !== undefined && <a href={to.access('explain', asked)}>Explain who may use it</a>}
      </p>
      {children}
    </Panel>
  )
}

/** Last output of the failed command, build, job or webhook, else of an instance that is not up. */
function LastOutput({
  execution: { id, application },
  path,
  cause,
}: {
  execution: Execution
  path: readonly Stage[]
  cause: Cause | undefined
}) {
  const [top, leaf] = [path[0] as Stage, path.at(-1) as Stage]
  const output = outputOf(path.toReversed())
  const provider = scalarOf(leaf.context['cloudProvider'])
  const isOfManifests = useHasManifests(provider)
  const [place] = deployedBy(path)
  const found = cause?.line === undefined ? undefined : cause
  const whole = output && {
    href: to.execution(id, { stage: top.id, tab: 'log' }),
    link: 'Whole output',
  }
  const lines = found && (
    <Part title={`Line ${found.line} of the output`} {...whole}>
      <CauseLines cause={found} name={titleOf(top)} />
    </Part>
  )
  if (lines !== undefined && (output !== undefined || place === undefined)) return lines
  if (output !== undefined) {
    return (
      <Part title="Last output" {...whole}>
        <Output output={output} name={titleOf(top)} isTail />
      </Part>
    )
  }
  if (isOfManifests) {
    return (
      <section>
        <Lazy load={loadFailedObjects} props={{ application, stage: leaf }} />
      </section>
    )
  }
  // The reason may name one of the instances, whose output is read at once.
  const [named] = instancesIn(path.map(reasonOf).join(' '))
  return place === undefined ? null : (
    <>
      {lines}
      <InstanceOutput application={application} provider={provider} named={named} place={place} />
    </>
  )
}

type InstanceProps = { readonly [of in 'provider' | 'named']: string | undefined } & {
  application: string
  place: GroupPlace
}

function InstanceOutput({ application, place, provider, named }: InstanceProps) {
  const { account, region, name } = place
  const found = useNotUp(application, place)
  const first = found?.instances[0]
  const id = named ?? (first && instanceId(first))
  if (id === undefined) return null
  const address = (tab?: string) => to.instance(application, { account, region, id }, { tab })
  return (
    <Part
      title={<NameLink href={address()} text={`Last output of ${id}`} max={50} />}
      href={address('console')}
      link="Whole output"
    >
      {first !== undefined && (
        <p class="muted">
          {named === undefined && healthReason(first)}{' '}
          {`${found?.instances.length} of ${found?.group.instances?.length} instances of `}
          <NameLink href={to.serverGroup(application, place)} text={name} max={60} /> are not up
          now.
        </p>
      )}
      <ProgramTail program={{ account, region, id, provider }} name={id} />
    </Part>
  )
}

interface PartProps {
  readonly title: ComponentChildren
  readonly href?: string
  readonly link?: string
  readonly children: ComponentChildren
}

function Part({ title, href, link, children }: PartProps) {
  return (
    <section>
      <header class="row">
        <h3 class="grow">{title}</h3>
        {href !== undefined && <a href={href}>{link}</a>}
      </header>
      {children}
    </section>
  )
}

/** What differs from the last run of the pipeline before it that has succeeded. */
function SinceSuccess({ execution }: { execution: Execution }) {
  const { found, error } = useEarlierRun(execution, 'last-success')
  const last = found?.[0]
  const changes = useRunChanges(last, execution).filter(
    ({ kind }) => kind !== 'duration' && kind !== 'stage',
  )
  if (error !== undefined || !execution.pipelineConfigId) return null
  if (found === undefined) return <Loading rows={3} />
  if (last === undefined)
    return (
      <Part title="Since the last success">No earlier run of {execution.name} has succeeded.</Part>
    )
  const title = (
    <>
      Changed since <a href={to.execution(last.id)}>{shortId(last.id)}</a> succeeded,{' '}
      <Time at={last.buildTime} />
    </>
  )
  return (
    <Part title={title} href={to.compare({ left: last.id, right: execution.id })} link="Compare">
      {changes.length === 0 && (
        <p class="muted">Parameters, definition, images and commit are the same.</p>
      )}
      <ChangeList changes={changes} max={8} />
    </Part>
  )
}
