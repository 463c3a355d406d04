/** The head of a run: its state, who or what started it with which values, and what it has deployed. */

import { objectOf, objectsOf, scalarOf, textsOf } from '@fairlead/base/json/values.ts'
import type { VNode } from 'preact'
import { useEffect } from 'preact/hooks'
import { to, useNavigate } from '../address.ts'
import { client } from '../api/client.ts'
import { ActionButton, CopyButton, IconButton } from '../components/button.tsx'
import { Menu } from '../components/menu.tsx'
import { act, announcement } from '../components/notices.tsx'
import { ApplicationOpenLinks } from '../components/open-link.tsx'
import { PageHead, pipelineCrumbs } from '../components/screen.tsx'
import { Duration, Icon, Name, NameLink, StatusBadge, Time, usePhone } from '../components/text.tsx'
import { useLetters } from '../letter-keys.ts'
import {
  type Execution,
  newestFirst,
  shortId,
  startedBy,
  statusOf,
  steerersOf,
} from '../model/execution.ts'
import { readSource, repositoryUrl, triggerWord } from '../model/runs.ts'
import { deployedBy } from '../model/stage-output.ts'
import { useExecutionActions } from './execution-actions.tsx'

export function RunHead({ execution }: { execution: Execution }) {
  const { application, id, pipelineConfigId } = execution
  const status = statusOf(execution)
  const name = execution.name ?? execution.description ?? id
  useEffect(() => {
    announcement.value = `${name} ${status.word}`
  }, [status.word])
  const pipeline = pipelineConfigId
    ? [{ label: name, href: to.pipeline(application, pipelineConfigId) }]
    : []
  return (
    <PageHead
      tab={`${name} ${shortId(id)}: ${status.word}`}
      title={
        <>
          <Name text={name} /> <span class="run-id">{shortId(id)}</span>
        </>
      }
      crumbs={[...pipelineCrumbs(application), ...pipeline]}
      state={
        <span class="row">
          <CopyButton text={id} label={`Copy the id ${id}`} />
          <StatusBadge status={status} />
          <Duration from={execution.startTime ?? execution.buildTime} until={execution.endTime} />
        </span>
      }
      actions={<RunActions execution={execution} />}
    >
      <Facts execution={execution} />
    </PageHead>
  )
}

const siblings = [
  { icon: 'left', label: 'Previous run', step: 1, none: 'No earlier run is kept.' },
  { icon: 'right', label: 'Next run', step: -1, none: 'This is the newest run.' },
] as const

function RunActions({ execution }: { execution: Execution }) {
  const actions = useExecutionActions(execution)
  const navigate = useNavigate()
  const goTo = (sibling: Sibling) => goToSibling(execution, sibling, navigate)
  useLetters({
    c: () => navigate(to.compare({ left: 'previous', right: execution.id })),
    '[': () => goTo(siblings[0]),
    ']': () => goTo(siblings[1]),
  })
  // Of a failed run, what changed is shown with its cause.
  const shown = usePhone() || execution.status === 'TERMINAL' ? 1 : 2
  return (
    <>
      {actions.slice(0, shown).map((action) => (
        <ActionButton key={action.label} action={action} />
      ))}
      {execution.pipelineConfigId && (
        <span class="row tight">
          {siblings.map((sibling) => {
            const { icon, label } = sibling
            return <IconButton key={icon} icon={icon} label={label} onClick={() => goTo(sibling)} />
          })}
        </span>
      )}
      {actions.length > shown && <Menu items={actions.slice(shown)} />}
    </>
  )
}

type Sibling = (typeof siblings)[number]

/** The run before or after it, of the newest of the same pipeline. */
function goToSibling(
  { id, pipelineConfigId }: Execution,
  { label, step, none }: Sibling,
  navigate: (url: string) => void,
) {
  if (!pipelineConfigId) return
  const from = location.pathname
  act(label, async () => {
    const query = { pipelineConfigIds: pipelineConfigId, limit: 50, expand: false }
    const runs = newestFirst(await client.GET('/executions', { params: { query } }))
    const at = runs.findIndex((run) => run.id === id)
    const next = at === -1 ? undefined : runs[at + step]
    if (next === undefined) announcement.value = none
    // The reader may be elsewhere by now.
    else if (location.pathname === from) navigate(to.execution(next.id))
  })
}

