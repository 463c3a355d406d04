/** Findings about triggers and expected artifacts: what can never fire, and patterns that can never match. */

import { type DocumentFinding, errorAt } from '@fairlead/base/findings/document-finding.ts'
import { isRawNumber } from '@fairlead/base/json/json.ts'
import { or, shape } from '@fairlead/base/json/shape.ts'
import {
  isObject,
  isTrue,
  type JsonObject,
  objectOf,
  textOf,
  textsOf,
} from '@fairlead/base/json/values.ts'
import { describeChoice, shorten } from '@fairlead/base/names/edit-distance.ts'
import { isTimeZone } from '@fairlead/base/names/time-zone.ts'
import { repositoryPattern, withoutUserinfo } from '@fairlead/base/outside/git-repository.ts'
import { refusalOf } from '@fairlead/base/port-error.ts'
import { findRegexProblem } from '@fairlead/base/regex/bounded-regex.ts'
import { flatMapInTurns } from '@fairlead/base/stores/in-turns.ts'
import { readPipeline, readTrigger } from '@fairlead/model/pipelines/definition.ts'
import { mask } from '@fairlead/model/secrets/secret-names.ts'
import { findProblemsIn, isExpression } from '@fairlead/model/stage-types/check-stage.ts'
import type { Field } from '@fairlead/model/stage-types/description.ts'
import { triggerTypes as describedTypes } from '@fairlead/model/stage-types/pipeline-parts.ts'
import { optionalFlagField } from '@fairlead/ports/requests/check-body.ts'
import { validRange } from 'semver'
import { describeNever, validateCron } from '../../events/cron/validation.ts'
import { comparedFields } from '../../pipelines/artifact-match.ts'
import { findPathProblem } from '../../pipelines/json-path.ts'
import { completionWords } from '../statuses.ts'

/** The slowest patterns take two milliseconds each. */
const patternsAtATime = 5
/** A type of Spinnaker's UI that no embedded service fires. */
const firedElsewhere = 'wercker'

interface Clock {
  readonly nowMs: number
  readonly timeZone: string
}

type Problem = Pick<DocumentFinding, 'severity' | 'message'> & { readonly field: string }

/** @param types Those that can fire; undefined where another service fires them */
export function triggerFindings(
  definition: JsonObject,
  types: readonly string[] | undefined,
  clock: Clock,
): Promise<DocumentFinding[]> {
  const { triggers: own, expectedArtifacts } = readPipeline(definition)
  const triggers = types === undefined ? [] : own
  // An instance may take those of its template.
  const expected =
    definition['type'] === 'templatedPipeline'
      ? undefined
      : new Set(expectedArtifacts.map(({ id }) => String(id ?? '')))
  const problems = triggers.flatMap((trigger, index) =>
    [...problemsOf(trigger, types ?? [], clock), ...artifactProblems(trigger, expected)].map(
      ({ field, ...problem }) => ({
        ...problem,
        place: `triggers[${index}].${field}`,
      }),
    ),
  )
  const patterns = [...triggerPatterns(definition), ...artifactPatterns(definition)]
  return flatMapInTurns(patterns, patternFinding, patternsAtATime).then((found) => [
    ...problems,
    ...found,
  ])
}

/** None of a trigger that is switched off: it never fires. */
function problemsOf(trigger: JsonObject, types: readonly string[], clock: Clock): Problem[] {
  const { enabled, type } = trigger
  const isFlag = optionalFlagField.safeParse(enabled).success || typeof enabled === 'number'
  if (!isFlag && !isExpression(enabled))
    return [
      error(
        'enabled',
        `${describeChoice(String(enabled), 'a value of "enabled"', ['true', 'false'])} The trigger never fires.`,
      ),
    ]
  if (!readTrigger(trigger).isEnabled) return []
  if (type === undefined || type === null || type === '')
    return [error('type', 'The trigger has no "type", so it never fires.')]
  const name = String(type)
  if (isExpression(name)) return []
  if (name === firedElsewhere)
    return [
      error(
        'type',
        `No service here fires triggers of the type "${name}": set services.echo.baseUrl and services.igor.baseUrl, or disable the trigger.`,
      ),
    ]
  if (!types.includes(name))
    return [
      error('type', `${describeChoice(name, 'a type of trigger', types)} The trigger never fires.`),
    ]
  const fields = describedTypes.find((known) => known.type === name)?.fields ?? []
  const missing = findProblemsIn(trigger, fields).map(({ field, message }) =>
    / is missing\. /.test(message)
      ? {
          severity: 'warning' as const,
          field,
          message: `${message} Without it, the trigger never fires.`,
        }
      : error(field, message),
  )
  return [
    ...missing,
    ...fields.flatMap(({ name: field }) => unevaluated(field, trigger[field])),
    ...shapeProblems(trigger, fields),
    ...pathProblems(trigger),
    ...(ofType[name]?.(trigger, clock) ?? []),
  ]
}

