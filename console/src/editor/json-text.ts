/** A definition as JSON. */
import { json, jsonLanguage } from '@codemirror/lang-json'
import { parseExactly } from '../model/exact-json.ts'
import { type TextLanguage, type TextProblem, type TextRange, toParsed, unreadable } from './definition-text.ts'
import type { Path } from './json-path.ts'
import { textWords } from './text-words.ts'

export const jsonText: TextLanguage = {
  format: 'json',
  extension: json(),
  write: (definition) => `${JSON.stringify(definition, null, 2)}\n`,
  read(text) {
    try {
      return toParsed(parseExactly(text), text)
    } catch {
      // Browsers word the error differently, and not all of them say where it is.
      return unreadable(findJsonProblem(text))
    }
  },
  findRanges(text) {
    const tree = jsonLanguage.parser.parse(text)
    return (path) => rangeAt(text, tree.topNode.firstChild, path)
  },
}

type SyntaxNode = ReturnType<typeof jsonLanguage.parser.parse>['topNode']

function rangeAt(text: string, root: SyntaxNode | null, path: Path): TextRange | undefined {
  let node = root
  let shown = node === null ? undefined : beginningOf(node)
  for (const step of path) {
    const member = node === null ? undefined : memberOf(text, node, step)
    if (member === undefined) break
    const name = member.name === 'Property' ? member.firstChild : null
    node = name === null ? member : member.lastChild
    shown = name === null ? beginningOf(member) : { from: name.from, to: name.to }
  }
  return shown
}

/** The range of a value; an object or a list counts with its bracket only. */
function beginningOf({ name, from, to }: SyntaxNode): TextRange {
  return { from, to: name === 'Object' || name === 'Array' ? from + 1 : to }
}

function memberOf(text: string, node: SyntaxNode, step: string | number): SyntaxNode | undefined {
  if (typeof step === 'number') return valuesOf(node)[step]
  return node.getChildren('Property').find(({ firstChild }) => {
    return firstChild !== null && unquoted(text.slice(firstChild.from, firstChild.to)) === step
  })
}

/** Items of a list, without its brackets and commas. */
function valuesOf(node: SyntaxNode): SyntaxNode[] {
  const found: SyntaxNode[] = []
  for (let child = node.firstChild; child !== null; child = child.nextSibling) if (/^[A-Z]/.test(child.name)) found.push(child)
  return found
}

function unquoted(text: string): string {
  try {
    return String(JSON.parse(text))
  } catch {
    return text
  }
}

function findJsonProblem(text: string): TextProblem {
  let place: number | undefined
  jsonLanguage.parser.parse(text).iterate({
    enter: ({ type, from }) => {
      if (type.isError) place ??= from
      return place === undefined
    },
  })
  const from = (place ?? 0) + (/^\s*/.exec(text.slice(place ?? 0))?.[0].length ?? 0)
  const before =
    text
      .slice(0, place ?? 0)
      .trimEnd()
      .at(-1) ?? ''
  const at = text.charAt(from)
  return { from, to: Math.min(from + 1, text.length), message: describeJsonProblem(before, at) }
}

/** @param before The last character that is right. @param at The first that is not; empty at the end. */
function describeJsonProblem(before: string, at: string): string {
  if (at === '') return textWords.jsonEnds
  if (before === ',' && (at === '}' || at === ']')) return textWords.jsonTrailingComma
  if (at === "'") return textWords.jsonQuotes
  if (at === '/' || at === '#') return textWords.jsonComment
  if (/["}\]\w]/.test(before) && /["{[\w-]/.test(at)) return textWords.jsonComma
  return textWords.jsonUnexpected(at)
}
