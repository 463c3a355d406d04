/** One YAML document as plain values, with the place of each key and value. */
import { refuseOpenBrackets } from '@fairlead/base/json/yaml.ts'
import {
  type Document,
  isAlias,
  isMap,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseAllDocuments,
} from 'yaml'

/** Counted from 1. */
interface Place {
  readonly line: number
  readonly column: number
}

export interface DocumentProblem extends Place {
  /** Key path, `services.web.port`; empty for the file. */
  readonly path: string
  /** What is wrong. */
  readonly message: string
  /** What to do about it: `write port`. */
  readonly remedy: string
}

export interface ReadDocument {
  /** Undefined where the text is no YAML, or its aliases expand to too much; a repeated key has its first value. */
  readonly value: unknown
  readonly problems: readonly DocumentProblem[]
  /** Place of the key with this path, or of the nearest one around it. */
  placeOf(path: readonly PropertyKey[]): Place
}

const maxBytes = 256 * 1024
const maxAliases = 100
/** Bound of `isTooDeep`, too. */
const maxDepth = 32
/** An alias counts with all that it expands to. */
const maxValues = 20_000

const start: Place = { line: 1, column: 1 }

interface Form {
  /** Whether plain numbers at this path are texts as they stand: `1.10`. */
  readonly isText: (path: readonly PropertyKey[]) => boolean
}

export function readDocument(text: string, { isText }: Form): ReadDocument {
  const refused = refuse(text)
  if (refused !== undefined) return failed({ ...start, path: '', ...refused })
  const lines = new LineCounter()
  const documents = parse(text, lines)
  if (!Array.isArray(documents)) return failed({ ...start, path: '', ...documents })
  const at = (offset: number | undefined) => toPlace(lines, offset)
  const [document, second] = documents
  if (document === undefined)
    return failed({
      ...start,
      path: '',
      message: 'the file is empty',
      remedy: 'write application: NAME, and services',
    })
  const walk = new Walk(document, at, isText)
  for (const error of document.errors)
    walk.report(error.pos[0], [], firstLine(error.message), 'correct the YAML of this line')
  if (second !== undefined)
    walk.report(
      second.range?.[0],
      [],
      'a second document begins here',
      'remove the line --- and what follows',
    )
  const value = walk.problems.length === 0 ? walk.read() : undefined
  return { value, problems: walk.problems, placeOf: (path) => walk.placeOf(path) }
}

interface Refusal {
  readonly message: string
  readonly remedy: string
}

