/** What changed from one run of a pipeline to a later one: in sentences, and as the values of both records. */

import type { JsonObject } from '@fairlead/base/json/values.ts'
import {
  describeChanges as describeFields,
  type Revision,
  showValue,
} from '../editor/describe-changes.ts'
import {
  durationOf,
  type Execution,
  executionStatus,
  isComplete,
  type Stage,
  startedBy,
  titleOf,
} from './execution.ts'
import { readSource, repositoryUrl, triggerWord } from './runs.ts'
import { formatDuration } from './time.ts'

export interface Change {
  readonly kind: 'parameter' | 'image' | 'commit' | 'definition' | 'stage' | 'duration' | 'trigger'
  readonly text: string
  /** The change itself, where a service shows it. */
  readonly href?: string
  /** The one of the definition that made it. */
  readonly revision?: string
}

type ComparedValue = ReturnType<typeof changed>[number]

/** What explains most comes first: input, then definition, then what came of it. @param revisions Of the definition of both */
export function describeChanges(
  older: Execution,
  newer: Execution,
  revisions: readonly Revision[] = [],
): readonly Change[] {
  const stages = pairs(older, newer)
  return [
    ...inputChanges(older, newer),
    ...savedChanges(revisions, older.buildTime ?? 0, newer.buildTime ?? 0),
    ...stages.flatMap(stageChange),
    ...durationChanges(stages),
  ]
}

const maxText = 60

function changeWords({ name, before = '', after = '' }: ComparedValue) {
  if (Math.max(before.length, after.length) > maxText) return `${name} changed`
  if (before === '') return `${name} is now ${after}`
  return after === '' ? `${name} is no longer ${before}` : `${name} went from ${before} to ${after}`
}

/** Parameters, images, the commit and build of the trigger, and how the run was started. */
function inputChanges(older: Execution, newer: Execution): readonly Change[] {
  const [was, is] = [inputOf(older), inputOf(newer)]
  const links = linksOf(older.trigger, newer.trigger)
  const values = (['parameter', 'image', 'commit'] as const).flatMap((kind) =>
    changed(was[kind], is[kind]).map((value) => ({ kind, ...value })),
  )
  return [
    // An image of one run alone is a matter of its stages.
    ...values
      .filter(({ kind, before, after }) => kind !== 'image' || (before && after))
      .map(
        (value): Change => ({
          kind: value.kind,
          text: changeWords(value),
          href: links[value.name],
        }),
      ),
    ...(was.start === is.start
      ? []
      : [{ kind: 'trigger', text: `Started ${is.start}, before ${was.start}` } as const]),
  ]
}

function inputOf(run: Execution) {
  const { parameters = {}, type } = run.trigger
  const { hash, branch, tag, build } = readSource(run.trigger)
  const user = startedBy(run)
  return {
    parameter: parameters ?? {},
    image: imagesOf(run),
    commit: { Commit: hash?.slice(0, 8), Branch: branch, Tag: tag, Build: build.number },
    start: triggerWord(type) + (user === undefined ? '' : ` by ${user}`),
  }
}

function linksOf(
  before: JsonObject,
  after: JsonObject,
): Readonly<Record<string, string | undefined>> {
  const { hash: one } = readSource(before)
  const { hash: other, source, build } = readSource(after)
  const repository = source === 'bitbucket' ? undefined : repositoryUrl(after)
  const { url } = build
  return {
    Commit: one && repository && `${repository}/compare/${one}...${other}`,
    Build: url?.startsWith('http') ? url : undefined,
  }
}

const imageKey = /(^|\.)(imageId|image|imageName|amiId|reference)$/
const imageName = /^(?:[^\s@]*\/)?([^\s@/:]+?)(?::([^:/@\s]+))?(?:@sha256:(\w{1,12})\w*)?$/

/** Versions of images that a run names, by the image: `registry/web:2.4.0` is `web` in version `2.4.0`. An expression names none. */
function imagesOf({ trigger, stages }: Execution) {
  const contexts = stages.filter(isTop).map(({ context }) => context)
  const found = new Map<string, Set<string>>()
  for (const [path, text] of leaves([trigger.artifacts, contexts])) {
    const [, name, tag, digest] =
      (imageKey.test(path) && !path.includes('kato.') && imageName.exec(text)) || []
    const version = tag ?? digest
    if (name !== undefined && version !== undefined)
      found.set(name, (found.get(name) ?? new Set()).add(version))
  }
  return Object.fromEntries(
    [...found].map(([name, versions]) => [`Image ${name}`, [...versions].toSorted().join(', ')]),
  )
}

type Pair = readonly [before: Stage | undefined, after: Stage | undefined]

const maxFields = 8

