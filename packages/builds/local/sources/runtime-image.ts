/** Builds an image of a Dockerfile with podman or docker, which run it on this machine. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { resolveWithin } from '@fairlead/base/outside/builder-process.ts'
import type { ContainerRuntime } from '@fairlead/ports/machine.ts'
import type { RunnerLog } from '../runner-log.ts'

/** Makes an image of this machine of a Dockerfile: its archive, and the file that names it. */
export interface RuntimeImageAction extends ContainerRuntime {
  readonly kind: 'runtime-image'
  /** Such as `localhost/shop:7-4f7c2d1`. */
  readonly name: string
  /** The Dockerfile, below the whole folder, as are the others. */
  readonly file: string
  readonly context: string
  /** Folder of the image. */
  readonly folder: string
  /** Set where its program finds others on loopback. */
  readonly network: 'host' | undefined
}

interface RuntimeImageOptions {
  /** The whole folder. */
  readonly root: string
  readonly env: Readonly<Record<string, string>>
  readonly log: RunnerLog
}

const archiveFile = 'image.tar'

/** Layers of earlier builds are used again. @throws {BuilderError} */
export async function buildRuntimeImage(
  { runtime, environment, name, file, context, folder, network }: RuntimeImageAction,
  { root, env, log }: RuntimeImageOptions,
): Promise<void> {
  const cwd = resolveWithin(root, context)
  const image = join(root, folder)
  const idFile = join(dirname(root), 'tmp', 'image-id')
  const isDocker = basename(runtime) === 'docker'
  // Both find their storage by a home that is not the build's; the archive of another format has another id.
  const others = Object.entries(env).filter(([key]) => !ofBuild.test(key))
  const own = { ...Object.fromEntries(others), ...environment, BUILDAH_FORMAT: 'docker' }
  const given = isDocker
    ? Object.keys(env).flatMap((key) => (/_PROXY$/i.test(key) ? ['--build-arg', key] : []))
    : authorityArguments(env)
  const options = ['--network', 'host', '--iidfile', idFile, '--file', resolveWithin(root, file)]
  await log.run([runtime, 'build', ...options, ...given, cwd], { cwd, env: own })
  const id = readFileSync(idFile, 'utf8').trim()
  rmSync(image, { recursive: true, force: true })
  mkdirSync(image)
  await log.run([runtime, 'save', '--output', join(image, archiveFile), id], { cwd, env: own })
  const container = { image: name, archive: { file: archiveFile, id }, network }
  writeFileSync(join(image, 'fairlead-image.yml'), JSON.stringify({ container }))
}

const ofBuild = /^(?:HOME|TMPDIR|XDG_\w+|FAIRLEAD_PROCESS)$/

/** Where a Dockerfile finds them. */
const authorityFolder = '/run/fairlead'

/** Steps of the Dockerfile find the authorities of the account by the variables that it declares, and the image keeps none. */
export function authorityArguments(env: Readonly<Record<string, string>>): string[] {
  const { NODE_EXTRA_CA_CERTS: file } = env
  if (file === undefined || !existsSync(file)) return []
  const names = Object.keys(env).filter((name) => env[name] === file)
  const place = join(authorityFolder, basename(file))
  return [
    '--volume',
    `${dirname(file)}:${authorityFolder}:ro`,
    ...names.flatMap((name) => ['--build-arg', `${name}=${place}`]),
  ]
}
