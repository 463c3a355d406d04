/** Text of an app file → its values, or all that is wrong with it. */
import { nearestName, shorten } from '@fairlead/base/names/edit-distance.ts'
import { describeIssue } from '@fairlead/base/settings/describe-issue.ts'
import { z } from 'zod'
import { type AppFile, AppFileSchema } from './app-file.ts'
import { findContradictions } from './contradictions.ts'
import { type DocumentProblem, type ReadDocument, readDocument } from './document.ts'

export const appFilePath = '.fairlead/app.yml'

interface AppFileProblem extends DocumentProblem {
  /** The known key that was probably meant. */
  readonly nearest?: string
}

type AppFileResult =
  | { readonly file: AppFile; readonly problems?: undefined }
  | { readonly file?: undefined; readonly problems: readonly AppFileProblem[] }

type Path = readonly PropertyKey[]

/** Without what the instance alone knows, such as accounts, roles, secrets and owners of hosts. */
export function readAppFile(text: string): AppFileResult {
  const document = readDocument(text, { isText })
  if (document.value === undefined) return { problems: document.problems }
  const checked = AppFileSchema.safeParse(document.value, { reportInput: true })
  const found = checked.success
    ? findContradictions(checked.data).map((each) => ({
        ...each,
        ...document.placeOf(each.path),
        path: each.path.join('.'),
      }))
    : problemsOf(checked.error.issues, [], document)
  const problems = sorted([...document.problems, ...found])
  return checked.success && problems.length === 0 ? { file: checked.data } : { problems }
}

/** `.fairlead/app.yml:12:5: services.web.port: it must be at most 65535; write for example 8080.` */
export function formatProblem(
  { line, column, path, message, remedy }: AppFileProblem,
  file: string = appFilePath,
): string {
  const what = path === '' ? message : `${path}: ${message}`
  return `${file}:${line}:${column}: ${what}; ${remedy}.`
}

/** Numbers of versions, and values of variables. */
function isText(path: Path): boolean {
  const [parent, last] = path.slice(-2).map(String)
  return parent === 'env' || ['version', 'node', 'python'].includes(last ?? parent ?? '')
}

/** Keys of other tools, by those that mean the same. */
const foreignKeys: Readonly<Record<string, readonly string[]>> = {
  attach: ['databases', 'addons', 'accessories'],
  command: ['cmd', 'start', 'run', 'startCommand', 'entrypoint'],
  cpu: ['cpus'],
  env: ['environment', 'envVars', 'variables'],
  health: ['healthcheck', 'healthCheckPath', 'readinessProbe'],
  hosts: ['domains', 'domain', 'routes'],
  instances: ['replicas', 'scale', 'numReplicas'],
  schedule: ['cron', 'crontab'],
  stop: ['stop_grace_period', 'kill_timeout'],
}

function sorted(problems: readonly AppFileProblem[]): AppFileProblem[] {
  return problems.toSorted((one, other) => one.line - other.line || one.column - other.column)
}

function problemAt(
  document: ReadDocument,
  path: Path,
  message: string,
  remedy: string,
): AppFileProblem {
  return { ...document.placeOf(path), path: path.map(String).join('.'), message, remedy }
}

function problemsOf(
  issues: readonly z.core.$ZodIssue[],
  around: Path,
  document: ReadDocument,
): AppFileProblem[] {
  return issues.flatMap((issue) => {
    const path = [...around, ...issue.path]
    if (issue.code === 'unrecognized_keys') return unknownKeys(issue.keys, path, document)
    if (issue.code === 'invalid_union') return problemsOfChoice(issue, path, document)
    if (issue.code === 'invalid_key') return problemsOfName(issue, path, document)
    if (issue.code === 'invalid_value' && typeof issue.input === 'string')
      return [wrongWord(issue.input, issue.values.map(String), path, document)]
    return [problemAt(document, path, messageOf(issue), remedyAt(path, issue))]
  })
}

/** A choice between a short form and a map: where a map was written, what is wrong with the map. */
function problemsOfChoice(
  issue: z.core.$ZodIssueInvalidUnion,
  path: Path,
  document: ReadDocument,
): AppFileProblem[] {
  const { input } = issue
  const isWord = typeof input === 'string'
  const fitting = issue.errors.filter(
    (errors) =>
      !errors.some(
        ({ code, path: inner }) =>
          inner.length === 0 && (code === 'invalid_type' || (code === 'invalid_value' && !isWord)),
      ),
  )
  const words = issue.errors.flatMap((errors) =>
    errors.flatMap((each) => (each.code === 'invalid_value' ? each.values.map(String) : [])),
  )
  const [only] = fitting
  // One word beside values of another type is not all that may be written.
  if (only !== undefined && fitting.length === 1 && !(isWord && words.length === 1))
    return problemsOf(only, path, document)
  if (isWord && words.length > 1) return [wrongWord(input, words, path, document)]
  return [problemAt(document, path, messageOf(issue), remedyAt(path, issue))]
}

/** A wrong name does not hide what is wrong below it. */
function problemsOfName(
  issue: z.core.$ZodIssueInvalidKey,
  path: Path,
  document: ReadDocument,
): AppFileProblem[] {
  const [first] = issue.issues
  const name = first === undefined ? issue.message : messageOf(first)
  const below = schemasAt(AppFileSchema, path.slice(0, -1)).flatMap((schema) => {
    if (!(schema instanceof z.ZodRecord)) return []
    const value = path.reduce<unknown>(
      (around, key) => (around as Record<PropertyKey, unknown>)?.[key],
      document.value,
    )
    const checked = z.safeParse(schema.def.valueType, value, { reportInput: true })
    return checked.success ? [] : problemsOf(checked.error.issues, path, document)
  })
  return [
    problemAt(
      document,
      path,
      `"${String(path.at(-1))}" ${name.replace(/^it /, '')}`,
      'another name',
    ),
    ...below,
  ]
}

