/** Lines of a console that have a text, whatever part of it a reader has. */
import type { ConsoleWish } from '@fairlead/base/net/agent-protocol.ts'
import type { ConsoleView } from './provider.ts'

interface FoundLine {
  /** Offset of its first byte. */
  readonly offset: number
  /** Counted from the oldest output that is kept. */
  readonly line: number
}

interface FoundLines {
  readonly output: ConsoleView['output']
  readonly matches?: readonly FoundLine[]
  /** There are more of them. */
  readonly hasMoreMatches?: boolean
}

const mostMatches = 1000
/** Colours and weights, as programs write them for terminals. */
const style = /\p{Cc}\[[\d;:]*[A-Za-z]/gu

/**
 * Letters of either case are alike, and colours of terminals are no part of the text. A provider without offsets answers with all that it has, and its reader searches that.
 *
 * @param first The oldest output that is kept
 */
export async function findLines(
  first: ConsoleView,
  text: string,
  read: (wish: ConsoleWish) => Promise<ConsoleView | undefined>,
): Promise<FoundLines> {
  if (first.nextOffset === undefined || typeof first.output !== 'string') return { output: first.output }
  const wanted = text.toLowerCase()
  const matches: FoundLine[] = []
  let [line, offset, rest] = [1, first.offset ?? 0, '']
  for (let part: ConsoleView | undefined = first; typeof part?.output === 'string'; ) {
    // A part says where it is: bytes that are no text have another length when they are read, and output may have been dropped.
    offset = (part.offset ?? 0) - Buffer.byteLength(rest)
    const lines: string[] = (rest + part.output).split('\n')
    const next: number = part.nextOffset ?? 0
    // What is written meanwhile is not waited for.
    const isLast: boolean = part.output === '' || next >= (first.endOffset ?? 0)
    rest = isLast ? '' : (lines.pop() ?? '')
    for (const one of lines) {
      if (one.replace(style, '').toLowerCase().includes(wanted)) matches.push({ offset, line })
      if (matches.length > mostMatches) return { output: '', matches: matches.slice(0, mostMatches), hasMoreMatches: true }
      offset += Buffer.byteLength(one) + 1
      line++
    }
    part = isLast ? undefined : await read({ offset: next })
  }
  return { output: '', matches }
}
