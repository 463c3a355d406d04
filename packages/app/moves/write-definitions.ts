/** Takes definitions into the store with their histories, and reports what became of each. */

import { placeOf } from '@fairlead/base/findings/document-finding.ts'
import { shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, textOf, textsOf, withoutNulls } from '@fairlead/base/json/values.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { refusalOf } from '@fairlead/base/port-error.ts'
import type { Definitions } from '@fairlead/engine/definitions/collections.ts'
import {
  checkNameIsFree,
  checkPipelineTypes,
  checkPlace,
} from '@fairlead/engine/definitions/pipeline-rules.ts'
import { refusal } from '@fairlead/engine/definitions/requests.ts'
import {
  type DocumentKind,
  findingsOfStored,
  refuseErrors,
} from '@fairlead/engine/orchestration/findings/findings.ts'
import { checkBody } from '@fairlead/ports/requests/check-body.ts'
import { PermissionFields } from '@fairlead/ports/rights/application-permissions.ts'
import {
  contentOf,
  type DefinitionKind,
  keyOf,
  kinds,
  type MovedObject,
  writtenMs,
} from './kinds.ts'
import type { OpenDefinitions } from './open-definitions.ts'

const toOwner = shape({ name: textOf, application: textOf })
const outcomes = ['new', 'equal', 'different', 'replaced', 'refused'] as const
type WriteOutcome = (typeof outcomes)[number]

interface Remark {
  readonly title: string
  readonly sentence: string
}

/** So many objects with the same remark have a line each. */
const listedAlike = 3

interface MoveReport {
  readonly counts: Map<DefinitionKind, Map<WriteOutcome, number>>
  readonly remarks: Remark[]
  /** Objects whose history the source does not show. */
  withoutHistory: number
}

interface MoveOptions {
  /** Whether objects with errors are refused. */
  readonly isStrict: boolean
  /** Whether existing objects with other content are replaced. */
  readonly replaces: boolean
}

interface Reporting extends MoveOptions {
  readonly report: MoveReport
  /** Findings, once all that documents refer to has come. */
  readonly later: (() => Promise<void>)[]
}

/** Everything or nothing is written. @throws what reading throws */
export async function writeDefinitions(
  opened: OpenDefinitions,
  objects: AsyncIterable<MovedObject>,
  options: MoveOptions,
): Promise<MoveReport> {
  const { db } = opened.definitions.context
  const report: MoveReport = { counts: new Map(), remarks: [], withoutHistory: 0 }
  db.exec('BEGIN IMMEDIATE')
  try {
    const later: Reporting['later'] = []
    for await (const object of objects) await take(opened, object, { ...options, report, later })
    for (const find of later) await find()
    db.exec('COMMIT')
    return report
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK')
    throw error
  }
}

const checkedAs: Readonly<Partial<Record<DefinitionKind, DocumentKind>>> = {
  pipelines: 'pipeline',
  strategies: 'strategy',
  templates: 'template',
  applications: 'application',
  notifications: 'notifications',
}

async function take(
  opened: OpenDefinitions,
  { kind, versions, lacksHistory }: MovedObject,
  options: Reporting,
): Promise<void> {
  const { report, later, isStrict } = options
  const { definitions } = opened
  const sent = versions.at(-1) ?? {}
  const title = `${kinds[kind]} / ${nameOf(sent)}`
  let live: JsonObject = {}
  const unfit = refusalOf(() => (live = checkedOf(opened, kind, sent)))
  const checkedKind = unfit === undefined ? checkedAs[kind] : undefined
  const find = async () =>
    checkedKind === undefined ? [] : findingsOfStored(checkedKind, live, definitions.findingSources)
  const strictly = isStrict ? await find() : []
  const problem = unfit ?? refusalOf(() => refuseErrors(strictly, live))
  const outcome =
    problem === undefined
      ? put(opened, { kind, versions: [...versions.slice(0, -1), live] }, options)
      : 'refused'
  const counts = report.counts.get(kind) ?? new Map<WriteOutcome, number>()
  report.counts.set(kind, counts.set(outcome, (counts.get(outcome) ?? 0) + 1))
  const note = (sentence: string) => void report.remarks.push({ title, sentence })
  if (problem !== undefined) note(`refused. ${problem}`)
  if (outcome === 'different') note('exists with other content. Use --replace to replace it.')
  if (problem !== undefined) return
  if (lacksHistory === true) report.withoutHistory++
  orphaned(definitions, kind, live).forEach(note)
  // Alike in many places, they are one line.
  later.push(async () => {
    for (const finding of await find())
      report.remarks.push({ title: `${title}, ${placeOf(finding)}`, sentence: finding.message })
  })
}

