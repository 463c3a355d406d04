/** Apps of Go, by go.mod. */
import { databasesOf } from './databases.ts'
import { type AppFolder, type BuildWishes, type DetectedApp, DetectionError } from './detected.ts'

export async function detectGo(folder: AppFolder, wishes: BuildWishes): Promise<DetectedApp> {
  const manifest = (await folder.read('go.mod')) ?? ''
  const target = await findTarget(folder, wishes)
  const module = /^module\s+(\S+)/m.exec(manifest)?.[1] ?? 'app'
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

async function findTarget(
  { paths, read }: AppFolder,
  { command: chosen, startIsKnown = false }: BuildWishes,
): Promise<string> {
  if (chosen !== undefined) return `./${chosen.replace(/^\.\//, '')}`
  const hasMain = async (path: string) => /^package main\b/m.test((await read(path)) ?? '')
  const sources = [...paths].filter((path) => path.endsWith('.go') && !path.endsWith('_test.go'))
  for (const path of sources.filter((each) => !each.includes('/')))
    if (await hasMain(path)) return '.'
  const commands = new Set<string>()
  for (const path of sources) {
    const command = /^(cmd\/[^/]+)\/[^/]+$/.exec(path)?.[1]
    if (command !== undefined && !commands.has(command) && (await hasMain(path)))
      commands.add(command)
  }
  const [only, ...others] = [...commands].sort()
  if (only !== undefined && others.length === 0) return `./${only}`
  if (only === undefined)
    throw new DetectionError(
      'go.mod is there, and neither the folder nor a folder of cmd/ has a package main.',
      'Give build.steps and a command in .fairlead/app.yml, or add a Dockerfile.',
    )
  if (startIsKnown) return allCommands
  const names = [only, ...others]
  throw new DetectionError(
    `The folder has several programs: ${names.join(', ')}.`,
    `Name one in .fairlead/app.yml: build: { steps: ["go build -o bin/app ./${only}"] }, and services: { web: { command: ./bin/app } }.`,
    names,
  )
}
