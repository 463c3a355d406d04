/** Syntax tree of an expression. */

export type BinaryOperator =
  | 'or'
  | 'and'
  | '=='
  | '!='
  | '<'
  | '<='
  | '>'
  | '>='
  | 'between'
  | 'matches'
  | 'instanceof'
  | '+'
  | '-'
  | '*'
  | '/'
  | '%'
  | '^'

export type Node =
  | { kind: 'literal'; value: unknown }
  /** A bare word: a name in scope, or a member of the element inside a selection. */
  | { kind: 'name'; name: string }
  /** `#name` */
  | { kind: 'variable'; name: string }
  /** `#name(…)` */
  | { kind: 'function'; name: string; args: Node[] }
  | { kind: 'member'; target: Node; name: string; safe: boolean }
  | { kind: 'index'; target: Node; index: Node; safe: boolean }
  | { kind: 'method'; target: Node | undefined; name: string; args: Node[]; safe: boolean }
  | { kind: 'select'; target: Node; which: 'all' | 'first' | 'last'; test: Node; safe: boolean }
  | { kind: 'project'; target: Node; each: Node; safe: boolean }
  | { kind: 'list'; items: Node[] }
  | { kind: 'map'; entries: { key: Node; value: Node }[] }
  | { kind: 'unary'; operator: '-' | '+' | '!'; operand: Node }
  | { kind: 'binary'; operator: BinaryOperator; left: Node; right: Node }
  | { kind: 'choice'; condition: Node; whenTrue: Node; whenFalse: Node }
  | { kind: 'elvis'; value: Node; otherwise: Node }
  /** `T(name)` */
  | { kind: 'type'; name: string }
  | { kind: 'new'; name: string; args: Node[] }
