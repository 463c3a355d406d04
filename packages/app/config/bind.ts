/** Binds configuration to settings: placeholders, types, checks, and a problem for each error. */

import { commaList } from '@fairlead/base/names/comma-list.ts'
import type { SettingGroup } from '@fairlead/base/settings/setting.ts'
import { z } from 'zod'
import { PlaceholderError, type Placeholders } from './placeholders.ts'
import { formatPath, type Problem, type SourcePosition, showValue } from './problems.ts'
import { coreOf, notesOf } from './schema-shape.ts'
import { isSecretReference, type ResolvedSecret } from './secrets/secret-reference.ts'
import { findNearest, findNode, type Node, type ScalarNode } from './tree.ts'

export interface BindContext {
  root: Node
  placeholders: Placeholders
  problems: Problem[]
  /** Undefined for one that is still to be fetched: the setting has its default meanwhile. */
  secretOf: (reference: string) => ResolvedSecret | undefined
  /** The text without values of secrets. */
  hide: (text: string) => string
}

/**
 * The values of all keys of one capability. A key whose value is wrong is reported and has its default, so that the checks
 * that follow find the other mistakes in the same run.
 */
export function bindKeys<S extends z.ZodObject>(keys: S, context: BindContext): z.infer<S> {
  const values: Record<string, unknown> = {}
  for (const [key, schema] of Object.entries(keys.shape as Record<string, z.ZodType>)) {
    values[key] = bindKey(key, schema, context)
  }
  return values as z.infer<S>
}

export function bindSettings<Values>(
  { keys, read }: SettingGroup<Values>,
  context: BindContext,
): Values {
  return read(bindKeys(keys, context))
}

function bindKey(key: string, schema: z.ZodType, context: BindContext): unknown {
  const path = key.split('.')
  const node = findNode(context.root, path)
  const notes = notesOf(schema)
  if (notes.effect === 'none') return undefined
  if (usedWith.test(key) && isSwitchedOff(path, context)) return schema.parse(undefined)
  const before = context.problems.length
  const value = node && new NodeReader(context, key).read(node, schema, path)
  if (context.problems.length > before) return schema.parse(undefined)
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  for (const issue of parsed.error.issues)
    context.problems.push(toProblem(context, path, value, issue))
  return schema.parse(undefined)
}

/** Lists of what a service is used with: nothing reads them, and what is wrong in them, while it is switched off. */
const usedWith = /\.(?:accounts|masters|searches|subscriptions)$/

function isSwitchedOff(path: readonly string[], { root }: BindContext): boolean {
  const flag = findNode(root, [...path.slice(0, -1), 'enabled'])
  return flag?.kind === 'scalar' && truthOf(flag.text) === false
}

/** Reads one setting; everything that is not text or map or list as wanted is left for the schema to refuse. */
class NodeReader {
  readonly #context: BindContext
  readonly #key: string

  constructor(context: BindContext, key: string) {
    this.#context = context
    this.#key = key
  }

  read(node: Node, schema: z.core.$ZodType, path: readonly string[]): unknown {
    const core = coreOf(schema)
    if (core instanceof z.ZodArray) return this.#list(node, core, path)
    if (core instanceof z.ZodRecord) return this.#map(node, path, () => core.valueType)
    if (core instanceof z.ZodObject) {
      const shape = core.shape as Record<string, z.core.$ZodType>
      const rest = core.def.catchall instanceof z.ZodUnknown ? core.def.catchall : undefined
      return this.#map(node, path, (name) => (Object.hasOwn(shape, name) ? shape[name] : rest))
    }
    const isTemplate = notesOf(schema).template === true
    if (core instanceof z.ZodUnknown) return this.#anything(node, path, isTemplate)
    if (node.kind !== 'scalar') return this.#refuse(node.origin, path, 'must be a single value')
    const text = this.#text(node, path, isTemplate)
    return text === undefined || text === '' ? undefined : toScalar(node, text, core)
  }

