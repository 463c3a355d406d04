/** Responses read within a bound. */
import { IncomingMessage } from 'node:http'

/** @param tooLarge The error for a longer one, whose rest is not read. */
export async function readAnswerText(
  answer: IncomingMessage,
  maxBytes: number,
  tooLarge: () => Error,
): Promise<string> {
  return (await readAnswerBytes(answer, maxBytes, tooLarge)).toString('utf8')
}

/** @param tooLarge The error for a longer one, whose rest is not read. */
export async function readAnswerBytes(
  answer: IncomingMessage | Response,
  maxBytes: number,
  tooLarge: () => Error,
): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let size = 0
  // What is not read to its end is destroyed.
  for await (const chunk of (answer instanceof IncomingMessage
    ? answer
    : (answer.body ?? [])) as AsyncIterable<Uint8Array>) {
    size += chunk.length
    if (size > maxBytes) throw tooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
