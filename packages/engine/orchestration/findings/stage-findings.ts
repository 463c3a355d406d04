/** Findings about the stages of a definition. */
import { type DocumentFinding, errorAt } from '@fairlead/base/findings/document-finding.ts'
import { list, shape } from '@fairlead/base/json/shape.ts'
import {
  isObject,
  isTrue,
  type JsonObject,
  listOf,
  objectOf,
  textOf,
  textsOf,
} from '@fairlead/base/json/values.ts'
import { shorten } from '@fairlead/base/names/edit-distance.ts'
import { refusalOf } from '@fairlead/base/port-error.ts'
import { cloudProviders } from '@fairlead/base/settings/standalone.ts'
import {
  findMisspeltFields,
  isExpression,
  type Occasion,
} from '@fairlead/model/stage-types/check-stage.ts'
import { stageFields } from '@fairlead/model/stage-types/common.ts'
import type { StageDescription } from '@fairlead/model/stage-types/description.ts'
import { findPathProblem } from '../../pipelines/json-path.ts'
import { parseWindow } from '../allowed-times.ts'
import { descriptionOf, fieldProblemsOf, toStageHead } from '../stages/described-fields.ts'
import type { StageTypes } from '../stages/stage-type.ts'
import { describeUnknownType } from '../stages/unknown-types.ts'
import { checkGraph, referencedStages } from '../submission/references.ts'
import {
  type ExpressionFault,
  expressionFaults,
  type StageNames,
  variableFaults,
} from './expression-findings.ts'
import { doubtsAboutContents } from './stage-contents.ts'

interface Surroundings {
  readonly stageTypes: StageTypes
  /** Names; undefined where another service knows them. */
  readonly accounts: ReadonlySet<string> | undefined
  /** For a plan, a stage has to be complete. */
  readonly occasion: Extract<Occasion, 'save' | 'plan'>
  readonly findsImages: boolean
  /** Whether variables of a stage are evaluated one after another. */
  readonly isSequential: boolean
  /** Ids of artifacts that the pipeline or one of its stages expects. */
  readonly artifactIds: ReadonlySet<string>
}

export function stageFindings(
  stages: readonly JsonObject[],
  surroundings: Surroundings,
): DocumentFinding[] {
  const graph = refusalOf(() => checkGraph(referencedStages(stages)))
  const names = new Set(stages.map(nameOf))
  const asked = namesToAskFor(stages)
  return [
    ...(graph === undefined ? [] : [errorAt('stages', graph)]),
    ...stages.flatMap((stage, index) =>
      findingsOfStage(stage, index, { ...surroundings, names, asked }),
    ),
  ]
}

function nameOf({ name, type }: JsonObject): string {
  return String(name ?? type)
}

/** Types that add stages with names of their own, such as one for each region. */
const addsStages = /^(?:deploy|bake)$|canary|cluster|servergroup|preconditions|promote|environment/i

function namesToAskFor(stages: readonly JsonObject[]): StageNames {
  const judgments = stages.filter(({ type, alias }) => (alias ?? type) === 'manualJudgment')
  const known = (of: readonly JsonObject[]) => {
    const names = of.map(nameOf)
    return names.some(isExpression) ? undefined : new Set(names)
  }
  const mayGrow = stages.some(({ type, alias }) => addsStages.test(String(alias ?? type)))
  return { stages: mayGrow ? undefined : known(stages), judgments: known(judgments) }
}

/** Fields of every stage, which the engine can do without. */
const leftAlone: ReadonlySet<string> = new Set(stageFields.map(({ name }) => name))

