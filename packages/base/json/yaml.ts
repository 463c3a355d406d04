/** YAML for request and response bodies, loaded on demand. */
import {
  type Document,
  isCollection,
  isScalar,
  parseAllDocuments,
  parseDocument,
  stringify,
  type Tags,
  visit,
} from 'yaml'
import { isRawNumber, maxJsonDepth, RawNumber, UnsafeJsonError } from './json.ts'

const maxAliases = 500
/** Where a caller has no bound of its own: a text of some kilobytes may stand for millions. */
const usualMaxValues = 500_000

interface YamlForm {
  /** Version for scalars, 1.2 unless given: 1.1, as Gate reads bodies, knows `yes` and `010`, which is eight. */
  readonly version?: '1.1' | '1.2'
  /** What aliases stand for counts each time. */
  readonly maxValues?: number
  /** Bound of the library. */
  readonly maxAliasCount?: number
  /** Whether `<<` merges maps, as in manifests of Kubernetes; else it is a key like any other. */
  readonly merges?: boolean
}

/**
 * @throws {UnsafeJsonError} when it holds more than `maxValues`.
 * @throws {Error} for anything but one well-formed document without runaway aliases, prototype keys or excessive depth.
 */
export function parseYaml(text: string, form: YamlForm = {}): unknown {
  refuseOpenBrackets(text)
  return toValue(parseDocument(text, optionsOf(form)), text, form)
}

/** The documents of a stream, `---` between them; an empty one is null. @throws as `parseYaml` */
export function parseYamlStream(text: string, form: YamlForm = {}): unknown[] {
  refuseOpenBrackets(text)
  const documents = parseAllDocuments(text, optionsOf(form))
  return documents.map((document) => toValue(document, text, form))
}

function optionsOf({ version = '1.2', merges = false }: YamlForm) {
  const customTags = merges ? mergingTags : scalarTags
  // The library compares each key with every other one: minutes for a map of some megabytes.
  return {
    version,
    intAsBigInt: true,
    prettyErrors: true,
    uniqueKeys: false,
    merge: merges,
    customTags,
  }
}

function toValue(
  document: Document,
  text: string,
  { maxValues = usualMaxValues, maxAliasCount = 100 }: YamlForm,
): unknown {
  const problem = document.errors[0]
  if (problem !== undefined) {
    if (isTooDeep(problem)) throw tooDeep()
    const line = text.split('\n')[(problem.linePos?.[0].line ?? 0) - 1] ?? ''
    throw new Error(firstLine(problem) + (line.includes('{{') ? `; ${templateHint}` : ''))
  }
  try {
    inspect(document, text)
    keepNumerals(document)
    return toPlain(document.toJS({ maxAliasCount }), { depth: 0, count: createCounter(maxValues) })
  } catch (error) {
    throw isTooDeep(error) ? tooDeep() : error
  }
}

const templateHint = 'a value with {{…}} needs quotes, and a template has to be rendered first'
const asText = new Set(['tag:yaml.org,2002:timestamp', 'tag:yaml.org,2002:binary'])

/** YAML 1.1 adds booleans and numbers to JSON only: dates, times of day such as 12:30 and `<<` remain texts, as in Gate. */
function scalarTags(tags: Tags): Tags {
  return tags.filter((tag) => !isMergeTag(tag) && isScalarTag(tag))
}

function mergingTags(tags: Tags): Tags {
  return tags.filter((tag) => isMergeTag(tag) || isScalarTag(tag))
}

function isScalarTag(tag: Tags[number]): boolean {
  return typeof tag === 'string' || (!asText.has(tag.tag) && tag.format !== 'TIME')
}

function isMergeTag(tag: Tags[number]): boolean {
  return typeof tag !== 'string' && tag.tag === 'tag:yaml.org,2002:merge'
}

/** The library shows the place in the lines below, after a colon. */
function firstLine({ message }: Error): string {
  return (message.split('\n')[0] ?? '').replace(/:$/, '')
}

/** The library walks a document by recursion and says it in the words of the engine. */
function isTooDeep(error: unknown): boolean {
  return /call stack/.test((error as Error).message)
}

function tooDeep(): Error {
  return new Error(`the document is nested deeper than ${maxJsonDepth} levels, or contains itself`)
}

