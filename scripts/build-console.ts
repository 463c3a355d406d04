/**
 * Builds the web console from `console/` into `dist/console/`: files named by their content, compressed once, and `manifest.json`;
 * beside them, the plug-in of Deck.
 *
 * `npm start` in a clone builds it when it is missing or older than its sources.
 */
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import type { BuildOptions, Metafile, OutputFile } from 'esbuild'
import type { Coding, Manifest } from '../packages/gateway/console/built-files.ts'
import { editorChunks, entry, mergeChunks, namesOf } from './console-chunks.ts'

const root = resolve(import.meta.dirname, '..')
/** Where a clone has the console, and where the package has it. */
const usualDir = join(root, 'dist/console')

/** What a browser loads for the home page with the document, gzip. */
const maxFirstLoadBytes = 100_000
const maxFirstLoadFiles = 10
/** What the pipeline editor adds with all its views, as browsers receive it, Brotli. */
const maxEditorBytes = 210_000
/** Smaller files gain nothing from compression. */
const minPackedBytes = 400

const mediaTypes: Readonly<Record<string, string>> = {
  '.js': 'text/javascript;charset=UTF-8',
  '.css': 'text/css;charset=UTF-8',
  '.woff2': 'font/woff2',
}

/** As it is written: `Manifest`, and what the licences of the package are collected from. */
export interface BuiltConsole extends Manifest {
  /** Folders of the packages that it contains, relative to the repository. */
  readonly packages: readonly string[]
  readonly firstLoadBytes: number
  /** Files of the first load, without the document. */
  readonly firstLoad: readonly string[]
}

const shared = {
  absWorkingDir: root,
  bundle: true,
  minify: true,
  format: 'esm',
  target: ['es2024', 'chrome125', 'firefox128', 'safari17.5'],
  legalComments: 'none',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  tsconfig: join(root, 'console/tsconfig.json'),
  outdir: '/',
  entryNames: '[name]-[hash]',
  chunkNames: '[name]-[hash]',
  assetNames: '[name]-[hash]',
  loader: { '.woff2': 'file' },
  metafile: true,
  write: false,
  logLevel: 'warning',
} satisfies BuildOptions

/** JSX becomes elements of the React that Deck shares; only names that Deck has are free in the bundle. */
const ofDeckPlugin = {
  entryPoints: ['console/deck-plugin/plugin.tsx'],
  tsconfig: undefined,
  tsconfigRaw: {
    compilerOptions: { jsx: 'react', jsxFactory: 'createElement', jsxFragmentFactory: 'Fragment' },
  },
  inject: ['console/deck-plugin/deck.ts'],
} satisfies BuildOptions

/** Copies the console to `outDir` after it was built where that is necessary. */
export async function placeConsole(outDir: string): Promise<BuiltConsole> {
  const built = isCurrent(usualDir) ? readManifest(usualDir) : await buildConsole(usualDir)
  if (resolve(outDir) !== usualDir) cpSync(usualDir, outDir, { recursive: true })
  return built
}

/** For the start of a clone. */
export async function refreshConsole(): Promise<void> {
  if (!isCurrent(usualDir)) await buildConsole(usualDir)
}

/** Whether the built console is younger than everything it is made of. */
export function isCurrent(dir: string): boolean {
  const manifest = join(dir, 'manifest.json')
  if (!existsSync(manifest)) return false
  const builtMs = statSync(manifest).mtimeMs
  // A folder is as young as the last file that was added to it or removed.
  const own = ['console', 'console/src/**', 'console/deck-plugin/**', 'console/*.json']
  const sources = [
    ...own,
    'packages/model/stage-types/**',
    'packages/model/environments/**',
    'packages/base/settings/standalone.ts',
    'packages/base/json/**',
    'packages/base/names/**',
    'package-lock.json',
    'scripts/*console*.ts',
  ]
  return globSync(sources, { cwd: root }).every(
    (source) => statSync(join(root, source)).mtimeMs < builtMs,
  )
}

function readManifest(dir: string): BuiltConsole {
  return JSON.parse(readFileSync(join(dir, 'manifest.json'), 'utf8')) as BuiltConsole
}

