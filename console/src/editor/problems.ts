/**
 * What is wrong with a definition, found while the user types. The rules come from the descriptions that the API answers;
 * expressions are left alone, because their values are known later.
 */
import { type Json, numberOf, objectOf, objectsOf, textOf } from '../model/read.ts'
import { descriptionOf, type FieldDescription, type StageTypes } from './descriptions.ts'
import { checks } from './forms/checks.ts'
import { formatPath, type Path } from './json-path.ts'
import { parameterFields, triggerTypes } from './pipeline-fields.ts'
import { findCircle, refIdOf, requisitesOf, titleOfStage, toNodes } from './stages.ts'
import { editorWords } from './words.ts'

export interface Problem {
  /** From the definition: `['stages', 3, 'capacity', 'max']`. */
  readonly path: Path
  /** A sentence. */
  readonly message: string
  /** The stage that it belongs to, as `StageNode.key`. */
  readonly stage: string | undefined
  /** What is missing is told after the user was there. */
  readonly kind: 'missing' | 'wrong'
  /** A warning does not keep the definition from being saved or run. */
  readonly severity: 'error' | 'warning'
}

/** Lists beside the stages whose items have fields that they need. */
const listed: Readonly<Record<string, (item: Json) => readonly FieldDescription[]>> = {
  triggers: (trigger) => triggerTypes.find(({ type }) => type === trigger['type'])?.fields ?? [],
  parameterConfig: () => parameterFields,
}

function problemsOfLists(definition: Json): readonly Problem[] {
  return Object.entries(listed).flatMap(([list, fieldsOf]) =>
    objectsOf(definition[list]).flatMap((item, index) =>
      [...problemsOf(item, fieldsOf(item), [], item['enabled'] !== false), ...problemsOfPoll(item)].map(
        ({ path, message, kind }): Problem => ({
          path: [list, index, ...path],
          message,
          stage: undefined,
          kind,
          severity: 'error',
        }),
      ),
    ),
  )
}

function problemsOfPoll({ type, poll, repository }: Json): readonly FieldProblem[] {
  if (type !== 'git' || poll !== true || !String(repository).startsWith('/')) return []
  const message =
    'A path of this machine is not polled. Enter an address such as https://git.example.com/shop/web.git, or turn the polls off.'
  return [{ path: ['repository'], message, kind: 'wrong' }]
}

/** @param types Undefined while they are unknown: only the graph and the head are checked then. */
export function findProblems(definition: Json, types: StageTypes | undefined): readonly Problem[] {
  const nodes = toNodes(definition)
  const known = new Set(nodes.map(({ key }) => key))
  const found: Problem[] = []
  if (textOf(definition['name']) === undefined || String(definition['name']).trim() === '') {
    found.push({ path: ['name'], message: editorWords.nameMissing, stage: undefined, kind: 'missing', severity: 'error' })
  }
  found.push(...problemsOfLists(definition))
  const circle = findCircle(nodes)
  for (const { index, key, stage } of nodes) {
    const at = (path: Path, message: string, rest: Partial<Problem> = {}) =>
      found.push({ path: ['stages', index, ...path], message, stage: key, kind: 'wrong', severity: 'error', ...rest })
    if (textOf(stage['type']) === undefined) at(['type'], 'The stage has no type.')
    if (refIdOf(stage) !== undefined && refIdOf(stage) !== key)
      at(['refId'], `Another stage has the reference ${refIdOf(stage)}.`)
    for (const id of requisitesOf(stage))
      if (!known.has(id)) at(['requisiteStageRefIds'], `There is no stage with the reference ${id}.`)
    if (circle?.includes(key) === true)
      at(['requisiteStageRefIds'], `These stages wait for each other: ${circleNames(circle, nodes).join(', ')}.`)
    const description = descriptionOf(types, stage)
    if (types === undefined) continue
    const problems = description === undefined ? [] : problemsOf(stage, description.fields, [], !mayBeSkipped(stage))
    for (const { path, message, kind } of [...problemsOf(stage, common(types), [], false), ...problems])
      at(path, message, { kind })
    const check = mayBeSkipped(stage) ? undefined : checks[textOf(stage['type']) ?? '']
    for (const { path, message, kind } of check?.(stage, definition, index) ?? []) at(path, message, { kind })
    if (description?.runsHere === false) at(['type'], description.reason ?? editorWords.doesNotRun, { severity: 'warning' })
  }
  return found
}

function circleNames(circle: readonly string[], nodes: ReturnType<typeof toNodes>): readonly string[] {
  return circle.map((key) => titleOfStage(nodes.find((node) => node.key === key)?.stage ?? {}))
}

function common(types: StageTypes): readonly FieldDescription[] {
  return types.commonFields.filter(({ name }) => name !== 'type' && name !== 'requisiteStageRefIds')
}

type FieldProblem = Pick<Problem, 'path' | 'message' | 'kind'>

function problemsOf(holder: Json, fields: readonly FieldDescription[], path: Path, isComplete: boolean): FieldProblem[] {
  // A key that is an expression may become any of them.
  const mayLack = !isComplete || Object.keys(holder).some(isExpression)
  return fields.flatMap((field): FieldProblem[] => {
    const here = [...path, field.name]
    const name = [field.name, ...(field.otherNames ?? [])].find((each) => isGiven(holder[each]))
    if (name !== undefined) return name === field.name ? problemsOfValue(holder[name], field, here, isComplete) : []
    return field.required && !mayLack ? [{ path: here, message: `Enter ${formatPath(here)}.`, kind: 'missing' }] : []
  })
}

function problemsOfValue(value: unknown, field: FieldDescription, path: Path, isComplete: boolean): FieldProblem[] {
  const wrong = isExpression(value) ? undefined : describeWrong(value, field)
  if (wrong !== undefined) return [{ path, message: `${formatPath(path)} ${wrong}.`, kind: 'wrong' }]
  const { fields, kind } = field
  if (fields === undefined) return []
  if (kind === 'object' && isObject(value)) return problemsOf(value, fields, path, isComplete)
  if (kind !== 'objects' || !Array.isArray(value)) return []
  return value.flatMap((each, index) => (isObject(each) ? problemsOf(each, fields, [...path, index], isComplete) : []))
}

/** Undefined when the engine takes the value. */
function describeWrong(value: unknown, { kind, choices = [], onlyChoices }: FieldDescription): string | undefined {
  switch (kind) {
    case 'number':
    case 'moment':
      return numberOf(value) === undefined ? 'must be a number' : undefined
    case 'object':
    case 'map':
      return isObject(value) ? undefined : 'must be an object'
    case 'objects':
      return Array.isArray(value) && value.every((each) => isObject(each) || isExpression(each))
        ? undefined
        : 'must be a list of objects'
    case 'choice':
      return !onlyChoices || choices.includes(String(value)) ? undefined : `must be one of ${choices.join(', ')}`
    default:
      return undefined
  }
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && value !== ''
}

export function isExpression(value: unknown): boolean {
  return typeof value === 'string' && value.includes('${')
}

/** A stage whose condition may skip it need not be complete. */
function mayBeSkipped(stage: Json): boolean {
  const { expression } = objectOf(stage['stageEnabled'])
  return textOf(expression) !== undefined && String(expression).trim() !== 'true'
}
