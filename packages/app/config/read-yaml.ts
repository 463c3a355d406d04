/** Reads YAML files as SnakeYAML does, with the line of every value. */
import type {
  Alias,
  Document,
  Pair,
  ParsedNode,
  Scalar,
  YAMLMap,
  YAMLParseError,
  YAMLSeq,
  YAMLWarning,
  Node as YamlNode,
} from 'yaml'
import type { Problem, SourcePosition } from './problems.ts'
import { createMap, createScalar, type MapNode, type Node } from './tree.ts'

interface YamlFile {
  /** The documents as written: keys are neither split at dots nor brought to their usual spelling. */
  documents: MapNode[]
  problems: Problem[]
}

type Yaml = typeof import('yaml')

/** More than any configuration has, and few enough that a file which refers to itself many times over is stopped early. */
const maxNodes = 50_000
const maxDepth = 50

export function readYaml(yaml: Yaml, source: string, bytes: Uint8Array): YamlFile {
  const problems: Problem[] = []
  const text = decode(bytes)
  if (text === undefined)
    return {
      documents: [],
      problems: [{ origin: { source }, message: 'is not valid UTF-8; save it as UTF-8' }],
    }
  const lines = new yaml.LineCounter()
  const parsed = yaml.parseAllDocuments(text, {
    version: '1.1',
    merge: false,
    lineCounter: lines,
    prettyErrors: false,
    uniqueKeys: false,
    logLevel: 'silent',
  })
  const documents = Array.isArray(parsed) ? (parsed as Document.Parsed[]) : []
  const reader = new DocumentReader(yaml, problems, (node) => ({
    source,
    line: node?.range ? lines.linePos(node.range[0]).line : undefined,
  }))
  const roots: MapNode[] = []
  for (const document of documents) {
    // Faults behind the first one of a line follow from it.
    const faults = new Map(
      [...document.errors, ...document.warnings]
        .map((fault) => [lines.linePos(fault.pos[0]).line, fault] as const)
        .toReversed(),
    )
    for (const [line, fault] of [...faults].toReversed())
      problems.push({
        origin: { source, line },
        message: `is not usable YAML: ${describeFault(fault, text.split('\n')[line - 1] ?? '')}; correct this line or the one above`,
      })
    if (document.errors.length > 0 || document.contents === null) continue
    const root = reader.readDocument(document)
    if (root !== undefined) roots.push(root)
  }
  return { documents: roots, problems }
}

