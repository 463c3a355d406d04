/** The build of a stage: its facts, and its log. */
import { urlOf } from '../api/client.ts'
import { useLive } from '../api/live.ts'
import { LogView } from '../components/log-view.tsx'
import { Name } from '../components/name.tsx'
import { Loaded } from '../components/states.tsx'
import type { Stage } from '../model/execution.ts'
import { type Json, numberOf, objectOf, objectsOf, textOf } from '../model/read.ts'
import { isComplete } from '../model/status.ts'
import { words } from '../words.ts'

interface StageBuild {
  readonly host: string
  readonly job: string
  readonly number: number
}

/** Undefined until the build has a number. */
export function buildOf({ context }: Stage): StageBuild | undefined {
  const [host, job, number] = [textOf(context['master']), textOf(context['job']), numberOf(context['buildNumber'])]
  return host === undefined || job === undefined || number === undefined ? undefined : { host, job, number }
}

export function buildFacts(stage: Stage) {
  const build = buildOf(stage)
  if (build === undefined) return []
  const info = objectOf(stage.context['buildInfo'])
  const url = textOf(info['url'])
  const title = `${build.job} #${build.number}, ${build.host}`
  const [commit] = objectsOf(info['scm'])
  const artifacts = objectsOf(info['artifacts'])
  return [
    [words.build, url?.startsWith('http') ? <a href={url}>{title}</a> : <Name key="build" text={title} max={60} />],
    [words.tests, testsOf(info)],
    [
      words.commit,
      commit && (
        <Name key="commit" text={`${textOf(commit['sha1'])?.slice(0, 8) ?? ''} ${textOf(commit['message']) ?? ''}`} max={60} />
      ),
    ],
    [words.buildArtifacts, artifacts.length > 0 && <Results key="results" build={build} artifacts={artifacts} />],
  ] as const
}

const mostResults = 10

/** Archived files can be downloaded. */
function Results({ build: { host, job, number }, artifacts }: { build: StageBuild; artifacts: readonly Json[] }) {
  return (
    <ul class="plain-list">
      {artifacts.slice(0, mostResults).map((artifact) => {
        const reference = textOf(artifact['reference']) ?? ''
        const place = { path: { buildMaster: host, number }, query: { job, path: reference } }
        const isFile = /\/(?:build-)?file$/.test(textOf(artifact['type']) ?? '')
        return (
          <li key={reference}>
            {isFile ? (
              <a href={urlOf('/v3/builds/{buildMaster}/build/{number}/file', place)} download={textOf(artifact['fileName'])}>
                {reference}
              </a>
            ) : (
              <Name text={reference} max={60} />
            )}
          </li>
        )
      })}
      {artifacts.length > mostResults && <li class="muted">{words.andMore(artifacts.length - mostResults)}</li>}
    </ul>
  )
}

function testsOf(info: object): string | undefined {
  const reports = objectsOf(objectOf(info)['testResults'])
  if (reports.length === 0) return undefined
  const sum = (key: string) => reports.reduce((total, report) => total + (numberOf(report[key]) ?? 0), 0)
  return words.testCounts(sum('totalCount') - sum('failCount') - sum('skipCount'), sum('failCount'), sum('skipCount'))
}

export function BuildLog({ stage, build: { host, job, number }, name }: { stage: Stage; build: StageBuild; name: string }) {
  const isEnded = isComplete(stage.status)
  const live = useLive(
    '/v3/builds/{buildMaster}/build/{number}/output',
    { path: { buildMaster: host, number: String(number) }, query: { job } },
    { refresh: isEnded ? 'open' : 'live', isBusy: () => !isEnded },
  )
  return (
    <Loaded live={live} rows={6}>
      {({ log }) => <LogView text={log} name={name} isEnded={isEnded} />}
    </Loaded>
  )
}
