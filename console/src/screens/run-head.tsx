/** The head of a run: its state, who or what started it with which values, and what it has deployed. */

import { useEffect } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { to } from '../address.ts'
import { client, unwrap } from '../api/client.ts'
import { announcement } from '../components/announcement.ts'
import { applicationCrumbs } from '../components/application-head.tsx'
import { ActionButton, IconButton } from '../components/button.tsx'
import { CopyButton } from '../components/copy-button.tsx'
import { Icon } from '../components/icon.tsx'
import { Menu } from '../components/menu.tsx'
import { Name, NameLink } from '../components/name.tsx'
import { act } from '../components/notices.tsx'
import { ApplicationOpenLinks } from '../components/open-link.tsx'
import { PageHead } from '../components/page-head.tsx'
import { StatusBadge } from '../components/status-mark.tsx'
import { Duration, Time } from '../components/time.tsx'
import { usePhone } from '../components/use-phone.ts'
import { type Execution, newestFirst, type Stage, shortId, startedBy, statusOf } from '../model/execution.ts'
import { type Json, objectOf, objectsOf, textOf, textsOf } from '../model/read.ts'
import { triggerWord } from '../model/runs.ts'
import { deployedBy } from '../model/stage-output.ts'
import { useExecutionActions } from './execution-actions.tsx'

/** Among so many runs of its pipeline the reader moves. */
const siblingRuns = 50

