/** Notifications that follow from what an orchestrator reports: who gets them, and what they say. */
import { createHash } from 'node:crypto'
import { asGiven, list, or, type ShapeOf, shape } from '@fairlead/base/json/shape.ts'
import {
  definedOf,
  isTrue,
  type JsonObject,
  listOf,
  objectOf,
  scalarOf,
  textOf,
  textsOf,
} from '@fairlead/base/json/values.ts'
import { encodeValue } from '@fairlead/base/net/encode-path.ts'
import type { ReportedEvent } from '@fairlead/ports/events.ts'
import type { Notice, NoticePhase, TriggerCommit } from './notification-type.ts'
import type { NoticeDelivery } from './outbox.ts'
import type { LinkTarget } from './settings.ts'

interface NoticeParts {
  readonly links: LinkTarget | undefined
  /** Milliseconds since the epoch. */
  readonly now: number
}

const mostSubject = 250
const mostText = 4_000

type NoticeSubscription = ShapeOf<typeof toEntry>
const toEntry = shape({
  type: or(textOf, ''),
  address: [or(scalarOf, ''), 'address', 'publisherName'],
  // Echo looks for the word in a text, too.
  when: (value): readonly string[] =>
    typeof value === 'string' ? value.split(/[\s,]+/) : textsOf(value),
  cc: textOf,
  shownAs: textOf,
  customBody: textOf,
  customMessage: textOf,
  customSubject: textOf,
  message: objectOf,
})
const toMessage = shape({ text: textOf })

const toBuilt = shape({ sha1: textOf, remoteUrl: or(textOf, '') })
/** A git trigger, or one of the build that a run starts from. */
const toTrigger = shape({
  project: textOf,
  slug: textOf,
  hash: textOf,
  buildInfo: shape({ scm: list(toBuilt) }),
})

type NoticedExecution = ShapeOf<typeof toExecution>
const toExecution = shape({
  id: textOf,
  name: [or(textOf, ''), 'name', 'description', 'id'],
  application: textOf,
  canceled: isTrue,
  notifications: list(toEntry),
  trigger: toTrigger,
  startTime: asGiven,
  endTime: asGiven,
})

const toReport = shape({
  eventId: textOf,
  details: shape({ type: or(textOf, ''), application: or(textOf, '') }),
  content: shape({
    execution: toExecution,
    context: shape({ sendNotifications: isTrue, notifications: list(toEntry) }),
    canceled: isTrue,
    isSynthetic: isTrue,
    stageId: textOf,
    name: or(textOf, 'a stage'),
    startTime: asGiven,
    endTime: asGiven,
    rollback: shape({ from: textOf, to: textOf, account: textOf, reason: textOf, user: textOf }),
  }),
})

const toRequest = shape({
  source: shape({ executionId: textOf, application: or(textOf, '') }),
  about: [
    shape({
      execution: objectOf,
      stageName: textOf,
      stageId: textOf,
      eventId: textOf,
      instructions: textOf,
      judgmentInput: textOf,
      judgmentComment: textOf,
      judgedBy: textOf,
      message: textOf,
    }),
    'additionalContext',
  ],
  template: [or(textOf, 'notification'), 'templateGroup'],
  type: [or(textOf, ''), 'notificationType'],
  cc: (value) => textsOf([value].flat()).join(', ') || undefined,
  to: asGiven,
})

/** One thing that happened, of which several may be notified. */
interface NoticeOccasion {
  /** Names this one event, also when it is reported again. */
  readonly eventId: string
  readonly occasion: string
  readonly phase: NoticePhase
  readonly application: string
  readonly execution: NoticedExecution
  readonly stage?: { readonly id: string; readonly name: string } | undefined
  readonly subject: string
  /** Follows the subject. */
  readonly details?: string
}

const phaseWords: Readonly<Record<string, { phase: NoticePhase; word: string }>> = {
  starting: { phase: 'starting', word: 'has started' },
  complete: { phase: 'complete', word: 'has succeeded' },
  failed: { phase: 'failed', word: 'has failed' },
}

