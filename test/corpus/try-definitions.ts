/** Takes definitions of the corpus through an instance: saved, read back, opened and saved by the console's editor, planned, started. */

import { readText, writeText } from '../../console/src/editor/definition-text.ts'
import { Draft } from '../../console/src/editor/draft.ts'
import type { JsonObject } from '../../packages/base/json/values.ts'
import { waitFor } from '../support/wait-until.ts'
import { application, type CorpusDefinition, templateId } from './definitions.ts'

export interface TriedDefinition {
  readonly kind: string
  readonly name: string
  readonly hasFindings: boolean
  readonly planned: boolean
  readonly started: boolean
  /** What went otherwise than it should. */
  readonly faults: readonly string[]
}

interface Saved extends CorpusDefinition {
  readonly name: string
  readonly stored: JsonObject
  readonly warnings: string
  readonly faults: string[]
}

interface Answer {
  readonly status: number
  readonly text: string
  readonly warnings: string
}

const ended = ['SUCCEEDED', 'TERMINAL', 'CANCELED', 'STOPPED']

export type Send = (method: string, path: string, body?: unknown) => Promise<Answer>

export const sender =
  (url: string): Send =>
  async (method, path, body) => {
    const answer = await fetch(url + path, {
      method,
      headers: { 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const warnings = decodeURIComponent(answer.headers.get('x-fairlead-warnings') ?? '')
    return { status: answer.status, text: await answer.text(), warnings }
  }

/** The application, and the template of instances. */
export async function prepareCorpus(url: string): Promise<void> {
  const send = sender(url)
  const create = {
    type: 'createApplication',
    application: { name: application, email: 'a@x.example' },
  }
  await send('POST', '/tasks', { application, description: 'create', job: [create] })
  const template = {
    id: templateId,
    schema: 'v2',
    protect: false,
    metadata: { name: templateId, description: '', owner: 'a@x.example', scopes: ['global'] },
    variables: [],
    pipeline: { stages: [], triggers: [], parameterConfig: [], notifications: [] },
  }
  await send('POST', '/v2/pipelineTemplates/create', template)
  for (const path of [`/applications/${application}`, `/v2/pipelineTemplates/${templateId}`])
    await waitFor(async () => (await send('GET', path)).status === 200 || undefined, path)
}

export async function tryDefinitions(
  url: string,
  definitions: readonly CorpusDefinition[],
): Promise<readonly TriedDefinition[]> {
  const send = sender(url)
  const listed = async (path: string) =>
    new Map(
      (JSON.parse((await send('GET', path)).text) as JsonObject[]).map((each) => [
        String(each['name']),
        each,
      ]),
    )
  const all = '/applications/shop/pipelineConfigs'

  const answers: Answer[] = []
  for (const { definition } of definitions)
    answers.push(await send('POST', '/pipelines', definition))
  const stored = await listed(all)
  const saved = definitions.map((each, index): Saved => {
    const { status, text, warnings } = answers[index] as Answer
    const name = String(each.definition['name'])
    const found = stored.get(name) ?? {}
    const faults = [
      ...(status === 200 ? [] : [`the save is refused with ${status}: ${text}`]),
      ...(status === 200 && !isKept(each.definition, found) ? ['it is read back otherwise'] : []),
      ...(each.doubt === undefined || each.doubt.test(warnings)
        ? []
        : [`the save does not name ${each.doubt}: ${warnings || 'nothing'}`]),
    ]
    return { ...each, name, stored: found, warnings, faults }
  })

  for (const each of saved) {
    const edited = edit(each)
    if (edited === undefined) continue
    const { status, text } = await send('POST', '/pipelines?staleCheck=true', edited)
    if (status !== 200) each.faults.push(`the editor's save is refused with ${status}: ${text}`)
  }
  const editedNow = await listed(all)
  const tried: TriedDefinition[] = []
  for (const each of saved) {
    const now = editedNow.get(each.name) ?? {}
    if (!isKept({ ...each.stored, description: 'edited' }, now, ['updateTs', 'lastModified']))
      each.faults.push('the editor changes more than its user did')
    const { planned, started } = await run(each, send)
    const { kind, name, warnings, faults } = each
    tried.push({ kind, name, hasFindings: warnings !== '', planned, started, faults })
  }
  return tried
}

/** What the store sets, as Front50 does. */
const ofStore = ['id', 'updateTs', 'lastModified', 'lastModifiedBy', 'createTs', 'index']
/** What it adds where nothing was sent. */
const added: JsonObject = { schema: '1' }

/** Whether what is stored has every byte of what was sent. */
function isKept(
  sent: JsonObject,
  stored: JsonObject,
  stamps: readonly string[] = ofStore,
): boolean {
  const text = (value: JsonObject) =>
    JSON.stringify(
      Object.entries(withoutCronIds(value))
        .filter(([key]) => !stamps.includes(key))
        .sort(),
    )
  return text(stamps === ofStore ? { ...added, ...sent } : sent) === text(stored)
}

/** The store gives the cron triggers of a new pipeline ids of their own, and each pipeline a list of triggers. */
function withoutCronIds({ triggers, ...rest }: JsonObject): JsonObject {
  if (!Array.isArray(triggers)) return { ...rest, triggers: [] }
  const kept = triggers.map((each: JsonObject | null) => {
    const { id, ...trigger } = each ?? {}
    return each === null || trigger['type'] !== 'cron' ? each : trigger
  })
  return { ...rest, triggers: kept }
}

/** As the editor does: opened, looked at as text, one field changed, saved under the identity that it has. */
function edit({ stored, faults }: Saved): JsonObject | undefined {
  if (stored['id'] === undefined) return undefined
  const draft = new Draft('shop', { stored, definition: stored })
  const objections = draft.problems.value.filter(({ severity }) => severity === 'error')
  if (objections.length > 0)
    faults.push(
      `only the editor objects: ${objections.map(({ path, message }) => `${path.join('.')} ${message}`).join('; ')}`,
    )
  for (const format of ['json', 'yaml'] as const) {
    const { definition } = readText(writeText(stored, format))
    if (JSON.stringify(definition) !== JSON.stringify(stored))
      faults.push(`the editor's ${format} is another definition`)
  }
  draft.change('Describe', (definition) => ({ ...definition, description: 'edited' }))
  // What is locked or managed elsewhere is read only.
  if (draft.readOnly.value !== undefined) return { ...stored, description: 'edited' }
  return draft.definition.value
}

/** A plan that fails needs a finding of the save; a run ends as the corpus says. */
async function run(
  { stored, warnings, lacks, ends, faults }: Saved,
  send: Send,
): Promise<{ planned: boolean; started: boolean }> {
  const path = `/pipelines/shop/${stored['id']}`
  const plan = await send('POST', path, { type: 'manual', plan: true })
  const planned = plan.status === 200
  if (!planned && !lacks?.test(plan.text) && warnings === '')
    faults.push(`only the plan objects: ${plan.text}`)
  if (ends === undefined) return { planned, started: false }
  const { ref } = JSON.parse((await send('POST', path, { type: 'manual' })).text) as { ref: string }
  const status = await waitFor(async () => {
    const execution = JSON.parse((await send('GET', ref)).text) as { status: string }
    return ended.includes(execution.status) ? execution.status : undefined
  }, 'the end of the run')
  if (status !== ends) faults.push(`the run ends ${status}, not ${ends}`)
  return { planned, started: true }
}
