/** Reviews: what a promotion or a judgment changes, before a user approves it. */
import { GatewayError } from '@fairlead/base/errors.ts'
import { nonEmpty } from '@fairlead/base/json/schemas.ts'
import { shape } from '@fairlead/base/json/shape.ts'
import { definedOf, type JsonObject, numberOf, textOf } from '@fairlead/base/json/values.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { pathTo } from '@fairlead/base/net/encode-path.ts'
import { isPlacedIn } from '@fairlead/model/environments/declaration.ts'
import {
  deploymentTypes,
  placeOfStage,
  targetsOfStage,
} from '@fairlead/model/environments/delivery.ts'
import { imageLabelOf, imagesIn, repositoryOf } from '@fairlead/model/environments/images.ts'
import { type Run, type RunStage, sourceOf, toRun } from '@fairlead/model/environments/pipelines.ts'
import type { Version } from '@fairlead/model/environments/running.ts'
import { get, polledByUsers } from '../declare.ts'
import { readsApplication } from '../demands.ts'
import { ReviewModel } from '../models/reviews.ts'
import type { Operation, OperationRequest } from '../operation.ts'
import type { Platform } from '../platform.ts'
import { loadBetween, nothingBetween } from './between-versions.ts'
import {
  type EnvironmentState,
  readEnvironments,
  type ServiceFindings,
  withSource,
} from './environments.ts'

export const reviewOperations: Operation[] = [
  get('getReview', '/applications/{application}/review', 'Review what is about to change', {
    ...polledByUsers,
    demands: readsApplication,
    description:
      'What a promotion to an environment changes, or what follows the judgment that an execution waits for: versions, commits, evidence, ' +
      'what happens next, and what comes back if it fails. What cannot be known before it runs is listed as such.',
    query: {
      environment: nonEmpty.optional().describe('The one that is promoted to.'),
      execution: nonEmpty.optional().describe('The one that waits; instead of an environment.'),
      stage: nonEmpty.optional().describe('Its judgment; the first that waits unless given.'),
    },
    handle: review,
    cost: 5,
    answer: ReviewModel,
    errors: {
      400: 'Neither an environment nor an execution is given.',
      404: 'The application, environment, execution or judgment does not exist.',
    },
  }),
]

interface Known extends Awaited<ReturnType<typeof readEnvironments>> {
  readonly request: OperationRequest
}

async function review(request: OperationRequest, platform: Platform): Promise<JsonObject> {
  const { environment, execution, stage } = request.query
  if (environment === undefined && execution === undefined)
    throw new GatewayError('BAD_ARGUMENT', 'Name an environment or an execution to review.')
  const known = { ...(await readEnvironments(request, platform)), request }
  if (execution === undefined) return promotionTo(String(environment), known)
  const run = toRun(await request.json('orca', { path: pathTo`/pipelines/${String(execution)}` }))
  const isWaiting = ({ id, type, status }: RunStage) =>
    type === 'manualJudgment' && (stage === undefined ? status === 'RUNNING' : id === stage)
  const judgment = run.stages.find(isWaiting)
  const { application } = known.findings
  if (judgment === undefined || foldName(run.application) !== foldName(application))
    throw new GatewayError(
      'NOT_FOUND',
      `No judgment of the execution ${String(execution)} of ${application} can be reviewed.`,
    )
  const about = judgmentOf(run, judgment)
  const parent = run.stages.find(({ id }) => id === judgment.parentStageId)
  if (parent?.type === 'promote') {
    const to = parent.context.promotion.to ?? parent.context.to ?? ''
    return { ...promotionTo(to, known, { run, judgment, parent }), judgment: about }
  }
  return { ...(await pipelineAfter(run, judgment, known)), judgment: about }
}

function judgmentOf({ id, name, ...run }: Run, judgment: RunStage): JsonObject {
  const { instructions, requiredJudgmentRoles: roles } = judgment.context
  return definedOf({
    execution: id,
    stage: judgment.id,
    pipeline: name ?? id,
    name: judgment.name ?? 'Judgment',
    instructions,
    roles,
    inputs: judgment.context.inputs,
    sinceMs: judgment.startTime,
    user: run.authentication.user,
  })
}