const levels = ['pipeline', 'stage', 'rollback']

/** @param event As orchestrators post it: `details` and `content`. @returns none for what is no start or end of a run or stage */
export function noticesOfEvent(
  event: Partial<Record<keyof ReportedEvent, unknown>>,
  parts: NoticeParts,
): NoticeDelivery[] {
  const { eventId, details, content } = toReport(event)
  const [source, level, phaseName = ''] = details.type.split(':')
  const words = Object.hasOwn(phaseWords, phaseName) ? phaseWords[phaseName] : undefined
  if (source !== 'orca' || words === undefined || !levels.includes(level ?? '')) return []
  const { execution, context, stageId: id = '', name } = content
  if (execution.canceled || content.canceled || content.isSynthetic) return []
  const isRollback = level === 'rollback'
  const { from = name, to, account, reason, user } = content.rollback
  const stage = level === 'pipeline' ? undefined : { id, name }
  if (stage !== undefined && !context.sendNotifications) return []
  const application = execution.application ?? details.application
  const what = `${stage === undefined ? '' : `stage "${stage.name}" of `}pipeline "${execution.name}"`
  const occasion: NoticeOccasion = {
    eventId: eventId ?? usualEventId(details.type, content),
    occasion: isRollback ? 'rollback' : `${level}.${phaseName}`,
    phase: isRollback ? 'failed' : words.phase,
    application,
    execution,
    stage,
    subject: isRollback
      ? `${application}: ${from} was rolled back${to ? ` to ${to}` : ''}${account ? ` in ${account}` : ''}`
      : `${application}: ${what} ${words.word}`,
    details:
      [user && `By ${user}`, reason].filter((part) => part !== undefined).join(': ') || undefined,
  }
  const { notifications: entries } = stage === undefined ? execution : context
  return entries
    .filter(({ when }) => when.includes(occasion.occasion))
    .map((entry) => toDelivery(entry, occasion, parts))
}

const judgmentWords: Readonly<Record<string, { phase: NoticePhase; word: string }>> = {
  manualJudgment: { phase: 'waiting', word: 'waits for a judgment' },
  manualJudgmentContinue: { phase: 'complete', word: 'was judged: continue' },
  manualJudgmentStop: { phase: 'failed', word: 'was judged: stop' },
}

/** A request to send one notification, as the stage for judgments makes it. */
export function noticesOfRequest(request: JsonObject, parts: NoticeParts): NoticeDelivery[] {
  const { source, about, template, type, cc, to } = toRequest(request)
  const { stageName, stageId, instructions, judgmentInput, judgmentComment, judgedBy, message } =
    about
  const { application } = source
  const words = Object.hasOwn(judgmentWords, template) ? judgmentWords[template] : undefined
  const execution = toExecution({ id: source.executionId, ...about.execution })
  const of = execution.id === undefined ? '' : ` of pipeline "${execution.name}"`
  const what = stageName === undefined ? 'a notification' : `stage "${stageName}"`
  const occasion: NoticeOccasion = {
    eventId: about.eventId ?? `${template} ${execution.id} ${stageId} ${parts.now}`,
    occasion: template,
    phase: words?.phase ?? 'starting',
    application,
    execution,
    stage: stageId === undefined ? undefined : { id: stageId, name: stageName ?? 'a stage' },
    subject: `${application}: ${what}${of} ${words?.word ?? ''}`.trim(),
    details:
      [
        instructions,
        judgmentInput && `Chosen: ${judgmentInput}`,
        judgedBy && `By ${judgedBy}${judgmentComment ? `: ${judgmentComment}` : ''}`,
      ]
        .filter((line) => line !== undefined)
        .join('\n') || undefined,
  }
  const entry = { ...toEntry({ type, cc }), message: { [template]: { text: message } } }
  const recipients = listOf(to).length === 0 ? [''] : textsOf(to)
  return recipients.map((address) => toDelivery({ ...entry, address }, occasion, parts))
}

