/**
 * Functions of the expression language with their descriptions, as data.
 *
 * @see docs/contracts/orchestration.md#functions
 */

import { parseJson } from '@fairlead/base/json/json.ts'
import { isObject, type JsonObject, objectOf } from '@fairlead/base/json/values.ts'
import type { Meter } from '@fairlead/base/regex/meter.ts'
import { parseAllDocuments, parse as parseYaml } from 'yaml'
import { findPathProblem, valueAt } from '../../pipelines/json-path.ts'
import { executionView, stageView } from '../execution-view.ts'
import { currentUser } from '../identity.ts'
import { graphOf } from '../machine/graph.ts'
import type { Execution, ExecutionPlace, Stage } from '../model.ts'
import { maskIn, secretsIn } from '../secrets.ts'
import { typeNameOf } from '../stages/stage-type.ts'
import type { ExpressionPlace, Question } from './answers.ts'
import { checkLength } from './arithmetic.ts'
import { deployedServerGroups, manifestLabelValue } from './deployments.ts'
import { ExpressionError } from './lexer.ts'
import {
  describe,
  hasText,
  isList,
  isNull,
  Real,
  textArgument,
  toBean,
  toExpressionText,
  toJsonValue,
  Unevaluated,
  withInherited,
} from './values.ts'

interface ExpressionFunction {
  readonly name: string
  readonly description: string
  readonly parameters: readonly FunctionParameter[]
  /** Arguments have been weighed, and so will be the result; what a function does beyond it counts. */
  call(place: ExpressionPlace, args: readonly unknown[], meter: Meter): unknown
}

interface FunctionParameter {
  readonly name: string
  readonly description: string
  readonly type: string
}