function findingsOfStage(
  stage: JsonObject,
  index: number,
  {
    stageTypes,
    accounts,
    occasion,
    findsImages,
    isSequential,
    artifactIds,
    names,
    asked,
  }: Surroundings & { readonly names: ReadonlySet<string>; readonly asked: StageNames },
): DocumentFinding[] {
  const { type, name } = toStageHead(stage)
  const finding = (severity: DocumentFinding['severity'], field: string, message: string) => ({
    severity,
    place: field === '' ? `stages[${index}]` : `stages[${index}].${field}`,
    ...(name === undefined ? {} : { stage: name }),
    message,
  })
  if (type === undefined)
    return [finding('warning', 'type', 'It has no "type"; a start is rejected until it has one.')]
  const description = descriptionOf(stage, stageTypes)
  const unknown = describeUnknownType(stage, stageTypes)
  const misspelt = description === undefined ? [] : findMisspeltFields(stage, description)
  const wrong = fieldProblemsOf(stage, stageTypes, 'save')
  const missing = fieldProblemsOf(stage, stageTypes, 'plan').filter(
    ({ message }) => !wrong.some((problem) => problem.message === message),
  )
  return [
    ...(unknown === undefined ? [] : [finding('error', 'type', unknown)]),
    ...wrong.map(({ field, message }) =>
      leftAlone.has(field.replace(/[.[].*/s, ''))
        ? finding('warning', field, `${message} The stage runs as if it were not there.`)
        : finding('error', field, message),
    ),
    ...misspelt
      .filter(({ field }) => !wrong.some((problem) => problem.field === field))
      .map(({ field, message }) => finding('warning', field, message)),
    ...missing.map(({ field, message }) =>
      finding(occasion === 'plan' ? 'error' : 'warning', field, message),
    ),
    ...doubtsAboutContents(stage, findsImages)
      .filter(({ field }) => ![...wrong, ...missing].some((problem) => problem.field === field))
      .map(({ field, message }) => finding('warning', field, message)),
    ...missingAccounts(stage, accounts).map(({ field, account, provider }) =>
      finding(
        'warning',
        field,
        isExpression(provider) || isDeployedTo(provider)
          ? `The account "${account}" does not exist here, so the stage will fail. Configure it under this name, or change the stage.`
          : `The account "${account}" does not exist here, so the stage will fail. Fairlead itself does not deploy to "${provider}": set services.clouddriver.baseUrl to a Clouddriver that has the account, or change the stage.`,
      ),
    ),
    ...brokenPaths(stage, description).map(({ field, message }) =>
      finding('warning', field, message),
    ),
    ...[
      ...expressionFaults(stage, asked),
      ...(isSequential ? [] : variableFaults(stage)),
      ...conditionFaults(stage),
      ...artifactFaults(stage, artifactIds),
      ...windowFaults(stage),
      ...orderFaults(stage),
      ...recordFaults(stage),
      ...statusFaults(stage, names),
    ].map(({ path, message }) => finding('warning', path, message)),
  ]
}

function conditionFaults({ stageEnabled }: JsonObject): ExpressionFault[] {
  const { type, expression } = objectOf(stageEnabled)
  if (type === 'expression' || isExpression(type) || !textOf(expression)) return []
  return [
    {
      path: 'stageEnabled.type',
      message: `Only conditions of the type "expression" are evaluated, and this is ${type === undefined ? 'of none' : `"${shorten(String(type))}"`}: the stage always runs.`,
    },
  ]
}

/** Times that nothing can wait for, and a window that is always open. */
function windowFaults(stage: JsonObject): ExpressionFault[] {
  const { type, restrictExecutionDuringTimeWindow: flag, restrictedExecutionWindow } = stage
  const isRestricted = isTrue(flag) || type === 'restrictExecutionDuringTimeWindow'
  const path = 'restrictedExecutionWindow'
  if (!isRestricted || isExpression(JSON.stringify(restrictedExecutionWindow))) return []
  const { days, whitelist } = objectOf(restrictedExecutionWindow)
  if (listOf(days).length + listOf(whitelist).length === 0)
    return [
      {
        path,
        message:
          'It has neither "days" nor a "whitelist", so it is always open, and the stage never waits.',
      },
    ]
  try {
    parseWindow(restrictedExecutionWindow)
    return []
  } catch (error) {
    const format = 'Write {"days": [2], "whitelist": [{"startHour": 9, "endHour": 17}]}.'
    return [{ path, message: `${(error as Error).message} The stage fails. ${format}` }]
  }
}

/** Templates of version 1 order their stages by names. */
function orderFaults({ dependsOn, requisiteStageRefIds }: JsonObject): ExpressionFault[] {
  if (listOf(dependsOn).length === 0 || listOf(requisiteStageRefIds).length > 0) return []
  const message =
    'Only templates of version 1 know "dependsOn": the stage starts at once. Write "requisiteStageRefIds".'
  return [{ path: 'dependsOn', message }]
}

/** A stage as executions show it. */
function recordFaults({ context, tasks }: JsonObject): ExpressionFault[] {
  if (!isObject(context) || !Array.isArray(tasks)) return []
  const message =
    'It is a stage of an execution, and nothing reads the fields in its "context". Write them into the stage itself.'
  return [{ path: 'context', message }]
}

const toStatuses = list(shape({ type: textOf, context: shape({ stageName: textOf }) }))

/** Stages whose status is asked for, and that are none. */
function statusFaults(
  { type, preconditions }: JsonObject,
  names: ReadonlySet<string>,
): ExpressionFault[] {
  if (type !== 'checkPreconditions' || [...names].some(isExpression)) return []
  return toStatuses(preconditions).flatMap(({ type: kind, context: { stageName } }, index) =>
    kind !== 'stageStatus' ||
    stageName === undefined ||
    isExpression(stageName) ||
    names.has(stageName)
      ? []
      : [
          {
            path: `preconditions[${index}].context.stageName`,
            message: `No stage is named "${shorten(stageName)}", so the check fails. Write the name of one.`,
          },
        ],
  )
}

const toReferences = shape({
  manifestArtifactId: textOf,
  requiredArtifactIds: textsOf,
  patchBodyArtifactId: textOf,
  inputArtifacts: list(shape({ id: textOf })),
  inputArtifact: shape({ id: textOf }),
  pipelinesArtifactId: textOf,
  packageArtifactIds: textsOf,
})

/** Artifacts by ids that nothing gives a value. */
function artifactFaults(stage: JsonObject, known: ReadonlySet<string>): ExpressionFault[] {
  const { inputArtifacts, inputArtifact, ...named } = toReferences(stage)
  const ids: [path: string, id: string | undefined][] = [
    ...Object.entries(named).flatMap(([path, value]) =>
      [value].flat().map((id): [string, string | undefined] => [path, id]),
    ),
    ...inputArtifacts.map(({ id }, at): [string, string | undefined] => [
      `inputArtifacts[${at}].id`,
      id,
    ]),
    ['inputArtifact.id', inputArtifact.id],
  ]
  return ids.flatMap(([path, id]) =>
    id === undefined || id === '' || id.includes('${') || known.has(id)
      ? []
      : [
          {
            path,
            message: `Neither the pipeline nor one of its stages expects an artifact with the id "${shorten(id)}", so the stage fails. Choose one of expectedArtifacts.`,
          },
        ],
  )
}

const account = {
  account: textOf,
  credentials: textOf,
  cloudProvider: [textOf, 'cloudProvider', 'provider', 'cloudProviderType'],
} as const

/** Where nothing is said, an account of a provider that is here may come. */
function isDeployedTo(provider: string | undefined): boolean {
  return provider === undefined || cloudProviders.some((id) => id === provider)
}

const toPlaces = shape({
  ...account,
  cluster: shape(account),
  source: shape(account),
  clusters: list(shape(account)),
  preconditions: list(shape({ context: shape(account) })),
})

function missingAccounts(
  stage: JsonObject,
  known: ReadonlySet<string> | undefined,
): { field: string; account: string; provider: string | undefined }[] {
  if (known === undefined) return []
  const { cluster, source, clusters, preconditions, ...own } = toPlaces(stage)
  const holders: [path: string, names: typeof own][] = [
    ['', own],
    ['cluster.', cluster],
    ['source.', source],
    ...clusters.map((each, index): [string, typeof own] => [`clusters[${index}].`, each]),
    ...preconditions.map(({ context }, index): [string, typeof own] => [
      `preconditions[${index}].context.`,
      context,
    ]),
  ]
  const found = holders.flatMap(([path, { cloudProvider, ...names }]) =>
    Object.entries(names).flatMap(([field, name]) =>
      name === undefined || name.includes('${') || known.has(name)
        ? []
        : [{ field: path + field, account: name, provider: cloudProvider ?? own.cloudProvider }],
    ),
  )
  // A stage names its account twice for older clients.
  return found.filter(
    ({ account: name }, at) => found.findIndex((one) => one.account === name) === at,
  )
}

function brokenPaths(
  stage: JsonObject,
  description: StageDescription | undefined,
): { field: string; message: string }[] {
  return (description?.fields ?? []).flatMap(({ name: field }) => {
    const path = field.endsWith('JsonPath') ? stage[field] : undefined
    if (typeof path !== 'string' || path === '' || isExpression(path)) return []
    const problem = findPathProblem(path)
    const message = `The path "${shorten(path)}" ${problem}. The stage fails when it reads the response.`
    return problem === undefined ? [] : [{ field, message }]
  })
}
