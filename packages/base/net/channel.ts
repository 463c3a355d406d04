/** Questions between two processes of Fairlead, a gateway and its back ends: lines of JSON on a stream of their own. */
import type { Duplex } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'

/** What one side answers, by name; each function has one parameter. */
type Duties<Names> = { [Name in keyof Names]: (value: never) => unknown }

/** A question or a message, which has the number 0; or an answer, with the negative number of its question. */
type Line =
  | [number: number, name: string, value?: unknown]
  | [number: number, failure: string | null, answer?: unknown]

export class Channel<Own extends Duties<Own>, Other extends Duties<Other>> {
  readonly #stream: Duplex
  readonly #duties: Own
  readonly #decoder = new StringDecoder('utf8')
  readonly #questions = new Map<number, PromiseWithResolvers<unknown>>()
  #lastNumber = 0
  #unsent = ''
  #incomplete = ''
  #isClosed = false

  constructor(stream: Duplex, duties: Own) {
    this.#stream = stream
    this.#duties = duties
    stream.on('data', (bytes: Buffer) => this.#read(this.#decoder.write(bytes)))
    // The end of the other process is reported by the system.
    stream.on('error', () => {})
    stream.on('close', () => this.#close())
  }

  /** @throws {Error} what the other side throws, with the message alone; also when its process ends before it answers */
  ask<Name extends keyof Other & string>(
    name: Name,
    value: Parameters<Other[Name]>[0],
  ): Promise<Awaited<ReturnType<Other[Name]>>> {
    if (this.#isClosed) return Promise.reject(new Error('the other process has ended'))
    const number = ++this.#lastNumber
    const question = Promise.withResolvers<unknown>()
    this.#questions.set(number, question)
    this.#write([number, name, value])
    return question.promise as Promise<Awaited<ReturnType<Other[Name]>>>
  }

  /** Without an answer. */
  tell<Name extends keyof Other & string>(name: Name, value: Parameters<Other[Name]>[0]): void {
    this.#write([0, name, value])
  }

  /** What is said in one turn of the event loop is written together. */
  #write(line: Line): void {
    if (this.#isClosed) return
    if (this.#unsent === '') setImmediate(() => void this.flush())
    this.#unsent += `${JSON.stringify(line)}\n`
  }

  /** Hands what was said to the system now. Resolves when the system has it. */
  async flush(): Promise<void> {
    const text = this.#unsent
    this.#unsent = ''
    if (this.#isClosed) return
    await new Promise<void>((resolve) => {
      this.#stream.write(text, () => resolve())
    })
  }

  #read(text: string): void {
    const lines = (this.#incomplete + text).split('\n')
    this.#incomplete = lines.pop() ?? ''
    for (const line of lines) this.#take(JSON.parse(line) as Line)
  }

  #take([number, text, value]: Line): void {
    if (number >= 0) return void this.#answer(number, text as keyof Own, value)
    const question = this.#questions.get(-number)
    this.#questions.delete(-number)
    if (text === null) question?.resolve(value)
    else question?.reject(new Error(text))
  }

  async #answer(number: number, name: keyof Own, value: unknown): Promise<void> {
    try {
      const answer = await this.#duties[name](value as never)
      if (number > 0) this.#write([-number, null, answer])
    } catch (error) {
      if (number > 0) this.#write([-number, error instanceof Error ? error.message : String(error)])
    }
  }

  #close(): void {
    this.#isClosed = true
    for (const { reject } of this.#questions.values())
      reject(new Error('the other process has ended'))
    this.#questions.clear()
  }
}
