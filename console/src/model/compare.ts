/** What changed from one run of a pipeline to a later one, in sentences. */
import { compare, pairs } from './compared-values.ts'
import { durationOf, type Execution, type Stage, startedBy, titleOf } from './execution.ts'
import { type Json, listOf, objectOf, textOf } from './read.ts'
import { triggerWord } from './runs.ts'
import { executionStatus, isComplete } from './status.ts'
import { formatDuration } from './time.ts'

export interface Change {
  readonly kind: 'parameter' | 'image' | 'commit' | 'definition' | 'stage' | 'duration' | 'trigger'
  readonly text: string
  /** The change itself, where a service shows it. */
  readonly href?: string
}

/** What explains most comes first: input, then definition, then what came of it. */
export function describeChanges(older: Execution, newer: Execution): readonly Change[] {
  const stages = pairs(older.stages, newer.stages)
  const parameters = changedTexts(parametersOf(older), parametersOf(newer))
  return [
    ...parameters.map(([name, before, after]): Change => ({ kind: 'parameter', text: wentFrom(name, before, after) })),
    ...imageChanges(older, newer),
    ...sourceChanges(older, newer),
    ...startChanges(older, newer),
    ...stages.flatMap(([one, other]) => definitionChanges(one, other, parameters)),
    ...stages.flatMap(([one, other]) => stageChange(one, other)),
    ...durationChanges(stages),
  ]
}

type ChangedText = readonly [name: string, before: string | undefined, after: string | undefined]

const maxText = 60

function wentFrom(name: string, before: string | undefined, after: string | undefined): string {
  if (before === undefined) return `${name} is ${quote(after)}; it was not given before`
  if (after === undefined) return `${name} is not given; it was ${quote(before)}`
  const isLong = Math.max(before.length, after.length) > maxText
  return isLong ? `${name} changed` : `${name} went from ${quote(before)} to ${quote(after)}`
}

function quote(text = ''): string {
  return text === '' ? 'empty' : text.length > maxText ? `${text.slice(0, maxText)}…` : text
}

function changedTexts(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): readonly ChangedText[] {
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((name) => {
    const [one, other] = [before.get(name), after.get(name)]
    return one === other ? [] : [[name, one, other] as const]
  })
}

function parametersOf({ trigger }: Execution): ReadonlyMap<string, string> {
  const given = Object.entries(objectOf(trigger.parameters))
  return new Map(given.map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]))
}

function imageChanges(older: Execution, newer: Execution): readonly Change[] {
  const [before, after] = [imagesOf(older), imagesOf(newer)]
  return [...after].flatMap(([name, versions]): Change[] => {
    const [one, other] = [listWords(before.get(name)), listWords(versions)]
    if (one === other || one === '') return []
    return [{ kind: 'image', text: `Image ${name} went from ${one} to ${other}` }]
  })
}

function listWords(values: ReadonlySet<string> = new Set()): string {
  return [...values].toSorted().join(', ')
}

const imageKeys = new Set(['imageId', 'image', 'imageName', 'amiId', 'reference'])
const maxDepth = 12

/** Versions of images that a run names, by the image. An expression that was not evaluated names none. */
export function imagesOf({ trigger, stages }: Execution): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>()
  const visit = (value: unknown, depth: number): void => {
    if (depth > maxDepth) return
    for (const item of listOf(value)) visit(item, depth + 1)
    for (const [key, inner] of Object.entries(objectOf(value))) {
      if (typeof inner === 'object' && !key.startsWith('kato.')) visit(inner, depth + 1)
      const parts = imageKeys.has(key) ? splitImage(inner) : undefined
      if (parts !== undefined) found.set(parts[0], (found.get(parts[0]) ?? new Set()).add(parts[1]))
    }
  }
  visit(trigger.artifacts, 0)
  for (const { context, parentStageId } of stages) if (!parentStageId) visit(context, 0)
  return found
}

/** `registry/web:2.4.0` is `web` in version `2.4.0`. */
function splitImage(image: unknown): readonly [name: string, version: string] | undefined {
  const match =
    typeof image === 'string' && !image.includes('${') ? /^([^\s@]+?)(?::([^:/@\s]+))?(?:@sha256:(\w+))?$/.exec(image) : null
  const version = match?.[2] ?? match?.[3]?.slice(0, 12)
  return match === null || version === undefined ? undefined : [(match[1] as string).split('/').at(-1) ?? '', version]
}

const commitLength = 8

/** Commit, branch, tag and build of the trigger. */
function sourceChanges({ trigger: before }: Execution, { trigger: after }: Execution): readonly Change[] {
  const [one, other] = [textOf(before['hash']), textOf(after['hash'])]
  const commit: Change[] =
    one === other || one === undefined || other === undefined
      ? []
      : [
          {
            kind: 'commit',
            text: `Commit went from ${one.slice(0, commitLength)} to ${other.slice(0, commitLength)}`,
            ...linkTo(commitsHref(after, one, other)),
          },
        ]
  const names = ['branch', 'tag'].flatMap((key): Change[] => {
    const [was, is] = [textOf(before[key]), textOf(after[key])]
    return was === is ? [] : [{ kind: 'commit', text: wentFrom(key === 'tag' ? 'Tag' : 'Branch', was, is) }]
  })
  return [...commit, ...names, ...buildChange(objectOf(before['buildInfo']), objectOf(after['buildInfo']))]
}

