/** Responses read within a bound. */
import type { IncomingMessage } from 'node:http'

/** @param tooLarge The error for a longer one, whose rest is not read. */
export async function readAnswerText(answer: IncomingMessage, maxBytes: number, tooLarge: () => Error): Promise<string> {
  return (await readAnswerBytes(answer, maxBytes, tooLarge)).toString('utf8')
}

/** @param tooLarge The error for a longer one, whose rest is not read. */
export async function readAnswerBytes(answer: IncomingMessage, maxBytes: number, tooLarge: () => Error): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > maxBytes) {
      answer.destroy()
      throw tooLarge()
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