function error(field: string, message: string): Problem {
  return { severity: 'error', field, message }
}

function warning(field: string, message: string): Problem {
  return { severity: 'warning', field, message }
}

/** Those of templates are filled in; nothing else in a trigger is evaluated. */
function unevaluated(field: string, value: unknown): Problem[] {
  if (typeof value !== 'string' || !isExpression(value) || value.includes('templateVariables'))
    return []
  const message = `Expressions of triggers are not evaluated, so "${shorten(value)}" is compared as it is. Write the value itself.`
  return [warning(field, message)]
}

/** Lists that are none count as empty, and constraints that are no texts match nothing. */
function shapeProblems(trigger: JsonObject, fields: readonly Field[]): Problem[] {
  const given = fields.filter(
    ({ name }) => trigger[name] != null && trigger[name] !== '' && !isExpression(trigger[name]),
  )
  return given.flatMap(({ name, kind }) => {
    const value = trigger[name]
    if (kind === 'texts' && !Array.isArray(value))
      return [
        error(
          name,
          `"${name}" is no list, so it counts as empty. Write ["${shorten(String(value))}"].`,
        ),
      ]
    if (kind !== 'map' || !isObject(value)) return []
    return Object.entries(value).flatMap(([key, pattern]) =>
      typeof pattern === 'object' && pattern !== null && !isRawNumber(pattern)
        ? [
            error(
              `${name}.${key}`,
              'The constraint can never match: its value must be a regular expression as text.',
            ),
          ]
        : [],
    )
  })
}

/** A trigger waits for artifacts by ids of the pipeline, and fires if one of them comes. */
function artifactProblems(
  trigger: JsonObject,
  expected: ReadonlySet<string> | undefined,
): Problem[] {
  const { isEnabled, expectedArtifactIds: ids } = readTrigger(trigger)
  if (
    expected === undefined ||
    !isEnabled ||
    ids.length === 0 ||
    ids.some((id) => expected.has(id) || isExpression(id))
  )
    return []
  return [
    {
      severity: 'warning',
      field: 'expectedArtifactIds',
      message: `The pipeline expects no artifact with the id "${shorten(ids[0] as string)}", so the trigger never fires. Name one of expectedArtifacts, or none.`,
    },
  ]
}

