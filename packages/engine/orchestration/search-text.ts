/** Text by which searches find an execution, beside id and application: its name, its parameters, its versions and commits. */
import { list, shape } from '@fairlead/base/json/shape.ts'
import { textOf } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import type { Execution } from './model.ts'

/** Values of a trigger may be long. */
const maxLength = 4000
/** Each is looked for in every run. */
const maxWords = 20

const toAny = (value: unknown) => value

const toVersions = shape({
  tag: toAny,
  branch: toAny,
  hash: toAny,
  version: toAny,
  action: toAny,
  buildInfo: shape({ number: toAny, scm: toAny }),
  commit: shape({ message: toAny, author: toAny }),
  artifacts: list(shape({ name: toAny, version: toAny, reference: toAny })),
})

/** What a stage has built, baked or deployed. */
const toStageContent = shape({
  imageId: textOf,
  buildInfo: shape({
    scm: list(shape({ sha: [textOf, 'sha1'], message: textOf, author: [textOf, 'committer'] })),
  }),
})

function contentOf(fields: unknown): (string | undefined)[] {
  const { imageId, buildInfo } = toStageContent(fields)
  return [imageId, ...buildInfo.scm.flatMap(Object.values<string | undefined>)]
}

/**
 * In small letters, a value in each line, parameters as `name=value`. Stages add to it as they end.
 *
 *
 * @param execution With its secrets masked, as in views
 */
export function searchTextOf({ name, trigger, stages = [] }: Execution): string {
  const parameters = Object.entries(trigger.parameters).map(
    ([key, value]) => `${key}=${textFor(value)}`,
  )
  const { buildInfo, artifacts, commit, ...versions } = toVersions(trigger)
  const found = [
    name,
    ...Object.values(versions),
    ...Object.values(commit),
    buildInfo.number,
    ...artifacts.flatMap(Object.values<unknown>),
    ...new Set([trigger, ...stages.map(({ context }) => context)].flatMap(contentOf)),
  ]
  const values = found.map((value) => textFor(value).replaceAll('\n', ' '))
  const lines = [...parameters, ...values].filter((line) => line !== '')
  return `\n${lines.join('\n').slice(0, maxLength)}\n`.toLowerCase()
}

/** What a run is found by as a whole: its parameters, the type and event of its trigger, and its name. */
export const searchMarks = {
  parameter: (line: string) => `parameter ${line}`,
  type: (type: string) => `trigger ${type}`,
  event: (id: string) => `event ${id}`,
  name: (name: string) => `name ${name}`,
  author: (key: string) => `author ${key.trim().toLowerCase()}`,
}

/** @param text Of `searchTextOf` */
export function searchMarksOf(
  { name, trigger, engine }: Execution,
  text: string,
): ReadonlySet<string> {
  const parameters = text
    .split('\n')
    .filter((line) => line.includes('='))
    .flatMap((line) => [line, line.slice(0, line.indexOf('=') + 1)])
  const { type, eventId } = trigger
  return new Set([
    ...parameters.map(searchMarks.parameter),
    ...(typeof type === 'string' ? [searchMarks.type(type)] : []),
    ...(typeof eventId === 'string' ? [searchMarks.event(eventId)] : []),
    ...(typeof name === 'string' ? [searchMarks.name(name)] : []),
    ...authorMarksOf(engine),
  ])
}

/** By what the user names of authors may be: their name, their login, their address, or what it has before the `@`. */
export function authorMarksOf({ authors = [] }: Execution['engine']): string[] {
  return authors
    .flatMap(({ name, email, login }) => [name, login, email, email?.split('@')[0]])
    .flatMap((key) => (key === undefined ? [] : searchMarks.author(key)))
}

/** Mark of the parameter among the terms. */
export function markOfTerms(terms: readonly string[]): string | undefined {
  const [, line] = terms.find((term) => term.startsWith('\n'))?.split('\n') ?? []
  return line === undefined ? undefined : searchMarks.parameter(line)
}

/** @param keys Lines: names and addresses of one person */
export function authorMarksFor(keys: string | undefined): readonly string[] {
  return [...new Set(keys?.split('\n').filter((key) => key !== ''))].map(searchMarks.author)
}

function textFor(value: unknown): string {
  return typeof value === 'string'
    ? value
    : value === undefined || value === null
      ? ''
      : (JSON.stringify(value) ?? '')
}

/**
 * What the text must contain.
 *
 * @param parameter `name=value`; the name alone is for any value
 * @param text Words, each of them somewhere
 */
export function searchTermsOf(
  parameter: string | undefined,
  text: string | undefined,
): readonly string[] {
  const words = (text ?? '').split(/\s+/).filter((word) => word !== '')
  if (words.length > maxWords)
    throw new PortError(400, `"text" has ${words.length} words; use at most ${maxWords}.`)
  const line =
    parameter === undefined || parameter === ''
      ? []
      : [parameter.includes('=') ? `\n${parameter}\n` : `\n${parameter}=`]
  return [...line, ...words].map((term) => term.toLowerCase())
}
