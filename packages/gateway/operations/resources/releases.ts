/** Releases of an application: its versions by their commits, and what happened to each. */
import { GatewayError } from '@fairlead/base/errors.ts'
import { definedOf, objectsOf } from '@fairlead/base/json/values.ts'
import { pathTo } from '@fairlead/base/net/encode-path.ts'
import { judgedWord } from '@fairlead/model/environments/conditions.ts'
import { isPlacedIn } from '@fairlead/model/environments/declaration.ts'
import {
  deploymentTypes,
  isOfCanary,
  placeOfStage,
  rollbackTypes,
} from '@fairlead/model/environments/delivery.ts'
import { imageLabelOf } from '@fairlead/model/environments/images.ts'
import {
  deploymentOf,
  type Run,
  type RunStage,
  sourceOf,
  toRun,
  userOf,
} from '@fairlead/model/environments/pipelines.ts'
import { z } from 'zod'
import { get, polledByUsers } from '../declare.ts'
import { readsApplication } from '../demands.ts'
import { ReleaseModel } from '../models/reviews.ts'
import type { Operation, OperationRequest } from '../operation.ts'
import type { Platform } from '../platform.ts'
import { type EnvironmentState, readEnvironments } from './environments.ts'

/** Runs that are read: of the list, and of one release. */
const [mostRuns, mostOfOne] = [30, 50]
const path = '/applications/{application}/releases'
const shared = { ...polledByUsers, demands: readsApplication, cost: 5 } as const

export const releaseOperations: Operation[] = [
  get('listReleases', path, 'List releases', {
    ...shared,
    description:
      'Versions of an application that its latest runs have built or deployed, the newest first.',
    handle: async (request, platform) =>
      releasesOf(await load(request, platform, { size: mostRuns })),
    answer: z.array(ReleaseModel),
    errors: { 404: 'The application does not exist.' },
  }),
  get('getRelease', `${path}/{version}`, 'Get a release', {
    ...shared,
    description:
      'A version with its commit, build and tests, where it serves and has served, and its runs, canaries, judgments and rollbacks.',
    handle: getRelease,
    answer: ReleaseModel,
    errors: { 404: 'No run has built or deployed this version.' },
  }),
]

async function getRelease(request: OperationRequest, platform: Platform): Promise<unknown> {
  const version = request.path['version'] as string
  const wanted = version.toLowerCase()
  const isOf = (sha: string | undefined) => wanted.length >= 7 && sha?.startsWith(wanted) === true
  const isMeant = ({ version: label, commit, images }: Release) =>
    label === version ||
    images.some((image) => imageLabelOf(image) === version) ||
    isOf(commit?.sha)
  const found = await load(request, platform, { size: mostOfOne, text: version })
  const named = releasesOf(found).find(isMeant)
  // Runs that have built it know the commit, those that deploy it the image.
  const serving = found.places.flatMap(({ running }) => running.versions)
  const labels = [
    ...(named?.images.map(imageLabelOf) ?? []),
    ...serving.flatMap(({ label, commit }) => (isOf(commit?.sha) ? [label] : [])),
  ]
  const other = [...labels, named?.commit?.sha].find(
    (text) => text !== undefined && !isOf(text) && text !== version,
  )
  const more =
    other === undefined
      ? undefined
      : await load(request, platform, { size: mostOfOne, text: other })
  const runs = new Map([...found.runs, ...(more?.runs ?? [])].map((run) => [run.id, run]))
  const release = releasesOf({ ...found, runs: [...runs.values()] }).find(isMeant)
  if (release !== undefined) return release
  throw new GatewayError(
    'NOT_FOUND',
    `No run of ${request.path['application']} that is kept has built or deployed "${version}".`,
  )
}

interface Found {
  readonly runs: readonly Run[]
  readonly rollbacks: readonly Run[]
  readonly places: readonly EnvironmentState[]
}

async function load(
  request: OperationRequest,
  platform: Platform,
  query: { readonly size: number; readonly text?: string },
): Promise<Found> {
  const application = request.path['application'] as string
  const [{ places, findings }, runs] = await Promise.all([
    readEnvironments(request, platform, true),
    request.json('orca', {
      path: pathTo`/applications/${application}/pipelines/search`,
      query: { ...query, expand: true },
    }),
  ])
  return {
    places,
    runs: objectsOf(runs).map(toRun),
    rollbacks: findings.rollbacks,
  }
}

