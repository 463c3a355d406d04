/** Findings about a definition: the one list of doubts that saves, plans, lists, the console, moves and the doctor show. */
import {
  type DocumentFinding,
  errorAt,
  formatFinding,
  warningAt,
} from '@fairlead/base/findings/document-finding.ts'
import { list, maybeObject, shape } from '@fairlead/base/json/shape.ts'
import {
  isObject,
  isTrue,
  type JsonObject,
  listOf,
  objectOf,
  objectsOf,
  textOf,
} from '@fairlead/base/json/values.ts'
import { describeChoice } from '@fairlead/base/names/edit-distance.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import {
  isTemplateInstance,
  pipelineOf,
  referenceOf,
  storedTemplate,
} from '@fairlead/model/pipeline-templates/inheritance.ts'
import {
  readPipeline,
  readTrigger,
  withoutNullEntries,
} from '@fairlead/model/pipelines/definition.ts'
import { mask } from '@fairlead/model/secrets/secret-names.ts'
import { buildStages } from '@fairlead/model/stage-types/builds.ts'
import { findProblemsIn, isExpression } from '@fairlead/model/stage-types/check-stage.ts'
import { pipelineParameterFields } from '@fairlead/model/stage-types/pipeline-parts.ts'
import { type Caller, itself } from '@fairlead/ports/caller.ts'
import type { Ports } from '@fairlead/ports/ports.ts'
import { polledArtifact } from '../../events/polls/registry-tags.ts'
import {
  nullFindings,
  recordFindings,
  typesOfDefinition,
  typesOfRecord,
} from '../../notifications/warnings.ts'
import type { StageTypes } from '../stages/stage-type.ts'
import {
  describeDeclarations,
  describeVariables,
  stagesOfInstance,
  undeclaredVariables,
  variablesOf,
} from '../submission/template-instance.ts'
import { environmentFindings } from './environment-findings.ts'
import { expressionFaults } from './expression-findings.ts'
import { findsImages } from './stage-contents.ts'
import { stageFindings } from './stage-findings.ts'
import { triggerFindings } from './trigger-findings.ts'

export const documentKinds = [
  'pipeline',
  'strategy',
  'template',
  'application',
  'notifications',
] as const
export type DocumentKind = (typeof documentKinds)[number]

export interface FindingSources {
  readonly stageTypes: StageTypes
  readonly ports: Pick<
    Ports,
    'builds' | 'canaries' | 'definitions' | 'events' | 'executions' | 'infrastructure'
  >
  readonly now: () => number
  readonly timeZone: string
}

interface Occasion {
  /** For a plan, a stage has to be complete. */
  readonly occasion?: 'save' | 'plan'
  readonly caller?: Caller
  /** What exists here, for the documents of one request. */
  readonly names?: Names
}

/** Each list is read once, and only where a document needs it; undefined where it cannot be read. */
interface Names {
  readonly buildServers: () => Promise<ReadonlySet<string> | undefined>
  /** Folded. */
  readonly serviceAccounts: () => Promise<ReadonlySet<string> | undefined>
}

export function createNames({ ports: { builds, definitions } }: FindingSources): Names {
  const once = (
    read: () => Promise<readonly { readonly name: string }[]>,
    toName: (name: string) => string,
  ) => {
    let names: Promise<ReadonlySet<string> | undefined> | undefined
    return () =>
      (names ??= read().then(
        (listed) => new Set(listed.map(({ name }) => toName(name))),
        () => undefined,
      ))
  }
  return {
    buildServers: once(() => builds.services(itself), String),
    serviceAccounts: once(() => definitions.serviceAccounts(itself), foldName),
  }
}

/** All doubts about a document; the errors first, and else in the order of the document. */
export async function findingsOf(
  kind: DocumentKind,
  document: JsonObject,
  sources: FindingSources,
  { occasion = 'save', caller = itself, names = createNames(sources) }: Occasion = {},
): Promise<DocumentFinding[]> {
  const found = await ofKind[kind](document, { ...sources, occasion, caller, names })
  const rank = ({ severity }: DocumentFinding) => ['error', 'warning', 'note'].indexOf(severity)
  return found.toSorted((one, other) => rank(one) - rank(other))
}

