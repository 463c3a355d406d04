/** Figures of delivery of an application: frequency, lead time, failures, time to restore. */

import { GatewayError } from '@fairlead/base/errors.ts'
import {
  alike,
  millisecondsModel,
  model,
  nonEmpty,
  nullableTexts,
  TextList,
} from '@fairlead/base/json/schemas.ts'
import { definedOf, type JsonObject } from '@fairlead/base/json/values.ts'
import { formatDuration } from '@fairlead/base/names/amounts.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import {
  type Change,
  changesIn,
  type DeliveryFigures,
  figuresOf,
  productionOf,
} from '@fairlead/model/environments/delivery.ts'
import { imageLabelOf } from '@fairlead/model/environments/images.ts'
import { z } from 'zod'
import { createAccountFilter } from '../access/application-access.ts'
import { get, polledByUsers } from '../declare.ts'
import { deliveryWindowMs } from '../delivery-metrics.ts'
import { readsApplication } from '../demands.ts'
import { BuildModel, CommitModel } from '../models/environments.ts'
import type { Operation, OperationRequest } from '../operation.ts'
import type { Platform } from '../platform.ts'

const maxChanges = 500
const [weekMs, maxWeeks] = [7 * 86_400_000, 53]

const definitions: Readonly<Record<keyof DeliveryFigures, string>> = {
  deploymentFrequency:
    'Runs that have deployed to the environment, for each day of the time. A run counts once; one that deploys again what ran before does not count.',
  leadTime:
    'From the commit to the end of the first deployment of it to the environment, in the median.',
  changeFailureRate:
    'Share of the deployments that were rolled back, or followed by a deployment of the version before, or whose run failed after it had deployed.',
  timeToRestore:
    'From the end of a failed deployment to the next rollback or good deployment of the same clusters, in the median.',
}

const count = z.int()
const words = {
  title: z.string(),
  text: z.string().describe('The figure in words.'),
  definition: z.string().describe('What the number counts.'),
}
const medianMs = z.int().nullable().describe('Milliseconds; null where nothing was measured.')

const ChangeModel = model('DeliveryChange', 'A run that has deployed to the environment.', {
  run: z.looseObject({ id: z.string(), pipeline: z.string(), ...nullableTexts('user') }),
  atMs: count.describe('Its end, in milliseconds since the epoch.'),
  kind: z
    .enum(['deployment', 'restoration'])
    .describe('restoration: it deploys again what ran before.'),
  ...alike(TextList, 'clusters', 'images'),
  labels: TextList.describe('Tags of the images.'),
  commit: CommitModel.optional(),
  build: BuildModel.optional(),
  leadMs: count.optional().describe('From the commit, for the first deployment of it.'),
  failure: z.string().optional().describe('Why it counts as failed.'),
  restoredAtMs: count.optional().describe('When the environment was good again.'),
})

const DeliveryModel = model('Delivery', {
  sinceMs: count,
  untilMs: count,
  environment: z
    .string()
    .nullable()
    .describe('Null: deployments anywhere count, because no environment is production.'),
  environments: TextList.describe('Those that the query may name, in the order of promotion.'),
  complete: z
    .boolean()
    .describe(
      'False: there are more runs than are read, so that the time begins with the oldest of them.',
    ),
  figures: z.object({
    deploymentFrequency: z.looseObject({ perDay: z.number(), deployments: count, ...words }),
    leadTime: z.looseObject({
      medianMs,
      of: count.describe('Deployments whose commit is known.'),
      ...words,
    }),
    changeFailureRate: z.looseObject({
      share: z.number().nullable(),
      failed: count,
      of: count,
      ...words,
    }),
    timeToRestore: z.looseObject({
      medianMs,
      of: count.describe('Failures that have ended.'),
      open: count.describe('Failures that have not.'),
      ...words,
    }),
  }),
  weeks: z
    .array(
      z.object({
        fromMs: count,
        ...alike(count, 'deployments', 'failed'),
        ...alike(medianMs, 'leadMs', 'restoreMs'),
      }),
    )
    .describe(`Figures of each week, the oldest first, at most ${maxWeeks}.`),
  changes: z.array(ChangeModel).describe('The newest first, at most 500.'),
})

export const deliveryOperations: Operation[] = [
  get('getApplicationDelivery', '/applications/{application}/delivery', 'Get figures of delivery', {
    ...polledByUsers,
    demands: readsApplication,
    description:
      'How often an application is deployed to an environment, how long commits take until then, how many deployments fail, and how long ' +
      'failures last; with the definition of each figure and the deployments behind them.',
    query: {
      since: millisecondsModel
        .optional()
        .describe('Milliseconds since the epoch; 30 days ago unless given.'),
      environment: nonEmpty
        .optional()
        .describe(
          'Unless given, the one whose name says prod or live, else the last declared one, else all deployments.',
        ),
    },
    handle: readDelivery,
    cost: 5,
    answer: DeliveryModel,
    errors: { 404: 'The application or the environment does not exist.' },
  }),
]