type Release = z.infer<typeof ReleaseModel> & { readonly images: string[] }
type ReleaseEvent = Release['events'][number]

/** By commit, else by image. */
function releasesOf({ runs, rollbacks, places }: Found): Release[] {
  const images = new Map(runs.map((run) => [run, imagesOf(run)]))
  const commits = new Map(
    runs.flatMap((run) => {
      const { commit } = sourceOf(run)
      return commit === undefined
        ? []
        : (images.get(run) ?? []).map((image) => [image, commit.sha] as const)
    }),
  )
  const keysOf = (run: Run) => {
    const { commit } = sourceOf(run)
    if (commit !== undefined) return [commit.sha]
    return [...new Set((images.get(run) ?? []).map((image) => commits.get(image) ?? image))]
  }
  const byKey = Map.groupBy(
    runs.flatMap((run) => keysOf(run).map((key) => ({ key, run }))),
    ({ key }) => key,
  )
  const backs = rollbacks.flatMap((run) => rollbacksIn(run, places))
  const releases = [...byKey].map(([key, entries]) => {
    const own = entries.map(({ run }) => run)
    const isOwn = (image: string) => image === key || commits.get(image) === key
    return toRelease(
      {
        key,
        runs: own,
        images: [...new Set(own.flatMap((run) => images.get(run) ?? []))].filter(isOwn),
      },
      { backs, places },
    )
  })
  return releases.toSorted((a, b) => (b.atMs ?? 0) - (a.atMs ?? 0))
}

function imagesOf({ stages }: Run): string[] {
  return [...new Set(stages.flatMap(({ context }) => context.image ?? []))]
}

interface Parts {
  readonly key: string
  readonly runs: readonly Run[]
  readonly images: string[]
}

function toRelease(
  { key, runs, images }: Parts,
  { backs, places }: { backs: readonly Back[]; places: readonly EnvironmentState[] },
): Release {
  const sources = runs.map((run) => ({ run, ...sourceOf(run) }))
  const labelled = places
    .flatMap(({ running }) => running.versions)
    .find((version) => images.includes(version.image))
  const { commit = labelled?.commit } =
    sources.find((each) => each.commit?.message !== undefined) ?? sources[0] ?? {}
  const built = sources.find(({ build }) => build !== undefined)
  const info =
    built?.run.stages.findLast(({ context }) => context.buildInfo !== undefined)?.context
      .buildInfo ?? built?.run.trigger.buildInfo
  const total = (info?.tests ?? []).reduce((sum, { totalCount }) => sum + totalCount, 0)
  const failed = (info?.tests ?? []).reduce((sum, { failCount }) => sum + failCount, 0)
  const hasFailed = info?.result !== undefined && info.result !== 'SUCCESS'
  const tests =
    total === 0
      ? undefined
      : failed > 0
        ? `${failed} of ${total} tests failed`
        : `${total} ${total === 1 ? 'test' : 'tests'} passed`
  const [image] = images
  const isHere = ({ running }: EnvironmentState) =>
    running.versions.some((version) => images.includes(version.image))
  const events = [
    ...runs.flatMap((run) => eventsOf(run, images, places)),
    ...backs
      .filter((back) => images.includes(back.image))
      .map(({ image: _image, ...event }) => event),
  ]
  return {
    version: image === undefined ? key.slice(0, 8) : imageLabelOf(image),
    images,
    serves: places.filter(isHere).map(({ environment }) => environment.name),
    events: events.toSorted((a, b) => (b.atMs ?? 0) - (a.atMs ?? 0)),
    ...definedOf({
      commit: commit && definedOf({ ...commit }),
      build: built?.build && definedOf({ ...built.build, result: info?.result }),
      tests,
      failure:
        hasFailed && image === undefined
          ? (tests ?? info?.reason ?? 'The build failed.')
          : undefined,
      atMs: Math.min(...runs.map(({ buildTime = Infinity }) => buildTime)),
    }),
  } as Release
}

const eventStates: Readonly<Record<string, ReleaseEvent['state']>> = {
  SUCCEEDED: 'good',
  RUNNING: 'active',
  PAUSED: 'active',
}