export const expressionFunctions: readonly ExpressionFunction[] = [
  {
    name: 'stage',
    description: 'The first stage with a name or id.',
    parameters: [text('nameOrId', 'Name or id of the stage')],
    call: ({ execution }, [name], meter) =>
      stageObject(execution, stageNamed(execution, name, meter), meter),
  },
  {
    name: 'stageExists',
    description: 'Whether there is a stage with a name or id.',
    parameters: [text('nameOrId', 'Name or id of the stage')],
    call: ({ execution }, [name], meter) => findStageNamed(execution, name, meter) !== undefined,
  },
  {
    name: 'stageByRefId',
    description: 'The stage with a reference.',
    parameters: [text('refId', 'Reference of the stage')],
    call: ({ execution }, [refId], meter) => {
      const stage = graphOf(execution).withRef(toExpressionText(refId, meter))[0]
      if (stage === undefined)
        throw new ExpressionError(`There is no stage with the reference ${describe(refId)}.`)
      return stageObject(execution, stage, meter)
    },
  },
  {
    name: 'currentStage',
    description: 'The stage that is being processed.',
    parameters: [],
    call: ({ execution, stage }, _args, meter) => {
      if (stage === undefined) throw new ExpressionError('There is no current stage here.')
      return stageObject(execution, stage, meter)
    },
  },
  ...['judgment', 'judgement'].map((name) => ({
    name,
    description: 'The choice made in a manual judgment stage.',
    parameters: [text('stageName', 'Name of the manual judgment stage')],
    call: judgmentInput,
  })),
  {
    name: 'currentUser',
    description: 'The user in whose name the stage runs, and those who steered the run.',
    parameters: [],
    call: (place, _args, meter) => {
      meter.spend(place.execution.stages.length)
      return currentUser(place)
    },
  },
  {
    name: 'deployedServerGroups',
    description: 'The server groups that stages have deployed.',
    parameters: [text('stageName', 'Names or ids of the stages; all when none is given')],
    call: ({ execution }, names, meter) => {
      const wanted = names.map((name) => toExpressionText(name, meter))
      return deployedServerGroups(execution, wanted, meter)
    },
  },
  {
    name: 'manifestLabelValue',
    description: 'A label of the pods of a Deployment or ReplicaSet that a stage has deployed.',
    parameters: [
      text('stageName', 'Name of the deploy manifest stage'),
      text('kind', 'Deployment or ReplicaSet'),
      text('labelKey', 'Key of the label'),
    ],
    call: ({ execution }, [name, kind, label], meter) =>
      manifestLabelValue(
        stageNamed(execution, name, meter),
        toExpressionText(kind, meter),
        toExpressionText(label, meter),
        meter,
      ),
  },
  {
    name: 'triggerResolvedArtifact',
    description: 'The artifact with a name that the trigger brought.',
    parameters: [text('name', 'Name of the artifact')],
    call: ({ execution }, [name], meter) => boundArtifact(execution, 'name', name, meter),
  },
  {
    name: 'triggerResolvedArtifactByType',
    description: 'The artifact of a type that the trigger brought.',
    parameters: [text('type', 'Type of the artifact')],
    call: ({ execution }, [type], meter) => boundArtifact(execution, 'type', type, meter),
  },
  {
    name: 'resolvedArtifacts',
    description: 'The artifacts that the stages have produced.',
    parameters: [],
    call: ({ execution }, _args, meter) => {
      const found = execution.stages.flatMap(({ outputs }) =>
        isList(outputs['artifacts']) ? outputs['artifacts'] : [],
      )
      meter.spend(execution.stages.length + found.length)
      return found
    },
  },
  {
    name: 'toJson',
    description: 'The JSON text of a value.',
    parameters: [{ name: 'value', description: 'Any value', type: 'object' }],
    call: (_place, [value], meter) => toJson(value, meter),
  },
  ofText('readJson', 'The object or list that a JSON text describes.', 'JSON', readJson),
  ofText('readYaml', 'The value that a YAML text describes.', 'YAML', readYaml),
  ofText('readAllYaml', 'The list of the documents of a YAML text.', 'YAML', readAllYaml),
  ofText(
    'readProperties',
    'The texts by key of a properties file of Java.',
    'Properties',
    readProperties,
  ),
  ...[
    { name: 'fromUrl', result: 'text', read: (found: string) => found },
    { name: 'jsonFromUrl', result: 'object or list of the JSON', read: readJson },
    { name: 'yamlFromUrl', result: 'value of the YAML', read: readYaml },
    {
      name: 'propertiesFromUrl',
      result: 'texts by key of the properties file',
      read: readProperties,
    },
  ].map(({ name, result, read }) => ({
    name,
    description: `The ${result} at an address, which is read with GET and without a login when the stage begins.`,
    parameters: [text('url', 'Address')],
    call: (place: ExpressionPlace, [url]: readonly unknown[], meter: Meter) =>
      read(textArgument(ask(place, { kind: 'address', url: textArgument(url) })), meter),
  })),
  {
    name: 'pipelineId',
    description: 'The id of the pipeline with a name in the application of the execution.',
    parameters: [text('pipelineName', 'Name of the pipeline')],
    call: (place, [name]) => pipelineId(place, name, place.execution?.application),
  },
  {
    name: 'pipelineIdOrNull',
    description: 'The same, or null where no pipeline has the name.',
    parameters: [text('pipelineName', 'Name of the pipeline')],
    call: (place, [name]) =>
      pipelineIds(place, place.execution?.application).get(textArgument(name)) ?? null,
  },
  {
    name: 'pipelineIdInApplication',
    description:
      'The id of the pipeline with a name in an application that the user of the stage may read.',
    parameters: [
      text('pipelineName', 'Name of the pipeline'),
      text('applicationName', 'Name of the application'),
    ],
    call: (place, [name, application]) => pipelineId(place, name, textArgument(application)),
  },
  {
    name: 'jsonpath',
    description: 'What a JSON path finds in a value: one value, or a list where it may find more.',
    parameters: [
      { name: 'value', description: 'An object or list', type: 'object' },
      text('path', 'JSON path'),
    ],
    call: (_place, [value, given], meter) => {
      const path = textArgument(given)
      const problem = findPathProblem(path)
      if (problem !== undefined)
        throw new ExpressionError(`The JSON path "${path.slice(0, 80)}" ${problem}.`)
      return valueAt(toJsonValue(value, meter), path, (steps) => meter.spend(steps)) ?? null
    },
  },
  {
    name: 'toInt',
    description: 'The whole number that a text shows.',
    parameters: [text('text', 'A number')],
    call: (_place, [value], meter) => toInt(toExpressionText(value, meter)),
  },
  {
    name: 'toFloat',
    description: 'The number that a text shows.',
    parameters: [text('text', 'A number')],
    call: (_place, [value], meter) => toFloat(toExpressionText(value, meter)),
  },
  {
    name: 'toBoolean',
    description: 'True when the text is "true" in any case.',
    parameters: [text('text', 'A text')],
    call: (_place, [value], meter) =>
      !isNull(value) && toExpressionText(value, meter).toLowerCase() === 'true',
  },
  ofText('toBase64', 'The text in base64.', 'A text', (value) =>
    Buffer.from(value).toString('base64'),
  ),
  ofText('fromBase64', 'The text that the base64 encodes.', 'Base64', (value) =>
    Buffer.from(value, 'base64').toString(),
  ),
  ofText('alphanumerical', 'The text without anything but letters and digits.', 'A text', (value) =>
    value.replace(/[^A-Za-z0-9]/g, ''),
  ),
  {
    name: 'doNotEval',
    description: 'Marks a value whose expressions are to stay as they are.',
    parameters: [{ name: 'value', description: 'Any value', type: 'object' }],
    call: (_place, [value]) => new Unevaluated(value),
  },
]