export function RunHead({ execution }: { execution: Execution }) {
  const { application, id, pipelineConfigId } = execution
  const status = statusOf(execution)
  const name = execution.name ?? execution.description ?? id
  useEffect(() => {
    announcement.value = `${name} ${status.word}`
  }, [status.word])
  const pipeline = pipelineConfigId ? [{ label: name, href: to.pipeline(application, pipelineConfigId) }] : []
  return (
    <PageHead
      tab={`${name} ${shortId(id)}: ${status.word}`}
      title={
        <>
          <Name text={name} max={80} /> <span class="run-id">{shortId(id)}</span>
        </>
      }
      crumbs={[...applicationCrumbs(application), { label: 'Pipelines', href: to.pipelines(application) }, ...pipeline]}
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

function RunActions({ execution }: { execution: Execution }) {
  const { route: navigate } = useLocation()
  const actions = useExecutionActions(execution)
  // Of a failed run, what changed is shown with its cause.
  const shown = usePhone() || execution.status === 'TERMINAL' ? 1 : 2
  const rest = actions.slice(shown)
  return (
    <>
      {actions.slice(0, shown).map((action) => (
        <ActionButton key={action.label} action={action} />
      ))}
      {execution.pipelineConfigId && (
        <span class="row tight">
          <IconButton icon="left" label="Previous run" title="Previous run" onClick={() => toSibling(execution, 1, navigate)} />
          <IconButton icon="right" label="Next run" title="Next run" onClick={() => toSibling(execution, -1, navigate)} />
        </span>
      )}
      {rest.length > 0 && <Menu items={rest} />}
    </>
  )
}

/** The run before or after it, of the newest of the same pipeline. */
export function toSibling({ id, pipelineConfigId }: Execution, step: 1 | -1, navigate: (url: string) => void): void {
  if (!pipelineConfigId) return
  const from = location.pathname
  act(step === 1 ? 'Previous run' : 'Next run', async () => {
    const query = { pipelineConfigIds: pipelineConfigId, limit: siblingRuns, expand: false }
    const runs = newestFirst(await unwrap(client.GET('/executions', { params: { query } })))
    const at = runs.findIndex((run) => run.id === id)
    const next = at === -1 ? undefined : runs[at + step]
    if (next === undefined) announcement.value = step === 1 ? 'No earlier run is kept.' : 'This is the newest run.'
    // The reader may be elsewhere by now.
    else if (location.pathname === from) navigate(to.execution(next.id))
  })
}

function Facts({ execution }: { execution: Execution }) {
  const { trigger, application, stages } = execution
  const by = startedBy(execution)
  const parent = textOf(objectOf(trigger.parentExecution)['id']) ?? textOf(trigger['parentPipelineId'])
  return (
    <div class="run-facts">
      <span class="muted">
        {by === undefined ? 'Started' : <Name text={by} max={40} />}
        {by !== undefined && ' started it'}{' '}
        {parent === undefined ? triggerWord(trigger.type) : <Parent trigger={trigger} id={parent} />},{' '}
        <Time at={execution.startTime ?? execution.buildTime} />
      </span>
      <Source trigger={trigger} />
      <Parameters parameters={Object.entries(objectOf(trigger.parameters))} />
      {artifactsOf(execution).map((artifact) => (
        <span key={artifact} class="chip">
          <Icon name="box" />
          <Name text={artifact} max={60} />
        </span>
      ))}
      <Served application={application} stages={stages} />
    </div>
  )
}

function Parent({ trigger, id }: Pick<Execution, 'trigger'> & { id: string }) {
  const name = textOf(trigger['parentPipelineName']) ?? textOf(objectOf(trigger.parentExecution)['name']) ?? ''
  return (
    <>
      by <NameLink href={to.execution(id)} text={`${name} ${shortId(id)}`.trim()} max={60} />
    </>
  )
}

const maxParameters = 8

function Parameters({ parameters }: { parameters: readonly (readonly [string, unknown])[] }) {
  const chips = parameters.map(([key, value]) => (
    <span key={key} class="chip">
      <span class="muted">
        <Name text={key} max={30} />
      </span>
      <Name text={typeof value === 'string' ? value : JSON.stringify(value)} max={40} />
    </span>
  ))
  if (chips.length <= maxParameters) return <>{chips}</>
  return (
    <details class="more-facts">
      <summary>{chips.length} parameters</summary>
      <div class="run-facts">{chips}</div>
    </details>
  )
}

/** The build and the commit that it comes from. */
function Source({ trigger }: Pick<Execution, 'trigger'>) {
  const build = objectOf(trigger['buildInfo'])
  const url = textOf(build['url'])
  const [change = {}] = objectsOf(build['scm'])
  const hash = textOf(trigger['hash']) ?? textOf(change['sha1'])
  const branch = textOf(trigger['branch']) ?? textOf(change['branch'])
  const commit = hash === undefined ? undefined : commitUrl(trigger as Json, change, hash)
  const text = [textOf(trigger['slug']), branch, hash?.slice(0, 8)].filter((part) => part !== undefined).join(' ')
  return (
    <>
      {url?.startsWith('http') && (
        <a class="chip" href={url}>
          Build {textOf(build['number']) ?? ''}
        </a>
      )}
      {text !== '' && (
        <span class="chip">
          {commit === undefined ? <Name text={text} max={60} /> : <NameLink href={commit} text={text} max={60} />}
        </span>
      )}
    </>
  )
}

const commitPaths: Readonly<Record<string, string>> = {
  github: 'https://github.com/{repository}/commit/{hash}',
  gitlab: 'https://gitlab.com/{repository}/-/commit/{hash}',
  bitbucket: 'https://bitbucket.org/{repository}/commits/{hash}',
}

/** Where the commit is shown; undefined for servers whose addresses are not known. */
function commitUrl({ source, project, slug }: Json, change: Json, hash: string): string | undefined {
  const remote = textOf(change['remoteUrl'])
  if (remote?.startsWith('https://')) return `${remote.replace(/\.git$/, '')}/commit/${hash}`
  if (!textOf(project) || !textOf(slug)) return undefined
  return commitPaths[textOf(source) ?? '']?.replace('{repository}', `${project}/${slug}`).replace('{hash}', hash)
}

const maxArtifacts = 8

/** What the run works on, by name and version, else by reference. */
function artifactsOf({ trigger }: Execution): readonly string[] {
  const found = objectsOf(trigger.artifacts).flatMap((artifact) => {
    const [name, version] = [textOf(artifact['name']), textOf(artifact['version'])]
    return name !== undefined && version !== undefined ? `${name}:${version}` : (textOf(artifact['reference']) ?? name ?? [])
  })
  return [...new Set(found)].slice(0, maxArtifacts)
}

/** The way to what it has deployed. */
function Served({ application, stages }: { application: string; stages: readonly Stage[] }) {
  if (deployedBy(stages).length === 0) return null
  const clusters = stages.flatMap(({ context }) => [context, ...objectsOf(context['clusters'])])
  const balancers = [...new Set(clusters.flatMap((cluster) => textsOf(objectOf(cluster)['loadBalancers'])))]
  return balancers.length === 0 ? null : <ApplicationOpenLinks application={application} names={balancers} />
}
