/**
 * Counts the source of a checkout: `node scripts/count-source.ts [folder] [--names]`. Two checkouts are compared by counting both with the same script.
 * `--names` lists the exported names that have several meanings, with their files.
 */
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { SyntaxNodeRef, Tree } from '@lezer/common'
import { parser } from '@lezer/javascript'

const { values, positionals } = parseArgs({
  options: { names: { type: 'boolean' } },
  allowPositionals: true,
})
const folder = resolve(positionals[0] ?? join(import.meta.dirname, '..'))
/** In a `.ts` file, `<T>` begins no element. */
const readers = {
  ts: parser.configure({ dialect: 'ts' }),
  tsx: parser.configure({ dialect: 'ts jsx' }),
}
/** A place that stands elsewhere too has at least so many equal lines in a row. */
const equalLines = 6
const longFunction = 40
const smallFile = 60

interface Source {
  /** Relative to the folder. */
  readonly path: string
  readonly text: string
  readonly lines: readonly string[]
  readonly tree: Tree
}

const source = read('packages/**/*.ts')
const shown = { packages: source, console: read('console/src/**/*.{ts,tsx}') }
console.table(
  Object.fromEntries(Object.entries(shown).map(([name, files]) => [name, count(files)])),
)
console.table(countRooms(source))
if (values.names)
  for (const [name, paths] of severalMeanings(source)) console.log(name, paths.join(' '))

function read(pattern: string): Source[] {
  return globSync(pattern, { cwd: folder }).map((path) => {
    const text = readFileSync(join(folder, path), 'utf8')
    return {
      path,
      text,
      lines: text.split('\n').slice(0, -1),
      tree: readers[path.endsWith('x') ? 'tsx' : 'ts'].parse(text),
    }
  })
}

function count(files: readonly Source[]) {
  const functions = files.flatMap(functionLines)
  const all = files.reduce((sum, { lines }) => sum + lines.length, 0)
  const imports = files.flatMap(importsOf)
  const readers = Map.groupBy(
    new Set(imports.map((one) => one.join(' '))),
    (one) => one.split(' ')[1],
  )
  const single = files.filter(({ path }) => readers.get(path)?.length === 1)
  return {
    files: files.length,
    lines: all,
    'file, median / p90 / longest': spread(files.map(({ lines }) => lines.length)),
    'function, median / p90 / longest': spread(functions),
    [`functions over ${longFunction} lines`]: share(
      functions.filter((lines) => lines > longFunction).length,
      functions.length,
    ),
    'imports in a circle': circles(imports),
    'files with a single importer': share(single.length, files.length),
    [`of these below ${smallFile} lines`]: single.filter(({ lines }) => lines.length < smallFile)
      .length,
    'access by text per 1,000 lines': ((textAccesses(files) / all) * 1000).toFixed(1),
    [`pairs of ${equalLines} or more equal lines`]: equalPairs(files),
    'exported names with several meanings': severalMeanings(files).length,
    'comments that begin with "Of"': files.reduce(
      (sum, { text }) => sum + (text.match(/^\s*(?:\/\*\*|\/\/|\*) Of\b/gm)?.length ?? 0),
      0,
    ),
  }
}

/** What an operation takes. */
function countRooms(files: readonly Source[]) {
  const linesOf = (start: string) =>
    files
      .filter(({ path }) => path.startsWith(start))
      .reduce((sum, { lines }) => sum + lines.length, 0)
  const declaring = files.filter(({ path }) =>
    path.startsWith('packages/gateway/operations/resources/'),
  )
  const operations = declaring.reduce(
    (sum, { text }) =>
      sum + (text.match(/^\s+(?:path: '|(?:get|post|put|patch|remove)\()/gm)?.length ?? 0),
    0,
  )
  return {
    operations,
    'lines per operation, declaring files': (
      linesOf('packages/gateway/operations/resources/') / operations
    ).toFixed(1),
    'lines per operation, whole room': (
      linesOf('packages/gateway/operations/') / operations
    ).toFixed(1),
  }
}

function functionLines({ tree, text }: Source): number[] {
  const found: number[] = []
  const kinds = ['FunctionDeclaration', 'FunctionExpression', 'ArrowFunction', 'MethodDeclaration']
  tree.iterate({
    enter({ name, from, to }: SyntaxNodeRef) {
      if (kinds.includes(name)) found.push(text.slice(from, to).split('\n').length)
    },
  })
  return found
}

function importsOf({ path, text }: Source): [from: string, to: string][] {
  const found = text.matchAll(
    /(?:\bfrom |\bimport\(|^import )'(?:@fairlead\/([^']+)|(\.{1,2}\/[^']+\.tsx?))'/gm,
  )
  return [...found].map(([, shared, target = '']) => [
    path,
    shared === undefined ? join(dirname(path), target) : join('packages', shared),
  ])
}

/** Imports that close a circle, those of types alone included. */
function circles(imports: readonly [string, string][]): number {
  const targets = Map.groupBy(imports, ([from]) => from)
  const done = new Set<string>()
  let closing = 0
  const visit = (file: string, path: Set<string>): void => {
    for (const [, to] of targets.get(file) ?? []) {
      if (path.has(to)) closing++
      else if (!done.has(to)) visit(to, new Set(path).add(to))
    }
    done.add(file)
  }
  for (const file of targets.keys()) if (!done.has(file)) visit(file, new Set([file]))
  return closing
}

/** Reads and writes such as `body['name']`. */
function textAccesses(files: readonly Source[]): number {
  return files.reduce((sum, { text }) => sum + (text.match(/[\w)\]]\['[^']+'\]/g)?.length ?? 0), 0)
}

/** Places that share lines with another place, each with its first other. */
function equalPairs(files: readonly Source[]): number {
  const known = new Map<string, string>()
  let pairs = 0
  for (const { path, lines } of files) {
    const code = lines
      .map((line) => line.trim())
      .filter((line) => line !== '' && !/^(?:import\b|[/*]|[^\w]+$)/.test(line))
    let previous = -equalLines
    for (let at = 0; at + equalLines <= code.length; at++) {
      const block = code.slice(at, at + equalLines).join('\n')
      if (known.getOrInsert(block, path) === path || at - previous < equalLines) continue
      previous = at
      pairs++
    }
  }
  return pairs
}

/** Names that several files export, with these files. */
function severalMeanings(files: readonly Source[]): [name: string, paths: readonly string[]][] {
  const places = new Map<string, string[]>()
  for (const { path, text } of files) {
    const names = [
      ...text.matchAll(
        /^export (?:declare )?(?:abstract )?(?:async )?(?:const|let|function\*?|class|interface|type) (\w+)/gm,
      ),
    ]
    for (const name of new Set(names.map(([, name = '']) => name)))
      places.getOrInsert(name, []).push(path)
  }
  return [...places].filter(([, paths]) => paths.length > 1).sort()
}

function spread(values: readonly number[]): string {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (part: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]
  return `${at(0.5)} / ${at(0.9)} / ${at(1)}`
}

function share(part: number, whole: number): string {
  return `${part} (${((part / whole) * 100).toFixed(2)} %)`
}