interface Waiting {
  readonly run: Run
  readonly judgment: RunStage
  /** The stage that promotes. */
  readonly parent: RunStage
}

/** @param waiting The run that promotes, and waits for a judgment */
function promotionTo(name: string, { environments, places, findings }: Known, waiting?: Waiting) {
  const at = environments.findIndex((each) => foldName(String(each['name'])) === foldName(name))
  const [found, place] = [environments[at], places[at]]
  const promotion = toPromotion(found?.['promotion'])
  if (found === undefined || place === undefined || promotion === undefined) {
    const names = environments.map((each) => each['name']).join(', ')
    throw new GatewayError(
      'NOT_FOUND',
      `Nothing is promoted to "${name}": ${findings.application} has the environments ${names}.`,
    )
  }
  const { images, pipelines, conditions, ...kept } = promotion
  const to = String(found['name'])
  const planned = waiting?.parent.context.promotion.stages ?? []
  const after = planned.slice(
    planned.findIndex(
      (each) => each.type === 'manualJudgment' && each.name === waiting?.judgment.name,
    ) + 1,
  )
  const version = images.map((each) => `${each.image} ${each.to}`).join(', ')
  const ahead = conditions.filter(({ type }) => type !== 'verification' && type !== 'judgment')
  const checks = conditions.filter(({ type }) => type === 'verification')
  const asLast = pipelines.some(({ promotes }) => promotes)
  const asDefined = `as ${pipelines.map(({ name }) => name).join(' or ') || 'a pipeline'} defines it`
  const next =
    waiting === undefined
      ? [
          ...conditions.filter(({ type }) => type === 'judgment').map(({ text }) => `It ${text}.`),
          ...ahead.filter(({ state }) => state !== 'met').map(({ text }) => `It ${text}.`),
          ...(version === ''
            ? []
            : [
                `${version} is deployed to ${to}, ${asLast ? `as ${to} was deployed last` : asDefined}.`,
              ]),
          ...checks.map(({ text }) => `Fairlead ${text}.`),
        ]
      : [
          ...after.map((each) => each.name),
          ...followersOf(waiting.run, waiting.parent).map(titleOf),
        ]
  return {
    ...kept,
    to,
    accounts: place.environment.accounts,
    sources: places[at - 1]?.environment.accounts,
    changes: images.map((each) => ({ ...each, environment: to })),
    conditions,
    pipelines,
    settings: [
      ...(found['rollback'] === undefined ? [] : [rollbackWords(found['rollback'], images)]).flat(),
      ...definitionWords(
        pipelines.filter(({ promotes }) => promotes),
        place,
        findings,
      ),
      ...(asLast
        ? [`Variables and size of ${to} stay as they were deployed there last.`]
        : [`It is deployed ${asDefined}.`]),
    ],
    next,
    onFailure: failureWords(place, {
      planned,
      checks: checks.map(({ text }) => text),
      findings,
      isPromoted: asLast,
    }),
    unknown: [],
  }
}

interface PromotionView extends JsonObject {
  readonly images: readonly { image: string; from: string | null; to: string }[]
  readonly pipelines: readonly { id: string; name: string; promotes: boolean }[]
  readonly conditions: readonly { type: string; state: string; text: string }[]
}

/** Promotion in a result of `readEnvironments`. */
function toPromotion(promotion: unknown): PromotionView | undefined {
  return promotion as PromotionView | undefined
}

const toRollback = shape({ from: textOf, user: textOf, reason: textOf })

/** A version that was rolled back is about to come again. */
function rollbackWords(rollback: unknown, images: PromotionView['images']): string[] {
  const { from, user, reason } = toRollback(rollback)
  if (from === undefined || images.every(({ to }) => to !== from)) return []
  const why = reason === undefined ? '' : `: ${reason}`
  return [`${from} was rolled back here${user === undefined ? '' : ` by ${user}`}${why}`]
}

const toDefinition = shape({ id: textOf, name: textOf, updateTs: numberOf, lastModifiedBy: textOf })