async function readDelivery(request: OperationRequest, platform: Platform): Promise<JsonObject> {
  const application = request.path['application'] as string
  const untilMs = Date.now()
  const askedMs = (request.query['since'] as number | undefined) ?? untilMs - deliveryWindowMs
  const mayRead = await createAccountFilter(request, platform)
  const accounts = platform.accounts.list().filter(({ name }) => mayRead(name))
  const read = await platform.delivery.read(request.call, application, {
    sinceMs: askedMs,
    accounts,
  })
  const { environments, runs, isComplete, sinceMs } = read
  if (environments === undefined)
    throw new GatewayError('NOT_FOUND', `There is no application "${application}".`)
  const { list, isDeclared } = environments
  const wanted = request.query['environment'] as string | undefined
  const environment =
    wanted === undefined
      ? productionOf(list, isDeclared)
      : list.find(({ name }) => foldName(name) === foldName(wanted))
  if (wanted !== undefined && environment === undefined) {
    const names = list.map(({ name }) => name).join(', ')
    throw new GatewayError(
      'NOT_FOUND',
      `The application ${application} has no environment "${wanted}", only ${names || 'none'}.`,
    )
  }
  const readable = runs.map((run) => ({
    ...run,
    steps: run.steps.filter(({ account }) => mayRead(account)),
  }))
  const changes = changesIn(environment, readable)
  return {
    sinceMs,
    untilMs,
    environment: environment?.name ?? null,
    environments: list.map(({ name }) => name),
    complete: isComplete,
    figures: describe(figuresOf(changes, { sinceMs, untilMs })),
    weeks: weeksOf(changes, { sinceMs: Math.max(sinceMs, untilMs - maxWeeks * weekMs), untilMs }),
    changes: changes
      .filter(({ atMs }) => atMs >= sinceMs)
      .toReversed()
      .slice(0, maxChanges)
      .map(toAnswer),
  }
}

function weeksOf(
  changes: readonly Change[],
  { sinceMs, untilMs }: Parameters<typeof figuresOf>[1],
) {
  return Array.from({ length: Math.ceil((untilMs - sinceMs) / weekMs) }, (_, at) => {
    const fromMs = sinceMs + at * weekMs
    const week = figuresOf(changes, { sinceMs: fromMs, untilMs: fromMs + weekMs - 1 })
    return {
      fromMs,
      deployments: week.deploymentFrequency.deployments,
      failed: week.changeFailureRate.failed,
      leadMs: week.leadTime.medianMs,
      restoreMs: week.timeToRestore.medianMs,
    }
  })
}

function describe(figures: DeliveryFigures): JsonObject {
  const {
    deploymentFrequency: often,
    leadTime,
    changeFailureRate: failures,
    timeToRestore,
  } = figures
  const median = ({ medianMs, of }: DeliveryFigures['leadTime']) =>
    medianMs === null ? 'Nothing measured' : `${formatSpan(medianMs)}, the median of ${of}`
  const named: Readonly<Record<keyof DeliveryFigures, readonly [title: string, text: string]>> = {
    deploymentFrequency: [
      'Deployments',
      often.deployments === 0 ? 'None' : `${often.deployments}, ${often.perDay} a day`,
    ],
    leadTime: ['From commit to deployment', median(leadTime)],
    changeFailureRate: [
      'Failed deployments',
      failures.share === null ? 'Nothing to count' : `${failures.failed} of ${failures.of}`,
    ],
    timeToRestore: ['Time to restore', median(timeToRestore)],
  }
  const names = Object.keys(named) as (keyof DeliveryFigures)[]
  return Object.fromEntries(
    names.map((name) => {
      const [title, text] = named[name]
      return [name, { ...figures[name], title, text, definition: definitions[name] }]
    }),
  )
}

/** For example `45 s`, `12 min`, `7.5 h` or `3 days`. */
function formatSpan(ms: number): string {
  const hours = ms / 3_600_000
  if (hours < 2) return formatDuration(ms)
  return hours < 48 ? `${Number(hours.toFixed(1))} h` : `${Number((hours / 24).toFixed(1))} days`
}

function toAnswer(change: Change): JsonObject {
  return definedOf({ ...change, labels: change.images.map(imageLabelOf) })
}