function refuse(text: string): Refusal | undefined {
  const bytes = Buffer.byteLength(text)
  if (bytes > maxBytes)
    return {
      message: `the file has ${bytes} bytes; ${maxBytes} are the most`,
      remedy: 'keep data in other files of the app',
    }
  if (countOf(text, /[\n,"'&*!]/g) > maxValues)
    return {
      message: `the file has more than ${maxValues} lines and values`,
      remedy: 'shorten it',
    }
  // The library walks nested values by recursion, which takes long where they are nested thousands of times.
  return isTooDeep(text)
    ? { message: `values are nested deeper than ${maxDepth} levels`, remedy: 'use fewer levels' }
    : undefined
}

function countOf(text: string, pattern: RegExp): number {
  let count = 0
  for (const _ of text.matchAll(pattern)) count++
  return count
}

function isTooDeep(text: string): boolean {
  try {
    refuseOpenBrackets(text)
  } catch {
    return true
  }
  return /(?:[-?:][ \t]+){32}/.test(text)
}

function parse(text: string, lineCounter: LineCounter) {
  try {
    return [
      ...parseAllDocuments(text, {
        version: '1.2',
        schema: 'core',
        prettyErrors: false,
        uniqueKeys: false,
        logLevel: 'silent',
        lineCounter,
      }),
    ]
  } catch (error) {
    return { message: firstLine((error as Error).message), remedy: 'write one YAML document' }
  }
}

function failed(problem: DocumentProblem): ReadDocument {
  return { value: undefined, problems: [problem], placeOf: () => start }
}

function firstLine(message: string): string {
  return (message.split('\n')[0] ?? '').replace(/:$/, '')
}

function toPlace(lines: LineCounter, offset: number | undefined): Place {
  if (offset === undefined) return start
  const { line, col } = lines.linePos(offset)
  return { line: Math.max(1, line), column: Math.max(1, col) }
}

type Path = readonly PropertyKey[]

/** Visits the nodes of a document once, aliases as often as they stand. */
class Walk {
  readonly problems: DocumentProblem[] = []
  readonly #document: Document
  readonly #at: (offset: number | undefined) => Place
  readonly #isText: Form['isText']
  readonly #places = new Map<string, Place>()
  #aliases = 0
  #values = 0
  #isOver = false

  constructor(
    document: Document,
    at: (offset: number | undefined) => Place,
    isText: Form['isText'],
  ) {
    this.#document = document
    this.#at = at
    this.#isText = isText
  }

  placeOf(path: Path): Place {
    for (let length = path.length; length > 0; length--) {
      const found = this.#places.get(keyOf(path.slice(0, length)))
      if (found !== undefined) return found
    }
    return start
  }

  report(offset: number | undefined, path: Path, message: string, remedy: string): void {
    this.problems.push({ ...this.#at(offset), path: path.join('.'), message, remedy })
  }

  read(): unknown {
    const value = this.#valueOf(this.#document.contents, [])
    return this.#isOver ? undefined : value
  }

  #valueOf(node: unknown, path: Path): unknown {
    if (this.#isOver) return undefined
    if (++this.#values > maxValues || path.length > maxDepth) {
      this.#isOver = true
      const many =
        path.length > maxDepth ? `deeper than ${maxDepth} levels` : `more than ${maxValues} values`
      this.report(
        offsetOf(node),
        path,
        `it holds ${many}, with what its aliases stand for`,
        'use fewer aliases',
      )
      return undefined
    }
    const tag = (node as Node | null)?.tag
    if (tag !== undefined)
      this.report(
        offsetOf(node),
        path,
        `the tag ${tag} is not allowed`,
        'write the value without it',
      )
    if (isAlias(node)) return this.#alias(node.resolve(this.#document), node, path)
    if (isMap(node)) return this.#map(node.items, path)
    if (isSeq(node)) return node.items.map((item, index) => this.#member(item, [...path, index]))
    if (!isScalar(node)) return null
    const isPlainNumber = typeof node.value === 'number' && node.type === 'PLAIN'
    return isPlainNumber && this.#isText(path) ? (node.source ?? String(node.value)) : node.value
  }

  #alias(target: unknown, node: unknown, path: Path): unknown {
    if (++this.#aliases > maxAliases) {
      this.#isOver = true
      this.report(
        offsetOf(node),
        path,
        `it has more than ${maxAliases} aliases`,
        'use fewer aliases',
      )
      return undefined
    }
    if (target === undefined) {
      this.report(
        offsetOf(node),
        path,
        'the alias has no anchor before it',
        'write the value itself',
      )
      return undefined
    }
    return this.#valueOf(target, path)
  }

  #member(node: unknown, path: Path): unknown {
    this.#places.set(keyOf(path), this.#at(offsetOf(node)))
    return this.#valueOf(node, path)
  }

  #map(items: readonly unknown[], path: Path): Record<string, unknown> {
    const plain: Record<string, unknown> = Object.create(null)
    for (const item of items) {
      if (!isPair(item)) continue
      const { key, value } = item
      if (!isScalar(key)) {
        this.report(offsetOf(key), path, 'a key must be a text', 'write a name and a colon')
        continue
      }
      const name = key.type === 'PLAIN' ? (key.source ?? '') : String(key.value)
      const inner = [...path, name]
      const place = this.#at(offsetOf(key))
      const first = this.#places.get(keyOf(inner))
      if (Object.hasOwn(plain, name)) {
        const where = first === undefined ? '' : `, as in line ${first.line}`
        this.report(
          offsetOf(key),
          inner,
          `the key "${name}" is repeated${where}`,
          'keep one of them',
        )
        continue
      }
      this.#places.set(keyOf(inner), place)
      plain[name] = this.#valueOf(value, inner)
    }
    return { ...plain }
  }
}

function offsetOf(node: unknown): number | undefined {
  return (node as { range?: readonly number[] | null } | null)?.range?.[0]
}

function keyOf(path: Path): string {
  return JSON.stringify(path)
}
