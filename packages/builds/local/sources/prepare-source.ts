/** Prepares the build of an uploaded folder: its files for the runner, the steps that its app file and its languages ask for, and its image. */

import { join, posix } from 'node:path'
import { shellWord } from '@fairlead/base/names/shell-word.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import type { AppFile, ServiceValues } from '@fairlead/model/app-file/app-file.ts'
import { ownDatabases } from '@fairlead/model/app-file/databases.ts'
import { detect } from '@fairlead/model/app-file/detect/detect.ts'
import { type AppFolder, DetectionError } from '@fairlead/model/app-file/detect/detected.ts'
import { toExecutable } from '@fairlead/model/app-file/detect/shell.ts'
import {
  type BuildHere,
  buildOf,
  environmentNamesOf,
  mergeEnvironment,
} from '@fairlead/model/app-file/merge-environment.ts'
import { appFilePath, formatProblem, readAppFile } from '@fairlead/model/app-file/read-app-file.ts'
import type { Command } from '@fairlead/model/app-file/values.ts'
import type { ContainerRuntime, Machine } from '@fairlead/ports/machine.ts'
import type { StoredBuild } from '../build-store.ts'
import type { KnownJob } from '../job-catalog.ts'
import type { BuildStep, JobDefinition } from '../job-definition.ts'
import { sourceFolder } from '../plan.ts'
import { containerfileName } from './containerfile.ts'
import type { ImageDefaults } from './image-defaults.ts'
import { type LanguageBuild, planDetected, step } from './languages.ts'
import { siteFolder } from './source-actions.ts'
import type { SourceStore } from './source-store.ts'

interface PreparedSource {
  readonly definition: JobDefinition
  /** What the file of the image says where the folder has none; undefined: the image is one for containers. */
  readonly imageFile: ImageDefaults | undefined
}

interface SourceParts {
  readonly uploads: SourceStore
  readonly machine: Pick<Machine, 'containerRuntimeOf'>
  /** Folder that the runner starts with. */
  readonly content: string
}

const maxReadBytes = 4 * 1024 * 1024

/** @throws {PortError} for what a user can mend */
export async function prepareSource(
  { application, account, parameters }: StoredBuild,
  { definition }: KnownJob,
  { uploads, machine, content }: SourceParts,
): Promise<PreparedSource> {
  const { source = '', repository = '', version = '' } = parameters
  const { files, links } = await uploads.manifest(application, source)
  await uploads.materialize(application, source, join(content, sourceFolder))
  const names = new Set(files.map(({ path }) => path))
  // A link to a file is one, such as Dockerfile to docker/web.Dockerfile.
  const linked = new Map(
    links
      .map(({ path, target }) => [path, posix.join(posix.dirname(path), target)] as const)
      .filter(([, end]) => names.has(end)),
  )
  const read = async (path: string) =>
    (
      await uploads.file(application, source, {
        path: linked.get(path) ?? path,
        maxBytes: maxReadBytes,
      })
    )?.toString('utf8')
  const file = await loadAppFile(read)
  const build = buildOf(file ?? {})
  const services = Object.values(file?.services ?? {})
  const folder = folderBelow(build.from, { paths: new Set([...names, ...linked.keys()]), read })
  const startIsKnown = services.length > 0 && services.every(({ command }) => command !== undefined)
  const planned = await planBuild(folder, { ...build, startIsKnown })
  const { containerFile } = planned
  const steps = planned.steps.map((each) => ({ ...each, in: build.from }))
  const cache = build.cache.map((path) => join(build.from, path))
  const from = planned.imageFrom ?? build.from
  const imageFile = {
    command: planned.command ?? firstCommand(services),
    environment: planned.environment,
    programs: planned.programs,
  }
  if (repository !== '') {
    const image = { name: repository, tag: version, from }
    return {
      definition: {
        ...definition,
        steps: [...steps, ...containerSteps(planned, imageFile, image)],
        cache,
      },
      imageFile: undefined,
    }
  }
  if (containerFile !== undefined) {
    const image = {
      ...{ name: `localhost/${application}:${version}`, context: from, folder: siteFolder },
      file: join(from, containerFile),
      network: file !== undefined && hasDatabases(file) ? ('host' as const) : undefined,
      ...runtimeOf(containerFile, () => machine.containerRuntimeOf(account)),
    }
    steps.push(step(`Image of ${containerFile}`, { kind: 'runtime-image', ...image }))
  }
  const publish = {
    image: application,
    version: '{version}',
    from: containerFile === undefined ? from : siteFolder,
  }
  return { definition: { ...definition, steps, cache, publish }, imageFile }
}

