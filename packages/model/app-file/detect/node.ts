/** Apps of Node, by package.json and the lock file beside it. */

import { posix } from 'node:path'
import { or, type ShapeOf, shape } from '@fairlead/base/json/shape.ts'
import { objectOf, parseObject, textOf } from '@fairlead/base/json/values.ts'
import { databasesOf } from './databases.ts'
import {
  type AppFolder,
  type BuildWishes,
  type DetectedApp,
  DetectionError,
  type NodeManager,
  type VersionDemand,
} from './detected.ts'
import { inShell } from './shell.ts'

export const lockFiles: Readonly<Record<NodeManager, string>> = {
  pnpm: 'pnpm-lock.yaml',
  yarn: 'yarn.lock',
  npm: 'package-lock.json',
}
/** Tools that make pages, with the folder that they fill. */
const siteTools: Readonly<Record<string, string>> = {
  vite: 'dist',
  astro: 'dist',
  'react-scripts': 'build',
}
/** Scripts "start" of templates, which begin a server for development. */
const developmentStart = /^(?:react-scripts start|vite(?: dev| serve)?|astro dev)(?: --|$)/
const namesOf = (value: unknown) => Object.keys(objectOf(value))
const readPackage = shape({
  scripts: objectOf,
  dependencies: namesOf,
  devDependencies: namesOf,
  optionalDependencies: namesOf,
  peerDependencies: namesOf,
  packageManager: or(textOf, ''),
  engines: shape({ node: textOf }),
  hasWorkspaces: [(value) => value !== undefined, 'workspaces'],
  main: textOf,
})
type Package = ShapeOf<typeof readPackage>
/** Make an installation do more than its lock file says. */
const installScripts = ['preinstall', 'install', 'postinstall', 'prepare']
/** Words of the title, by package. */
const frameworks: Readonly<Record<string, string>> = {
  next: 'Next.js',
  nuxt: 'Nuxt',
  '@remix-run/serve': 'Remix',
  '@sveltejs/kit': 'SvelteKit',
  '@nestjs/core': 'NestJS',
  express: 'Express',
  fastify: 'Fastify',
  koa: 'Koa',
  hono: 'Hono',
  astro: 'Astro',
  vite: 'Vite',
  'react-scripts': 'Create React App',
}

export async function detectNode(
  folder: AppFolder,
  { node, startIsKnown = false }: BuildWishes,
): Promise<DetectedApp> {
  const manifest = parsePackage((await folder.read('package.json')) ?? '')
  const { scripts } = manifest
  const packages = [
    ...manifest.dependencies,
    ...manifest.devDependencies,
    ...manifest.optionalDependencies,
    ...manifest.peerDependencies,
  ]
  const manager = findManager(folder, manifest)
  const pnpmSettings = (await folder.read('pnpm-workspace.yaml')) ?? ''
  const hasWorkspaces = manifest.hasWorkspaces || /^packages:/m.test(pnpmSettings)
  const hasPackages = packages.length > 0 || hasWorkspaces
  const lockFile = folder.paths.has(lockFiles[manager]) ? lockFiles[manager] : undefined
  const version = await versionOf(folder, manifest, node)
  const serves = 'start' in scripts && !developmentStart.test(textOf(scripts['start']) ?? '')
  const pages =
    'build' in scripts && !serves && !startIsKnown ? await pagesOf(folder, packages) : undefined
  const found = Object.keys(frameworks).find((name) => packages.includes(name))
  const isStarted = pages === undefined && !startIsKnown
  const command = isStarted ? commandOf(folder, manifest, manager) : undefined
  return {
    language: {
      kind: 'node',
      manager,
      lockFile,
      isBerry: manager === 'yarn' && /^__metadata:/m.test((await folder.read('yarn.lock')) ?? ''),
      hasPackages,
      hasDevelopmentPackages: manifest.devDependencies.length > 0,
      installsMore: hasWorkspaces || installScripts.some((name) => name in scripts),
      hasBuild: 'build' in scripts,
      version,
      pages,
    },
    title: `Node${found === undefined ? '' : ` (${frameworks[found]})`}${hasPackages ? ` with ${manager}` : ''}`,
    because: ['package.json', ...(lockFile === undefined ? [] : [lockFile])],
    services: [{ name: 'web', command, isWeb: true }],
    release: undefined,
    port: undefined,
    health: pages === undefined ? undefined : '/',
    databases: databasesOf(packages),
  }
}

