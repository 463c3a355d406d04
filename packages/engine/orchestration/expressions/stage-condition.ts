/**
 * The condition `stageEnabled`: whether it lets a stage run, and the record that tells readers why.
 *
 * @see docs/contracts/orchestration.md#conditional-stages
 */
import { formatJson } from '@fairlead/base/json/json.ts'
import { fieldOf, isObject, type JsonObject } from '@fairlead/base/json/values.ts'
import type { StageRun } from '../machine/turn.ts'
import { conditionKey } from '../model.ts'
import { createExpressionMeter, evaluateNode, type Scope } from './evaluator.ts'
import type { CallContext } from './java/java-class.ts'
import { parseExpression } from './parser.ts'
import { runScope } from './stage-evaluation.ts'
import type { ExpressionNode } from './syntax.ts'
import { evaluateTree, expressionsIn } from './template.ts'
import { isList, isMap, isNull, toJsonValue } from './values.ts'

/** A condition and what it came to. */
interface StageCondition extends JsonObject {
  /** Text of the author. */
  readonly expression: string | boolean
  readonly enabled: boolean
  /** Its value, long ones as shortened text; absent after an error. */
  readonly value?: unknown
  readonly error?: string
  /** What the expression reads, such as `parameters.region`; without `value`, it is null. */
  readonly operands?: readonly Operand[]
  /** Milliseconds since the epoch. */
  readonly evaluatedAt: number
}

interface Operand {
  readonly path: string
  readonly value?: unknown
}

/** Longest value and longest operand in the record. */
const longestShown = 500
const mostOperands = 20

/**
 * Whether `stageEnabled` lets the stage run: true runs it, anything else, an error included, skips it; a blank expression or
 * another type of condition runs it. An evaluated condition is recorded in the context.
 */
export function isStageEnabled(run: StageRun): boolean {
  const { stage } = run
  const evaluated = evaluateCondition(run)
  // A restart, or a definition made of a former run, may have brought the record of another evaluation.
  if (evaluated !== undefined || stage.context[conditionKey] !== undefined) {
    stage.context = { ...stage.context, [conditionKey]: evaluated }
  }
  return evaluated?.enabled ?? true
}

function evaluateCondition(run: StageRun): StageCondition | undefined {
  const { execution, stage, turn } = run
  const condition = stage.context['stageEnabled']
  if (execution.type !== 'PIPELINE' || !isObject(condition) || condition['type'] !== 'expression')
    return undefined
  const { expression } = condition
  const evaluatedAt = turn.now
  if (typeof expression === 'boolean')
    return { expression, enabled: expression, value: expression, evaluatedAt }
  if (typeof expression !== 'string' || expression.trim() === '') return undefined
  const meter = createExpressionMeter()
  const options = { scope: runScope(run), now: turn.now, meter }
  const inner = evaluateTree<unknown>(expression, options)
  const outer =
    typeof inner.value === 'string' ? evaluateTree<unknown>(`\${${inner.value}}`, options) : inner
  const { value } = outer
  const [failure] = [inner, outer].flatMap(({ summary }) => Object.values(summary).flat())
  const enabled = value === true || (typeof value === 'string' && value.toLowerCase() === 'true')
  const operands = operandsOf(expression, options)
  turn.expressionSteps += meter.spent
  return {
    expression,
    enabled,
    ...(failure === undefined ? { value: shown(value) } : { error: failure.description }),
    ...(operands.length > 0 && { operands }),
    evaluatedAt,
  }
}

function shown(value: unknown): unknown {
  const text = typeof value === 'string' ? value : formatJson(value)
  return text.length > longestShown ? `${text.slice(0, longestShown)}…` : value
}

/** Names, members and calls with fixed arguments that the expression reads, as far as their values are plain. */
function operandsOf(expression: string, context: Omit<OperandSearch, 'found'>): Operand[] {
  const found = new Map<string, Operand>()
  try {
    const sources = expression.includes('${') ? expressionsIn(expression) : [expression]
    for (const source of sources) readOperands(parseExpression(source), { ...context, found })
  } catch {
    // It cannot be read, or takes too many steps: the error of the condition itself says so.
  }
  return [...found.values()]
}

interface OperandSearch extends CallContext {
  readonly scope: Scope
  /** By path. */
  readonly found: Map<string, Operand>
}

function readOperands(node: ExpressionNode, search: OperandSearch): void {
  const { scope, meter, found } = search
  if (found.size >= mostOperands) return
  const path = pathOf(node)
  if (path === undefined || !hasAdded(path))
    for (const part of partsOf(node)) readOperands(part, search)

  function hasAdded(name: string): boolean {
    try {
      const value = evaluateNode(node, scope, search)
      if (!isList(value) && !isMap(value))
        found.set(name, {
          path: name,
          value: isNull(value) ? undefined : shown(toJsonValue(value, meter)),
        })
      return true
    } catch {
      // What cannot be read has a part that is null, which is worth knowing.
      return false
    }
  }
}

/** The source of a name, a member of one, or a call whose arguments are literals. */
function pathOf(node: ExpressionNode): string | undefined {
  switch (node.kind) {
    case 'name':
      return node.name
    case 'function':
      return node.args.every(({ kind }) => kind === 'literal')
        ? `#${node.name}(${node.args.map(literalOf).join(', ')})`
        : undefined
    case 'member': {
      const target = pathOf(node.target)
      return target === undefined ? undefined : `${target}${node.safe ? '?' : ''}.${node.name}`
    }
    case 'index': {
      const target = pathOf(node.target)
      return target === undefined || node.index.kind !== 'literal'
        ? undefined
        : `${target}[${literalOf(node.index)}]`
    }
    default:
      return undefined
  }
}

function literalOf(node: ExpressionNode): string {
  if (node.kind !== 'literal') return ''
  return typeof node.value === 'string'
    ? `'${node.value.slice(0, longestShown)}'`
    : String(node.value)
}

/** Members of a node whose parts stand in the scope of the expression, not of an element. */
const partKeys: Readonly<Partial<Record<ExpressionNode['kind'], readonly string[]>>> = {
  function: ['args'],
  new: ['args'],
  member: ['target'],
  select: ['target'],
  project: ['target'],
  index: ['target', 'index'],
  method: ['target', 'args'],
  list: ['items'],
  unary: ['operand'],
  binary: ['left', 'right'],
  choice: ['condition', 'whenTrue', 'whenFalse'],
  elvis: ['value', 'otherwise'],
}

function partsOf(node: ExpressionNode): readonly ExpressionNode[] {
  const parts = (partKeys[node.kind] ?? []).flatMap(
    (key) => fieldOf(node, key) as ExpressionNode | ExpressionNode[] | undefined,
  )
  return parts.filter((part) => part !== undefined)
}
