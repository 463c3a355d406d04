/** Builds of Jenkins, in the shapes of the build service. docs/contracts/builds.md#jenkins. */
import { definedOf, fieldAt, fieldOf, type JsonObject, numberOf, objectsOf, textOf, textsOf } from '../../../json/values.ts'

/** Fields of a build in a list. */
export const listedFields = [
  'number,building,result,timestamp,duration,estimatedDuration,url,builtOn,fullDisplayName,description',
  'artifacts[fileName,displayPath,relativePath]',
].join(',')

const testCounts = 'failCount,skipCount,totalCount,urlName'
const changes = 'items[commitId,msg,timestamp,author[fullName]]'

export const buildsTree = `builds[${listedFields},actions[${testCounts}]]`

/** What the newest builds of a job have changed. */
export const changesTree = `builds[number,building,changeSet[${changes}],changeSets[${changes}]]`

/** Fields of one build, with the commits that the Git plug-in has noted. */
export const buildFields = [
  listedFields,
  `actions[${testCounts},remoteUrls,lastBuiltRevision[SHA1,branch[SHA1,name]]]`,
  `changeSet[${changes}]`,
  `changeSets[${changes}]`,
].join(',')

export function toListedBuild(job: string, build: JsonObject): JsonObject {
  const { number, building, result, duration, estimatedDuration, artifacts } = build
  const tests = objectsOf(build['actions']).flatMap(toTestResult)
  const estimatedMs = numberOf(estimatedDuration) ?? -1
  return definedOf({
    id: `${job}-${number}`,
    number,
    building: building === true,
    result: building === true ? undefined : (textOf(result) ?? undefined),
    timestamp: String(build['timestamp'] ?? 0),
    duration: duration ?? 0,
    estimatedDuration: estimatedMs < 0 ? undefined : estimatedMs,
    ...textFields(build, 'url', 'builtOn', 'fullDisplayName', 'description'),
    artifacts: objectsOf(artifacts).map(({ fileName, displayPath, relativePath }) => ({ fileName, displayPath, relativePath })),
    testResults: tests.length === 0 ? undefined : tests,
  })
}

export function toBuild(job: string, build: JsonObject): JsonObject {
  const scm = toRevisions(build)
  return {
    ...toListedBuild(job, build),
    name: job,
    artifacts: toArtifacts(job, build),
    ...(scm.length > 0 && { scm }),
  }
}

/** Archived files, as artifacts of pipelines. */
export function toArtifacts(job: string, { number, url, artifacts }: JsonObject): JsonObject[] {
  return objectsOf(artifacts).map(({ fileName, displayPath, relativePath }) =>
    definedOf({
      fileName,
      displayPath,
      relativePath,
      type: 'jenkins/file',
      reference: relativePath,
      name: job,
      version: String(number),
      url: textOf(url),
      metadata: {},
      decorated: true,
    }),
  )
}

function toTestResult({ failCount, skipCount, totalCount, urlName }: JsonObject): JsonObject[] {
  return numberOf(totalCount) === undefined ? [] : [definedOf({ failCount, skipCount, totalCount, urlName })]
}

/** A commit for each branch that the Git plug-in has built; of several with the same commit and origin, the first. */
function toRevisions(build: JsonObject): JsonObject[] {
  const logged = loggedIn(build)
  const revisions = objectsOf(build['actions']).flatMap((action) => {
    const [remoteUrl] = textsOf(action['remoteUrls'])
    return objectsOf(fieldAt(action, 'lastBuiltRevision', 'branch')).map((branch) => toRevision(branch, remoteUrl, logged))
  })
  const keys = revisions.map(({ remoteUrl, sha1, name }) => JSON.stringify([remoteUrl, sha1, name]))
  return revisions.filter((_revision, index) => keys.indexOf(keys[index] as string) === index)
}

/** Jenkins lists the commits of a build from the oldest. */
export function toChanges(build: JsonObject): JsonObject[] {
  return loggedIn(build)
    .map((commit) => definedOf({ sha1: textOf(commit['commitId']), ...detailsOf(commit) }))
    .toReversed()
}

function loggedIn(build: JsonObject): JsonObject[] {
  return [build['changeSet'], ...objectsOf(build['changeSets'])].flatMap((set) => objectsOf(fieldOf(set, 'items')))
}

function toRevision(branch: JsonObject, remoteUrl: string | undefined, logged: readonly JsonObject[]): JsonObject {
  const [name, sha1] = [textOf(branch['name']), textOf(branch['SHA1'])]
  const commit = logged.find(({ commitId }) => commitId === sha1)
  return definedOf({
    name,
    branch: name?.replace(/^(?:refs\/)?(?:heads\/|remotes\/[^/]+\/|origin\/)/, ''),
    sha1,
    remoteUrl,
    ...detailsOf(commit),
  })
}

function detailsOf(commit: JsonObject | undefined): JsonObject {
  const timestamp = numberOf(commit?.['timestamp'])
  return {
    committer: textOf(fieldAt(commit, 'author', 'fullName')),
    message: textOf(commit?.['msg']),
    timestamp: timestamp === undefined ? undefined : new Date(timestamp).toISOString(),
  }
}

function textFields(from: JsonObject, ...names: readonly string[]): JsonObject {
  return definedOf(Object.fromEntries(names.map((name) => [name, textOf(from[name])])))
}
