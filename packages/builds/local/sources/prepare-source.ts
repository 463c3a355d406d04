/** Prepares the build of an uploaded folder: its files for the runner, the steps that its app file and its languages ask for, and its image. */
import { join } from 'node:path'
import { isObject, type JsonObject, listOf, objectOf, textOf } from '@fairlead/base/json/values.ts'
import { parseYaml } from '@fairlead/base/json/yaml.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import type { StoredBuild } from '../build-store.ts'
import type { KnownJob } from '../job-catalog.ts'
import type { BuildStep, JobDefinition } from '../job-definition.ts'
import { type ImageDefaults, sourceFolder } from '../plan.ts'
import {
  type AppFolder,
  findPages,
  type LanguageBuild,
  planLanguage,
  planSite,
  step,
} from './languages.ts'
import type { SourceStore } from './source-store.ts'

export interface PreparedSource {
  readonly definition: JobDefinition
  /** What the file of the image says where the folder has none. */
  readonly imageFile: ImageDefaults
}

interface SourceBuild {
  readonly kind: 'auto' | 'dockerfile' | 'procfile' | 'static' | 'steps'
  readonly steps: readonly (string | readonly string[])[]
  readonly from: string
  readonly dockerfile: string | undefined
  readonly node: string | undefined
  readonly python: string | undefined
  readonly cache: readonly string[]
}

const appFile = '.fairlead/app.yml'
const maxReadBytes = 4 * 1024 * 1024

/** @param content Folder that the runner starts with @throws {PortError} for what a user can mend */
export async function prepareSource(
  { application, parameters }: StoredBuild,
  { definition }: KnownJob,
  { uploads, content }: { readonly uploads: SourceStore; readonly content: string },
): Promise<PreparedSource> {
  const { source = '' } = parameters
  const { files } = await uploads.manifest(application, source)
  await uploads.materialize(application, source, join(content, sourceFolder))
  const read = async (path: string) =>
    (await uploads.file(application, source, { path, maxBytes: maxReadBytes }))?.toString('utf8')
  const document = await readAppFile(read)
  const build = toBuild(document['build'])
  const folder = folderBelow(build.from, { paths: new Set(files.map(({ path }) => path)), read })
  const planned = await planBuild(folder, build)
  const inFolder = (each: BuildStep): BuildStep => ({ ...each, in: build.from })
  return {
    definition: {
      ...definition,
      steps: planned.steps.map(inFolder),
      cache: build.cache.map((path) => join(build.from, path)),
      publish: {
        image: application,
        version: '{version}',
        from: planned.imageFrom ?? build.from,
      },
    },
    imageFile: {
      command: planned.command ?? firstCommand(document),
      environment: planned.environment,
      programs: planned.programs,
    },
  }
}

async function readAppFile(
  read: (path: string) => Promise<string | undefined>,
): Promise<JsonObject> {
  const text = await read(appFile)
  if (text === undefined) return {}
  try {
    return objectOf(parseYaml(text, { maxAliasCount: 100 }))
  } catch (error) {
    throw new PortError(400, `${appFile} is no YAML: ${(error as Error).message}`)
  }
}

/** The instance has checked the file before. */
function toBuild(given: unknown): SourceBuild {
  const { steps, from, dockerfile, node, python, cache } = objectOf(given)
  const kind =
    typeof given === 'string'
      ? (given as SourceBuild['kind'])
      : steps !== undefined
        ? 'steps'
        : dockerfile !== undefined
          ? 'dockerfile'
          : 'auto'
  return {
    kind,
    steps: listOf(steps) as SourceBuild['steps'],
    from: textOf(from) ?? '.',
    dockerfile: textOf(dockerfile),
    node: node === undefined ? undefined : String(node),
    python: python === undefined ? undefined : String(python),
    cache: listOf(cache).map(String),
  }
}

function folderBelow(from: string, { paths, read }: AppFolder): AppFolder {
  if (from === '.') return { paths, read }
  const prefix = `${from.replace(/\/+$/, '')}/`
  const below = [...paths].filter((path) => path.startsWith(prefix))
  if (below.length === 0)
    throw new PortError(400, `The folder has no ${from}, which build.from of ${appFile} names.`)
  return {
    paths: new Set(below.map((path) => path.slice(prefix.length))),
    read: (path) => read(prefix + path),
  }
}

/** @throws {PortError} 400 */
async function planBuild(folder: AppFolder, build: SourceBuild): Promise<LanguageBuild> {
  const { paths } = folder
  const { kind } = build
  if (kind === 'steps')
    return {
      steps: build.steps.map((line) =>
        step(
          typeof line === 'string' ? line : line.join(' '),
          typeof line === 'string' ? ['sh', '-e', '-c', line] : line,
        ),
      ),
      command: undefined,
      programs: ['bin', 'node_modules/.bin', '.venv/bin'],
      environment: {},
    }
  const dockerfile = [build.dockerfile, 'Dockerfile', 'Containerfile'].find(
    (path) => path !== undefined && paths.has(path),
  )
  if (kind === 'dockerfile' && dockerfile === undefined)
    throw new PortError(
      400,
      `The folder has no ${build.dockerfile ?? 'Dockerfile'}, which build of ${appFile} asks for.`,
    )
  if (kind === 'dockerfile' || (kind === 'auto' && dockerfile !== undefined))
    return planContainer(dockerfile ?? 'Dockerfile')
  if (kind === 'static') return planSite(findPages(folder) ?? '.')
  const processes = await readProcfile(folder)
  const planned = await planLanguage(folder, build)
  if (planned !== undefined || processes !== undefined) {
    const nothing = { steps: [], command: undefined, programs: [], environment: {} }
    const { command, ...found } = planned ?? nothing
    return {
      ...found,
      command: processes?.get('web') ?? processes?.values().next().value ?? command,
    }
  }
  const pages = findPages(folder)
  if (pages !== undefined) return planSite(pages)
  throw new PortError(
    400,
    `Nothing in the folder says how it is built. Add a Dockerfile, or steps to ${appFile}, such as build: {steps: ["make"]}.`,
  )
}

function planContainer(file: string): LanguageBuild {
  return {
    steps: [
      step('Container tools', {
        kind: 'tool',
        programs: ['buildah'],
        title: 'buildah',
        versionArguments: ['--version'],
        advice: `It builds ${file}. Install it with "apt install buildah" on Debian, or let Fairlead build by language: build: procfile, or build.steps, in ${appFile}.`,
      }),
    ],
    command: undefined,
    programs: [],
    environment: {},
  }
}

/** Commands by their names; undefined: there is no such file. */
async function readProcfile({ read }: AppFolder): Promise<Map<string, string> | undefined> {
  const text = await read('Procfile')
  const lines = text?.matchAll(/^([\w-]+):[ \t]*(\S.*)$/gm)
  return lines && new Map([...lines].map(([, name = '', command = '']) => [name, command.trim()]))
}

/** Of the first service that has one. */
function firstCommand(document: JsonObject): string | undefined {
  for (const service of Object.values(objectOf(document['services']))) {
    const command = isObject(service) ? service['command'] : undefined
    if (typeof command === 'string') return command
    if (Array.isArray(command)) return command.map((word) => quote(String(word))).join(' ')
  }
  return undefined
}

function quote(word: string): string {
  return /^[\w./:=@-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}
