/** Facts about a stage: who judged it, what it deployed, its command, its build. */
import { to } from '../address.ts'
import { urlOf } from '../api/client.ts'
import { KeyValue } from '../components/key-value.tsx'
import { Name, NameLink } from '../components/name.tsx'
import { Time } from '../components/time.tsx'
import { isWaiting, type Stage } from '../model/execution.ts'
import { type Json, numberOf, objectOf, objectsOf, textOf } from '../model/read.ts'
import { accountOf, buildOf, type GroupPlace, type StageBuild } from '../model/stage-output.ts'

export function StageFacts({ stage, application, groups }: { stage: Stage; application: string; groups: readonly GroupPlace[] }) {
  const { context, type, status, startTime } = stage
  const text = (key: string) => textOf(context[key])
  const [child, command, seconds] = [text('executionId'), text('command'), numberOf(context['waitTime'])]
  const isLeft = type === 'wait' && status === 'RUNNING' && seconds !== undefined && startTime
  const deployed = groups.map((group) => (
    <NameLink key={`${group.region} ${group.name}`} href={to.serverGroup(application, group)} text={group.name} max={60} />
  ))
  const judge = text('lastModifiedBy') ?? textOf(objectOf(stage.lastModified)['user'])
  return (
    <KeyValue
      facts={[
        ['Continues', isLeft && <Time at={startTime + seconds * 1000} />],
        ['Judged by', type === 'manualJudgment' && !isWaiting(stage) && judge],
        ['Answer', text('judgmentInput')],
        ['Account', accountOf(context)],
        ['Started run', child && <a href={to.execution(child)}>{text('executionName') ?? child}</a>],
        ['Deployed', deployed.length > 0 && <span class="row">{deployed}</span>],
        ['Command', command && <code class="command">{command.slice(0, 600)}</code>],
        ...buildFacts(objectOf(context['buildInfo']), buildOf(context)),
        ['Why', text('skipReason')],
      ]}
    />
  )
}

function buildFacts({ url, scm, artifacts, testResults }: Json, build: StageBuild | undefined) {
  if (build === undefined) return []
  const title = `${build.job} #${build.number}, ${build.host}`
  const [commit] = objectsOf(scm)
  const files = objectsOf(artifacts)
  return [
    ['Build', textOf(url)?.startsWith('http') ? <a href={url as string}>{title}</a> : title],
    ['Tests', testsOf(objectsOf(testResults))],
    ['Commit', commit && `${textOf(commit['sha1'])?.slice(0, 8) ?? ''} ${textOf(commit['message']) ?? ''}`],
    ['Artifacts', files.length > 0 && <Artifacts build={build} artifacts={files} />],
  ] as const
}

const maxArtifacts = 10

/** Archived files can be downloaded. */
function Artifacts({ build: { host, job, number }, artifacts }: { build: StageBuild; artifacts: readonly Json[] }) {
  return (
    <ul class="plain-list">
      {artifacts.slice(0, maxArtifacts).map(({ reference, type, fileName }) => {
        const path = textOf(reference) ?? ''
        const file = { path: { buildMaster: host, number }, query: { job, path } }
        const href = urlOf('/v3/builds/{buildMaster}/build/{number}/file', file)
        const name = <Name text={path} max={60} />
        const isFile = /\/(?:build-)?file$/.test(textOf(type) ?? '')
        return <li key={path}>{isFile ? <a {...{ href, download: textOf(fileName) }}>{name}</a> : name}</li>
      })}
      {artifacts.length > maxArtifacts && <li class="muted">and {artifacts.length - maxArtifacts} more</li>}
    </ul>
  )
}

function testsOf(reports: readonly Json[]): string | undefined {
  if (reports.length === 0) return undefined
  const sum = (key: string) => reports.reduce((total, report) => total + (numberOf(report[key]) ?? 0), 0)
  const [failed, skipped] = [sum('failCount'), sum('skipCount')]
  const passed = `${sum('totalCount') - failed - skipped} passed`
  return [passed, failed > 0 && `${failed} failed`, skipped > 0 && `${skipped} skipped`].filter(Boolean).join(', ')
}
