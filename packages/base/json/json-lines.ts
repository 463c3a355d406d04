/** Streams of JSON, a document in each line. */

/** The documents, as they arrive; empty lines are signs of life. @throws {SyntaxError} for a line that is no JSON */
export async function* readJsonLines(pieces: AsyncIterable<string>): AsyncGenerator<unknown> {
  let text = ''
  for await (const piece of pieces) {
    text += piece
    if (!piece.includes('\n')) continue
    const lines = text.split('\n')
    text = lines.pop() ?? ''
    for (const line of lines) if (line !== '') yield JSON.parse(line)
  }
}
