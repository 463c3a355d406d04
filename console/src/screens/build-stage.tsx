/** The build of a stage: its facts and artifacts. */
import { urlOf } from '../api/client.ts'
import { Name } from '../components/name.tsx'
import type { Stage } from '../model/execution.ts'
import { type Json, numberOf, objectOf, objectsOf, textOf } from '../model/read.ts'
import { buildOf, type StageBuild } from '../model/stage-output.ts'

export function buildFacts({ context }: Stage) {
  const build = buildOf(context)
  if (build === undefined) return []
  const { url, scm, artifacts, testResults } = objectOf(context['buildInfo'])
  const title = `${build.job} #${build.number}, ${build.host}`
  const [commit] = objectsOf(scm)
  const change = commit && `${textOf(commit['sha1'])?.slice(0, 8) ?? ''} ${textOf(commit['message']) ?? ''}`
  const files = objectsOf(artifacts)
  return [
    ['Build', textOf(url)?.startsWith('http') ? <a href={url as string}>{title}</a> : <Name key="build" text={title} max={60} />],
    ['Tests', testsOf(objectsOf(testResults))],
    ['Commit', change && <Name key="commit" text={change} max={60} />],
    ['Artifacts', files.length > 0 && <Artifacts key="artifacts" build={build} artifacts={files} />],
  ] as const
}

const maxArtifacts = 10

/** Archived files can be downloaded. */
function Artifacts({ build: { host, job, number }, artifacts }: { build: StageBuild; artifacts: readonly Json[] }) {
  return (
    <ul class="plain-list">
      {artifacts.slice(0, maxArtifacts).map(({ reference, type, fileName }) => {
        const path = textOf(reference) ?? ''
        const href = urlOf('/v3/builds/{buildMaster}/build/{number}/file', {
          path: { buildMaster: host, number },
          query: { job, path },
        })
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