function buildChange(before: Json, after: Json): readonly Change[] {
  const [one, other] = [textOf(before['number']), textOf(after['number'])]
  if (one === other || other === undefined) return []
  return [{ kind: 'commit', text: wentFrom('Build', one, other), ...linkTo(textOf(after['url'])) }]
}

function linkTo(href: string | undefined): { href?: string } {
  return href !== undefined && /^https?:\/\//.test(href) ? { href } : {}
}

const hosts: Readonly<Record<string, string>> = { github: 'https://github.com', gitlab: 'https://gitlab.com' }

function commitsHref(trigger: Json, from: string, to: string): string | undefined {
  const [source, project, slug] = ['source', 'project', 'slug'].map((key) => textOf(trigger[key]))
  const repository = textOf(objectOf(objectOf(trigger['payload'])['repository'])['html_url'])
  const host = hosts[source ?? '']
  const base = repository ?? (host && project && slug && `${host}/${project}/${slug}`)
  return base && `${base}${source === 'gitlab' ? '/-' : ''}/compare/${from}...${to}`
}

function startChanges(older: Execution, newer: Execution): readonly Change[] {
  const [before, after] = [older, newer].map((run) => `${triggerWord(run.trigger.type)}${by(run)}`)
  return before === after ? [] : [{ kind: 'trigger', text: `Started ${after}, before ${before}` }]
}

function by(run: Execution): string {
  const user = startedBy(run)
  return user === undefined ? '' : ` by ${user}`
}

/** Fields that the engine writes, or that say the same as an image does. */
const noFields =
  /(^|\.)(kato|deploy|outputs|exception|previousAttempts|restartDetails|stageEnabledEvaluation|waiting|lastModified\w*|image\w*|buildInfo)(\.|$)/
const maxFields = 6

/** Fields of a stage that its definition gave; those that follow a parameter have no sentence of their own. */
function definitionChanges(
  before: Stage | undefined,
  after: Stage | undefined,
  parameters: readonly ChangedText[],
): readonly Change[] {
  if (before === undefined) return [{ kind: 'definition', text: `Stage ${titleOf(after as Stage)} is new` }]
  if (after === undefined) return [{ kind: 'definition', text: `Stage ${titleOf(before)} was removed` }]
  const fields = compare(fieldsOf(before), fieldsOf(after)).filter(({ differs, path, left, right }) => {
    const isUnknown = [left, right].some((text) => text === undefined || text.includes('${'))
    return differs && !isUnknown && !noFields.test(path) && !follows(left ?? '', right ?? '', parameters)
  })
  return fields
    .slice(0, maxFields)
    .map(({ path, left, right }) => ({ kind: 'definition', text: `Stage ${titleOf(after)}: ${wentFrom(path, left, right)}` }))
}

function fieldsOf({ context, outputs }: Stage): Json {
  const runtime = new Set(Object.keys(objectOf(outputs)))
  return Object.fromEntries(Object.entries(context).filter(([key]) => !runtime.has(key) && !key.includes('.')))
}

function follows(before: string, after: string, parameters: readonly ChangedText[]): boolean {
  return parameters.some(([, one, other]) => one && other && before.replaceAll(one, other) === after)
}

function stageChange(before: Stage | undefined, after: Stage | undefined): readonly Change[] {
  if (before === undefined || after === undefined || before.status === after.status) return []
  const name = titleOf(after)
  if (after.status === 'NOT_STARTED') return [{ kind: 'stage', text: `${name} did not run` }]
  if (before.status === 'NOT_STARTED') return [{ kind: 'stage', text: `${name} ran; it did not run before` }]
  return [
    { kind: 'stage', text: `${name}: ${executionStatus(after.status).word}, before ${executionStatus(before.status).word}` },
  ]
}

const leastDifferenceMs = 5000
const maxDurations = 5

/** What took much longer or shorter, the greatest difference first. */
function durationChanges(stages: ReturnType<typeof pairs>): readonly Change[] {
  const differences = stages.flatMap(([before, after]) => {
    if (before === undefined || after === undefined || !isComplete(after.status)) return []
    const [one, other] = [durationOf(before, 0), durationOf(after, 0)]
    if (one === undefined || other === undefined) return []
    return Math.abs(other - one) < Math.max(leastDifferenceMs, one / 5) ? [] : [{ stage: after, ms: other - one }]
  })
  return differences
    .toSorted((a, b) => Math.abs(b.ms) - Math.abs(a.ms))
    .slice(0, maxDurations)
    .map(({ stage, ms }) => {
      const verb = stage.type === 'manualJudgment' ? 'waited' : 'took'
      return { kind: 'duration', text: `${titleOf(stage)} ${verb} ${formatDuration(Math.abs(ms))} ${ms > 0 ? 'longer' : 'less'}` }
    })
}