function describeFault({ code, message }: YAMLParseError | YAMLWarning, line: string): string {
  if (code === 'TAB_AS_INDENT') return 'a tab in the indentation; use blanks'
  return firstLine(message) + (/[{[:,]\s*(?:\$\{|\{\{)/.test(line) ? quotesHint : '')
}

const quotesHint = '; a value with ${…} or {{…}} needs quotes'

function decode(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** Without what the parser quotes of the file, which may be a secret. */
function firstLine(text: string): string {
  const line = text.split('\n', 1)[0] as string
  const quote = line.indexOf('"')
  return quote === -1 ? line : line.slice(0, quote).replace(/:? ?$/, '')
}

/** Thrown once to leave a document that is too large; reported by its reader. */
class TooLarge extends Error {}

class DocumentReader {
  readonly #yaml: Yaml
  readonly #problems: Problem[]
  readonly #originOf: (node: YamlNode | null | undefined) => SourcePosition
  #document: Document.Parsed | undefined
  #nodes = 0
  readonly #open = new Set<unknown>()

  constructor(
    yaml: Yaml,
    problems: Problem[],
    originOf: (node: YamlNode | null | undefined) => SourcePosition,
  ) {
    this.#yaml = yaml
    this.#problems = problems
    this.#originOf = originOf
  }

  readDocument(document: Document.Parsed): MapNode | undefined {
    this.#document = document
    const contents = document.contents as ParsedNode
    try {
      const root = this.#read(contents, 0)
      if (root.kind === 'map') return root
      if (root.kind === 'scalar' && root.value === null) return undefined
      this.#report(contents, 'a document must be a map of keys')
    } catch (error) {
      if (!(error instanceof TooLarge)) throw error
      this.#report(
        contents,
        `has more than ${maxNodes} values, counting every use of an alias, or is nested deeper than ${maxDepth}`,
      )
    }
    return undefined
  }

  #read(node: YamlNode | null, depth: number): Node {
    if (++this.#nodes > maxNodes || depth > maxDepth) throw new TooLarge()
    const origin = this.#originOf(node)
    if (this.#yaml.isMap(node)) {
      const templated = node.items.find(({ key }) => this.#yaml.isMap(key) && key.flow === true)
      if (templated === undefined) return this.#readMap(node, depth, origin)
      this.#report(node, `a key must be a single word or text${quotesHint}`)
      return createScalar('', origin)
    }
    if (this.#yaml.isSeq(node)) {
      return {
        kind: 'list',
        items: (node as YAMLSeq<YamlNode | null>).items.map((item) => this.#read(item, depth + 1)),
        origin,
      }
    }
    if (this.#yaml.isAlias(node)) return this.#readAlias(node, depth)
    return readScalar(node as Scalar | null, origin)
  }

  #readAlias(alias: Alias, depth: number): Node {
    const target = alias.resolve(this.#document as Document.Parsed)
    if (target === undefined || this.#open.has(target)) {
      this.#report(
        alias,
        `the alias *${alias.source} ${target === undefined ? 'has no anchor' : 'contains itself'}`,
      )
      return createScalar('', this.#originOf(alias))
    }
    this.#open.add(target)
    try {
      return this.#read(target, depth + 1)
    } finally {
      this.#open.delete(target)
    }
  }

  #readMap(map: YAMLMap, depth: number, origin: SourcePosition): MapNode {
    const result = createMap(origin)
    const merged: MapNode[] = []
    for (const pair of map.items as Pair<YamlNode, YamlNode | null>[]) {
      const key = this.#keyOf(pair.key)
      if (key === undefined) continue
      const value = this.#read(pair.value ?? null, depth + 1)
      if (value.origin.line === undefined || value.kind === 'map')
        value.origin = this.#originOf(pair.key)
      if (key === '<<') merged.push(...this.#mergedMaps(value, pair.key))
      else if (result.entries.has(key))
        this.#report(pair.key, 'is written twice in the same map; keep one', key)
      else result.entries.set(key, value)
    }
    for (const { entries } of merged) {
      for (const [key, value] of entries)
        if (!result.entries.has(key)) result.entries.set(key, value)
    }
    return result
  }

  #mergedMaps(value: Node, at: YamlNode): MapNode[] {
    const maps = value.kind === 'list' ? value.items : [value]
    if (maps.every((map) => map.kind === 'map')) return maps
    this.#report(at, 'the merge key << needs a map, or a list of maps')
    return []
  }

  #keyOf(node: YamlNode | null): string | undefined {
    if (!this.#yaml.isScalar(node)) {
      this.#report(node, 'a key must be a single word or text')
      return undefined
    }
    const key = readScalar(node, this.#originOf(node)).text.trim()
    if (key !== '' && key !== '__proto__') return key
    this.#report(node, 'must not be used as a key', key)
    return undefined
  }

  #report(node: YamlNode | null | undefined, message: string, key?: string): void {
    this.#problems.push({ origin: this.#originOf(node), key, message })
  }
}

/** The text is kept as written, so that `010` or `1.10` stay what they are where a text is wanted. */
function readScalar(node: Scalar | null, origin: SourcePosition): Node & { kind: 'scalar' } {
  const value = node?.value ?? null
  if (value === null) return { kind: 'scalar', text: '', value: null, origin }
  if (typeof value === 'string') return { kind: 'scalar', text: value, value, origin }
  const text = node?.source ?? String(value)
  const known = typeof value === 'number' || typeof value === 'boolean'
  return { kind: 'scalar', text, value: known ? value : text, origin }
}
