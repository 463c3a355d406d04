/** Builds of Jenkins, in the shapes of the build service. docs/contracts/builds.md#jenkins. */
import { list, maybe, or, type ShapeOf, shape } from '@fairlead/base/json/shape.ts'
import {
  definedOf,
  isTrue,
  type JsonObject,
  numberOf,
  textOf,
  textsOf,
} from '@fairlead/base/json/values.ts'
import type { ListedBuild } from '../listed-build.ts'

/** Fields of a build in a list. */
const listedFields = [
  'number,building,result,timestamp,duration,estimatedDuration,url,builtOn,fullDisplayName,description',
  'artifacts[fileName,displayPath,relativePath]',
].join(',')

const testCounts = 'failCount,skipCount,totalCount,urlName'
const changes = 'items[commitId,msg,timestamp,author[fullName],authorEmail]'

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

const toArtifact = shape({ fileName: textOf, displayPath: textOf, relativePath: or(textOf, '') })
const toCommit = shape({
  sha1: [textOf, 'commitId'],
  message: [textOf, 'msg'],
  timestamp: (ms) => maybe((value) => new Date(Number(value)).toISOString())(numberOf(ms)),
  author: shape({ fullName: textOf }),
  authorEmail: textOf,
})
const toChangeSet = shape({ items: list(toCommit) })

export type JenkinsBuild = ShapeOf<typeof toJenkinsBuild>
export const toJenkinsBuild = shape({
  number: or(numberOf, 0),
  building: isTrue,
  result: textOf,
  timestamp: or(numberOf, 0),
  duration: or(numberOf, 0),
  estimatedDuration: or(numberOf, -1),
  url: textOf,
  builtOn: textOf,
  fullDisplayName: textOf,
  description: textOf,
  queueId: numberOf,
  artifacts: list(toArtifact),
  actions: list(
    shape({
      failCount: numberOf,
      skipCount: numberOf,
      totalCount: numberOf,
      urlName: textOf,
      remoteUrls: textsOf,
      lastBuiltRevision: shape({ branch: list(shape({ name: textOf, sha1: [textOf, 'SHA1'] })) }),
    }),
  ),
  changeSet: toChangeSet,
  changeSets: list(toChangeSet),
})

export function toListedBuild(job: string, build: JenkinsBuild): ListedBuild {
  const {
    number,
    building,
    result,
    timestamp,
    duration,
    estimatedDuration: estimatedMs,
    artifacts,
  } = build
  const { url, builtOn, fullDisplayName, description } = build
  const tests = build.actions.flatMap(({ failCount, skipCount, totalCount, urlName }) =>
    totalCount === undefined ? [] : [definedOf({ failCount, skipCount, totalCount, urlName })],
  )
  return definedOf({
    id: `${job}-${number}`,
    number,
    building,
    result: building ? undefined : result,
    timestamp: String(timestamp),
    duration,
    estimatedDuration: estimatedMs < 0 ? undefined : estimatedMs,
    url,
    builtOn,
    fullDisplayName,
    description,
    artifacts,
    testResults: tests.length === 0 ? undefined : tests,
  })
}

export function toBuild(job: string, build: JenkinsBuild): JsonObject {
  const scm = toRevisions(build)
  return definedOf({
    ...toListedBuild(job, build),
    name: job,
    artifacts: toArtifacts(job, build),
    scm: scm.length === 0 ? undefined : scm,
  })
}

/** Archived files, as artifacts of pipelines. */
export function toArtifacts(job: string, { number, url, artifacts }: JenkinsBuild): JsonObject[] {
  return artifacts.map((artifact) =>
    definedOf({
      ...artifact,
      type: 'jenkins/file',
      reference: artifact.relativePath,
      name: job,
      version: String(number),
      url,
      metadata: {},
      decorated: true,
    }),
  )
}

/** A commit for each branch that the Git plug-in has built; of several with the same commit and origin, the first. */
function toRevisions(build: JenkinsBuild): JsonObject[] {
  const logged = commitsOf(build)
  const revisions = build.actions.flatMap(({ remoteUrls: [remoteUrl], lastBuiltRevision }) =>
    lastBuiltRevision.branch.map(({ name, sha1 }) => {
      const branch = name?.replace(/^(?:refs\/)?(?:heads\/|remotes\/[^/]+\/|origin\/)/, '')
      return definedOf({
        name,
        branch,
        sha1,
        remoteUrl,
        ...logged.find((commit) => commit.sha1 === sha1),
      })
    }),
  )
  const keys = revisions.map(({ remoteUrl, sha1, name }) => JSON.stringify([remoteUrl, sha1, name]))
  return revisions.filter((_revision, index) => keys.indexOf(keys[index] as string) === index)
}

/** Jenkins lists the commits of a build from the oldest. */
export function toChanges(build: JenkinsBuild): JsonObject[] {
  return commitsOf(build).toReversed()
}

function commitsOf({ changeSet, changeSets }: JenkinsBuild) {
  return [changeSet, ...changeSets].flatMap(({ items }) =>
    items.map(({ author, authorEmail: email, ...commit }) =>
      definedOf({ ...commit, committer: author.fullName, contact: email && { email } }),
    ),
  )
}