/** @throws {ExpressionError} when there is no answer, or not yet */
function ask({ answers }: ExpressionPlace, question: Question): unknown {
  if (answers === undefined)
    throw new ExpressionError('What lies elsewhere is read only when a stage begins.')
  return answers.read(question)
}

const askingName = /#\s*(?:\w*fromUrl|pipelineId(?:OrNull|InApplication)?)\s*\(/i

/** Whether a text within the value may call a function that reads from elsewhere. */
export function asksElsewhere(value: unknown): boolean {
  return hasText(value, (text) => askingName.test(text))
}

function pipelineIds(place: ExpressionPlace, application: string): ReadonlyMap<string, string> {
  return ask(place, { kind: 'pipelines', application }) as ReadonlyMap<string, string>
}

function pipelineId(place: ExpressionPlace, name: unknown, application: string): unknown {
  const id = pipelineIds(place, application).get(textArgument(name))
  if (id === undefined)
    throw new ExpressionError(
      `Application ${application} has no pipeline that is named ${describe(name)}.`,
    )
  return id
}

/** A stage as expressions see it. */
function stageObject(execution: Execution, stage: Stage, meter?: Meter): JsonObject {
  meter?.spend(stage.tasks.length)
  if (meter !== undefined) spendOnMembers(stage.context, meter)
  const view = stageView(stage)
  return toBean({
    ...view,
    context: withInherited({ ...objectOf(view['context']) }, (name) => {
      meter?.spend(execution.stages.length)
      const graph = graphOf(execution)
      return maskIn(graph.readKey(stage, name), secretsIn(graph.ancestorsOf(stage)))
    }),
    hasSucceeded: stage.status === 'SUCCEEDED',
    hasFailed: stage.status === 'TERMINAL',
  })
}

/** Looking for secrets is quick, and what holds some is copied with masks. */
const stepsPerMember = 0.5

/** A view of a stage looks at every member for secrets. */
function spendOnMembers(value: unknown, meter: Meter): void {
  if (typeof value === 'string') meter.spendOnText(value.length)
  if (!isList(value) && !isObject(value)) return
  const members = isList(value) ? value : Object.values(value)
  meter.spend(members.length * stepsPerMember)
  for (const member of members) spendOnMembers(member, meter)
}

export function executionObject(execution: Execution): JsonObject {
  return toBean({
    ...executionView(execution),
    stages: execution.stages.map((stage) => stageObject(execution, stage)),
  })
}

function text(name: string, description: string): FunctionParameter {
  return { name, description, type: 'string' }
}

/** @param content What the only argument, a text, holds */
function ofText(
  name: string,
  description: string,
  content: string,
  read: (value: string, meter: Meter) => unknown,
): ExpressionFunction {
  return {
    name,
    description,
    parameters: [text('text', content)],
    call: (_place, [value], meter) => read(textArgument(value), meter),
  }
}

function findStageNamed(execution: Execution, nameOrId: unknown, meter: Meter): Stage | undefined {
  meter.spend(execution.stages.length)
  return execution.stages.find((stage) => stage.name === nameOrId || stage.id === nameOrId)
}

function stageNamed(execution: Execution, nameOrId: unknown, meter: Meter): Stage {
  const stage = findStageNamed(execution, nameOrId, meter)
  if (stage === undefined)
    throw new ExpressionError(`There is no stage that has ${describe(nameOrId)} as its name or id.`)
  return stage
}

function judgmentInput(
  { execution }: ExecutionPlace,
  [name]: readonly unknown[],
  meter: Meter,
): unknown {
  meter.spend(execution.stages.length)
  const stage = execution.stages.find(
    (each) =>
      typeNameOf(each) === 'manualJudgment' &&
      each.name === name &&
      !isNull(each.context['judgmentInput']),
  )
  if (stage === undefined)
    throw new ExpressionError(`There is no judgment named ${describe(name)} with an input.`)
  return stage.context['judgmentInput']
}