/** What the revisions of a definition changed that were saved between two runs. */
function savedChanges(
  revisions: readonly Revision[],
  fromMs: number,
  untilMs: number,
): readonly Change[] {
  const between = revisions.filter(
    ({ savedAtMs = 0 }) => savedAtMs > fromMs && savedAtMs <= untilMs,
  )
  return between.flatMap(({ id, author = 'someone', definition, previous }) => {
    const parts = previous === undefined ? [] : describeFields(previous, definition)
    const sentences = parts.flatMap(({ title, kind, fields }) => {
      if (fields.length === 0) return `${title} was ${kind}`
      return fields
        .filter(({ field }) => field !== 'index')
        .map(({ field, before, after }) => {
          return `${title}: ${changeWords({ name: field, before: showValue(before), after: showValue(after) })}`
        })
    })
    return sentences
      .slice(0, maxFields)
      .map((text) => ({ kind: 'definition', text: `${text} (by ${author})`, revision: id }))
  })
}

function stageChange([before, after]: Pair): readonly Change[] {
  if (before === undefined)
    return [{ kind: 'stage', text: `Stage ${titleOf(after as Stage)} is new` }]
  if (after === undefined) return [{ kind: 'stage', text: `Stage ${titleOf(before)} was removed` }]
  if (before.status === after.status) return []
  const [name, was, is] = [
    titleOf(after),
    executionStatus(before.status).word,
    executionStatus(after.status).word,
  ]
  if (after.status === 'NOT_STARTED') return [{ kind: 'stage', text: `${name} did not run` }]
  return [{ kind: 'stage', text: `${name}: ${is}, before ${was}` }]
}

const leastDifferenceMs = 5000
const maxDurations = 5

/** What took much longer or shorter, the greatest difference first. */
function durationChanges(stages: readonly Pair[]): readonly Change[] {
  const differences = stages.flatMap(([before, after]) => {
    const [one, other] = [
      before && durationOf(before, 0),
      after && isComplete(after.status) ? durationOf(after, 0) : undefined,
    ]
    if (after === undefined || one === undefined || other === undefined) return []
    return Math.abs(other - one) < Math.max(leastDifferenceMs, one / 5)
      ? []
      : [{ stage: after, ms: other - one }]
  })
  const greatest = differences
    .toSorted((a, b) => Math.abs(b.ms) - Math.abs(a.ms))
    .slice(0, maxDurations)
  return greatest.map(({ stage, ms }) => {
    const verb = stage.type === 'manualJudgment' ? 'waited' : 'took'
    return {
      kind: 'duration',
      text: `${titleOf(stage)} ${verb} ${formatDuration(Math.abs(ms))} ${ms > 0 ? 'longer' : 'less'}`,
    }
  })
}

/** Values that differ in every run and explain nothing. */
const noise =
  /(^|\.)(startTime|endTime|id|stageDetails|deploy\.account\.name|previousAttempts|restartDetails)(\.|$)/

/** What differs between both records: of the triggers, and of the stages by their names. */
export function compareExecutions(older: Execution, newer: Execution): readonly ComparedValue[] {
  return changed(recordOf(older), recordOf(newer)).filter(({ name }) => !noise.test(name))
}

function recordOf({ trigger, stages }: Execution) {
  const { type, parameters, tag, branch, hash, artifacts } = trigger as JsonObject
  const ofStages = stages
    .filter(isTop)
    .map((stage) => [
      titleOf(stage),
      { status: stage.status, type: stage.type, context: stage.context, outputs: stage.outputs },
    ])
  const build = readSource(trigger).build.url
  return {
    trigger: type,
    parameters,
    tag,
    branch,
    hash,
    artifacts,
    build,
    ...Object.fromEntries(ofStages),
  }
}

function isTop({ parentStageId }: Stage) {
  return !parentStageId
}

/** Stages of the definitions by reference, else by name; those of one side only stay alone. */
function pairs(older: Execution, newer: Execution): readonly Pair[] {
  const others = newer.stages.filter(isTop)
  const found = older.stages.filter(isTop).map((stage): Pair => {
    const fits = (other: Stage) => other.type === stage.type && titleOf(other) === titleOf(stage)
    const other = others.find((one) => one.refId === stage.refId && fits(one)) ?? others.find(fits)
    if (other !== undefined) others.splice(others.indexOf(other), 1)
    return [stage, other]
  })
  return [...found, ...others.map((other): Pair => [undefined, other])]
}

/** Values that differ as text, by their paths such as `parameters.version`; undefined on a side that has none. */
export function changed(before: unknown, after: unknown) {
  const [one, other] = [new Map(leaves(before)), new Map(leaves(after))]
  const names = [...new Set([...one.keys(), ...other.keys()])].filter(
    (name) => one.get(name) !== other.get(name),
  )
  return names.map((name) => ({ name, before: one.get(name), after: other.get(name) }))
}

const maxDepth = 12

function leaves(
  value: unknown,
  path = '',
  depth = 0,
): readonly (readonly [path: string, text: string])[] {
  const inner =
    typeof value === 'object' && value !== null && depth < maxDepth ? Object.entries(value) : []
  if (inner.length > 0) {
    return inner.flatMap(([key, each]) =>
      leaves(each, path === '' ? key : `${path}.${key}`, depth + 1),
    )
  }
  if (value === undefined) return []
  return [[path, typeof value === 'string' ? value : JSON.stringify(value)]]
}