/** @throws {Error} for a console that is larger than its budget */
export async function buildConsole(outDir: string): Promise<BuiltConsole> {
  // A start with a current console does not load it.
  const { build, stop } = await import('esbuild')
  const [theme, plugin] = await Promise.all([
    build({ ...shared, format: 'iife', entryPoints: ['console/src/theme.ts'] }),
    build({ ...shared, ...ofDeckPlugin, jsx: undefined, jsxImportSource: undefined }),
  ])
  const split = {
    ...shared,
    entryPoints: { main: entry },
    splitting: true,
    define: { 'process.env.NODE_ENV': '"production"' },
  } satisfies BuildOptions
  const { metafile } = await build({ ...split, minify: false })
  const main = await build({ ...split, plugins: [mergeChunks(metafile, root)] })
  await stop()
  const { stub, first, ...names } = namesOf(main.metafile)
  // The style comes with each entry, and is the same.
  const needed = main.outputFiles.filter(
    ({ path }) =>
      basename(path) !== stub && (/\.(?:js|woff2)$/.test(path) || basename(path) === names.style),
  )
  const files = [...theme.outputFiles, ...needed].map(packFile)
  const font = files.find(({ name }) => name.endsWith('.woff2'))?.name ?? ''
  const firstLoad = [theOnly(theme.outputFiles), ...first, font]
  const manifest = {
    theme: theOnly(theme.outputFiles),
    ...names,
    font,
    files: Object.fromEntries(
      files.map(({ name, type, packed }) => [
        name,
        { type, codings: packed.map(({ coding }) => coding) },
      ]),
    ),
    packages: packagesOf(main.metafile),
    firstLoadBytes: sum(firstLoad.map((name) => packedBytes(files, name, 'gzip'))),
    firstLoad,
  }
  // The document is one more.
  check('first load of the console', 'files', firstLoad.length + 1, maxFirstLoadFiles)
  check('first load of the console', 'bytes (gzip)', manifest.firstLoadBytes, maxFirstLoadBytes)
  const editorBytes = sum(
    editorChunks(main.metafile, first).map((name) => packedBytes(files, name, 'br')),
  )
  check('pipeline editor', 'bytes (Brotli)', editorBytes, maxEditorBytes)
  write(outDir, files, manifest, theOnlyFile(plugin.outputFiles).contents)
  return manifest
}

function check(what: string, unit: string, count: number, max: number): void {
  if (count > max)
    throw new Error(
      `The ${what} has ${count} ${unit}; ${max} are allowed. Load a part of it later.`,
    )
}

function theOnly(files: readonly OutputFile[]): string {
  return basename(theOnlyFile(files).path)
}

function theOnlyFile(files: readonly OutputFile[]): OutputFile {
  const [file] = files
  if (file === undefined || files.length > 1) throw new Error('a bundle of one file was expected')
  return file
}

interface PackedFile {
  readonly name: string
  readonly type: string
  readonly bytes: Uint8Array
  readonly packed: readonly {
    readonly coding: Coding
    readonly suffix: string
    readonly bytes: Buffer
  }[]
}

function packFile({ path, contents }: OutputFile): PackedFile {
  const name = basename(path)
  const type = mediaTypes[name.slice(name.lastIndexOf('.'))]
  if (type === undefined) throw new Error(`the media type of ${name} is unknown`)
  const brotli = {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: 10,
      [constants.BROTLI_PARAM_SIZE_HINT]: contents.length,
    },
  }
  const packed =
    contents.length < minPackedBytes || type.startsWith('font/')
      ? []
      : ([
          { coding: 'br', suffix: '.br', bytes: brotliCompressSync(contents, brotli) },
          { coding: 'gzip', suffix: '.gz', bytes: gzipSync(contents, { level: 9 }) },
        ] as const)
  return { name, type, bytes: contents, packed }
}

function packedBytes(files: readonly PackedFile[], name: string, wanted: Coding): number {
  const file = files.find((candidate) => candidate.name === name)
  return (
    file?.packed.find(({ coding }) => coding === wanted)?.bytes.length ?? file?.bytes.length ?? 0
  )
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

function packagesOf({ inputs }: Metafile): string[] {
  const folders = Object.keys(inputs).map(
    (input) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input)?.[0],
  )
  return [...new Set(folders.filter((folder) => folder !== undefined))].sort()
}

/** Another process may build or read at the same time: the folder appears whole. */
function write(
  outDir: string,
  files: readonly PackedFile[],
  manifest: BuiltConsole,
  plugin: Uint8Array,
): void {
  const fresh = `${outDir}-${process.pid}`
  mkdirSync(join(fresh, 'files'), { recursive: true })
  mkdirSync(join(fresh, 'deck-plugin'))
  writeFileSync(join(fresh, 'deck-plugin/index.js'), plugin)
  for (const { name, bytes, packed } of files) {
    writeFileSync(join(fresh, 'files', name), bytes)
    for (const { suffix, bytes: smaller } of packed)
      writeFileSync(join(fresh, 'files', name + suffix), smaller)
  }
  writeFileSync(join(fresh, 'manifest.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  rmSync(outDir, { recursive: true, force: true })
  renameSync(fresh, outDir)
}

if (import.meta.main) {
  const { firstLoadBytes, files, firstLoad } = await buildConsole(usualDir)
  for (const name of Object.keys(files)) {
    const sizeOf = (file: string) =>
      String(statSync(join(usualDir, 'files', file)).size).padStart(8)
    const packed = existsSync(join(usualDir, 'files', `${name}.gz`))
      ? sizeOf(`${name}.gz`)
      : sizeOf(name)
    console.log(
      `${firstLoad.includes(name) ? 'first' : 'later'}  ${name.padEnd(40)} ${sizeOf(name)} ${packed} gzip`,
    )
  }
  console.log(`first load: ${firstLoadBytes} bytes (gzip) in ${firstLoad.length} files`)
}
