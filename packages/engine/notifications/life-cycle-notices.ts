/** Notifications that follow from what an orchestrator reports: who gets them, and what they say. */
import { createHash } from 'node:crypto'
import {
  definedOf,
  fieldAt,
  isTrue,
  type JsonObject,
  listOf,
  objectOf,
  objectsOf,
  textOf,
  textsOf,
} from '@fairlead/base/json/values.ts'
import { encodeValue } from '@fairlead/base/net/encode-path.ts'
import type { ReportedEvent } from '@fairlead/ports/events.ts'
import type { Commit, Notice, NoticePhase } from './notification-type.ts'
import type { Delivery } from './outbox.ts'
import type { LinkTarget } from './settings.ts'

export interface NoticeParts {
  readonly links: LinkTarget | undefined
  /** Milliseconds since the epoch. */
  readonly now: number
}

const mostSubject = 250
const mostText = 4_000

/** One thing that happened, of which several may be notified. */
interface Occasion {
  /** Names this one event, also when it is reported again. */
  readonly eventId: string
  readonly occasion: string
  readonly phase: NoticePhase
  readonly application: string
  readonly execution: JsonObject
  readonly stage?: { readonly id: string; readonly name: string } | undefined
  readonly subject: string
  /** Follows the subject. */
  readonly details?: string | undefined
}

const phaseWords: Readonly<Record<string, { phase: NoticePhase; word: string }>> = {
  starting: { phase: 'starting', word: 'has started' },
  complete: { phase: 'complete', word: 'has succeeded' },
  failed: { phase: 'failed', word: 'has failed' },
}

/** @param event As orchestrators post it: `details` and `content`. @returns none for what is no start or end of a run or stage */
export function noticesOfEvent(
  { details, content, eventId }: Partial<Record<keyof ReportedEvent, unknown>>,
  parts: NoticeParts,
): Delivery[] {
  const [source, level = '', phaseName = ''] = String(objectOf(details)['type'] ?? '').split(':')
  const words = Object.hasOwn(phaseWords, phaseName) ? phaseWords[phaseName] : undefined
  if (source !== 'orca' || words === undefined || (level !== 'pipeline' && level !== 'stage')) return []
  const told = objectOf(content)
  const execution = objectOf(told['execution'])
  const context = objectOf(told['context'])
  if (isTrue(execution['canceled']) || isTrue(told['canceled']) || isTrue(told['isSynthetic'])) return []
  const stage = level === 'stage' ? { id: String(told['stageId'] ?? ''), name: textOf(told['name']) ?? 'a stage' } : undefined
  if (stage !== undefined && !isTrue(context['sendNotifications'])) return []
  const application = textOf(execution['application']) ?? textOf(objectOf(details)['application']) ?? ''
  const what = `${stage === undefined ? '' : `stage "${stage.name}" of `}pipeline "${nameOf(execution)}"`
  const occasion: Occasion = {
    eventId: textOf(eventId) ?? usualEventId(objectOf(details), told, execution),
    occasion: `${level}.${phaseName}`,
    phase: words.phase,
    application,
    execution,
    stage,
    subject: `${application}: ${what} ${words.word}`,
  }
  const entries = objectsOf(stage === undefined ? execution['notifications'] : context['notifications'])
  return entries
    .filter(({ when }) => textsOf(when).includes(occasion.occasion))
    .map((entry) => toDelivery(entry, occasion, parts))
}

const judgmentWords: Readonly<Record<string, { phase: NoticePhase; word: string }>> = {
  manualJudgment: { phase: 'waiting', word: 'waits for a judgment' },
  manualJudgmentContinue: { phase: 'complete', word: 'was judged: continue' },
  manualJudgmentStop: { phase: 'failed', word: 'was judged: stop' },
}

/** A request to send one notification, as the stage for judgments makes it. */
export function noticesOfRequest(request: JsonObject, parts: NoticeParts): Delivery[] {
  const source = objectOf(request['source'])
  const about = objectOf(request['additionalContext'])
  const template = textOf(request['templateGroup']) ?? 'notification'
  const words = Object.hasOwn(judgmentWords, template) ? judgmentWords[template] : undefined
  const execution = { id: source['executionId'], ...objectOf(about['execution']) }
  const stageName = textOf(about['stageName'])
  const stageId = textOf(about['stageId'])
  const application = textOf(source['application']) ?? ''
  const of = execution.id === undefined ? '' : ` of pipeline "${nameOf(execution)}"`
  const occasion: Occasion = {
    eventId: textOf(about['eventId']) ?? `${template} ${String(execution.id)} ${stageId} ${parts.now}`,
    occasion: template,
    phase: words?.phase ?? 'starting',
    application,
    execution,
    stage: stageId === undefined ? undefined : { id: stageId, name: stageName ?? 'a stage' },
    subject:
      `${application}: ${stageName === undefined ? 'a notification' : `stage "${stageName}"`}${of} ${words?.word ?? ''}`.trim(),
    details: [textOf(about['instructions']), judgmentOf(about)].filter((line) => line !== undefined).join('\n') || undefined,
  }
  const entry = definedOf({ type: request['notificationType'], cc: textsOf([request['cc']].flat()).join(', ') || undefined })
  const message = textOf(about['message'])
  const whole = { ...entry, ...(message !== undefined && { message: { [template]: { text: message } } }) }
  const recipients = listOf(request['to']).length === 0 ? [''] : textsOf(request['to'])
  return recipients.map((address) => toDelivery({ ...whole, address }, occasion, parts))
}