/** The library needs seconds to find out itself. Brackets in texts count, too, which balance as a rule. @throws {Error} */
export function refuseOpenBrackets(text: string): void {
  let depth = 0
  for (const [bracket] of text.matchAll(/[[\]{}]/g)) {
    if (bracket === '[' || bracket === '{') depth++
    else if (depth > 0) depth--
    if (depth > maxJsonDepth) throw tooDeep()
  }
}

/** Keys are texts as they stand, `on` and `1.0` included. Refuses a key that stands twice in a map, and more aliases than the library can look up in reasonable time. */
function inspect(document: Document, text: string): void {
  let aliases = 0
  visit(document, {
    Alias: () => {
      if (++aliases > maxAliases) throw new Error(`it has more than ${maxAliases} aliases`)
    },
    Map: (_key, { items }) => {
      const seen = new Set<unknown>()
      for (const { key } of items) {
        if (isCollection(key)) {
          const line = text.slice(0, key.range?.[0]).split('\n').length
          throw new Error(`a key at line ${line} is no text; ${templateHint}`)
        }
        if (isScalar(key) && key.type === 'PLAIN' && key.source !== undefined)
          key.value = key.source
        const name = isScalar(key) ? String(key.value) : key
        if (seen.has(name)) {
          const [start = 0] = isScalar(key) ? (key.range ?? []) : []
          const line = text.slice(0, start).split('\n').length
          throw new Error(`the key "${name}" is repeated in one map, at line ${line}`)
        }
        seen.add(name)
      }
    },
  })
}

const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** A number that is one in JSON, too, and that JavaScript would write otherwise. */
class Numeral {
  readonly source: string

  constructor(source: string) {
    this.source = source
  }
}

/** Keeps 1.0 and 1e3 as they are written; other forms, such as 0x10, get that of JSON. */
function keepNumerals(document: Document): void {
  visit(document, {
    Scalar: (key, scalar) => {
      const { value, source } = scalar
      if (
        key === 'key' ||
        typeof value !== 'number' ||
        !Number.isFinite(value) ||
        source === undefined
      )
        return
      if (String(value) !== source && jsonNumber.test(source)) scalar.value = new Numeral(source)
    },
  })
}

function createCounter(maxValues: number): () => void {
  let values = 0
  return () => {
    if (++values > maxValues) {
      throw new UnsafeJsonError(
        'JSON_TOO_MANY_VALUES',
        `The document holds more than ${maxValues} values.`,
      )
    }
  }
}

/** Whole numbers beyond the safe range stay exact: they are written into JSON as they stood. */
function toPlain(value: unknown, { depth, count }: { depth: number; count: () => void }): unknown {
  count()
  if ((typeof value === 'number' || typeof value === 'bigint') && !Number.isFinite(Number(value))) {
    throw new Error('a number is not finite, or larger than a double holds, which JSON cannot say')
  }
  if (typeof value === 'bigint') {
    return Number.isSafeInteger(Number(value)) ? Number(value) : new RawNumber(String(value))
  }
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Numeral) return new RawNumber(value.source)
  if (depth >= maxJsonDepth) throw tooDeep()
  if (Array.isArray(value))
    return value.map((element) => toPlain(element, { depth: depth + 1, count }))
  const plain: Record<string, unknown> = {}
  for (const [name, member] of Object.entries(value)) {
    if (name === '__proto__') throw new Error('the key __proto__ is not allowed')
    plain[name] = toPlain(member, { depth: depth + 1, count })
  }
  return plain
}

/** A list is written entry by entry, which is the same text: the library needs a multiple of the memory of what it writes at once. */
export function formatYaml(value: unknown): string {
  if (Array.isArray(value) && value.length > 1)
    return value.map((entry) => formatYaml([entry])).join('')
  return stringify(
    value,
    (_key, member: unknown) => (isRawNumber(member) ? toExactNumber(member) : member),
    {
      // Quotes the texts that readers of YAML 1.1 would take for something else.
      version: '1.1',
      aliasDuplicateObjects: false,
      lineWidth: 0,
    },
  )
}

/** YAML writes a bigint digit by digit; a number that is no integer is rounded to what YAML readers hold anyway. */
function toExactNumber(rawNumber: RawNumber): bigint | number {
  const digits = String(rawNumber)
  return /^-?\d+$/.test(digits) ? BigInt(digits) : Number(digits)
}