/** The same of a stored one, in which a mask is no secret that a save would restore. */
export async function findingsOfStored(
  ...[kind, document, sources, options]: Parameters<typeof findingsOf>
): Promise<DocumentFinding[]> {
  const isMasked = JSON.stringify(document['triggers'] ?? []).includes(`"${mask}"`)
  const held = sources.ports.definitions.heldAtHand(readPipeline(document).id ?? '')
  return [
    ...held.map(({ account, user }) => ({
      ...(account === undefined
        ? warningAt(
            'stages',
            `Expressions say which pipeline or application its stages are about: they do only what ${user} may do, too, who saved or released it. Another user can release it.`,
          )
        : errorAt(
            'triggers',
            `Triggers that run as the service account ${account} are held back, since ${user}, who saved it, could not use it. A user who may releases them.`,
          )),
      held: true as const,
    })),
    ...(isMasked
      ? [
          errorAt(
            'triggers',
            'Secrets of its triggers were not shown to what moved it here: enter them again.',
          ),
        ]
      : []),
    ...(await findingsOf(kind, document, sources, options)),
  ]
}

type Context = FindingSources & Required<Occasion>

const ofKind: Readonly<
  Record<DocumentKind, (document: JsonObject, context: Context) => Promise<DocumentFinding[]>>
> = {
  pipeline: pipelineFindings,
  strategy: pipelineFindings,
  template: async (template, context) => {
    if (template['pipeline'] === undefined && template['schema'] !== 'v2')
      return context.ports.executions.runsOtherStages ? [] : [errorAt('schema', versionOne)]
    const found = await definitionFindings(pipelineOf(template), context)
    return [
      ...misplacedParts(template),
      ...describeDeclarations(template).map(([place, message]) => warningAt(place, message)),
      ...undeclaredVariables(template).map((name) =>
        warningAt(
          'variables',
          `Its pipeline names the variable "${name}", which the template does not have: declare it.`,
        ),
      ),
      ...found.map((finding) => ({ ...finding, place: `pipeline.${finding.place}` })),
    ]
  },
  application: async (application, { ports }) => [
    ...environmentFindings(application['environments'], ports.infrastructure.accountsAtHand()),
    ...nullFindings(application),
  ],
  notifications: async (record, { ports }) => [
    ...ports.events.describeUndelivered(typesOfRecord(record)).map(toUndelivered('')),
    ...recordFindings(record),
  ],
}

/**
 * In a store that is strict, what can never work is refused. A disabled pipeline never runs.
 *
 * @throws {PortError} 400 with each error
 */
export function refuseErrors(found: readonly DocumentFinding[], definition: JsonObject): void {
  const errors = found.filter(({ severity }) => severity === 'error')
  if (errors.length === 0 || readPipeline(definition).isDisabled) return
  const sentences = errors.map(formatFinding)
  throw new PortError(400, sentences.slice(0, mostErrors).join(' '), {
    exception: 'InvalidRequest',
    errors: sentences,
  })
}

const mostErrors = 20

/** What a pipeline or strategy is, beside the definition in it. */
async function pipelineFindings(
  pipeline: JsonObject,
  context: Context,
): Promise<DocumentFinding[]> {
  const { ports, caller } = context
  const { application = '' } = readPipeline(pipeline)
  const known =
    application === '' ||
    (await ports.definitions.application(application, caller).catch(() => true))
  return [
    ...(known
      ? []
      : [warningAt('application', `The application "${application}" does not exist.`)]),
    ...(await templateFindings(pipeline, context)),
    ...(await definitionFindings(pipeline, context)),
  ]
}

async function templateFindings(
  pipeline: JsonObject,
  { ports, caller }: Context,
): Promise<DocumentFinding[]> {
  const old = ports.executions.runsOtherStages ? undefined : versionOneProblem(pipeline)
  if (old !== undefined) return [errorAt('type', old)]
  if (pipeline['template'] !== undefined && pipeline['type'] === undefined)
    return [
      warningAt(
        'type',
        'It names a template and is no instance of it, so it has no stages of its own: write "type": "templatedPipeline".',
      ),
    ]
  if (!isTemplateInstance(pipeline)) return []
  const written = referenceOf(pipeline)
  const reference = storedTemplate(written)
  // What is an expression is known once a variable has a value.
  if (isExpression(written)) return []
  if (reference === undefined)
    return [
      errorAt(
        'template.reference',
        'It names no template of this store, so it cannot start. Save the template here, and refer to it as spinnaker://<id>.',
      ),
    ]
  const template = await ports.definitions.template(reference, caller).catch(() => null)
  if (template === null) return []
  if (template === undefined)
    return [errorAt('template', `The template "${reference.name}" does not exist.`)]
  const names = variablesOf(template).map(({ name }) => String(name))
  return [
    ...(listOf(pipeline['stages']).length === 0 ? [] : [errorAt('stages', stagesOfInstance)]),
    ...describeVariables(template, pipeline).map((problem) =>
      errorAt('variables', `A variable of the template is not in order: ${problem}.`),
    ),
    ...Object.keys(objectOf(pipeline['variables'])).flatMap((name) =>
      names.includes(name)
        ? []
        : [
            warningAt(
              `variables.${name}`,
              names.length === 0
                ? 'The template has no variables.'
                : describeChoice(name, 'a variable of the template', names),
            ),
          ],
    ),
  ]
}