function unknownKeys(
  keys: readonly string[],
  path: Path,
  document: ReadDocument,
): AppFileProblem[] {
  const known = keysAt(AppFileSchema, path)
  return keys.map((key) => {
    if (key === '<<')
      return problemAt(
        document,
        [...path, key],
        'maps are not merged here',
        'write the keys themselves, or an alias in place of the whole map',
      )
    const meant = (names: readonly string[]) =>
      names.find((name) => name === key || foreignKeys[name]?.includes(key))
    const nearest = meant(known) ?? nearestName(known, key)
    const above = nearest === undefined ? meant(keysAt(AppFileSchema, [])) : undefined
    const remedy =
      above === undefined
        ? `write ${nearest ?? `one of ${known.join(', ')}`}`
        : `write ${above} at the top of the file`
    return {
      ...problemAt(document, [...path, key], `"${key}" is not a known key`, remedy),
      nearest,
    }
  })
}

function wrongWord(
  written: string,
  words: readonly string[],
  path: Path,
  document: ReadDocument,
): AppFileProblem {
  const nearest = nearestName(words, written)
  const message = `"${shorten(written)}" is not a value of this key`
  const remedy = `write ${nearest ?? `one of ${words.join(', ')}`}`
  return { ...problemAt(document, path, message, remedy), nearest }
}

/** The schemas have messages of their own for some. */
function messageOf(issue: z.core.$ZodIssue): string {
  if (!/^(?:Invalid|Too|Unrecognized) /.test(issue.message)) return issue.message
  return describeIssue(issue).replace(/\.$/, '').replace('an object', 'a map')
}

function remedyAt(path: Path, issue: z.core.$ZodIssue): string {
  const examples = examplesAt(AppFileSchema, path).slice(0, 2)
  const key = String(path.at(-1) ?? '')
  if (issue.input === undefined && issue.code === 'invalid_type')
    return examples.length === 0
      ? `write ${key}: and its value`
      : `write for example ${key}: ${show(examples[0])}`
  if (examples.length > 0)
    return `write for example ${[...new Set(examples.map(show))].join(' or ')}`
  const keys = keysAt(AppFileSchema, path)
  return keys.length === 0 ? 'correct the value' : `write a map with ${keys.join(', ')}`
}

function show(example: unknown): string {
  return typeof example === 'string'
    ? example
    : JSON.stringify(example).replaceAll(/"(\w+)":/g, '$1: ')
}

/** What a key may be: the options of a choice, without what surrounds them. */
function schemasAt(schema: z.core.$ZodType, path: readonly PropertyKey[]): z.core.$ZodType[] {
  const here = optionsOf(schema)
  const [first, ...rest] = path
  if (first === undefined) return here
  return here.flatMap((option) => {
    const inner = memberOf(option, first)
    return inner === undefined ? [] : schemasAt(inner, rest)
  })
}

/** Keys that a map with this path may have; empty where it has names of the writer. */
function keysAt(schema: z.core.$ZodType, path: readonly PropertyKey[]): string[] {
  return schemasAt(schema, path).flatMap((option) =>
    option instanceof z.ZodObject ? Object.keys(option.def.shape) : [],
  )
}

/** Values as a user writes them, of the innermost schema that has some. */
function examplesAt(schema: z.core.$ZodType, path: readonly PropertyKey[]): unknown[] {
  return wrappedAt(schema, path).flatMap((each) => z.globalRegistry.get(each)?.examples ?? [])
}

/** The schema itself, and all that it wraps. */
function wrappedAt(schema: z.core.$ZodType, path: readonly PropertyKey[]): z.core.$ZodType[] {
  const [first, ...rest] = path
  if (first === undefined) return layersOf(schema)
  return optionsOf(schema).flatMap((option) => {
    const inner = memberOf(option, first)
    return inner === undefined ? [] : wrappedAt(inner, rest)
  })
}

function layersOf(schema: z.core.$ZodType): z.core.$ZodType[] {
  const inner = innerOf(schema)
  if (inner !== undefined) return [schema, ...layersOf(inner)]
  return schema instanceof z.ZodUnion ? [schema, ...schema.def.options.flatMap(layersOf)] : [schema]
}

function optionsOf(schema: z.core.$ZodType): z.core.$ZodType[] {
  const inner = innerOf(schema)
  if (inner !== undefined) return optionsOf(inner)
  return schema instanceof z.ZodUnion ? schema.def.options.flatMap(optionsOf) : [schema]
}

function innerOf(schema: z.core.$ZodType): z.core.$ZodType | undefined {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable)
    return schema.def.innerType
  if (schema instanceof z.ZodDefault) return schema.def.innerType
  return schema instanceof z.ZodPipe ? schema.def.in : undefined
}

function memberOf(schema: z.core.$ZodType, key: PropertyKey): z.core.$ZodType | undefined {
  if (schema instanceof z.ZodObject) return schema.def.shape[String(key)]
  if (schema instanceof z.ZodRecord) return schema.def.valueType
  return schema instanceof z.ZodArray ? schema.def.element : undefined
}
