/** Content of what the event service gets for notifications, with expressions evaluated and secrets masked. */
import { asGiven, or, shape } from '@fairlead/base/json/shape.ts'
import {
  definedOf,
  isTrue,
  type JsonObject,
  listOf,
  objectOf,
  objectsOf,
  textOf,
  textsOf,
} from '@fairlead/base/json/values.ts'
import type { CommitAuthor } from '@fairlead/model/environments/commit-authors.ts'
import { type Caller, toCaller } from '@fairlead/ports/caller.ts'
import type { Announcement } from '@fairlead/ports/events.ts'
import { executionScope } from './expressions/scopes.ts'
import { evaluateTree } from './expressions/template.ts'
import { identityHeaders } from './identity.ts'
import { mergedNotifications } from './life-cycle-events.ts'
import { graphOf } from './machine/graph.ts'
import type { Execution, Stage } from './model.ts'
import { executionSecretsOf, maskCopies, maskExecution, maskIn } from './secrets.ts'

interface Told {
  /** In place of those of the run: of the commits that a rollback takes out of service. */
  readonly authors?: readonly CommitAuthor[]
}

/** An event, or a judgment that begins or is given. */
export type Notification = Told &
  (
    | {
        readonly kind: 'event'
        readonly level: 'pipeline'
        readonly phase: string
        readonly stageId?: undefined
      }
    | {
        readonly kind: 'event'
        readonly level: 'stage' | 'rollback'
        readonly phase: string
        readonly stageId: string
      }
    | { readonly kind: 'judgment'; readonly occasion: string; readonly stageId: string }
  )

interface RunNoticeParts {
  readonly id: string
  readonly notice: Notification
  /** Notifications of the application and of all. */
  readonly records: readonly JsonObject[]
  /** Milliseconds since the epoch. */
  readonly now: number
}

/** An entry of a list of notifications; further members are kept. */
const toEntry = shape({
  type: or(textOf, ''),
  address: textOf,
  cc: textOf,
  when: textsOf,
  message: objectOf,
})

const toMessage = shape({ text: textOf })

/** What a stage says about its notifications, and those of a judgment about it. */
const toStageNotices = shape({
  sendNotifications: isTrue,
  notifications: objectsOf,
  instructions: textOf,
  judgmentInputs: listOf,
  judgmentInput: textOf,
  judgmentComment: textOf,
})

/** Entries for this occasion. @param records Of the application and of all */
export function notificationsOf(
  execution: Execution,
  notice: Notification,
  records: readonly JsonObject[],
): JsonObject[] {
  const occasion =
    notice.kind === 'judgment'
      ? notice.occasion
      : notice.level === 'rollback'
        ? 'rollback'
        : `${notice.level}.${notice.phase}`
  return entriesOf(execution, notice, records).filter((entry) => {
    const { when } = toEntry(entry)
    return when.includes(occasion) || (when.length === 0 && occasion === 'manualJudgment')
  })
}

function entriesOf(
  execution: Execution,
  notice: Notification,
  records: readonly JsonObject[],
): JsonObject[] {
  const { stageId } = notice
  if (stageId === undefined || (notice.kind === 'event' && notice.level === 'rollback')) {
    return records.reduce(
      (merged, record) => mergedNotifications(merged, withTypes(record)),
      execution.notifications,
    )
  }
  const { sendNotifications, notifications } = toStageNotices(
    graphOf(execution).find(stageId)?.context,
  )
  return sendNotifications ? notifications : []
}

/** Entries of a record may leave their kind to the list that they are in. */
function withTypes(record: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(record).map(([type, list]) => [
      type,
      objectsOf(list).map((entry) => ({ type, ...entry })),
    ]),
  )
}

/** An event carries all entries; a judgment is a request for each. */
export function announcementsOf(
  execution: Execution,
  parts: RunNoticeParts,
): { told: Announcement; as: Caller }[] {
  const { notice } = parts
  const entries = evaluated(execution, parts)
  if (entries.length === 0) return []
  const stage = graphOf(execution).find(notice.stageId ?? '')
  const as = toCaller(identityHeaders({ execution, stage }))
  if (notice.kind === 'judgment') {
    return entries.map((entry, index) => {
      const eventId = `${parts.id} ${index}`
      return {
        told: {
          kind: 'request',
          request: judgmentRequest(execution, { entry, stage, occasion: notice.occasion, eventId }),
        },
        as,
      }
    })
  }
  const details = {
    source: 'orca',
    type: `orca:${notice.level}:${notice.phase}`,
    application: execution.application,
  }
  const ofStage = stage && {
    stageId: stage.id,
    name: stage.name,
    isSynthetic: false,
    startTime: stage.startTime,
    endTime: stage.endTime,
    context: { sendNotifications: true, notifications: entries },
  }
  const content = {
    execution: shortView(execution, entries),
    executionId: execution.id,
    ...ofStage,
    ...(stage && notice.level === 'rollback' && { rollback: rollbackBy(execution, stage) }),
  }
  return [{ told: { kind: 'event', event: { details, eventId: parts.id, content } }, as }]
}

