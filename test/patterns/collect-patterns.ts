/** All regular expressions that stand in the sources. */
import { globSync, readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { resolve } from 'node:path'
import { type AnyNode, type Expression, parse, type SpreadElement } from 'acorn'

export interface SourcePattern {
  /** File and line. */
  readonly place: string
  readonly source: string
  readonly flags: string
}

export interface SourcePatterns {
  readonly known: readonly SourcePattern[]
  /** Files that compose patterns of what is known only when they run, once for each. */
  readonly composed: readonly string[]
}

const top = resolve(import.meta.dirname, '../..')

export function collectPatterns(): SourcePatterns {
  const known: SourcePattern[] = []
  const composed: string[] = []
  for (const file of globSync('{packages,bin}/**/*.ts', {
    cwd: top,
    exclude: ['**/*.d.ts'],
  }).sort()) {
    const program = parse(stripTypeScriptTypes(readFileSync(resolve(top, file), 'utf8')), {
      ecmaVersion: 'latest',
      sourceType: 'module',
      locations: true,
    })
    const constants = new Map<string, string>()
    for (const node of nodesOf(program)) {
      const place = `${file}:${node.loc?.start.line}`
      if (node.type === 'VariableDeclaration' && node.kind === 'const') {
        for (const { id, init } of node.declarations) {
          const value = init ? textOf(init, constants) : undefined
          if (id.type === 'Identifier' && value !== undefined) constants.set(id.name, value)
        }
      } else if (node.type === 'Literal' && node.regex) {
        known.push({ place, source: node.regex.pattern, flags: node.regex.flags })
      } else if (isConstruction(node)) {
        const [source, flags = ''] = node.arguments.map((one) => textOf(one, constants))
        if (source === undefined || flags === undefined) composed.push(file)
        else known.push({ place, source, flags })
      }
    }
  }
  return { known, composed }
}

type Construction = Extract<AnyNode, { type: 'NewExpression' | 'CallExpression' }>

function isConstruction(node: AnyNode): node is Construction {
  const isCall = node.type === 'NewExpression' || node.type === 'CallExpression'
  return isCall && node.callee.type === 'Identifier' && node.callee.name === 'RegExp'
}

/** In the order of the text. */
function* nodesOf(top: AnyNode): Generator<AnyNode> {
  const open = [top]
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    yield node
    const children: AnyNode[] = []
    for (const value of Object.values(node)) {
      if (Array.isArray(value)) children.push(...value.filter(isNode))
      else if (isNode(value)) children.push(value)
    }
    open.push(...children.reverse())
  }
}

function isNode(value: unknown): value is AnyNode {
  return (
    typeof value === 'object' &&
    value !== null &&
    'type' in value &&
    typeof value.type === 'string' &&
    'start' in value
  )
}

/** The value of an expression that is a text already in the source. */
function textOf(
  node: Expression | SpreadElement,
  constants: ReadonlyMap<string, string>,
): string | undefined {
  if (node.type === 'Literal') return typeof node.value === 'string' ? node.value : undefined
  if (node.type === 'Identifier') return constants.get(node.name)
  const template = node.type === 'TaggedTemplateExpression' ? node.quasi : node
  if (template.type !== 'TemplateLiteral') return undefined
  const texts = template.quasis.map(
    ({ value }) => (node === template ? value.cooked : value.raw) ?? '',
  )
  const values = template.expressions.map((one) => textOf(one, constants))
  if (values.includes(undefined)) return undefined
  return texts.map((text, index) => text + (values[index] ?? '')).join('')
}