function toDelivery(
  entry: NoticeSubscription,
  occasion: NoticeOccasion,
  { links, now }: NoticeParts,
): NoticeDelivery {
  const { application, execution, stage, phase } = occasion
  const { type, cc, shownAs } = entry
  const address = entry.address.trim()
  const { id, name } = execution
  const link =
    id === undefined
      ? undefined
      : linkTo(links, { application, executionId: id, stageId: stage?.id })
  const notice: Notice = definedOf({
    id: digestOf([occasion.eventId, occasion.occasion, type.toLowerCase(), address]),
    occasion: occasion.occasion,
    phase,
    application,
    execution: id === undefined ? undefined : { id, name },
    stage,
    ...wordsOf(entry, occasion, { executionId: id, link }),
    link,
    address,
    cc,
    shownAs,
    commit: commitOf(execution.trigger),
    time: now,
  })
  return { type, notice }
}

/** Subject and text, with the texts of the author. */
function wordsOf(
  entry: NoticeSubscription,
  { occasion, subject, details }: NoticeOccasion,
  { executionId = '', link = '' }: { executionId: string | undefined; link: string | undefined },
): { subject: string; text: string } {
  const fill = (text: string) =>
    text.replaceAll('{{executionId}}', executionId).replaceAll('{{link}}', link)
  const isMail = entry.type.toLowerCase() === 'email'
  const custom = isMail ? entry.customBody : entry.customMessage
  const customSubject = isMail ? entry.customSubject : undefined
  const { text: message } = toMessage(entry.message[occasion])
  const head = oneLine(fill(customSubject ?? subject))
  const text =
    custom === undefined
      ? [head, details, message].filter((part) => part !== undefined).join('\n\n')
      : fill(custom)
  return { subject: head.slice(0, mostSubject), text: text.slice(0, mostText).toWellFormed() }
}

function oneLine(text: string): string {
  return text
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .trim()
    .toWellFormed()
}

interface LinkPlace {
  readonly application: string
  readonly executionId: string
  readonly stageId?: string
}

function linkTo(
  links: LinkTarget | undefined,
  { application, executionId, stageId }: LinkPlace,
): string | undefined {
  if (links === undefined) return undefined
  if (links.ui === 'deck')
    return `${links.baseUrl}/#/applications/${encodeValue(application)}/executions/details/${encodeValue(executionId)}`
  const query = stageId === undefined || stageId === '' ? '' : `?stage=${encodeValue(stageId)}`
  return `${links.baseUrl}/console/executions/${encodeValue(executionId)}${query}`
}

function commitOf({
  project,
  slug,
  hash,
  buildInfo,
}: NoticedExecution['trigger']): TriggerCommit | undefined {
  const [built] = buildInfo.scm
  const names = hash === undefined ? repositoryOf(built?.remoteUrl) : [project, slug]
  const repository = names.filter((name) => name !== undefined).join('/') || undefined
  const found = hash ?? built?.sha1
  return found === undefined && repository === undefined
    ? undefined
    : definedOf({ hash: found, repository })
}

/** `git@github.com:shop/web.git` and `https://github.com/shop/web.git` */
function repositoryOf(remoteUrl = ''): string[] {
  const path = URL.canParse(remoteUrl)
    ? new URL(remoteUrl).pathname
    : (remoteUrl.split(':')[1] ?? '')
  return path
    .replace(/\.git$/, '')
    .split('/')
    .filter((part) => part !== '')
}

/** For an orchestrator that gives no id: what it reports happens at one moment. */
function usualEventId(type: string, content: ShapeOf<typeof toReport>['content']): string {
  const { stageId, execution } = content
  const { startTime, endTime } = stageId === undefined ? execution : content
  return [type, execution.id, stageId, endTime ?? startTime]
    .map((part) => String(part ?? ''))
    .join(' ')
}

function digestOf(parts: readonly string[]): string {
  return createHash('sha256').update(parts.join('\n')).digest('hex').slice(0, 32)
}
