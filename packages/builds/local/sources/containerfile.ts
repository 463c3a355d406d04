/** The file that makes an image for containers of a folder that is built by its language. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { BuilderError } from '@fairlead/base/outside/builder-process.ts'
import type { ImageDefaults } from './image-defaults.ts'

export interface ContainerfileAction extends ImageDefaults {
  readonly kind: 'containerfile'
  /** Folder of the image, which the file is written to. */
  readonly folder: string
  /** Packages of the system; undefined: it begins with Node. */
  readonly packages: readonly string[] | undefined
}

/** Below the folder of the image. */
export const containerfileName = '.fairlead/Containerfile'
const place = '/app'
/** Any one but root. */
const user = 10001
const registry = 'docker.io/library'

/** @param nodeVersion Of the build; undefined: there is none @throws {BuilderError} where nothing says which program runs */
export function writeContainerfile(
  folder: string,
  { command, environment, programs, packages }: ContainerfileAction,
  nodeVersion: string | undefined,
): void {
  if (command === undefined)
    throw new BuilderError(
      'Nothing says which program runs. Give a command in .fairlead/app.yml, such as services: {web: {command: node server.js}}.',
    )
  const found = programs.filter((name) => existsSync(join(folder, name)))
  const path = found.map((name) => `${place}/${name}:`).join('')
  const variables = { ...environment, PATH: `${path}$PATH` }
  const lines = [
    `FROM ${registry}/${packages === undefined ? nodeImage(nodeVersion) : systemImage()}`,
    ...(packages === undefined || packages.length === 0
      ? []
      : [
          `RUN apt-get update && apt-get install --yes --no-install-recommends ${packages.join(' ')} && rm -rf /var/lib/apt/lists/*`,
        ]),
    `WORKDIR ${place}`,
    `RUN chown ${user}:${user} ${place}`,
    `COPY --chown=${user}:${user} . .`,
    ...Object.entries(variables).map(([name, value]) => `ENV ${name}=${quoted(value)}`),
    `USER ${user}`,
    `CMD ${JSON.stringify(['sh', '-c', `exec ${command}`])}`,
  ]
  const file = join(folder, containerfileName)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, `${lines.join('\n')}\n`)
}

function quoted(value: string): string {
  return `"${value.replaceAll(/["\\]/g, '\\$&')}"`
}

function nodeImage(version = ''): string {
  return `node:${version.split('.')[0]}-slim`
}

/** What is built here runs with the libraries of the same system. */
function systemImage(): string {
  const lines = readFileSync('/etc/os-release', 'utf8').replaceAll('"', '').split('\n')
  const [id, version] = ['ID=', 'VERSION_ID='].map((key) =>
    lines.find((line) => line.startsWith(key))?.slice(key.length),
  )
  if (id === 'debian') return `debian:${version}-slim`
  if (id === 'ubuntu') return `ubuntu:${version}`
  throw new BuilderError(
    `There is no image for containers with the system of this machine (${id}). Add a Dockerfile to the folder.`,
  )
}