function boundArtifact(
  execution: Execution,
  field: 'name' | 'type',
  wanted: unknown,
  meter: Meter,
): unknown {
  const given = execution.trigger['resolvedExpectedArtifacts']
  const resolved = isList(given) ? given : []
  meter.spend(resolved.length)
  const bound = resolved.map((each) => (isObject(each) ? each['boundArtifact'] : undefined))
  const found = bound.find((artifact) => isObject(artifact) && artifact[field] === wanted)
  if (found === undefined)
    throw new ExpressionError(`The trigger has no artifact whose ${field} is ${describe(wanted)}.`)
  return found
}

function toJson(value: unknown, meter: Meter): string {
  const json = JSON.stringify(toJsonValue(value, meter)) ?? 'null'
  checkLength(json.length)
  if (value instanceof Unevaluated || !json.includes('${')) return json
  throw new ExpressionError('The JSON would contain an expression; wrap the value in #doNotEval.')
}

/** Characters of a text to parse that cost as much as one step. */
const jsonCharactersPerStep = 8
/** YAML is read by a program a hundred times as slow. */
const stepsPerYamlCharacter = 4
const leastYamlSteps = 200

function readJson(json: string, meter: Meter): unknown {
  meter.spend(json.length / jsonCharactersPerStep)
  const value = attempt(() => parseJson(json), 'JSON')
  if (typeof value !== 'object' || value === null)
    throw new ExpressionError('The JSON is neither an object nor a list.')
  return value
}

/** Whether a key repeats is not looked for, since that takes the square of their number: the last one wins, as in Java. */
const yamlOptions = { maxAliasCount: 100, uniqueKeys: false, merge: true }

function readYaml(yaml: string, meter: Meter): unknown {
  meter.spend(leastYamlSteps + yaml.length * stepsPerYamlCharacter)
  return plain(attempt(() => parseYaml(yaml, yamlOptions), 'YAML'))
}

/** @see java.util.Properties: `key=value`, `key: value` or `key value`; a backslash continues a line. */
function readProperties(properties: string, meter: Meter): unknown {
  meter.spend(properties.length / jsonCharactersPerStep)
  const lines = properties.replace(/\\\r?\n[ \t]*/g, '').split(/\r?\n/)
  const entries = lines.filter((line) => !/^\s*(?:[#!]|$)/.test(line)).map(toProperty)
  return Object.fromEntries(entries.filter(([key]) => key !== '__proto__'))
}

function toProperty(line: string): [key: string, value: string] {
  const text = line.trimStart()
  const key = /^(?:\\.|[^\s\\:=])*/.exec(text)?.[0] ?? ''
  const rest = text.slice(key.length).trimStart()
  return [unescaped(key), unescaped(/^[:=]/.test(rest) ? rest.slice(1).trimStart() : rest)]
}

const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', f: '\f' }

function unescaped(value: string): string {
  return value.replace(
    /\\(?:u([0-9a-fA-F]{4})|(.))/g,
    (_all, code: string | undefined, letter = '') =>
      code === undefined
        ? (escapes[letter] ?? letter)
        : String.fromCharCode(Number.parseInt(code, 16)),
  )
}

function readAllYaml(yaml: string, meter: Meter): unknown {
  meter.spend(leastYamlSteps + yaml.length * stepsPerYamlCharacter)
  return attempt(() => {
    return parseAllDocuments(yaml, yamlOptions).map((document) => {
      const fault = document.errors[0]
      if (fault !== undefined) throw fault
      return plain(document.toJS(yamlOptions))
    })
  }, 'YAML')
}

/** Dates and the like become what JSON makes of them. */
function plain(value: unknown): unknown {
  const json = JSON.stringify(value) ?? 'null'
  checkLength(json.length)
  return parseJson(json)
}

function attempt<T>(read: () => T, what: string): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof ExpressionError) throw error
    throw new ExpressionError(`The text is not ${what}: ${(error as Error).message}`)
  }
}

function toInt(value: string): unknown {
  // Reading a whole number takes the square of its digits.
  if (!/^[+-]?\d{1,100}$/.test(value) || BigInt.asIntN(32, BigInt(value)) !== BigInt(value)) {
    throw new ExpressionError(`"${value.slice(0, 40)}" is not a whole number.`)
  }
  return Number(value)
}

function toFloat(value: string): unknown {
  const number = Number(value)
  if (value.trim() === '' || !Number.isFinite(number))
    throw new ExpressionError(`"${value.slice(0, 40)}" is not a number.`)
  return new Real(number)
}