const [maxParameters, maxArtifacts] = [8, 8]

function Facts({ execution }: { execution: Execution }) {
  const { trigger, application, stages, startTime, buildTime } = execution
  const by = startedBy(execution)
  const parameters = Object.entries(trigger.parameters ?? {}).map(([key, value]) => ({
    lead: <Name class="muted" text={key} max={30} />,
    text: typeof value === 'string' ? value : JSON.stringify(value),
  }))
  // By name and version, else by reference.
  const artifacts = (trigger.artifacts ?? []).flatMap(({ name, version, reference }) =>
    scalarOf(name) && scalarOf(version)
      ? `${name}:${version}`
      : (scalarOf(reference) ?? scalarOf(name) ?? []),
  )
  const boxes = [...new Set(artifacts)]
    .slice(0, maxArtifacts)
    .map((text) => ({ text, lead: <Icon name="box" /> }))
  const clusters = stages.flatMap(({ context }) => [context, ...objectsOf(context['clusters'])])
  const balancers = [
    ...new Set(clusters.flatMap((cluster) => textsOf(objectOf(cluster)['loadBalancers']))),
  ]
  return (
    <div class="run-facts">
      <span class="muted">
        <Name text={by === undefined ? 'Started' : `${by} started it`} max={60} />{' '}
        <Starter trigger={trigger} />, <Time at={startTime ?? buildTime} />
      </span>
      {steerersOf(execution).map(({ user, how, at }) => (
        <span key={user} class="muted" title="The run may do only what this user may do, too.">
          <Name text={`Steered by ${user}, who ${how}`} max={100} />, <Time at={at} />
        </span>
      ))}
      {sourceOf(trigger).map(toChip)}
      {parameters.length <= maxParameters ? (
        parameters.map(toChip)
      ) : (
        <details class="more-facts">
          <summary>{parameters.length} parameters</summary>
          <div class="run-facts">{parameters.map(toChip)}</div>
        </details>
      )}
      {boxes.map(toChip)}
      {deployedBy(stages).length > 0 && balancers.length > 0 && (
        <ApplicationOpenLinks application={application} names={balancers} />
      )}
    </div>
  )
}

interface Chip {
  readonly text: string
  readonly lead?: VNode
  readonly href?: string
}

function toChip({ text, lead, href }: Chip, key: number) {
  return (
    <span key={key} class="chip">
      {lead}
      <NameLink href={href} text={text} max={60} />
    </span>
  )
}

function Starter({ trigger }: Pick<Execution, 'trigger'>) {
  const { id, name } = objectOf(trigger.parentExecution)
  const parent = scalarOf(id) ?? scalarOf(trigger['parentPipelineId'])
  if (parent === undefined) return <>{triggerWord(trigger.type)}</>
  const title = scalarOf(trigger['parentPipelineName']) ?? scalarOf(name) ?? ''
  return (
    <>
      by{' '}
      <NameLink href={to.execution(parent)} text={`${title} ${shortId(parent)}`.trim()} max={60} />
    </>
  )
}

/** The build and the commit that it comes from. */
function sourceOf(trigger: Execution['trigger']): readonly Chip[] {
  const { source, slug, build: from, ...read } = readSource(trigger)
  const [change] = from.scm
  const { hash = change?.sha1, branch = change?.branch } = read
  const repository = repositoryUrl(trigger)
  const commits = source === 'bitbucket' ? 'commits' : 'commit'
  const text = [slug, branch, hash?.slice(0, 8)].filter(Boolean).join(' ')
  const build = { href: from.url, text: `Build ${from.number ?? ''}` }
  const commit = { text, href: repository && hash && `${repository}/${commits}/${hash}` }
  return [...(build.href?.startsWith('http') ? [build] : []), ...(text === '' ? [] : [commit])]
}
