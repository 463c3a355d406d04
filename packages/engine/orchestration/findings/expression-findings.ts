/** Findings about expressions: those that cannot be read, and those that cannot come to what they say. */
import { isObject, type JsonObject, objectsOf } from '@fairlead/base/json/values.ts'
import { nearestFirst, shorten } from '@fairlead/base/names/edit-distance.ts'
import { expressionFunctions } from '../expressions/functions.ts'
import { findJavaClass, javaClasses } from '../expressions/java/classes.ts'
import { methods } from '../expressions/methods.ts'
import { parseExpression } from '../expressions/parser.ts'
import type { ExpressionNode } from '../expressions/syntax.ts'
import { expressionsIn } from '../expressions/template.ts'

export interface ExpressionFault {
  readonly path: string
  readonly message: string
}

/** Texts of one part that are looked into. */
const mostTexts = 10_000
/** Fields that are an expression without `${}`, too. */
const bareFields = /^(?:stageEnabled\.expression|preconditions\[\d+\]\.context\.expression)$/

/** Names that expressions may ask for; undefined where others may be added. */
export interface StageNames {
  readonly stages: ReadonlySet<string> | undefined
  readonly judgments: ReadonlySet<string> | undefined
}

/** What cannot be parsed stays text, which may be meant: scripts of a shell have the same form. */
export function expressionFaults(value: unknown, names?: StageNames): ExpressionFault[] {
  const faults: ExpressionFault[] = []
  let texts = 0
  const walk = (each: unknown, path: string): void => {
    if (typeof each === 'object' && each !== null)
      for (const [key, member] of Object.entries(each))
        walk(member, Array.isArray(each) ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`)
    if (typeof each !== 'string' || texts > mostTexts) return
    const isBare = !each.includes('${') && each.trim() !== '' && bareFields.test(path)
    if (!isBare && !each.includes('${')) return
    texts++
    const fault = faultOf(each, isBare, names)
    if (fault !== undefined)
      faults.push({
        path,
        message: isBare
          ? `"${each.slice(0, 80)}" is never true: ${fault}`
          : `"${each.slice(0, 80)}" ${fault}`,
      })
  }
  walk(value, '')
  return faults
}

function faultOf(text: string, isBare: boolean, names: StageNames | undefined): string | undefined {
  let nodes: ExpressionNode[]
  try {
    nodes = (isBare ? [text] : expressionsIn(text)).map(parseExpression)
  } catch (error) {
    const { message } = error as Error
    return isBare ? message : `is no expression and stays as it is: ${message}`
  }
  // The innermost is the cause of others.
  const all = nodes.flatMap(nodesOf).toReversed()
  const asksFirst = all.some((node) => node.kind === 'function' && node.name === 'stageExists')
  const fault = all
    .map((node) => ownFault(node) ?? (asksFirst ? undefined : missingStage(node, names)))
    .find((each) => each !== undefined)
  return fault === undefined || isBare ? fault : `stays as it is: ${fault}`
}

/** All nodes of a tree that may be deep, without a stack frame for each level. */
function nodesOf(root: ExpressionNode): ExpressionNode[] {
  const found: object[] = [root]
  for (const node of found) found.push(...Object.values(node).flat().filter(isObject))
  return found.filter((node): node is ExpressionNode => 'kind' in node)
}

function ownFault(node: ExpressionNode): string | undefined {
  if (node.kind === 'function') {
    const names = expressionFunctions.map(({ name }) => name)
    if (names.includes(node.name)) return undefined
    return `There is no function "#${shorten(node.name)}". The nearest is #${nearestFirst(names, node.name)[0]}.`
  }
  if (node.kind === 'type' || node.kind === 'new') {
    try {
      const { create, name } = findJavaClass(node.name)
      return node.kind === 'new' && create === undefined
        ? `${name} cannot be created with "new".`
        : undefined
    } catch (error) {
      return (error as Error).message
    }
  }
  if (node.kind === 'method' && !isMethod(node.name))
    return `No value has a method "${shorten(node.name)}()".`
  if (node.kind === 'binary' && node.operator === 'instanceof')
    return '"instanceof" is not allowed in expressions.'
  return node.kind === 'binary' && node.operator === '-' ? dashFault(node) : undefined
}

function missingStage(node: ExpressionNode, names: StageNames | undefined): string | undefined {
  if (node.kind !== 'function' || node.args[0]?.kind !== 'literal') return undefined
  const isJudgment = ['judgment', 'judgement'].includes(node.name)
  if (!isJudgment && node.name !== 'stage') return undefined
  const known = isJudgment ? names?.judgments : names?.stages
  const { value } = node.args[0]
  return known === undefined || typeof value !== 'string' || known.has(value)
    ? undefined
    : `No ${isJudgment ? 'manual judgment' : 'stage'} is named "${shorten(value)}".`
}

let methodNames: ReadonlySet<string> | undefined

/** Whether any value has the method; getters are those of executions and stages. */
function isMethod(name: string): boolean {
  methodNames ??= new Set([
    ...Object.values(methods).flatMap((of) => Object.keys(of)),
    ...javaClasses.flatMap((each) => Object.keys({ ...each.methods, ...each.statics })),
  ])
  return methodNames.has(name) || (/^get[A-Z]/.test(name) && name !== 'getClass')
}

/** `parameters.my-name`, which is a subtraction. */
function dashFault({ left, right }: Extract<ExpressionNode, { kind: 'binary' }>) {
  if (left.kind !== 'member' || left.target.kind !== 'name' || right.kind !== 'name')
    return undefined
  if (left.target.name !== 'parameters') return undefined
  return `It takes "${right.name}" from "${left.name}". For the name with the dash, write parameters['${left.name}-${right.name}'].`
}

/** Variables that read others of their stage, which only the newest evaluator takes one after another. */
export function variableFaults({ type, variables }: JsonObject): ExpressionFault[] {
  if (type !== 'evaluateVariables') return []
  const before = new Set<unknown>()
  return objectsOf(variables).flatMap(({ key, value }, index) => {
    const read = typeof value === 'string' && value.includes('${') ? namesIn(value) : []
    const other = read.find((name) => before.has(name))
    before.add(key)
    if (other === undefined) return []
    return {
      path: `variables[${index}].value`,
      message: `It reads "${other}" of the same stage, which has no value yet, so it stays as it is. Set "spelEvaluator" of the pipeline to "v4", which evaluates variables one after another, or use two stages.`,
    }
  })
}

function namesIn(text: string): string[] {
  try {
    return expressionsIn(text)
      .flatMap((source) => nodesOf(parseExpression(source)))
      .flatMap((node) => (node.kind === 'name' ? node.name : []))
  } catch {
    return []
  }
}
