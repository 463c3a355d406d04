/** Names of the packages that an app of Python asks for. */

import { posix } from 'node:path'
import { or, shape, withAll } from '@fairlead/base/json/shape.ts'
import { isObject, listOf, textOf, textsOf } from '@fairlead/base/json/values.ts'
import { parse } from 'smol-toml'
import { type AppFolder, DetectionError } from './detected.ts'

const maxFiles = 20

/** Includes the files of `-r`. */
export async function readRequirements(
  folder: AppFolder,
  path: string,
  seen: Set<string> = new Set(),
): Promise<string[]> {
  if (seen.has(path) || seen.size >= maxFiles) return []
  seen.add(path)
  const names: string[] = []
  for (const line of ((await folder.read(path)) ?? '').replaceAll(/\\\r?\n/g, ' ').split(/\r?\n/)) {
    const comment = line.search(/(?:^|\s)#/)
    const text = (comment < 0 ? line : line.slice(0, comment)).trim()
    const included = /^(?:-r|--requirement)[\s=]*(\S+)/.exec(text)?.[1]
    if (included !== undefined)
      names.push(
        ...(await readRequirements(folder, posix.join(posix.dirname(path), included), seen)),
      )
    else names.push(...packageOf(text))
  }
  return names
}

export interface PythonProject {
  readonly packages: readonly string[]
  /** Requirements installed one by one; undefined: the project itself is installed. */
  readonly requirements: readonly string[] | undefined
  /** Packages that only Poetry installs. */
  readonly needsPoetry: boolean
  readonly python: string | undefined
}

export async function readProject(folder: AppFolder): Promise<PythonProject | undefined> {
  const text = await folder.read('pyproject.toml')
  if (text === undefined) return undefined
  const { project, tool, isBuilt } = readToml(parseToml(text, 'pyproject.toml'))
  const { name, packages, dependencies } = tool.poetry
  const { all, python } = dependencies
  const module = name.replaceAll(/[-.]+/g, '_')
  const isPackage =
    packages.length > 0 ||
    [...folder.paths].some((path) => /^(?:src\/)?([^/]+?)(?:\/|\.py$)/.exec(path)?.[1] === module)
  return {
    packages: [...project.dependencies.flatMap(packageOf), ...Object.keys(all).map(normalize)],
    requirements: isBuilt ? undefined : project.dependencies,
    needsPoetry: !(isBuilt && isPackage) && Object.keys(all).some((each) => each !== 'python'),
    python: project.python ?? python,
  }
}

const readToml = shape({
  project: shape({ dependencies: textsOf, python: [textOf, 'requires-python'] }),
  tool: shape({
    poetry: shape({
      name: or(textOf, ''),
      packages: listOf,
      dependencies: withAll(shape({ python: textOf })),
    }),
  }),
  isBuilt: [isObject, 'build-system'],
})

export function parseToml(text: string, file: string): Record<string, unknown> {
  try {
    return parse(text)
  } catch (error) {
    const [first] = (error as Error).message.split('\n')
    throw new DetectionError(`${file} is not TOML: ${first}`, `Correct ${file}.`)
  }
}

/** The name in `Flask[async]>=3; python_version > "3.8"`, `flask @ https://…` and `git+https://…#egg=flask`; of `fastapi[standard]` and `quart` their server, too. */
function packageOf(text: string): string[] {
  const egg = /#egg=([\w.-]+)/.exec(text)?.[1]
  if (egg !== undefined) return [normalize(egg)]
  const [, name, extras = ''] = /^([A-Za-z0-9][\w.-]*)\s*(\[[^\]]*\])?/.exec(text) ?? []
  if (name === undefined) return []
  const found = normalize(name)
  const hasServer = /standard|all/.test(extras) && ['fastapi', 'litestar'].includes(found)
  return [found, ...(hasServer ? ['uvicorn'] : found === 'quart' ? ['hypercorn'] : [])]
}

/** @see https://packaging.python.org/en/latest/specifications/name-normalization/ */
function normalize(name: string): string {
  return name.toLowerCase().replaceAll(/[-_.]+/g, '-')
}
