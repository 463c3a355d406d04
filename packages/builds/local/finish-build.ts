/** Takes over what a runner leaves: its report, its archived files, and its image. */

import { definedOf } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { readAsOwner } from '@fairlead/base/storage/directory-trees.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import type { BuilderState, Machine, MachineImage } from '@fairlead/ports/machine.ts'
import type { BuildFiles } from './build-files.ts'
import { BuildReport } from './build-report.ts'
import type { BuildResult, LocalBuild, StoredBuild } from './build-store.ts'
import { imageFolder, reportFile } from './plan.ts'
import type { LocalBuildSettings } from './settings.ts'

export interface FinishParts {
  readonly context: BackendContext
  readonly settings: LocalBuildSettings
  readonly files: BuildFiles
  readonly machine: Machine
}

export interface BuildOutcome
  extends Pick<
    LocalBuild,
    'result' | 'reason' | 'cause' | 'tests' | 'files' | 'containerImages' | 'image'
  > {
  readonly result: BuildResult
}

const maxReportBytes = 256 * 1024
const finalCodes = /^(?:ENOENT|ENOTDIR|EACCES|EPERM|TAR_\w+)$/

/** @param state Of a runner that has ended */
export async function finishBuild(
  build: StoredBuild,
  state: BuilderState,
  parts: FinishParts,
): Promise<BuildOutcome> {
  const report = await readReport(state.folder)
  const faults: string[] = []
  const { tests, containerImages } = report ?? {}
  if (state.exitCode !== 0) faults.push(report?.failure ?? describeEnd(state.reason))
  const files = await attempt(faults, () => keepFiles(build, state, parts))
  if (faults.length > 0)
    return { result: 'FAILURE', reason: faults[0], tests, files, containerImages }
  const image = await attempt(faults, () => keepImage(build, state, parts))
  const reason =
    faults[0] ??
    (tests !== undefined && tests.failCount > 0 ? `${tests.failCount} tests failed.` : undefined)
  const result = faults.length > 0 ? 'FAILURE' : reason === undefined ? 'SUCCESS' : 'UNSTABLE'
  return { result, reason, tests, files, containerImages, image: image?.id }
}

/** What the build has done wrong fails it; anything else is tried again. */
async function attempt<T>(faults: string[], work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof PortError) || error.status >= 500) throw error
    faults.push(error.message)
    return undefined
  }
}

/** Undefined when there is none, as after the end by a limit. */
async function readReport(folder: string): Promise<BuildReport | undefined> {
  try {
    const text = await readAsOwner(folder, reportFile, maxReportBytes)
    return text === undefined ? undefined : BuildReport.parse(JSON.parse(text))
  } catch {
    return undefined
  }
}

async function keepFiles(
  { id }: StoredBuild,
  { folder, exitCode }: BuilderState,
  { files, settings, context }: FinishParts,
) {
  try {
    return await files.keepFiles(id, folder, settings)
  } catch (error) {
    if (error instanceof PortError) throw error
    if (exitCode === 0)
      throw isFinal(error) ? new PortError(400, describeFault(error as Error)) : error
    // A build that was ended early has no such folder.
    context.log.info(
      { build: id, problem: (error as Error).message },
      'a build has archived no files',
    )
    return undefined
  }
}

/** Whether another attempt would end in the same way: `tar` has failed, or what it reads is not there. */
function isFinal(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return typeof code !== 'string' || finalCodes.test(code)
}

function describeFault({ message }: Error): string {
  return `The archived files cannot be read: ${message.trim()}. Leave them readable to the user of the build, and end what changes them.`
}

async function keepImage(
  build: StoredBuild,
  { folder: work }: BuilderState,
  { machine, context, settings }: FinishParts,
): Promise<MachineImage | undefined> {
  const { id, imageName, account, imageAccounts = [account], job, number, commit, user } = build
  if (imageName === undefined) return undefined
  // The build could not be recorded as complete before, since Fairlead ended or its disk was full.
  const stored = machine.images.all().find(({ origin }) => origin['build'] === id)
  if (stored !== undefined) return stored
  context.log.debug({ build: id }, 'the image of a build is stored')
  const description = {
    ...imageName,
    labels: definedOf({
      commit: commit?.sha1 ?? (build.parameters['commit'] || undefined),
      branch: commit?.branch,
      job,
      buildNumber: String(number),
      host: settings.name,
    }) as Record<string, string>,
    tags: {},
    accounts: imageAccounts,
    origin: {
      kind: 'build',
      build: id,
      job,
      number,
      user,
      ...definedOf({ git: commit?.remoteUrl, revision: commit?.sha1 }),
    },
  }
  return machine.adoptFolder({ work, name: imageFolder, what: 'build' }, description)
}

/** The agent knows limits, and not the settings that they come from. */
function describeEnd(reason: string | undefined): string {
  if (reason?.startsWith('Its working directory exceeded its limit') === true) {
    return `${reason} Let the build write less, or raise builds.local.disk-mb.`
  }
  return reason ?? 'The build ended without a report.'
}
