/** Apps of Node, by package.json and the lock file beside it. */

import { posix } from 'node:path'
import { or, type ShapeOf, shape, textMap } from '@fairlead/base/json/shape.ts'
import { fieldAt, objectOf, parseObject, textOf } from '@fairlead/base/json/values.ts'
import { databasesOf } from './databases.ts'
import {
  type AppFolder,
  type BuildWishes,
  type DetectedApp,
  DetectionError,
  type NodeLanguage,
  type NodeManager,
  type VersionDemand,
} from './detected.ts'
import { notBuilt } from './others.ts'
import { pinnedVersion, withoutPatch } from './pinned-version.ts'
import { inShell } from './shell.ts'

export const lockFiles: Readonly<Record<NodeManager, string>> = {
  pnpm: 'pnpm-lock.yaml',
  yarn: 'yarn.lock',
  npm: 'package-lock.json',
}
/** Packages of tools that make pages, with the folder that they fill; the first one decides. */
const siteTools: Readonly<Record<string, string>> = {
  '@sveltejs/adapter-static': 'build',
  '@docusaurus/core': 'build',
  '@angular/cli': 'dist',
  gatsby: 'public',
  'react-scripts': 'build',
  '@vue/cli-service': 'dist',
  '@11ty/eleventy': '_site',
  vitepress: '.vitepress/dist',
  vuepress: '.vuepress/dist',
  astro: 'dist',
  vite: 'dist',
  parcel: 'dist',
  'webpack-dev-server': 'dist',
}
/** Packages with which a build makes a server, and what starts it. */
const builtServers: Readonly<Record<string, string>> = {
  nuxt: 'node .output/server/index.mjs',
  '@sveltejs/adapter-node': 'node build',
  '@astrojs/node': 'node dist/server/entry.mjs',
  next: 'next start',
}
/** Scripts "start" of templates, which begin a server for development. */
const developmentStart =
  /^(?:(?:react-scripts|craco|docusaurus) start|vite(?: dev| serve| preview)?(?=$| -)|(?:astro|nuxt|next)(?: dev| preview|$)|ng serve|gatsby (?:develop|serve)|(?:vitepress|vuepress) (?:dev|serve|preview)|webpack(?: serve|-dev-server)|vue-cli-service serve|parcel|\S*eleventy .*--serve)(?:\s|$)/
/** What a "start" runs that may be for development: another script says so. */
const watches = /\b(?:nest start|nodemon|ts-node(?:-dev)?|babel-node|tsx)\b/
/** Scripts that start what is built, beside a "start" for development. */
const productionScript = /^(?:start:prod(?:uction)?|serve:ssr(?::.*)?)$/
/** Scripts that build; the second is that of Heroku, which runs it instead. */
const buildScripts = ['heroku-postbuild', 'build'] as const
/** What else builds, where one of its packages is there, and the folder of its pages in the one that the script names. */
const docsScript = 'docs:build'
const docsTools = ['vitepress', 'vuepress']
const namesOf = (value: unknown) => Object.keys(objectOf(value))
const readPackage = shape({
  scripts: textMap,
  dependencies: namesOf,
  devDependencies: namesOf,
  optionalDependencies: namesOf,
  peerDependencies: namesOf,
  packageManager: or(textOf, ''),
  engines: shape({ node: textOf }),
  volta: shape({ node: textOf }),
  hasWorkspaces: [(value) => value !== undefined, 'workspaces'],
  main: textOf,
})
type Package = ShapeOf<typeof readPackage>
/** Make an installation do more than its lock file says. */
const installScripts = ['preinstall', 'install', 'postinstall', 'prepare']
/** Packages of programs with another name. */
const programs: Readonly<Record<string, string>> = {
  nest: '@nestjs/cli',
  'babel-node': '@babel/node',
}
/** Words of the title, by package. */
const frameworks: Readonly<Record<string, string>> = {
  next: 'Next.js',
  nuxt: 'Nuxt',
  '@remix-run/serve': 'Remix',
  '@sveltejs/kit': 'SvelteKit',
  '@nestjs/core': 'NestJS',
  '@angular/core': 'Angular',
  express: 'Express',
  fastify: 'Fastify',
  koa: 'Koa',
  hono: 'Hono',
  astro: 'Astro',
  gatsby: 'Gatsby',
  '@docusaurus/core': 'Docusaurus',
  vitepress: 'VitePress',
  vite: 'Vite',
  'react-scripts': 'Create React App',
}

