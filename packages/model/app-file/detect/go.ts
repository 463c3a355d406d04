/** Apps of Go, by go.mod. */
import { databasesOf } from './databases.ts'
import { type AppFolder, type BuildWishes, type DetectedApp, DetectionError } from './detected.ts'

export async function detectGo(folder: AppFolder, wishes: BuildWishes): Promise<DetectedApp> {
  const manifest = (await folder.read('go.mod')) ?? ''
  const target = await findTarget(folder, wishes)
  const module = /^module\s+"?([^\s"]+)/m.exec(manifest)?.[1] ?? 'app'
  const path = target === '.' ? module.replace(/\/v\d+$/, '') : target
  const binary = target === allCommands ? 'bin/' : `bin/${path.slice(path.lastIndexOf('/') + 1)}`
  const version = /^go\s+(\d+\.\d+(?:\.\d+)?)/m.exec(manifest)?.[1]
  const modules = manifest.split('\n').flatMap((line) => {
    const [name = '', version = ''] = line
      .trim()
      .replace(/^require\s/, '')
      .trim()
      .split(/\s+/)
    const isModule = name.includes('.') && name.includes('/') && /^v\d/.test(version)
    return isModule ? [name.replace(/\/v\d+$/, '')] : []
  })
  return {
    language: {
      kind: 'go',
      target,
      binary,
      version: version === undefined ? undefined : { range: `>=${version}`, place: 'go.mod' },
    },
    title: 'Go',
    because: ['go.mod', ...(target === '.' ? [] : [target.slice(2)])],
    services: [
      { name: 'web', command: target === allCommands ? undefined : `./${binary}`, isWeb: true },
    ],
    release: undefined,
    port: undefined,
    health: undefined,
    databases: databasesOf(modules),
  }
}

/** All programs of a folder, where it is known elsewhere which of them run. */
const allCommands = './cmd/...'

/** Folders of programs that are no apps. */
const aside = /(?:^|\/)(?:tools?|hack|scripts|examples?|tests?|testdata|vendor)\//

async function findTarget(
  { paths, read }: AppFolder,
  { command: chosen, startIsKnown = false }: BuildWishes,
): Promise<string> {
  if (chosen !== undefined) return `./${chosen.replace(/^\.\//, '')}`
  const folders = new Set<string>()
  for (const path of paths) {
    const folder = /^((?:[^/]+\/)*)[^/]+(?<!_test)\.go$/.exec(path)?.[1]
    if (folder === undefined || folders.has(folder) || aside.test(folder)) continue
    const text = (await read(path)) ?? ''
    if (/^package main\b/m.test(text) && !/^\/\/(?:go:build| \+build) ignore\b/m.test(text))
      folders.add(folder)
  }
  if (folders.has('')) return '.'
  const inCommands = [...folders].filter((folder) => folder.startsWith('cmd/'))
  const commands = (inCommands.length > 0 ? inCommands : [...folders]).map((folder) =>
    folder.slice(0, -1),
  )
  const [only, ...others] = commands.sort()
  if (only !== undefined && others.length === 0) return `./${only}`
  if (only === undefined)
    throw new DetectionError(
      'go.mod is there, and no folder has a package main.',
      'Give build.steps and a command in .fairlead/app.yml, or add a Dockerfile.',
    )
  if (startIsKnown && inCommands.length > 0) return allCommands
  const names = [only, ...others]
  throw new DetectionError(
    `The folder has several programs: ${names.join(', ')}.`,
    `Name one in .fairlead/app.yml: build: { steps: ["go build -o bin/app ./${only}"] }, and services: { web: { command: ./bin/app } }.`,
    names,
  )
}
