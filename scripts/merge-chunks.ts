/**
 * Merges the shared files of a bundle that are loaded together. esbuild splits by every lazy import, and a start would read hundreds of files,
 * each at the cost of a millisecond in Node's module loader: a quarter of the processor time until `serve` listens.
 */
import { basename, dirname, join, relative, resolve } from 'node:path'
import { type BuildResult, build, type Metafile, type Plugin } from 'esbuild'

/** Entry points and lazily imported files that one process or thread loads, as paths of the repository. */
export type Start = readonly string[]

type Output = Metafile['outputs'][string]

/** What esbuild calls shared files. */
const isShared = /(?:^|\/)chunk-[^/]+\.js$/

/**
 * Writes the files of a build that has not written them.
 *
 * @param starts Files that exactly the same of them load become one; a file that none loads stays as it is
 */
export async function writeMerged(
  { metafile, outputFiles }: BuildResult<{ metafile: true; write: false }>,
  root: string,
  outDir: string,
  starts: readonly Start[],
): Promise<void> {
  const target = chooseTargets(metafile, starts)
  const texts = new Map(outputFiles.map((file) => [file.path, file.text]))
  const exported = new Map(
    Object.entries(metafile.outputs).map(([file, { exports }]) => [resolve(root, file), exports]),
  )
  const merged = new Map(
    [...target].map(([file, name]) => [resolve(root, file), join(resolve(root, outDir), name)]),
  )
  await build({
    absWorkingDir: root,
    entryPoints: [
      ...new Set([...merged.values()]),
      ...[...exported.keys()].filter((file) => !merged.has(file)),
    ],
    outdir: outDir,
    outbase: outDir,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node26',
    minifyWhitespace: true,
    legalComments: 'none',
    logLevel: 'warning',
    plugins: [mergeInto(merged, texts, (file) => exported.get(file) ?? [])],
  })
}

/** @returns names of merged files, by the shared files that go into them */
function chooseTargets({ outputs }: Metafile, starts: readonly Start[]): Map<string, string> {
  const loaded = starts.map((start) => loadedBy(outputs, start))
  const bySet = Map.groupBy(
    Object.keys(outputs).filter((file) => isShared.test(file)),
    (file) => loaded.flatMap((set, index) => (set.has(file) ? [index] : [])).join('-'),
  )
  bySet.delete('')
  return new Map(
    [...bySet].flatMap(([set, files]) =>
      files.length === 1 ? [] : files.map((file) => [file, `shared-${set}.js`] as const),
    ),
  )
}

/** The files of a start, and all that they import statically. */
function loadedBy(outputs: Readonly<Record<string, Output>>, start: Start): ReadonlySet<string> {
  const todo = Object.keys(outputs).filter((file) =>
    start.includes(outputs[file]?.entryPoint ?? ''),
  )
  if (todo.length !== start.length) throw new Error(`no file for each of ${start.join(', ')}`)
  const found = new Set<string>()
  for (const file of todo) {
    if (found.has(file)) continue
    found.add(file)
    for (const { kind, path, external } of outputs[file]?.imports ?? [])
      if (kind === 'import-statement' && external !== true) todo.push(path)
  }
  return found
}

/**
 * Serves the files of the first build to the second: those of a merged file as its parts, and to all others as links to it. Names that two
 * parts export can be the same, so each has the number of its part.
 */
function mergeInto(
  merged: ReadonlyMap<string, string>,
  texts: ReadonlyMap<string, string>,
  exportsOf: (file: string) => readonly string[],
): Plugin {
  const parts = [...merged.keys()]
  const outer = (file: string, name: string) => `${name}_${parts.indexOf(file)}`
  const passOn = (file: string, from: string, toClause: (name: string) => string) => {
    const names = exportsOf(file).map(toClause)
    const source = `'./${from}'`
    return names.length === 0 ? `import ${source}` : `export {${names.join()}} from ${source}`
  }
  return {
    name: 'merge-chunks',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /.*/ }, ({ path, importer, kind, resolveDir, namespace }) => {
        if (kind === 'entry-point') return { path, namespace: texts.has(path) ? 'part' : 'merged' }
        const file = join(resolveDir, path)
        if (namespace === 'merged') return { path: file, namespace: 'part' }
        const into = path.startsWith('.') && namespace === 'part' ? merged.get(file) : undefined
        if (into === undefined || kind !== 'import-statement') return { path, external: true }
        if (merged.get(importer) === into) return { path: file, namespace: 'part' }
        // The link becomes a part of the file that imports it, wherever that is.
        const from = relative(dirname(merged.get(importer) ?? importer), into)
        return { path: file, namespace: 'link', suffix: `?${from}`, pluginData: from }
      })
      onLoad({ filter: /.*/, namespace: 'part' }, ({ path }) => ({
        contents: texts.get(path),
        resolveDir: dirname(path),
      }))
      onLoad({ filter: /.*/, namespace: 'merged' }, ({ path }) => ({
        contents: parts
          .filter((file) => merged.get(file) === path)
          .map((file) => passOn(file, basename(file), (name) => `${name} as ${outer(file, name)}`))
          .join('\n'),
        resolveDir: dirname(path),
      }))
      onLoad({ filter: /.*/, namespace: 'link' }, ({ path, pluginData: from }) => ({
        contents: passOn(path, from, (name) => `${outer(path, name)} as ${name}`),
        resolveDir: dirname(path),
      }))
    },
  }
}