/** Definitions that were changed since the environment was deployed to. */
function definitionWords(
  pipelines: readonly { id: string }[],
  { running }: EnvironmentState,
  { definitions }: ServiceFindings,
): string[] {
  const ids = pipelines.map(({ id }) => id)
  return definitions
    .map(toDefinition)
    .flatMap(({ id = '', name, updateTs = 0, lastModifiedBy }) =>
      ids.includes(id) && running.sinceMs !== undefined && updateTs > running.sinceMs
        ? [
            `The pipeline ${name} was changed since${lastModifiedBy === undefined ? '' : ` by ${lastModifiedBy}`}.`,
          ]
        : [],
    )
}

const keepingStrategies = ['redblack', 'rollingredblack', 'canary', 'highlander', 'monitored']

interface Plans {
  readonly planned: Run['stages'][number]['context']['promotion']['stages']
  readonly checks: readonly string[]
  readonly findings: ServiceFindings
  /** Whether a stage `promote` did it. */
  readonly isPromoted: boolean
}

/** What serves while the new version comes up, and afterwards if a check fails. */
function failureWords(
  { environment, running }: EnvironmentState,
  { planned, checks, findings, isPromoted }: Plans,
): string {
  const serving = [...new Set(running.versions.map(({ label }) => label))].join(', ')
  if (serving === '') return `Nothing serves in ${environment.name} yet, so nothing comes back.`
  const former = findings.runs
    .flatMap(({ stages }) => stages)
    .filter(
      (stage) =>
        stage.status === 'SUCCEEDED' &&
        deploymentTypes.includes(stage.type) &&
        isPlacedIn(environment, placeOfStage(stage)),
    )
    .toSorted((a, b) => (b.endTime ?? 0) - (a.endTime ?? 0))[0]
  const plan = planned.find(({ type }) => deploymentTypes.includes(type))
  const { type, context } = plan ?? former ?? {}
  // A promotion clones with this strategy, and pods are replaced as others become ready.
  const usual = isPromoted || type === 'deployManifest' ? 'redblack' : ''
  const own = type === 'createServerGroup' || plan !== undefined ? context?.strategy : undefined
  const keeps = keepingStrategies.includes(own ?? usual)
  const isBack = checks.some((text) => text.includes('takes the traffic again'))
  return [
    keeps
      ? `${serving} keeps serving until the new version is up, and goes on if it does not come up.`
      : `Whether ${serving} keeps serving depends on the deployment, whose strategy is not known.`,
    isBack && `If a check fails afterwards, ${serving} takes the traffic again.`,
    `Roll back brings ${serving} back at any time while it is kept.`,
  ]
    .filter(Boolean)
    .join(' ')
}

function titleOf({ name, type }: RunStage): string {
  return name ?? type
}

/** Stages of the run that come after this one, in their order. */
function followersOf({ stages }: Run, { refId }: RunStage): RunStage[] {
  const found = new Set([refId])
  const own = stages.filter(({ parentStageId }) => parentStageId === undefined)
  for (let size = 0; size !== found.size; ) {
    size = found.size
    for (const stage of own)
      if (stage.requisiteStageRefIds.some((each) => found.has(each))) found.add(stage.refId)
  }
  return own.filter((stage) => stage.refId !== refId && found.has(stage.refId))
}

