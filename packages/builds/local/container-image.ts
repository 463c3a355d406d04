/** A step that builds a container image with buildah, and pushes it. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { BuilderError, resolveWithin } from '@fairlead/base/outside/builder-process.ts'
import { findOnPath } from '@fairlead/base/runtime/find-program.ts'
import type { BuildReport } from './build-report.ts'
import type { BuildStep } from './job-definition.ts'
import type { RunnerLog } from './runner-log.ts'
import { authorityArguments } from './sources/runtime-image.ts'

type ContainerImageAction = Extract<BuildStep['action'], { kind: 'container-image' }>
export type BuiltContainerImage = BuildReport['containerImages'][number]

interface ContainerImageOptions {
  readonly work: string
  /** The checkout. */
  readonly source: string
  readonly env: Readonly<Record<string, string>>
  readonly log: RunnerLog
}

/** @throws {BuilderError} also where buildah is not installed */
export async function buildContainerImage(
  { name, tag, file, context, push }: ContainerImageAction,
  { work, source, env, log }: ContainerImageOptions,
): Promise<BuiltContainerImage> {
  checkInstalled(env['PATH'] ?? '')
  const folder = resolveWithin(source, context)
  const reference = `${name}:${tag}`
  // Without a daemon, and without rights that the user of an account does not have.
  const storage = { STORAGE_DRIVER: 'vfs', BUILDAH_ISOLATION: 'chroot', ...env }
  const fileArguments = file === undefined ? [] : ['--file', resolveWithin(source, file)]
  await log.run(
    ['buildah', 'build', '--tag', reference, ...authorityArguments(env), ...fileArguments, folder],
    {
      cwd: folder,
      env: storage,
    },
  )
  if (!push) return { name, tag }
  const digestFile = join(work, 'tmp', 'image-digest')
  await log.run(
    ['buildah', 'push', '--digestfile', digestFile, reference, `docker://${reference}`],
    {
      cwd: folder,
      env: storage,
    },
  )
  return { name, tag, digest: readFileSync(digestFile, 'utf8').trim() }
}

/** @throws {BuilderError} */
function checkInstalled(path: string): void {
  if (findOnPath('buildah', path) !== undefined) return
  throw new BuilderError(
    'A container image needs buildah, which is not installed on this machine. Install it, with "apt install buildah" on Debian, ' +
      'or publish an image for the programs of this machine: see "publish" of the job.',
  )
}