const toRollback = shape({
  account: [textOf, 'account', 'credentials'],
  manifestName: textOf,
  reason: textOf,
  rollbackContext: shape({
    rollbackServerGroupName: textOf,
    restoreServerGroupName: textOf,
    imageId: textOf,
  }),
  images: [shape({ from: textOf, to: textOf }), 'rollback.images'],
})

/** What was rolled back, to what, by whom and why. */
export function rollbackBy(execution: Execution, { context }: Stage) {
  const { account, manifestName, reason, rollbackContext, images } = toRollback(
    maskIn(context, executionSecretsOf(execution)),
  )
  const { rollbackServerGroupName: group = manifestName, imageId } = rollbackContext
  const from = images.from ?? group
  const to = images.to ?? rollbackContext.restoreServerGroupName ?? imageId
  return definedOf({ from, to, account, reason, user: execution.authentication.user })
}

/** Texts of an entry with expressions evaluated, as far as they can be without asking elsewhere. Its address stays whole. */
function evaluated(execution: Execution, { notice, records, now }: RunNoticeParts): JsonObject[] {
  const entries = notificationsOf(execution, notice, records)
  const masked = maskExecution(execution)
  const place = { execution: masked, stage: graphOf(masked).find(notice.stageId ?? '') }
  const secrets = executionSecretsOf(execution)
  const { value } = evaluateTree({ entries }, { scope: executionScope(place), now })
  const told = notice.authors ?? execution.engine.authors ?? []
  return value.entries.flatMap((entry) => {
    const masked = maskCopies(entry, secrets)
    const { address, cc, type } = entry
    if (address !== forAuthors || type !== 'email')
      return [{ ...masked, ...definedOf({ address, cc }) }]
    return mailAddressesOf(told).map((each) => ({
      ...masked,
      ...definedOf({ cc }),
      address: each,
      shownAs: forAuthors,
    }))
  })
}

/** Address of an e-mail to those who have written the commits. */
const forAuthors = 'authors'

/** Without those that take no mail, as code hosts give to people who hide their own. */
function mailAddressesOf(authors: readonly CommitAuthor[]): string[] {
  const addresses = authors.flatMap(({ email }) => email?.toLowerCase() ?? [])
  return [...new Set(addresses)].filter(
    (each) => /^[^\s,<>@]+@[^\s,<>@]+$/.test(each) && !/no-?reply/.test(each),
  )
}

interface JudgmentParts {
  readonly entry: JsonObject
  readonly stage: Stage | undefined
  readonly occasion: string
  readonly eventId: string
}

function judgmentRequest(
  execution: Execution,
  { entry, stage, occasion, eventId }: JudgmentParts,
): JsonObject {
  const { instructions, judgmentInputs, judgmentInput, judgmentComment } = toStageNotices(
    maskIn(stage?.context ?? {}, executionSecretsOf(execution)),
  )
  const { type, application, id, authentication } = execution
  const { type: notificationType, address, cc, message } = toEntry(entry)
  return {
    notificationType: notificationType.toUpperCase(),
    to: address === undefined ? [] : [address],
    cc: cc === undefined ? [] : [cc],
    templateGroup: occasion,
    severity: 'HIGH',
    source: {
      executionType: type.toLowerCase(),
      executionId: id,
      application,
      user: authentication.user,
    },
    additionalContext: definedOf({
      eventId,
      stageName: stage?.name,
      stageId: stage?.id,
      execution: shortView(execution, []),
      instructions,
      judgmentInputs,
      judgmentInput,
      judgmentComment,
      judgedBy: occasion === 'manualJudgment' ? undefined : stage?.lastModified?.user,
      message: toMessage(message[occasion]).text,
    }),
  }
}

const toBuild = shape({ scm: asGiven })

/** Part of an execution that messages contain. */
function shortView(
  { id, type, application, name, status, trigger, startTime, endTime }: Execution,
  notifications: unknown[],
) {
  const { project, slug, hash, branch, source, buildInfo } = trigger
  const { scm } = toBuild(buildInfo)
  const from = definedOf({
    type: trigger.type,
    project,
    slug,
    hash,
    branch,
    source,
    buildInfo: scm === undefined ? undefined : { scm },
  })
  return {
    id,
    type,
    application,
    name,
    status,
    startTime,
    endTime,
    canceled: false,
    trigger: from,
    notifications,
  }
}