async function definitionFindings(
  definition: JsonObject,
  context: Context,
): Promise<DocumentFinding[]> {
  const nulls = nullFindings(definition)
  const found = await partFindings(withoutNullEntries(definition), context)
  if (nulls.length === 0) return found
  return [...nulls, ...found.map((each) => ({ ...each, place: placeIn(definition, each.place) }))]
}

/** @param place In the definition without entries that are null */
function placeIn(definition: JsonObject, place: string): string {
  return place.replace(/^(\w+)\[(\d+)\]/, (_found, name: string, index: string) => {
    const kept = listOf(definition[name]).flatMap((entry, at) => (entry === null ? [] : [at]))
    return `${name}[${kept[Number(index)]}]`
  })
}

async function partFindings(
  definition: JsonObject,
  { stageTypes, ports, occasion, names, now, timeZone }: Context,
): Promise<DocumentFinding[]> {
  const { stages: own } = readPipeline(definition)
  const runsHere = !ports.executions.runsOtherStages && definition['type'] !== 'templatedPipeline'
  const listed = ports.infrastructure.accountsAtHand()
  const accounts = listed && new Set(listed.map(({ name }) => name))
  return [
    ...(runsHere
      ? stageFindings(own, {
          stageTypes,
          accounts,
          occasion,
          findsImages: findsImages(definition),
          isSequential: definition['spelEvaluator'] === 'v4',
          artifactIds: new Set(expectedIds(definition)),
        })
      : []),
    ...(await triggerFindings(definition, ports.events.triggerTypes, { nowMs: now(), timeZone })),
    ...(await nameFindings(definition, names, runsHere)),
    ...polledFindings(definition, ports.infrastructure.versions),
    ...(await followedFindings(definition, ports.definitions)),
    ...(runsHere ? await canaryFindings(own, ports.canaries) : []),
    ...objectsOf(definition['parameterConfig']).flatMap((parameter, index) =>
      findProblemsIn(parameter, pipelineParameterFields).map(({ field, message }) =>
        // The engine reads the name and the default alone.
        warningAt(`parameterConfig[${index}].${field}`, message),
      ),
    ),
    ...partsFindings(definition),
    ...executionFindings(definition),
    ...wrappedFindings(definition),
    ...['parameterConfig', 'expectedArtifacts', 'notifications'].flatMap((part) =>
      expressionFaults(listOf(definition[part])).map(({ path, message }) =>
        warningAt(`${part}${path}`, message),
      ),
    ),
    ...ports.events
      .describeUndelivered(typesOfDefinition(definition))
      .map(toUndelivered('notifications')),
  ]
}

const toParts = shape({
  parameterConfig: list(shape({ name: textOf })),
  expectedArtifacts: list(
    shape({
      id: textOf,
      useDefaultArtifact: isTrue,
      defaultArtifact: maybeObject,
      usePriorExecution: isTrue,
      usePriorArtifact: isTrue,
    }),
  ),
})

const lists = ['stages', 'triggers', 'parameterConfig', 'expectedArtifacts', 'notifications']

/** What stands beside the pipeline of a template. */
function misplacedParts(template: JsonObject): DocumentFinding[] {
  const { variables } = template
  return [
    ...lists
      .filter((part) => listOf(template[part]).length > 0)
      .map((part) =>
        warningAt(part, `A template has its "${part}" in "pipeline"; here nothing reads them.`),
      ),
    ...(variables === undefined || variables === null || Array.isArray(variables)
      ? []
      : [
          warningAt(
            'variables',
            'It is no list, so the template has no variables. Write [{"name": "a", "type": "string"}].',
          ),
        ]),
  ]
}

/** Stages of a pipeline that another program has wrapped. */
function wrappedFindings(definition: JsonObject): DocumentFinding[] {
  if (definition['type'] === 'templatedPipeline' || listOf(definition['stages']).length > 0)
    return []
  return Object.entries(definition).flatMap(([key, value]) =>
    listOf(objectOf(value)['stages']).length === 0
      ? []
      : [
          warningAt(
            key,
            `Its stages are in "${key}", where nothing reads them, so a run does nothing. Move them one level up.`,
          ),
        ],
  )
}

