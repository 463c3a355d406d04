/** Where the cursor stands in the text of a definition, which may be incomplete: the path, and whether a key or a value is typed. */
import { isPair, isScalar, isSeq, type Node, type Pair, parseDocument, type Scalar, visit } from 'yaml'
import type { Path } from './json-path.ts'

export interface TextPlace {
  /** Leads to the value; for a key, to the object that it belongs to. */
  readonly path: Path
  readonly role: 'key' | 'value'
  /** Where the word begins that is typed. */
  readonly from: number
  readonly isQuoted: boolean
}

/** Stands for the word that is typed; no text has it. */
const mark = '\u2063'
/** Longer texts are typed without help. */
const maxLength = 300_000
const options = { strict: false, uniqueKeys: false, prettyErrors: false, logLevel: 'silent' } as const

/** Undefined where neither key nor value can be typed. What follows the cursor says nothing about its place. */
export function placeAt(text: string, offset: number): TextPlace | undefined {
  if (offset > maxLength) return undefined
  let place: TextPlace | undefined
  visit(parseDocument(`${text.slice(0, offset)}${mark} `, options).contents, {
    Scalar(key, node, ancestors) {
      if (!String(node.value).includes(mark)) return undefined
      place = toPlace(node, key === 'key', ancestors as readonly (Node | Pair)[])
      return visit.BREAK
    },
  })
  return place
}

/** Undefined inside a text of several lines. */
function toPlace(node: Scalar, isKey: boolean, ancestors: readonly (Node | Pair)[]): TextPlace | undefined {
  if (node.type?.startsWith('BLOCK') || !node.range) return undefined
  const parent = ancestors.at(-1)
  const way = isKey ? ancestors.slice(0, -1) : ancestors
  const path = way.flatMap((holder, index): Path => {
    if (isPair(holder)) return [isScalar(holder.key) ? String(holder.key.value) : '']
    return isSeq(holder) ? [holder.items.indexOf(ancestors[index + 1] ?? node)] : []
  })
  // A word in a block of YAML may become the key of an object.
  const isOpen = parent === undefined || (isSeq(parent) && parent.flow !== true)
  const isQuoted = node.type?.startsWith('QUOTE') === true
  return { path, role: isKey || isOpen ? 'key' : 'value', from: node.range[0] + Number(isQuoted), isQuoted }
}