/** A judgment outside a promotion: what the stages after it deploy. */
async function pipelineAfter(run: Run, judgment: RunStage, known: Known): Promise<JsonObject> {
  const { places, findings } = known
  const top = run.stages.find(({ id }) => id === judgment.parentStageId) ?? judgment
  const next = followersOf(run, top)
  const found = (await Promise.all(next.map((stage) => deployedBy(stage, run, known)))).flat()
  const certain = found.flatMap(({ image, place }) =>
    image === undefined || place === undefined ? [] : [{ image, place }],
  )
  const changes = certain.map(({ image, place }) => ({
    environment: place.environment.name,
    image: repositoryOf(image),
    from: runningThere(place, image)?.label ?? null,
    to: imageLabelOf(image),
  }))
  const [first] = certain
  const target = first && runningThere(first.place, first.image)
  const { buildTime = Infinity } = run
  const before = findings.deployments.filter(({ run: { atMs = 0 } }) => atMs < buildTime)
  const between =
    first === undefined || target?.image === first.image
      ? nothingBetween
      : await loadBetween(
          withSource(toVersion(first.image, run), findings.sources),
          target && withSource(target, findings.sources),
          { ...findings, deployments: before },
        )
  const inner = next.filter(({ type }) => type === 'promote')
  const promoted = inner.map(({ context }) => promotionTo(context.to ?? '', known))
  const places_ = [...new Set(certain.map(({ place }) => place))]
  const failures = places_.map((place) =>
    failureWords(place, { planned: [], checks: [], findings, isPromoted: false }),
  )
  return {
    from: null,
    to:
      [
        ...new Set([
          ...changes.map(({ environment }) => environment),
          ...promoted.map(({ to }) => to),
        ]),
      ].join(', ') || null,
    manifests: [],
    holds: [],
    pipelines: [],
    conditions: [
      ...promoted,
      ...places.map((place, at) =>
        places_.includes(place) ? toPromotion(known.environments[at]?.['promotion']) : undefined,
      ),
    ].flatMap((each) => each?.conditions ?? []),
    ...definedOf(between),
    ...definedOf({ ...promoted[0], conditions: undefined }),
    changes: [...changes, ...promoted.flatMap((each) => each.changes)],
    settings: places_.flatMap((place) =>
      definitionWords([{ id: run.pipelineConfigId ?? '' }], place, findings),
    ),
    next: next.map(titleOf),
    onFailure:
      [...failures, ...promoted.map(({ onFailure }) => onFailure)].join(' ') ||
      (next.length === 0
        ? 'No stage follows.'
        : 'Nothing that Fairlead deploys changes, so nothing comes back by itself.'),
    unknown: [
      ...found.flatMap(({ why }) => why ?? []),
      ...next.flatMap((stage) =>
        opaqueTypes.includes(stage.type) ? [`What ${titleOf(stage)} changes is not known.`] : [],
      ),
    ],
    ...(places.length === 0 && { to: null }),
  }
}

/** Their effect is that of a program or of another server. */
const opaqueTypes = [
  'runCommand',
  'runJob',
  'runJobManifest',
  'webhook',
  'jenkins',
  'script',
  'pipeline',
]

interface Deploying {
  readonly image: string | undefined
  readonly place: EnvironmentState | undefined
  /** What is not known. */
  readonly why?: string
}

async function deployedBy(
  stage: RunStage,
  run: Run,
  { places, request }: Known,
): Promise<Deploying[]> {
  const manifests = stage.context.manifests.map(({ whole }) => whole)
  const found = await Promise.all(
    targetsOfStage(stage).map(async (target, at) => {
      const { account = '' } = target
      const imageId = textOf(stage.context.clusters[at]?.['imageId'])
      const place = places.find(({ environment }) => isPlacedIn(environment, target))
      const given =
        imageId === undefined
          ? []
          : [imageId.includes('${') ? await evaluate(imageId, run, request) : imageId]
      const images =
        stage.type === 'deploy' ? [...given, ...builtBy(run)].slice(0, 1) : imagesIn(manifests)
      if (images.length === 0 || images[0] === undefined)
        return [
          {
            image: undefined,
            place,
            why: `Which image ${titleOf(stage)} deploys is decided when it runs.`,
          },
        ]
      return images.map(
        (image): Deploying => ({
          image,
          place,
          ...(place === undefined && {
            why: `${image} goes to the account ${account}, which is of no environment.`,
          }),
        }),
      )
    }),
  )
  return found.flat()
}

/** Images that stages of the run have made, the latest first. */
function builtBy({ stages }: Run): string[] {
  return stages
    .filter(({ status }) => status === 'SUCCEEDED')
    .flatMap(({ context }) => context.image ?? [])
    .toReversed()
}

async function evaluate(
  expression: string,
  run: Run,
  request: OperationRequest,
): Promise<string | undefined> {
  const path = pathTo`/pipelines/${run.id}/evaluateExpression`
  const { result } = toResult(
    await request.json('orca', { path, query: { expression } }).catch(() => undefined),
  )
  return result?.includes('${') ? undefined : result
}

const toResult = shape({ result: textOf })

function runningThere({ running }: EnvironmentState, image: string): Version | undefined {
  return running.versions.find((version) => repositoryOf(version.image) === repositoryOf(image))
}

function toVersion(image: string, run: Run): Version {
  return { image, label: imageLabelOf(image), ...definedOf(sourceOf(run)) }
}
