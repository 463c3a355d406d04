/** Few files for the console: modules that belong together become one chunk, because all who need one load them all. */
import { readFileSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import type { Metafile, Plugin } from 'esbuild'

export const entry = 'console/src/main.tsx'
/** The screen that most readers open first. */
const home = 'console/src/screens/home.tsx'
/** What so many screens need is worth one file. */
const manyScreens = 20
/** Editors of text are large, and few need them: they stay apart. */
const apart = /@codemirror|@lezer|node_modules\/yaml|style-mod|-text\.ts|code-editor/

type Outputs = Metafile['outputs']
/** Modules, and by which of the modules that are loaded on demand they are needed. */
interface Group {
  readonly modules: string[]
  readonly needs: Set<string>
}

/**
 * Each module that is loaded on demand imports the groups of which it needs a part. esbuild puts what the same entries reach into one
 * chunk, and `main.tsx` with all that it imports is reached by all.
 *
 * @param before A build without this plugin.
 */
export function mergeChunks({ outputs }: Metafile, root: string): Plugin {
  const groups = groupsOf(outputs)
  const entries = Object.values(outputs).flatMap(({ entryPoint }) =>
    entryPoint?.endsWith('.css') === false ? entryPoint : [],
  )
  const added = new Map(
    entries
      .filter((module) => module !== entry)
      .map((module) => {
        const joined = [...groups.values()]
          .filter(({ needs }) => needs.has(module))
          .flatMap(({ modules }) => modules)
        return [resolve(root, module), [entry, ...joined.sort()]] as const
      }),
  )
  return {
    name: 'merge-chunks',
    setup(build) {
      build.onLoad({ filter: /\.tsx?$/ }, ({ path }) => {
        const imports = added
          .get(path)
          ?.map((module) => `import ${JSON.stringify(resolve(root, module))}`)
        if (imports === undefined) return undefined
        return {
          contents: `${readFileSync(path, 'utf8')}\n${imports.join('\n')}\n`,
          loader: path.endsWith('x') ? 'tsx' : 'ts',
        }
      })
    },
  }
}

function groupsOf(outputs: Outputs): ReadonlyMap<string, Group> {
  const groups = new Map<string, Group>()
  for (const [chunk, by] of usersOf(outputs)) {
    const inputs = Object.keys(outputs[chunk]?.inputs ?? {})
    if (
      by.has(entry) ||
      outputs[chunk]?.entryPoint !== undefined ||
      inputs.some((input) => apart.test(input))
    )
      continue
    const name = groupOf(inputs, by)
    const group = groups.get(name) ?? { modules: [], needs: new Set() }
    group.modules.push(...inputs.filter((input) => input.startsWith('console/src/')))
    for (const module of by) group.needs.add(module)
    groups.set(name, group)
  }
  return groups
}

/** What the home page needs is apart from what many others need; the rest by its folder. */
function groupOf(inputs: readonly string[], by: ReadonlySet<string>): string {
  if (by.has(home)) return 'home'
  if (by.size >= manyScreens) return 'common'
  const folders = new Set([...inputs, ...by].map((input) => input.split('/')[2]))
  return ['editor', 'manifests'].find((folder) => folders.has(folder)) ?? 'screens'
}

/** For each chunk, the entries that import it at once. */
function usersOf(outputs: Outputs): ReadonlyMap<string, ReadonlySet<string>> {
  const users = new Map<string, Set<string>>()
  for (const [file, { entryPoint }] of Object.entries(outputs)) {
    if (entryPoint === undefined) continue
    for (const chunk of importsOf(outputs, file))
      users.set(chunk, (users.get(chunk) ?? new Set()).add(entryPoint))
  }
  return users
}

/** A file and all that it imports at once. */
function importsOf(outputs: Outputs, file: string): ReadonlySet<string> {
  const found = new Set([file])
  for (const one of found) {
    for (const { kind, path } of outputs[one]?.imports ?? [])
      if (kind === 'import-statement') found.add(path)
  }
  return found
}

function fileOf(outputs: Outputs, module: string): string {
  const found = Object.entries(outputs).find(([, { entryPoint }]) => entryPoint === module)
  if (found === undefined) throw new Error(`the console has no ${module}`)
  return found[0]
}

interface Names {
  readonly script: string
  readonly style: string
  readonly preload: string[]
  /** The script of the entry, which only imports the one that all share. */
  readonly stub: string
  /** What a browser loads for the home page: script, style, and the chunks of that screen. */
  readonly first: readonly string[]
}

export function namesOf({ outputs }: Metafile): Names {
  const stub = fileOf(outputs, entry)
  const style = outputs[stub]?.cssBundle
  const script = Object.keys(outputs).find(
    (file) => (outputs[file]?.inputs[entry]?.bytesInOutput ?? 0) > 0,
  )
  if (style === undefined || script === undefined)
    throw new Error('the console has no style or no script')
  const preload = [...importsOf(outputs, script)].filter((file) => file !== script)
  const first = new Set([script, style, ...preload, ...importsOf(outputs, fileOf(outputs, home))])
  const [toName, of] = [(file: string) => basename(file), stub === script ? '' : stub]
  return {
    script: toName(script),
    style: toName(style),
    preload: preload.map(toName),
    stub: toName(of),
    first: [...first].map(toName),
  }
}

/** Chunks that a browser loads for the views of the editor, and has not loaded before. */
export function editorChunks({ outputs }: Metafile, first: readonly string[]): string[] {
  const found = new Set([fileOf(outputs, 'console/src/editor/editor.tsx')])
  for (const file of found) {
    for (const { path } of outputs[file]?.imports ?? []) {
      const isScreen = outputs[path]?.entryPoint?.includes('/screens/') === true
      if (!first.includes(basename(path)) && !isScreen) found.add(path)
    }
  }
  return [...found].map((file) => basename(file))
}