export async function detectNode(
  folder: AppFolder,
  { node, startIsKnown = false }: BuildWishes,
): Promise<DetectedApp> {
  const text = (await folder.read('package.json')) ?? ''
  const manifest = parsePackage(text)
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
  const above = hasWorkspaces ? undefined : /"([^"]+)"\s*:\s*"workspace:/.exec(text)?.[1]
  if (above !== undefined)
    throw new DetectionError(
      `Its package ${above} is a workspace of a folder above.`,
      'Deploy the whole repository: begin with "fairlead init" at its root, without build.from, and name the programs in a Procfile there.',
    )
  const hasPackages = packages.length > 0 || hasWorkspaces
  const lockFile = folder.paths.has(lockFiles[manager]) ? lockFiles[manager] : undefined
  const version = await versionOf(folder, manifest, node)
  const { build, started, pages, command } = await findPrograms(folder, manifest, {
    packages,
    startIsKnown,
    hasWorkspaces,
  })
  const found = Object.keys(frameworks).find((name) => packages.includes(name))
  const run = scripts[started ?? 'start'] ?? ''
  if (command !== undefined && /^bunx? /.test(programOf(command)))
    throw notBuilt('Bun', `script "${started}"`, folder)
  return {
    language: {
      kind: 'node',
      manager,
      lockFile,
      isBerry: manager === 'yarn' && /^__metadata:/m.test((await folder.read('yarn.lock')) ?? ''),
      hasPackages,
      developmentPackages:
        manifest.devDependencies.length === 0
          ? 'none'
          : runsDevelopment(run, manifest)
            ? 'run'
            : 'build',
      installsMore: hasWorkspaces || installScripts.some((name) => name in scripts),
      build,
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

/** What builds, and what then runs: a server by its script or that of a framework, or none beside pages. */
async function findPrograms(
  folder: AppFolder,
  manifest: Package,
  {
    packages,
    startIsKnown,
    hasWorkspaces,
  }: {
    readonly packages: readonly string[]
    readonly startIsKnown: boolean
    readonly hasWorkspaces: boolean
  },
): Promise<{
  readonly build: NodeLanguage['build']
  readonly started: string | undefined
  readonly pages: string | undefined
  readonly command: string | undefined
}> {
  const { scripts } = manifest
  const isDocs = docsScript in scripts && docsTools.some((name) => packages.includes(name))
  const build = buildScripts.find((name) => name in scripts) ?? (isDocs ? docsScript : undefined)
  if (startIsKnown) return { build, started: undefined, pages: undefined, command: undefined }
  const started = findStart(scripts)
  const server =
    build === undefined || started !== undefined
      ? undefined
      : Object.entries(builtServers).find(([name]) => packages.includes(name))?.[1]
  const isExported = /\boutput:\s*['"]export['"]/.test(await readConfiguration(folder, ['next']))
  const pages =
    build === undefined || (!isExported && (started ?? server) !== undefined)
      ? undefined
      : isExported
        ? 'out'
        : await pagesOf(folder, packages, scripts[build] ?? '')
  if (pages !== undefined) return { build, started, pages, command: undefined }
  const command = server ?? (await commandOf(folder, manifest, { started, hasWorkspaces }))
  return { build, started, pages, command }
}

/** The script that starts what is built; undefined: there is none but one for development. */
function findStart(scripts: Package['scripts']): string | undefined {
  const built = Object.keys(scripts).find((name) => productionScript.test(name))
  let line = scripts['start']
  for (let step = 0; line !== undefined && step < 5; step++) {
    const next: string | undefined =
      scripts[/^(?:npm|pnpm|yarn)(?: run)? (\S+)$/.exec(line)?.[1] ?? '']
    if (next === undefined) break
    line = next
  }
  if (line === undefined || developmentStart.test(programOf(line))) return built
  return built !== undefined && watches.test(line) ? built : 'start'
}

/** Whether the line runs a program of a package that is for development only. */
function runsDevelopment(line: string, { dependencies, devDependencies }: Package): boolean {
  const names = line.split(/[\s;&|]+/).map((word) => programs[word] ?? word.split('/')[0] ?? '')
  return names.some((name) => devDependencies.includes(name) && !dependencies.includes(name))
}

/** @param text Of package.json */
export function startsBuilt(text: string): boolean {
  return findStart(parsePackage(text).scripts) !== undefined
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
  const pinned = manifest.volta.node
  return pinned === undefined
    ? pinnedVersion(folder, 'node')
    : { range: withoutPatch(pinned, 'node'), place: 'volta.node' }
}

async function pagesOf(
  folder: AppFolder,
  packages: readonly string[],
  script: string,
): Promise<string | undefined> {
  const tool = Object.keys(siteTools).find((name) => packages.includes(name))
  if (packages.includes('@sveltejs/kit') && tool !== '@sveltejs/adapter-static')
    throw new DetectionError(
      'The app uses SvelteKit, and no adapter that makes a server here is among its packages.',
      'Run "npm install --save-dev @sveltejs/adapter-node", and name it as the adapter in svelte.config.js.',
    )
  if (tool === undefined) return undefined
  if (tool === '@angular/cli')
    return angularPages(parseObject((await folder.read('angular.json')) ?? ''))
  if (docsTools.includes(tool)) {
    const root = /\b(?:vitepress|vuepress) build\s+([\w./-]+)/.exec(script)?.[1] ?? '.'
    return posix.join(root, siteTools[tool] ?? '')
  }
  const text = await readConfiguration(folder, ['vite', 'astro'])
  return /\boutDir:\s*['"](?:\.\/)?([^'"./][^'"]*)['"]/.exec(text)?.[1] ?? siteTools[tool]
}

/** A command without the variables before it. */
function programOf(command: string): string {
  const words = command.split(/\s+/)
  return words
    .slice(words.findIndex((word) => !/^(?:cross-env|env|npx|\w+=.*)$/.test(word)))
    .join(' ')
}

async function readConfiguration(
  { paths, read }: AppFolder,
  tools: readonly string[],
): Promise<string> {
  const path = [...paths].find((each) =>
    tools.includes(/^(\w+)\.config\.[cm]?[jt]s$/.exec(each)?.[1] ?? ''),
  )
  return (path === undefined ? undefined : await read(path)) ?? ''
}

function angularPages(workspace: unknown): string {
  const [[name, project] = ['', {}]] = Object.entries(objectOf(fieldAt(workspace, 'projects')))
  const build = fieldAt(project, 'architect', 'build')
  const path = fieldAt(build, 'options', 'outputPath')
  const base = textOf(path) ?? textOf(fieldAt(path, 'base')) ?? `dist/${name}`
  if (!textOf(fieldAt(build, 'builder'))?.endsWith(':application')) return base
  const browser = fieldAt(path, 'browser')
  return posix.join(base, typeof browser === 'string' ? browser : 'browser')
}

async function commandOf(
  folder: AppFolder,
  { scripts, main }: Package,
  { started, hasWorkspaces }: { started: string | undefined; hasWorkspaces: boolean },
): Promise<string> {
  if (started !== undefined) {
    // Without a manager in between, the program itself gets the signals.
    const isOne = !(`pre${started}` in scripts) && !(`post${started}` in scripts)
    return (isOne ? inShell(scripts[started] ?? '') : undefined) ?? `npm run ${started}`
  }
  const tried = [...new Set([...(main === undefined ? [] : [main]), 'server.js', 'index.js'])]
  const found = tried.map((path) => posix.normalize(path)).find((path) => folder.paths.has(path))
  if (found !== undefined) return `node ${found}`
  const { start } = scripts
  throw new DetectionError(
    start === undefined
      ? `Nothing says how the app is started: package.json has no script "start", and there is no ${tried.join(', no ')}.`
      : `The script "start" of package.json, "${start}", begins a server for development.`,
    hasWorkspaces
      ? `Name the programs of its workspaces in a Procfile, one in a line, such as ${await exampleLines(folder)}.`
      : `Add a script to package.json: "scripts": { "start${start === undefined ? '' : ':prod'}": "node server.js" }.`,
  )
}

/** Of workspaces with a script "start", where there are some. */
async function exampleLines({ paths, read }: AppFolder): Promise<string> {
  const found: string[] = []
  for (const path of paths) {
    const folder = /^((?:[^/]+\/){0,2}[^/]+)\/package\.json$/.exec(path)?.[1]
    if (folder === undefined || found.length === 2) continue
    const start = fieldAt(parseObject((await read(path)) ?? ''), 'scripts', 'start')
    if (start !== undefined)
      found.push(
        `"${found.length === 0 ? 'web' : posix.basename(folder)}: npm --prefix ${folder} start"`,
      )
  }
  return found.length === 0
    ? '"web: node web/server.js" and "api: node api/server.js"'
    : found.join(' and ')
}