function parsePackage(text: string): Package {
  const manifest = parseObject(text)
  if (manifest !== undefined) return readPackage(manifest)
  throw new DetectionError('package.json is not a JSON object.', 'Correct package.json.')
}

function findManager({ paths }: AppFolder, manifest: Package): NodeManager {
  const declared = /^([a-z]+)@/.exec(manifest.packageManager)?.[1]
  if (declared !== undefined) {
    if (Object.hasOwn(lockFiles, declared)) return declared as NodeManager
    throw new DetectionError(
      `package.json asks for the package manager ${declared}, which is not supported.`,
      'Use npm, pnpm or yarn, or add a Dockerfile.',
    )
  }
  const locks = (Object.keys(lockFiles) as NodeManager[]).filter((name) =>
    paths.has(lockFiles[name]),
  )
  const [only, ...others] = locks
  if (others.length === 0) return only ?? 'npm'
  throw new DetectionError(
    `The folder has ${locks.map((name) => lockFiles[name]).join(' and ')}: two package managers.`,
    'Remove all but one, or name the manager by "packageManager" in package.json.',
  )
}

async function versionOf(
  folder: AppFolder,
  manifest: Package,
  wished: string | undefined,
): Promise<VersionDemand | undefined> {
  if (wished !== undefined) return { range: wished, place: 'build.node' }
  const engine = manifest.engines.node
  if (engine !== undefined) return { range: engine, place: 'engines.node' }
  for (const place of ['.nvmrc', '.node-version']) {
    const range = (await folder.read(place))?.trim()
    if (range !== undefined && /\d/.test(range)) return { range, place }
  }
  return undefined
}

async function pagesOf(
  folder: AppFolder,
  packages: readonly string[],
): Promise<string | undefined> {
  const tool = Object.keys(siteTools).find((name) => packages.includes(name))
  if (tool === undefined) return undefined
  const configuration = [...folder.paths].find((path) =>
    /^(?:vite|astro)\.config\.[cm]?[jt]s$/.test(path),
  )
  const text = configuration === undefined ? undefined : await folder.read(configuration)
  return /\boutDir:\s*['"](?:\.\/)?([^'"./][^'"]*)['"]/.exec(text ?? '')?.[1] ?? siteTools[tool]
}

function commandOf({ paths }: AppFolder, manifest: Package, manager: NodeManager): string {
  const { scripts, main } = manifest
  const start = textOf(scripts['start'])
  if (start !== undefined) {
    // Without a manager in between, the program itself gets the signals.
    const isOne = !('prestart' in scripts) && !('poststart' in scripts)
    return (isOne ? inShell(start) : undefined) ?? `${manager} run start`
  }
  const tried = [...new Set([...(main === undefined ? [] : [main]), 'server.js', 'index.js'])]
  const found = tried.map((path) => posix.normalize(path)).find((path) => paths.has(path))
  if (found !== undefined) return `node ${found}`
  throw new DetectionError(
    `Nothing says how the app is started: package.json has no script "start", and there is no ${tried.join(', no ')}.`,
    !manifest.hasWorkspaces
      ? 'Add a script to package.json: "scripts": { "start": "node server.js" }.'
      : 'Name the programs of its workspaces in a Procfile, one in a line, such as "web: node web/server.js" and "api: node api/server.js".',
  )
}
