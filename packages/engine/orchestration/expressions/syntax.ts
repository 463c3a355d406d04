/** Syntax tree of an expression. */

/** How strongly operators between two operands bind. */
export const bindingPowers = {
  or: 2,
  and: 3,
  '==': 4,
  '!=': 4,
  '<': 4,
  '<=': 4,
  '>': 4,
  '>=': 4,
  between: 4,
  matches: 4,
  instanceof: 4,
  '+': 5,
  '-': 5,
  '*': 6,
  '/': 6,
  '%': 6,
  '^': 7,
} as const

export type BinaryOperator = keyof typeof bindingPowers

export type ExpressionNode =
  | { kind: 'literal'; value: unknown }
  /** A bare word: a name in scope, or a member of the element inside a selection. */
  | { kind: 'name'; name: string }
  /** `#name` */
  | { kind: 'variable'; name: string }
  /** `#name(…)` */
  | { kind: 'function'; name: string; args: ExpressionNode[] }
  | { kind: 'member'; target: ExpressionNode; name: string; safe: boolean }
  | { kind: 'index'; target: ExpressionNode; index: ExpressionNode; safe: boolean }
  | {
      kind: 'method'
      target: ExpressionNode | undefined
      name: string
      args: ExpressionNode[]
      safe: boolean
    }
  | {
      kind: 'select'
      target: ExpressionNode
      which: 'all' | 'first' | 'last'
      test: ExpressionNode
      safe: boolean
    }
  | { kind: 'project'; target: ExpressionNode; each: ExpressionNode; safe: boolean }
  | { kind: 'list'; items: ExpressionNode[] }
  | { kind: 'map'; entries: { key: ExpressionNode; value: ExpressionNode }[] }
  | { kind: 'unary'; operator: '-' | '+' | '!'; operand: ExpressionNode }
  | { kind: 'binary'; operator: BinaryOperator; left: ExpressionNode; right: ExpressionNode }
  | {
      kind: 'choice'
      condition: ExpressionNode
      whenTrue: ExpressionNode
      whenFalse: ExpressionNode
    }
  | { kind: 'elvis'; value: ExpressionNode; otherwise: ExpressionNode }
  /** `T(name)` */
  | { kind: 'type'; name: string }
  | { kind: 'new'; name: string; args: ExpressionNode[] }