function judgmentOf({ judgmentInput }: JsonObject): string | undefined {
  const input = textOf(judgmentInput)
  return input === undefined ? undefined : `Chosen: ${input}`
}

function toDelivery(entry: JsonObject, occasion: Occasion, { links, now }: NoticeParts): Delivery {
  const { application, execution, stage } = occasion
  const type = textOf(entry['type']) ?? ''
  const address = (textOf(entry['address']) ?? textOf(entry['publisherName']) ?? '').trim()
  const executionId = textOf(execution['id'])
  const link = executionId === undefined ? undefined : linkTo(links, { application, executionId, stageId: stage?.id })
  const notice: Notice = definedOf({
    id: digestOf([occasion.eventId, occasion.occasion, type.toLowerCase(), address]),
    occasion: occasion.occasion,
    phase: occasion.phase,
    application,
    execution: executionId === undefined ? undefined : { id: executionId, name: nameOf(execution) },
    stage,
    ...wordsOf(entry, occasion, { executionId, link }),
    link,
    address,
    cc: textOf(entry['cc']),
    commit: commitOf(objectOf(execution['trigger'])),
    time: now,
  }) as Notice
  return { type, notice }
}

/** Subject and text, with the texts of the author. */
function wordsOf(
  entry: JsonObject,
  { occasion, subject, details }: Occasion,
  { executionId = '', link = '' }: { executionId: string | undefined; link: string | undefined },
): { subject: string; text: string } {
  const fill = (text: string) => text.replaceAll('{{executionId}}', executionId).replaceAll('{{link}}', link)
  const isMail = textOf(entry['type'])?.toLowerCase() === 'email'
  const custom = textOf(entry[isMail ? 'customBody' : 'customMessage'])
  const customSubject = isMail ? textOf(entry['customSubject']) : undefined
  const message = textOf(fieldAt(entry, 'message', occasion, 'text'))
  const head = oneLine(fill(customSubject ?? subject))
  const text = custom === undefined ? [head, details, message].filter((part) => part !== undefined).join('\n\n') : fill(custom)
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
  readonly stageId?: string | undefined
}

export function linkTo(links: LinkTarget | undefined, { application, executionId, stageId }: LinkPlace): string | undefined {
  if (links === undefined) return undefined
  if (links.ui === 'deck')
    return `${links.baseUrl}/#/applications/${encodeValue(application)}/executions/details/${encodeValue(executionId)}`
  const query = stageId === undefined || stageId === '' ? '' : `?stage=${encodeValue(stageId)}`
  return `${links.baseUrl}/console/executions/${encodeValue(executionId)}${query}`
}

function nameOf({ name, description, id }: JsonObject): string {
  return textOf(name) ?? textOf(description) ?? textOf(id) ?? ''
}

/** Of a git trigger, or of the build that a run starts from. */
function commitOf({ project, slug, hash, buildInfo }: JsonObject): Commit | undefined {
  const [built] = objectsOf(objectOf(buildInfo)['scm'])
  const found = textOf(hash) ?? textOf(built?.['sha1'])
  const names = textOf(hash) === undefined ? repositoryOf(textOf(built?.['remoteUrl'])) : [textOf(project), textOf(slug)]
  const repository = names.filter((name) => name !== undefined).join('/')
  if (found === undefined && repository === '') return undefined
  return definedOf({ hash: found, repository: repository === '' ? undefined : repository })
}

/** `git@github.com:shop/web.git` and `https://github.com/shop/web.git` */
function repositoryOf(remoteUrl = ''): string[] {
  const path = URL.canParse(remoteUrl) ? new URL(remoteUrl).pathname : (remoteUrl.split(':')[1] ?? '')
  return path
    .replace(/\.git$/, '')
    .split('/')
    .filter((part) => part !== '')
}

/** For an orchestrator that gives no id: what it reports happens at one moment. */
function usualEventId({ type }: JsonObject, { stageId, startTime, endTime }: JsonObject, execution: JsonObject): string {
  const time = stageId === undefined ? (execution['endTime'] ?? execution['startTime']) : (endTime ?? startTime)
  return [type, execution['id'], stageId, time].map((part) => String(part ?? '')).join(' ')
}

function digestOf(parts: readonly string[]): string {
  return createHash('sha256').update(parts.join('\n')).digest('hex').slice(0, 32)
}
