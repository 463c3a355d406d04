/** A long output in pieces that stay the same while more is written: only the last one grows. */

export interface LogBlock {
  /** Its place in the output, in characters; it names the piece. */
  readonly from: number
  readonly text: string
  readonly lines: number
}

export interface LogText {
  readonly text: string
  /** Place of the text in the output, in characters; it falls when earlier output is put before the text. */
  readonly from: number
  readonly blocks: readonly LogBlock[]
}

/** A browser lays out so many lines at once without a pause. */
const linesEach = 200
/** The longest piece of text without line ends. */
const maxLength = 64_000

/** @param before The last answer for the same output, whose pieces are taken over. */
export function toLogText(text: string, from = 0, before?: LogText): LogText {
  const kept = before === undefined ? [] : keptBlocks(text, from, before)
  const last = kept.at(-1)
  const end = last === undefined ? 0 : last.from + last.text.length - from
  return { text, from, blocks: [...kept, ...split(text.slice(end), from + end)] }
}

/** All pieces but the last, which may not be complete. */
function keptBlocks(text: string, from: number, before: LogText): readonly LogBlock[] {
  const gone = from - before.from
  const goesOn = gone < 0 ? text.startsWith(before.text, -gone) : text.startsWith(before.text.slice(gone))
  if (!goesOn) return []
  const whole = before.blocks.slice(0, -1).filter((block) => block.from >= from)
  const [first] = whole
  // What was put before, or the piece through which the cut goes.
  const rest = first === undefined ? [] : split(text.slice(0, first.from - from), from)
  return [...rest, ...whole]
}

/** @param start Place of the text in the output */
function split(text: string, start: number): LogBlock[] {
  const blocks: LogBlock[] = []
  let from = 0
  while (from < text.length) {
    let at = from
    let lines = 0
    while (lines < linesEach && at < text.length && at - from < maxLength) {
      const end = text.indexOf('\n', at)
      at = end === -1 ? text.length : end + 1
      lines++
    }
    if (at - from > maxLength) at = wholeCharacter(text, from + maxLength)
    blocks.push({ from: start + from, text: copied(text.slice(from, at)), lines })
    from = at
  }
  return blocks
}

/** Engines keep the whole output for as long as a part that was cut out of it is in use; a copy lets go of it. */
function copied(text: string): string {
  return ` ${text}`.slice(1)
}

/** Not between the halves of a character. */
function wholeCharacter(text: string, at: number): number {
  return /[\ud800-\udbff]/.test(text[at - 1] ?? '') ? at - 1 : at
}

const encoder = new TextEncoder()
const lengths = new WeakMap<LogBlock, number>()

export function byteLength(text: string): number {
  return encoder.encode(text).length
}

/** The beginning of a text. @param bytes Up to the end of a character */
export function toTextOfBytes(text: string, bytes: number): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(encoder.encode(text).subarray(0, bytes))
}

/** A line, by the piece that has it and its number in it. */
interface LogLine {
  readonly block: LogBlock
  readonly at: number
}

/** The line to which a byte belongs. @param startByte Bytes of the output before the first piece */
export function lineAtByte(blocks: readonly LogBlock[], startByte: number, byte: number): LogLine | undefined {
  let from = startByte
  if (byte < from) return undefined
  for (const block of blocks) {
    const length = lengthOf(block)
    if (byte < from + length) {
      return { block, at: toTextOfBytes(block.text, byte - from).split('\n').length - 1 }
    }
    from += length
  }
  return undefined
}

/** First byte of a line in the whole output. */
export function byteOfLine(blocks: readonly LogBlock[], startByte: number, { block, at }: LogLine): number {
  const before = blocks.slice(0, blocks.indexOf(block)).reduce((sum, one) => sum + lengthOf(one), startByte)
  const lines = block.text.split('\n').slice(0, at)
  return before + lines.reduce((sum, text) => sum + byteLength(text) + 1, 0)
}

function lengthOf(block: LogBlock): number {
  const length = lengths.get(block) ?? byteLength(block.text)
  lengths.set(block, length)
  return length
}

const styling = new RegExp(`${String.fromCharCode(27)}\\[[\\d;]*m`, 'g')
const controls = /(?![\t\n])\p{Cc}/gu

/** Colours of terminals are left out; other control characters become visible. */
export function toPlain(text: string): string {
  return text
    .replace(/\r$/gm, '')
    .replace(styling, '')
    .replace(controls, (character) => {
      const code = character.charCodeAt(0)
      return code < 0x20 ? String.fromCharCode(0x2400 + code) : code === 0x7f ? '\u2421' : '\ufffd'
    })
}

/** Text and hits in turns: what is at an odd place is a hit. Letters of either case are alike. */
export function splitByHits(text: string, query: string): readonly string[] {
  return text.split(new RegExp(`(${query.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')})`, 'giu'))
}