/** @throws {PortError} 400 */
function runtimeOf(file: string, find: () => ContainerRuntime): ContainerRuntime {
  try {
    return find()
  } catch (error) {
    if (!(error instanceof PortError)) throw error
    throw new PortError(400, `${file} is built and run by a container runtime. ${error.message}`)
  }
}

/** They listen on loopback, where a container with a network of its own does not find them. */
function hasDatabases(file: AppFile): boolean {
  return environmentNamesOf(file).some(
    (name) => ownDatabases(mergeEnvironment(file, name)).length > 0,
  )
}

/** A Dockerfile of the folder decides all of the image; otherwise it gets what was built. */
function containerSteps(
  { containerFile, systemPackages }: LanguageBuild,
  imageFile: ImageDefaults,
  { name, tag, from }: { readonly name: string; readonly tag: string; readonly from: string },
): BuildStep[] {
  const written = step('Containerfile', {
    kind: 'containerfile',
    folder: from,
    packages: systemPackages,
    ...imageFile,
  })
  const image: BuildStep = {
    ...step(`Image ${name}`, []),
    action: {
      kind: 'container-image',
      ...{ name, tag, context: from, push: true },
      file: join(from, containerFile ?? containerfileName),
    },
  }
  return containerFile === undefined ? [written, image] : [image]
}

async function loadAppFile(
  read: (path: string) => Promise<string | undefined>,
): Promise<AppFile | undefined> {
  const text = await read(appFilePath)
  if (text === undefined) return undefined
  const { file, problems = [] } = readAppFile(text)
  if (file !== undefined) return file
  throw new PortError(400, problems.map((problem) => formatProblem(problem)).join('\n'))
}

function folderBelow(from: string, { paths, read }: AppFolder): AppFolder {
  if (from === '.') return { paths, read }
  const prefix = `${from.replace(/(?<!\/)\/+$/, '')}/`
  const below = [...paths].filter((path) => path.startsWith(prefix))
  if (below.length === 0)
    throw new PortError(400, `The folder has no ${from}, which build.from of ${appFilePath} names.`)
  return {
    paths: new Set(below.map((path) => path.slice(prefix.length))),
    read: (path) => read(prefix + path),
  }
}

/** @throws {PortError} 400 */
async function planBuild(
  folder: AppFolder,
  build: BuildHere & { readonly startIsKnown: boolean },
): Promise<LanguageBuild> {
  try {
    const planned = planDetected(await detect(folder, build), folder)
    return build.kind === 'steps' ? { ...planned, steps: build.steps.map(ownStep) } : planned
  } catch (error) {
    if (!(error instanceof DetectionError)) throw error
    throw new PortError(400, `${error.message} ${error.remedy}`)
  }
}

function ownStep(line: Command): BuildStep {
  return typeof line === 'string'
    ? step(line, ['sh', '-e', '-c', line])
    : step(line.join(' '), line)
}

function firstCommand(services: readonly ServiceValues[]): string | undefined {
  const command = services.find((service) => service.command !== undefined)?.command
  return typeof command === 'string' ? toExecutable(command) : command?.map(shellWord).join(' ')
}
