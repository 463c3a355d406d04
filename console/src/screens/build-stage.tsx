/** The build of a stage: its facts and artifacts. */
import { urlOf } from '../api/client.ts'
import { Name } from '../components/name.tsx'
import type { Stage } from '../model/execution.ts'
import { type Json, numberOf, objectOf, objectsOf, textOf } from '../model/read.ts'
import { buildOf, type StageBuild } from '../model/stage-output.ts'

export function buildFacts(stage: Stage) {
  const build = buildOf(stage)
  if (build === undefined) return []
  const info = objectOf(stage.context['buildInfo'])
  const url = textOf(info['url'])
  const title = `${build.job} #${build.number}, ${build.host}`
  const [commit] = objectsOf(info['scm'])
  const artifacts = objectsOf(info['artifacts'])
  return [
    ['Build', url?.startsWith('http') ? <a href={url}>{title}</a> : <Name key="build" text={title} max={60} />],
    ['Tests', testsOf(info)],
    [
      'Commit',
      commit && (
        <Name key="commit" text={`${textOf(commit['sha1'])?.slice(0, 8) ?? ''} ${textOf(commit['message']) ?? ''}`} max={60} />
      ),
    ],
    ['Artifacts', artifacts.length > 0 && <Results key="results" build={build} artifacts={artifacts} />],
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
      {artifacts.length > mostResults && <li class="muted">and {artifacts.length - mostResults} more</li>}
    </ul>
  )
}

function testsOf(info: object): string | undefined {
  const reports = objectsOf(objectOf(info)['testResults'])
  if (reports.length === 0) return undefined
  const sum = (key: string) => reports.reduce((total, report) => total + (numberOf(report[key]) ?? 0), 0)
  const [failed, skipped] = [sum('failCount'), sum('skipCount')]
  const passed = `${sum('totalCount') - failed - skipped} passed`
  return [passed, failed > 0 && `${failed} failed`, skipped > 0 && `${skipped} skipped`].filter(Boolean).join(', ')
}