/** What looks like a name is one: a payload may have it. */
function pathProblems({ payloadConstraints }: JsonObject): Problem[] {
  return Object.keys(objectOf(payloadConstraints)).flatMap((path) => {
    const problem = /^\$|\[/.test(path) && !isExpression(path) ? findPathProblem(path) : undefined
    return problem === undefined
      ? []
      : [
          error(
            `payloadConstraints.${path}`,
            `The constraint can never match: the path "${shorten(path)}" ${problem}.`,
          ),
        ]
  })
}

const ofType: Readonly<Record<string, (trigger: JsonObject, clock: Clock) => Problem[]>> = {
  cron: cronProblems,
  pipeline: statusProblems,
  git: gitProblems,
  helm: rangeProblems,
  webhook: sourceProblems,
  cdevents: sourceProblems,
  ...Object.fromEntries(
    ['artifactory', 'nexus', 'plugin', 'pubsub'].map((type) => [type, bridgeProblems]),
  ),
}

function bridgeProblems({ type }: JsonObject): Problem[] {
  return [
    {
      severity: 'warning',
      field: 'type',
      message: `Fairlead itself looks for no events of the type ${String(type)}: the trigger fires only if a service of Spinnaker reports them.`,
    },
  ]
}

/** By the check of `GET /cron/validate`. */
function cronProblems(trigger: JsonObject, { nowMs, ...usual }: Clock): Problem[] {
  const expression = String(trigger['cronExpression'] ?? '')
  const { timeZone = usual.timeZone } = readTrigger(trigger)
  if (isExpression(timeZone)) return []
  if (!isTimeZone(timeZone))
    return [
      error(
        'timeZone',
        `There is no time zone "${shorten(timeZone)}", so the trigger never fires. Write one such as Europe/Berlin.`,
      ),
    ]
  if (expression.trim() === '' || isExpression(expression)) return []
  const problem =
    refusalOf(() => validateCron(expression)) ?? describeNever(expression, { nowMs, timeZone })
  return problem === undefined ? [] : [error('cronExpression', problem)]
}

/** Checks ranges by which events of charts are compared. */
function rangeProblems(trigger: JsonObject): Problem[] {
  const version = String(trigger['version'] ?? '')
  if (isExpression(version) || validRange(version.trim()) !== null) return []
  return [
    error(
      'version',
      `"${version}" is no range of versions such as ^1.2 or >=2.0.0 <3, so the trigger never fires.`,
    ),
  ]
}

/** The address of a webhook has one part for it. */
function sourceProblems(trigger: JsonObject): Problem[] {
  const source = textOf(trigger['source']) ?? ''
  if (!source.includes('/') || isExpression(source)) return []
  const parts = source.split('/')
  const last = parts.slice(parts.indexOf('webhooks') + 2).join('/')
  return [
    error(
      'source',
      `The address of a webhook cannot have the slash of "${source}", so the trigger never fires. Write ${(parts.includes('webhooks') && last ? last : source).replace(/\/+/g, '-')}.`,
    ),
  ]
}

const readGit = shape({
  polls: [isTrue, 'poll'],
  address: [or(textOf, ''), 'repository'],
  project: textOf,
  slug: textOf,
})

/** A repository without a poll may be reported by webhooks alone. */
function gitProblems(trigger: JsonObject): Problem[] {
  const { polls, address, project, slug } = readGit(trigger)
  if ([address, project, slug].some(isExpression)) return []
  const isNamed = project !== undefined && slug !== undefined
  if (!isNamed && address === '')
    return [
      warning(
        'repository',
        'Neither "repository" nor "project" and "slug" say which repository it is, so the trigger never fires.',
      ),
    ]
  if (address === '' && [project, slug].some((part = '') => /:|@|\.git$/.test(part)))
    return [
      warning(
        'slug',
        'Webhooks name a repository by its owner as "project" and its name as "slug", such as shop and web, not by an address, so the trigger never fires.',
      ),
    ]
  if (!polls || (isPollable(address) && repositoryPattern.test(address))) return []
  return [
    error(
      'repository',
      `It polls, and "${withoutUserinfo(address)}" is no address of a repository. Use https://, ssh:// or git@host:path, or turn the polls off.`,
    ),
  ]
}

function isPollable(address: string): boolean {
  return /^(?:https?|ssh):\/\//.test(address) || !/^(?:\/|[a-z]+:\/\/)/.test(address)
}

function statusProblems({ status }: JsonObject): Problem[] {
  const unknown = textsOf(status).find(
    (each) => !isExpression(each) && !completionWords.some((word) => word === each),
  )
  return unknown === undefined
    ? []
    : [
        error(
          'status',
          `${describeChoice(unknown, 'a status to wait for', completionWords)} The trigger does not fire for it.`,
        ),
      ]
}

interface Pattern {
  readonly place: string
  readonly pattern: unknown
  /** Whether a text that Java would not take for a pattern has a meaning of its own. */
  readonly mayBeText?: boolean
}

function patternFinding({ place, pattern, mayBeText = false }: Pattern): DocumentFinding[] {
  // What is an expression is a pattern only once it is evaluated; behind a mask is what is stored.
  if (typeof pattern !== 'string' || pattern === '' || pattern === mask || isExpression(pattern))
    return []
  const problem = findRegexProblem(pattern)
  if (problem === undefined || (mayBeText && problem.kind === 'malformed')) return []
  return [errorAt(place, `The pattern can never match. ${problem.message}`)]
}

function triggerPatterns(definition: JsonObject): Pattern[] {
  return readPipeline(definition).triggers.flatMap((trigger, index) => {
    if (!readTrigger(trigger).isEnabled) return []
    const place = `triggers[${index}]`
    const fields = patternFields(String(trigger['type'])).map((field) => ({
      place: `${place}.${field}`,
      pattern: trigger[field],
    }))
    const constraints = ['payloadConstraints', 'attributeConstraints'].flatMap((field) =>
      Object.entries(objectOf(trigger[field])).map(([key, pattern]) => ({
        place: `${place}.${field}.${key}`,
        pattern,
      })),
    )
    return [...fields, ...constraints]
  })
}

function patternFields(type: string): string[] {
  if (type === 'git') return ['branch', 'tags']
  if (type === 'artifact') return ['version']
  return type === 'docker' || type === 'helm/oci' ? ['tag'] : []
}

function artifactPatterns(definition: JsonObject): Pattern[] {
  return readPipeline(definition).expectedArtifacts.flatMap((expected, index) =>
    comparedFields.map((field) => ({
      place: `expectedArtifacts[${index}].matchArtifact.${field}`,
      pattern: objectOf(expected['matchArtifact'])[field],
      mayBeText: true,
    })),
  )
}
