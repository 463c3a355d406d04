/** Messages for values that a schema rejects, in the terms of JSON. */
import type { z } from 'zod'
import { shorten } from '../names/edit-distance.ts'

const nouns: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
}

/** All that a schema rejects, each with its place. @param whole The place of what holds for all */
export function describeIssues({ issues }: z.core.$ZodError, whole: string = 'the body'): string {
  return issues
    .map((issue) => `${issue.path.join('.') || whole}: ${describeIssue(issue)}`)
    .join('; ')
}

export function describeIssue(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return describeType(issue.expected, issue.message)
    case 'too_big':
      return describeBound(issue.origin, `at most ${issue.maximum}`)
    case 'too_small':
      return describeBound(issue.origin, `at least ${issue.minimum}`)
    case 'invalid_value':
      return `it must be one of ${issue.values.join(', ')}`
    case 'invalid_union':
      return describeUnion(issue)
    case 'invalid_key':
      return issue.issues[0]?.message ?? issue.message
    case 'unrecognized_keys':
      return describeKeys(issue)
    default:
      return issue.message
  }
}

/** The issue no longer has the value itself. */
function describeType(expected: string, message: string): string {
  const [, received = ''] = /received (\w+)$/.exec(message) ?? []
  if (received === 'undefined') return 'it is missing'
  const wanted = nouns[expected]
  if (wanted === undefined) return message
  if (received === 'RawNumber')
    return `it must be ${wanted}, written in plain digits and not too large`
  const found = received === 'boolean' ? 'a boolean' : (nouns[received] ?? received)
  return `it must be ${wanted}${found === '' || found === wanted ? '' : `, not ${found}`}`
}

/** A choice between types; zod reports each of them in a list of its own. */
function describeUnion({ errors, message }: z.core.$ZodIssueInvalidUnion): string {
  const types = errors.map(([first]) =>
    first?.code === 'invalid_type' && first.path.length === 0 ? first : undefined,
  )
  const wanted = types.map((type) => nouns[type?.expected ?? ''])
  if (wanted.length === 0 || wanted.includes(undefined)) return message
  const [, received = ''] = /received (\w+)$/.exec(types[0]?.message ?? '') ?? []
  if (received === 'undefined') return 'it is missing'
  return `it must be ${wanted.join(' or ')}${nouns[received] === undefined ? '' : `, not ${nouns[received]}`}`
}

/** A schema may have a message of its own for them. */
function describeKeys({ keys, message }: z.core.$ZodIssueUnrecognizedKeys): string {
  if (!message.startsWith('Unrecognized key')) return message
  const names = keys.map((key) => `"${shorten(key)}"`)
  return `${names.join(', ')} ${names.length === 1 ? 'is not a known key' : 'are not known keys'}; correct or remove ${names.length === 1 ? 'it' : 'them'}`
}

function describeBound(origin: string, bound: string): string {
  if (origin === 'string') return `it must have ${bound} characters`
  return origin === 'array' ? `it must have ${bound} entries` : `it must be ${bound}`
}