  #list(node: Node, schema: z.ZodArray, path: readonly string[]): unknown {
    if (node.kind === 'scalar') {
      const text = this.#text(node, path, false) ?? ''
      return text === ''
        ? undefined
        : commaList(text).map((item) => toScalar(node, item, coreOf(schema.element)))
    }
    const items = node.kind === 'list' ? node.items : indexedItems(node.entries)
    if (items === undefined) return this.#refuse(node.origin, path, 'must be a list')
    return items.map((item, index) => this.read(item, schema.element, [...path, String(index)]))
  }

  #map(
    node: Node,
    path: readonly string[],
    schemaOf: (name: string) => z.core.$ZodType | undefined,
  ): unknown {
    if (node.kind === 'scalar' && node.text === '') return undefined
    if (node.kind !== 'map') return this.#refuse(node.origin, path, 'must be a map of keys')
    const entries: [string, unknown][] = []
    for (const [name, child] of node.entries) {
      const schema = schemaOf(name)
      if (schema === undefined) continue
      const value = this.read(child, schema, [...path, name])
      if (value !== undefined) entries.push([name, value])
    }
    return Object.fromEntries(entries)
  }

  #anything(node: Node, path: readonly string[], isTemplate: boolean): unknown {
    if (node.kind === 'list')
      return node.items.map((item, index) =>
        this.#anything(item, [...path, String(index)], isTemplate),
      )
    if (node.kind === 'map') {
      return Object.fromEntries(
        [...node.entries].map(([name, child]) => [
          name,
          this.#anything(child, [...path, name], isTemplate),
        ]),
      )
    }
    const text = this.#text(node, path, isTemplate)
    return text === node.text ? node.value : text
  }

  #text(node: ScalarNode, path: readonly string[], template: boolean): string | undefined {
    let text: string
    try {
      const { placeholders } = this.#context
      text = template ? placeholders.fillTemplate(node.text) : placeholders.fill(node.text)
    } catch (error) {
      if (!(error instanceof PlaceholderError)) throw error
      return this.#refuse(node.origin, path, error.message)
    }
    if (!isSecretReference(text)) return text
    const secret = this.#context.secretOf(text)
    return secret?.kind === 'problem'
      ? this.#refuse(node.origin, path, secret.message)
      : secret?.text
  }

  #refuse(origin: SourcePosition, path: readonly string[], message: string): undefined {
    this.#context.problems.push({
      origin,
      key: formatPath(path.length > 0 ? path : [this.#key]),
      message,
    })
    return undefined
  }
}

const truths = new Map([
  ...['true', 'yes', 'on', '1'].map((word) => [word, true] as const),
  ...['false', 'no', 'off', '0'].map((word) => [word, false] as const),
])

export function truthOf(text: string): boolean | undefined {
  return truths.get(text.trim().toLowerCase())
}

/** The text as the type that the schema wants; as it is, when it does not look like one. */
function toScalar(node: ScalarNode, text: string, core: z.core.$ZodType): unknown {
  const trimmed = text.trim()
  if (core instanceof z.ZodBoolean) return truthOf(text) ?? text
  if (core instanceof z.ZodNumber) {
    if (typeof node.value === 'number' && text === node.text) return node.value
    return /^[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i.test(trimmed) ? Number(trimmed) : text
  }
  return text
}

/** `{0: a, 1: b}`, as indexed keys and environment variables leave it; undefined when the keys are no indexes. */
function indexedItems(entries: ReadonlyMap<string, Node>): Node[] | undefined {
  const indexes = [...entries.keys()]
  if (!indexes.every((index) => /^\d{1,6}$/.test(index))) return undefined
  return indexes
    .sort((left, right) => Number(left) - Number(right))
    .map((index) => entries.get(index) as Node)
}

function toProblem(
  { root, hide }: BindContext,
  path: readonly string[],
  value: unknown,
  issue: z.core.$ZodIssue,
): Problem {
  const full = [...path, ...issue.path.map(String)]
  const { node } = findNearest(root, full)
  const key = formatPath(full)
  const wrong = issue.path.reduce<unknown>(
    (part, step) => (part as Record<PropertyKey, unknown> | undefined)?.[step],
    value,
  )
  const isSecret = typeof wrong === 'string' && hide(wrong) !== wrong
  return {
    origin: node.origin,
    key,
    message: `${describe(issue, wrong)}${isSecret ? '' : showValue(key, wrong)}${shellHint(node)}`,
  }
}

function shellHint(node: Node): string {
  return node.kind === 'scalar' && /\$\{[^{}:]+:-/.test(node.text)
    ? '; the default of ${NAME:default} follows the colon, without the "-" of a shell'
    : ''
}

function describe(issue: z.core.$ZodIssue, wrong: unknown): string {
  if (wrong === undefined && issue.code === 'invalid_type') return 'is missing'
  if (issue.code === 'invalid_type') return `must be ${kindNames[issue.expected] ?? issue.expected}`
  if (issue.code === 'too_small')
    return issue.origin === 'string' ? 'must not be empty' : `must be ${issue.minimum} or more`
  if (issue.code === 'too_big') return `must be ${issue.maximum} or less`
  if (issue.code === 'invalid_value') return `must be one of ${issue.values.join(', ')}`
  return issue.message
}

const kindNames: Readonly<Record<string, string>> = {
  int: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  string: 'a text',
  array: 'a list',
  object: 'a map of keys',
  record: 'a map of keys',
}
