/** What a command writes: results to standard output, progress to standard error, as text or as JSON. */
import { stripVTControlCharacters, styleText } from 'node:util'
import type { Failure } from './failure.ts'

type Style = Parameters<typeof styleText>[0]
type Stream = NodeJS.WriteStream

interface OutputOptions {
  readonly json: boolean
  /** Also notes each request. */
  readonly verbose: boolean
  readonly stdout?: Stream
  readonly stderr?: Stream
}

export class Output {
  readonly json: boolean
  readonly verbose: boolean
  readonly stdout: Stream
  readonly stderr: Stream

  constructor({ json, verbose, stdout = process.stdout, stderr = process.stderr }: OutputOptions) {
    this.json = json
    this.verbose = verbose
    this.stdout = stdout
    this.stderr = stderr
  }

  /** The result of a command: one JSON document, or its text. */
  result(document: unknown, text: string | readonly string[]): void {
    if (this.json) this.#writeJson(document)
    else this.line([text].flat().join('\n'))
  }

  /** Something that happened while a command follows: a JSON object in a line, or a text. */
  event(event: { readonly type: string } & Readonly<Record<string, unknown>>, text?: string): void {
    if (this.json) {
      const { type, at = new Date().toISOString(), ...rest } = event
      this.#writeJson({ type, at, ...rest })
    } else if (text !== undefined) this.line(text)
  }

  /** A line of text on standard output; nothing with JSON. */
  line(text: string): void {
    if (!this.json && text !== '') this.stdout.write(`${text}\n`)
  }

  /** A note for people, on standard error; nothing with JSON. */
  note(text: string): void {
    if (!this.json) this.stderr.write(`${text}\n`)
  }

  /** A note that only `--verbose` shows. */
  detail(text: string): void {
    if (this.verbose) this.stderr.write(`${text}\n`)
  }

  failure({ code, message, remedy, line }: Failure): void {
    if (this.json) {
      const error = { code, message, remedy: remedy ?? '', ...(line !== undefined && { line }) }
      this.stderr.write(`${JSON.stringify({ error })}\n`)
      return
    }
    const mark = this.paint('red', 'Error:', this.stderr)
    this.stderr.write(`${mark} ${message}${remedy === undefined ? '' : ` ${remedy}`}\n`)
  }

  /** Coloured where the stream is a terminal and `NO_COLOR` is not set. */
  paint(style: Style, text: string, stream: Stream = this.stdout): string {
    return isPlain(stream) ? text : styleText(style, text, { stream })
  }

  /** Rows in columns; the first row is the heading. */
  table(rows: readonly (readonly string[])[]): string[] {
    const widths: number[] = []
    for (const row of rows)
      for (const [index, cell] of row.entries())
        widths[index] = Math.max(widths[index] ?? 0, widthOf(cell))
    return rows.map((row, number) => {
      const line = row
        .map((cell, index) =>
          index === row.length - 1 ? cell : cell + ' '.repeat(widths[index]! - widthOf(cell)),
        )
        .join('  ')
        .trimEnd()
      return number === 0 ? this.paint('bold', line) : line
    })
  }

  #writeJson(document: unknown): void {
    this.stdout.write(`${JSON.stringify(document)}\n`)
  }
}

function isPlain(stream: Stream): boolean {
  return !stream.isTTY || process.env['NO_COLOR'] !== undefined || process.env['TERM'] === 'dumb'
}

function widthOf(text: string): number {
  return [...stripVTControlCharacters(text)].length
}

/** Text of others for a terminal: without what would move its cursor or change its colours. */
export function toSafeText(text: string): string {
  return stripVTControlCharacters(text).replace(/[\p{Cc}--[\t\n]]/gv, '\uFFFD')
}