/** What a run was, stored or sent as what is to run. */
function executionFindings({ status, trigger }: JsonObject): DocumentFinding[] {
  if (typeof status !== 'string' || !isObject(trigger)) return []
  return [
    warningAt(
      'trigger',
      'It is an execution: the record of one run. Take the pipeline that it ran, whose id is its "pipelineConfigId".',
    ),
  ]
}

/** Parameters and expected artifacts that do not do what they say. */
function partsFindings(definition: JsonObject): DocumentFinding[] {
  const { parameterConfig, expectedArtifacts } = toParts(definition)
  const isOfTemplate = definition['type'] === 'templatedPipeline'
  const isMisplaced =
    !isOfTemplate && parameterConfig.length === 0 && objectsOf(definition['parameters']).length > 0
  return [
    ...(isMisplaced
      ? [
          warningAt(
            'parameters',
            'A pipeline has its parameters in "parameterConfig", and none in "parameters".',
          ),
        ]
      : []),
    ...repeated(
      'parameterConfig',
      'name',
      parameterConfig.map(({ name }) => name),
    ),
    ...repeated(
      'expectedArtifacts',
      'id',
      expectedArtifacts.map(({ id }) => id),
    ),
    ...expectedArtifacts.flatMap((expected, index) => {
      const at = (field: string, message: string) => [
        warningAt(`expectedArtifacts[${index}].${field}`, message),
      ]
      const {
        useDefaultArtifact,
        defaultArtifact = {},
        usePriorExecution,
        usePriorArtifact,
      } = expected
      return [
        ...(useDefaultArtifact && Object.keys(defaultArtifact).length === 0
          ? at('defaultArtifact', 'It is missing, so there is no artifact where none matches.')
          : []),
        ...(usePriorExecution && !usePriorArtifact
          ? at('usePriorExecution', 'Nothing reads it any more. Write "usePriorArtifact".')
          : []),
      ]
    }),
  ]
}

function repeated(
  part: string,
  field: string,
  names: readonly (string | undefined)[],
): DocumentFinding[] {
  return names.flatMap((name, index) =>
    name === undefined || names.indexOf(name) === index
      ? []
      : [
          warningAt(
            `${part}[${index}].${field}`,
            `"${name}" is there twice, and only one of them counts. Rename one.`,
          ),
        ],
  )
}

const toTriggers = list(shape({ enabled: isTrue, type: String, master: textOf, runAsUser: textOf }))
const buildTypes: ReadonlySet<string> = new Set(buildStages.map(({ type }) => type))
const toBuildStages = list(shape({ type: textOf, name: textOf, master: textOf }))

/** Names of what does not exist here, in triggers and in stages that build. */
async function nameFindings(
  definition: JsonObject,
  names: Names,
  runsHere: boolean,
): Promise<DocumentFinding[]> {
  const triggers = toTriggers(definition['triggers'])
  const stages = runsHere ? toBuildStages(definition['stages']) : []
  const has = (key: 'master' | 'runAsUser') =>
    triggers.some((trigger) => trigger[key] !== undefined)
  const asksServers = has('master') || stages.some(({ master }) => master !== undefined)
  const servers = asksServers ? await names.buildServers() : undefined
  const users = has('runAsUser') ? await names.serviceAccounts() : undefined
  const isMissing = (name: string | undefined, known: ReadonlySet<string> | undefined) =>
    name !== undefined && !name.includes('${') && known?.has(name) === false
  const ofStages = stages.flatMap(({ type = '', name, master }, index): DocumentFinding[] =>
    buildTypes.has(type) && isMissing(master, servers)
      ? [
          {
            ...warningAt(
              `stages[${index}].master`,
              `The build server "${master}" is not configured, so the stage will fail. Connect it under this name, or change the stage.`,
            ),
            ...(name !== undefined && { stage: name }),
          },
        ]
      : [],
  )
  const ofTriggers = triggers.flatMap(({ enabled, type, master, runAsUser }, index) => {
    if (!enabled) return []
    return [
      ...(isMissing(master, servers)
        ? [
            warningAt(
              `triggers[${index}].master`,
              `The trigger of the type ${type} cannot fire: the build server "${master}" is not configured. Connect it, or disable the trigger.`,
            ),
          ]
        : []),
      ...(isMissing(runAsUser && foldName(runAsUser), users)
        ? [
            warningAt(
              `triggers[${index}].runAsUser`,
              `The service account "${runAsUser}" does not exist here, so the trigger starts nothing: add it to service-accounts, or name another one.`,
            ),
          ]
        : []),
    ]
  })
  return [...ofStages, ...ofTriggers]
}

