/** Converts the query of a request to the declared parameters, and keeps the rest apart. */

import { GatewayError } from '@fairlead/base/errors.ts'
import { shorten } from '@fairlead/base/names/edit-distance.ts'
import type { QueryValue } from '@fairlead/base/net/encode-path.ts'
import { describeIssue } from '@fairlead/base/settings/describe-issue.ts'
import type { z } from 'zod'

type ParameterKind = 'text' | 'integer' | 'flag' | 'list'

export interface QueryRule {
  readonly name: string
  readonly schema: z.ZodType
  readonly kind: ParameterKind
  readonly required: boolean
}

export interface ParsedQuery {
  query: Record<string, QueryValue>
  otherQuery: Record<string, string>
}

export function createQueryRules(declared: Readonly<Record<string, z.ZodType>> = {}): QueryRule[] {
  return Object.entries(declared).map(([name, schema]) => ({
    name,
    schema,
    kind: kindOf(schema),
    required: !schema.safeParse(undefined).success,
  }))
}

interface Definition {
  type: string
  innerType?: { def: Definition }
}

function kindOf(schema: z.ZodType): ParameterKind {
  let definition = schema.def as unknown as Definition
  while (definition.innerType !== undefined) definition = definition.innerType.def
  if (definition.type === 'number' || definition.type === 'int') return 'integer'
  if (definition.type === 'boolean') return 'flag'
  return definition.type === 'array' ? 'list' : 'text'
}

/**
 * An empty value counts as not given. Where a text or a list is required it is an empty one, as in Spring, if the schema
 * allows that.
 *
 * @throws {GatewayError} MISSING_PARAMETER, MISTYPED_PARAMETER
 */
export function parseQuery(rules: readonly QueryRule[], search: URLSearchParams): ParsedQuery {
  const query: Record<string, QueryValue> = {}
  const otherQuery: Record<string, string> = {}
  for (const rule of rules) {
    const given = convert(rule, search.getAll(rule.name)) ?? emptyValue(rule, search)
    if (given === undefined && rule.required) {
      throw new GatewayError('MISSING_PARAMETER', `The query parameter "${rule.name}" is required.`)
    }
    const checked = rule.schema.safeParse(given)
    if (!checked.success)
      throw mistyped(rule, search.getAll(rule.name).join(','), checked.error.issues[0])
    query[rule.name] = checked.data as QueryValue
  }
  for (const [name, value] of search) {
    if (!Object.hasOwn(query, name) && !Object.hasOwn(otherQuery, name) && name !== '__proto__')
      otherQuery[name] = value
  }
  return { query, otherQuery }
}

const words: Readonly<Record<string, boolean>> = {
  true: true,
  on: true,
  yes: true,
  1: true,
  false: false,
  off: false,
  no: false,
  0: false,
}

function convert(rule: QueryRule, values: readonly string[]): QueryValue {
  if (values[0] === undefined) return undefined
  // A plus sign that is not encoded arrives as a blank.
  const first = values[0].trim()
  if (rule.kind === 'list') {
    const elements = values.flatMap((value) => value.split(',')).map((value) => value.trim())
    return elements.every((element) => element === '')
      ? undefined
      : elements.filter((element) => element !== '')
  }
  if (rule.kind === 'text')
    return values.length === 1
      ? values[0] || undefined
      : values.filter((value) => value !== '').join(',') || undefined
  if (first === '') return undefined
  if (rule.kind === 'flag') {
    const word = first.toLowerCase()
    if (!Object.hasOwn(words, word)) throw mistyped(rule, first)
    return words[word]
  }
  if (!/^[+-]?\d{1,15}$/.test(first)) throw mistyped(rule, first)
  return Number(first)
}

function emptyValue(rule: QueryRule, search: URLSearchParams): QueryValue {
  const empty = rule.kind === 'text' ? '' : rule.kind === 'list' ? [] : undefined
  return rule.required && search.has(rule.name) && rule.schema.safeParse(empty).success
    ? empty
    : undefined
}

const wanted: Readonly<Record<ParameterKind, string>> = {
  text: 'text',
  integer: 'a whole number',
  flag: 'true or false',
  list: 'a list, repeated or comma-separated',
}

function mistyped(rule: QueryRule, given: string, issue?: z.core.$ZodIssue): GatewayError {
  const reason = issue === undefined ? `it must be ${wanted[rule.kind]}` : describeIssue(issue)
  return new GatewayError(
    'MISTYPED_PARAMETER',
    `The query parameter "${rule.name}" ${reason.replace(/^it /, '')}, not "${shorten(given)}".`,
  )
}