function eventsOf(
  run: Run,
  images: readonly string[],
  places: readonly EnvironmentState[],
): ReleaseEvent[] {
  const { build } = sourceOf(run)
  const byId = new Map(run.stages.map((stage) => [stage.id, stage]))
  // A canary is deployed after its baseline.
  const tried = run.stages.findLast(
    (stage) => deploymentTypes.includes(stage.type) && isOfCanary(stage, byId),
  )?.context.image
  const isTried = tried === undefined || images.includes(tried)
  return run.stages.flatMap((stage): ReleaseEvent[] => {
    const { type, status, endTime, startTime, context, id } = stage
    const state = eventStates[status] ?? 'failed'
    const base = { ...definedOf({ atMs: endTime ?? startTime, run: run.id, stage: id }), state }
    if (status === 'NOT_STARTED' || status === 'SKIPPED') return []
    if (context.buildInfo !== undefined && context.image === undefined && build !== undefined)
      return [
        { ...base, kind: 'build', text: `built by ${build.job ?? 'a build'} #${build.number}` },
      ]
    const environment = environmentOf(stage, places)
    if (
      deploymentTypes.includes(type) &&
      !isOfCanary(stage, byId) &&
      images.includes(deploymentOf(run, stage)[0]?.images[0] ?? context.image ?? '')
    ) {
      const text = {
        good: 'deployed to',
        active: 'is being deployed to',
        failed: 'did not come up in',
      }[state]
      return [
        {
          ...base,
          kind: 'deployment',
          text: `${text} ${environment}`,
          environment,
          ...definedOf({ user: userOf(run) }),
        },
      ]
    }
    if (type === 'manualJudgment') return [judgmentOf(stage, base)]
    if (context.analysis !== undefined && context.canaryScore !== undefined && isTried)
      return [
        {
          ...base,
          kind: 'canary',
          text: `canary: ${context.canaryScore} of 100`,
          analysis: context.analysis,
        },
      ]
    return []
  })
}

function judgmentOf(
  { name, status, context }: RunStage,
  base: Pick<ReleaseEvent, 'state'>,
): ReleaseEvent {
  const { judgmentStatus, lastModifiedBy: user, judgmentComment: comment } = context
  const word = judgedWord(judgmentStatus) ?? (status === 'RUNNING' ? 'waits' : 'not answered')
  return {
    ...base,
    kind: 'judgment',
    text: `${name ?? 'Judgment'}: ${word}`,
    ...(word !== 'waits' && definedOf({ user, comment })),
  }
}

function environmentOf(stage: RunStage, places: readonly EnvironmentState[]): string {
  const own = placeOfStage(stage)
  const found = places.find(({ environment }) => isPlacedIn(environment, own))
  return found?.environment.name ?? own.account ?? ''
}

type Back = ReleaseEvent & { readonly image: string }

/** The version that was left, and the one that serves again. */
function rollbacksIn(run: Run, places: readonly EnvironmentState[]): Back[] {
  const groups = places.flatMap(({ running }) => running.clusters.flatMap(({ all }) => all))
  return run.stages.flatMap((stage) => {
    const { type, status, endTime, context } = stage
    if (!rollbackTypes.includes(type) || status !== 'SUCCEEDED') return []
    const { rollbackContext, account, reason: comment } = context
    const environment = environmentOf(stage, places)
    const base = {
      kind: 'rollback' as const,
      environment,
      ...definedOf({ atMs: endTime, user: userOf(run), comment }),
      ...(run.isTask ? { task: run.id } : { run: run.id }),
    }
    const imageOf = (name: string | undefined) => {
      const group = groups.find((each) => each.name === name && each.account === account)
      return group?.image.imageId ?? group?.launchConfig.imageId
    }
    const [from, to] = [
      rollbackContext.rollbackServerGroupName,
      rollbackContext.restoreServerGroupName,
    ].map(imageOf)
    return [
      ...(from === undefined
        ? []
        : [
            {
              ...base,
              image: from,
              state: 'failed' as const,
              text: `rolled back in ${environment}${to === undefined ? '' : ` to ${imageLabelOf(to)}`}`,
            },
          ]),
      ...(to === undefined
        ? []
        : [{ ...base, image: to, state: 'good' as const, text: `serves ${environment} again` }]),
    ]
  })
}