/** Accounts that cannot be asked for what triggers wait for. */
function polledFindings(
  definition: JsonObject,
  versions: Ports['infrastructure']['versions'],
): DocumentFinding[] {
  return readPipeline(definition).triggers.flatMap((trigger, index) => {
    const artifact = readTrigger(trigger).isEnabled ? polledArtifact(trigger) : undefined
    if (artifact === undefined || isExpression(artifact.account)) return []
    if (versions?.hasAccount(artifact) !== false) return []
    return [
      warningAt(
        `triggers[${index}].account`,
        `There is no artifact account "${artifact.account}" for ${artifact.type}, so nothing is looked up: only events that are reported here start the trigger. Configure it, or name another one.`,
      ),
    ]
  })
}

const toExpecting = shape({
  expectedArtifacts: list(shape({ id: textOf })),
  expectedArtifact: shape({ id: textOf }),
})

/** Ids of artifacts that a definition or its stages expect. */
function expectedIds(definition: JsonObject): string[] {
  return [definition, ...readPipeline(definition).stages].flatMap((part) => {
    const { expectedArtifacts, expectedArtifact } = toExpecting(part)
    return [...expectedArtifacts, expectedArtifact].flatMap(({ id }) => id ?? [])
  })
}

const toFollowed = list(shape({ enabled: isTrue, type: textOf, pipeline: textOf, name: textOf }))

/** Triggers that follow a pipeline that does not exist, and stages that start one. */
async function followedFindings(
  { id: own, triggers, stages }: JsonObject,
  definitions: Ports['definitions'],
): Promise<DocumentFinding[]> {
  const isMissing = async (type: string | undefined, id: string | undefined) =>
    (type === 'pipeline' || type === 'findArtifactFromExecution') &&
    id !== undefined &&
    id !== own &&
    !isExpression(id) &&
    (await definitions.pipeline(id, itself).catch(() => true)) === undefined
  const found: DocumentFinding[] = []
  for (const [index, { enabled, type, pipeline }] of toFollowed(triggers).entries())
    if (enabled && (await isMissing(type, pipeline)))
      found.push(
        warningAt(
          `triggers[${index}].pipeline`,
          `No pipeline has the id "${pipeline}", so the trigger never fires. Choose one that exists, or disable the trigger.`,
        ),
      )
  for (const [index, { type, pipeline, name }] of toFollowed(stages).entries())
    if (await isMissing(type, pipeline))
      found.push({
        ...warningAt(
          `stages[${index}].pipeline`,
          `No pipeline has the id "${pipeline}", so the stage fails. Write the id of one that exists, not its name.`,
        ),
        ...(name !== undefined && { stage: name }),
      })
  return found
}

const toCanary = shape({
  type: textOf,
  name: textOf,
  canaryConfig: shape({ canaryConfigId: textOf, configurationAccountName: textOf }),
})

/** Analyses by a configuration that does not exist. */
async function canaryFindings(
  stages: readonly JsonObject[],
  canaries: Ports['canaries'],
): Promise<DocumentFinding[]> {
  const found: DocumentFinding[] = []
  for (const [index, stage] of stages.entries()) {
    const { type, name, canaryConfig } = toCanary(stage)
    const { canaryConfigId: id, configurationAccountName: account } = canaryConfig
    if (type !== 'kayentaCanary' || id === undefined || isExpression(id)) continue
    if (await canaries.hasConfiguration({ id, account }, itself).catch(() => true)) continue
    found.push({
      ...warningAt(
        `stages[${index}].canaryConfig.canaryConfigId`,
        `There is no canary configuration "${id}", so the stage fails. Write the id of one that exists, not its name.`,
      ),
      ...(name !== undefined && { stage: name }),
    })
  }
  return found
}

/** Why an instance of a template cannot run, and what to do; undefined for every other definition. */
export function versionOneProblem(definition: JsonObject): string | undefined {
  const isOne = definition['type'] === 'templatedPipeline' && !isTemplateInstance(definition)
  if (!isOne || readPipeline(definition).stages.length > 0) return undefined
  return `The pipeline is an instance of a version-1 template. ${versionOne}`
}

const versionOne =
  'The embedded engine runs templates of version 2 ("schema": "v2"), and none of version 1. Save the ' +
  'template by POST /v2/pipelineTemplates/create, with its stages in "pipeline" and its variables as ${templateVariables.NAME}; or set ' +
  'services.orca.baseUrl to an Orca.'

function toUndelivered(place: string): (message: string) => DocumentFinding {
  return (message) => warningAt(place, message)
}
