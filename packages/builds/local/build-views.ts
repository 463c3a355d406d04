/** Jobs and builds of this machine as the contract has them. */

import { basename } from 'node:path'
import { definedOf, type JsonObject } from '@fairlead/base/json/values.ts'
import { standalone } from '@fairlead/base/settings/standalone.ts'
import { appBuildPrefix } from '@fairlead/ports/app-builds.ts'
import { parseImageId } from '@fairlead/ports/image-file.ts'
import type { ListedBuild } from '../listed-build.ts'
import type { BuildReport } from './build-report.ts'
import type { StoredBuild } from './build-store.ts'
import type { KnownJob } from './job-catalog.ts'
import { maskParameters } from './parameters.ts'

/** @see docs/contracts/builds.md */
export function toJobView({ name, definition, repository }: KnownJob): JsonObject {
  const { description, parameters, isEnabled, isConcurrent } = definition
  return {
    name,
    displayName: name,
    description: description ?? null,
    url: repository?.url.replace(/^(\w+:\/\/)[^/@\s]+@/, '$1') ?? '',
    buildable: isEnabled,
    concurrentBuild: isConcurrent,
    parameterDefinitionList: Object.entries(parameters).map(
      ([parameter, { description: help, choices, ...declared }]) => {
        const value = declared.default ?? choices?.[0] ?? ''
        return {
          name: parameter,
          description: help ?? '',
          type: choices === undefined ? 'StringParameterDefinition' : 'ChoiceParameterDefinition',
          defaultValue: value,
          defaultName: parameter,
          defaultParameterValue: { name: parameter, value },
          ...(choices !== undefined && { choices }),
        }
      },
    ),
  }
}

export function toBuildView(build: StoredBuild, host: string): ListedBuild {
  const {
    job,
    number = 0,
    state,
    result,
    reason,
    cause,
    startedMs,
    endedMs,
    description,
    tests,
    commit,
    parameters,
  } = build
  return {
    building: state === 'RUNNING',
    number,
    name: job,
    id: buildIdOf(build),
    fullDisplayName: `${job} #${number}`,
    timestamp: String(startedMs ?? 0),
    duration: endedMs === undefined ? 0 : Math.max(0, endedMs - (startedMs ?? endedMs)),
    builtOn: host,
    artifacts: toArtifactViews(build, host),
    parameters: maskParameters(parameters),
    ...definedOf({ result, reason, cause, description }),
    ...(tests !== undefined && { testResults: [{ ...tests, urlName: 'testReport' }] }),
    ...(commit !== undefined && {
      scm: [
        definedOf({
          name: 'git',
          branch: commit.branch,
          sha1: commit.sha1,
          committer: commit.committer,
          contact: commit.email && { email: commit.email },
          message: commit.message,
          timestamp: new Date(commit.timestampMs).toISOString(),
          remoteUrl: commit.remoteUrl,
        }),
      ],
    }),
  }
}

function buildIdOf({ job, number }: StoredBuild): string {
  return `${job}-${number}`
}

/** Images come first: they are what a pipeline deploys. */
export function toArtifactViews(build: StoredBuild, host: string): JsonObject[] {
  const { image, containerImages = [], files = [] } = build
  return [
    ...(image === undefined ? [] : [toImageView(image)]),
    ...containerImages.map((each) => toContainerImageView(each, build)),
    ...files.map(({ path, bytes }) => ({
      ...placeOf(basename(path), path),
      reference: path,
      name: build.job,
      version: String(build.number),
      location: host,
      type: `${standalone.provider}/build-file`,
      metadata: { bytes },
      decorated: false,
    })),
  ]
}

function toImageView(image: string): JsonObject {
  const { name, version } = parseImageId(image) ?? { name: image, version: '' }
  return {
    ...placeOf(image, image),
    reference: image,
    name,
    version,
    type: `${standalone.provider}/image`,
    metadata: {},
    decorated: true,
  }
}

/** The image of an app is deployed by its digest. */
function toContainerImageView(
  { name, tag, digest }: BuildReport['containerImages'][number],
  { job }: Pick<StoredBuild, 'job'>,
): JsonObject {
  const image = `${name}:${tag}`
  const isOfApp = digest !== undefined && job.startsWith(appBuildPrefix)
  const reference = isOfApp ? `${image}@${digest}` : image
  const metadata = definedOf({ digest })
  return {
    ...placeOf(image, image),
    reference,
    name,
    version: tag,
    type: 'docker/image',
    metadata,
    decorated: true,
  }
}

function placeOf(fileName: string, path: string): JsonObject {
  return { fileName, displayPath: path, relativePath: path }
}