/** Front50 keeps what belonged to an application that was deleted, where the deletion failed. */
function orphaned({ applications }: Definitions, kind: DefinitionKind, live: JsonObject): string[] {
  const name = toOwner(live)[kind === 'permissions' ? 'name' : 'application']
  const isChecked = kind === 'applications' || kind === 'pipelines' || kind === 'strategies'
  if (isChecked || name === undefined || applications.has(foldName(name))) return []
  return [`The application "${name}" does not exist: create it, or delete this.`]
}

function put(
  { definitions, setTime }: OpenDefinitions,
  { kind, versions }: MovedObject,
  { replaces }: MoveOptions,
): WriteOutcome {
  const store = definitions[kind]
  const live = versions.at(-1) ?? {}
  const key = keyOf(kind, live) ?? ''
  const stored = store.get(key)
  if (stored !== undefined && contentOf(stored) === contentOf(live)) return 'equal'
  if (stored !== undefined && !replaces) return 'different'
  // What is replaced keeps its own history, and the replacement is written now.
  for (const version of stored === undefined ? versions : [live]) {
    setTime((stored === undefined ? writtenMs(version) : undefined) ?? Date.now())
    store.put(key, version, String(version['lastModifiedBy'] ?? 'anonymous'))
  }
  return stored === undefined ? 'new' : 'replaced'
}

/** The document to store. @throws {PortError} when a rule that every stored object keeps is broken */
function checkedOf(
  { definitions }: OpenDefinitions,
  kind: DefinitionKind,
  sent: JsonObject,
): JsonObject {
  if (keyOf(kind, sent) === undefined) throw refusal('It has no name or id.')
  if (kind === 'serviceAccounts') return { ...sent, memberOf: textsOf(sent['memberOf']) }
  if (kind === 'permissions')
    return { permissions: {}, ...withoutNulls(checkBody(PermissionFields, sent)) }
  if (kind === 'applications') {
    const providers = sent['cloudProviders']
    const application = {
      email: null,
      description: null,
      trafficGuards: [],
      ...sent,
      name: String(sent['name']).trim().toUpperCase(),
    }
    return {
      ...application,
      cloudProviders: Array.isArray(providers) ? providers.join(',') : (providers ?? null),
    }
  }
  if (kind === 'projects' && isTaken(definitions.projects.named(String(sent['name'])), sent))
    throw refusal(`Another project has the name "${sent['name']}": rename one of them.`)
  if (kind !== 'pipelines' && kind !== 'strategies') return sent
  const body = checkPipelineTypes(sent)
  checkPlace(definitions, definitions[kind], body)
  const { errorMsg: _output, ...kept } = body
  const id = String(body.id)
  const triggers = (body.triggers ?? []).map((trigger, index) =>
    trigger?.['type'] === 'cron' && !trigger['id'] ? { ...trigger, id: `${id}-${index}` } : trigger,
  )
  const pipeline = { ...kept, name: String(body.name).trim(), schema: body.schema || '1', triggers }
  checkNameIsFree(definitions[kind], pipeline, kind === 'pipelines' ? 'pipeline' : 'strategy')
  return kind === 'strategies' ? { ...pipeline, strategy: true } : pipeline
}

function isTaken(named: readonly JsonObject[], { id }: JsonObject): boolean {
  return named.some((other) => String(other['id']).toLowerCase() !== String(id).toLowerCase())
}

function nameOf({ application, name, id }: JsonObject): string {
  const own = String(name ?? id ?? application ?? 'without name')
  return application === undefined || name === undefined ? own : `${name} of ${application}`
}

export function formatReport({ counts, remarks, withoutHistory }: MoveReport): string {
  const lines = [...counts].map(([kind, ofKind]) => {
    const parts = outcomes.flatMap((outcome) =>
      ofKind.has(outcome) ? [`${ofKind.get(outcome)} ${outcome}`] : [],
    )
    return `${kinds[kind]}: ${parts.join(', ')}`
  })
  if (withoutHistory > 0)
    lines.push(
      `The source does not show the history of ${withoutHistory} objects. Name an administrator with --user.`,
    )
  return `${[...lines, ...formatRemarks(remarks)].join('\n')}\n`
}

function formatRemarks(remarks: readonly Remark[]): string[] {
  return [...Map.groupBy(remarks, ({ sentence }) => sentence).values()].flatMap((alike) => {
    const shown = alike.slice(0, alike.length > listedAlike ? 1 : listedAlike)
    const others = alike.length > shown.length ? ` and ${alike.length - shown.length} more` : ''
    return shown.map(({ title, sentence }) => `${title}${others}: ${sentence}`)
  })
}
