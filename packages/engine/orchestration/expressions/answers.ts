/**
 * What expressions read from elsewhere: outside addresses and the list of pipelines. An evaluation does not wait, so the first one asks,
 * and the stage begins once all answers are there.
 *
 * @see docs/contracts/orchestration.md#functions
 */
import type { ExecutionPlace } from '../model.ts'
import { ExpressionError } from './lexer.ts'

export type Question =
  /** The text at an outside address. */
  | { readonly kind: 'address'; readonly url: string }
  /** Ids of the pipelines of an application by name. */
  | { readonly kind: 'pipelines'; readonly application: string }

export interface AnswerSource {
  /** @throws {ExpressionError} when there is no answer, or not yet */
  read(question: Question): unknown
  /** What is asked and not yet answered. */
  readonly pending: readonly Promise<void>[]
}

/** Where expressions are evaluated; without `answers`, they cannot read from elsewhere. */
export interface ExpressionPlace extends ExecutionPlace {
  readonly answers?: AnswerSource
}

interface GivenAnswer {
  readonly value?: unknown
  readonly fault?: string
  readonly characters: number
}

interface KeptQuestion {
  asked: Promise<void>
  answer?: GivenAnswer
}

const mostPerStage = 20
const mostExecutions = 500
/** All answers together that are kept. */
const mostCharacters = 64 * 1024 * 1024

export class ExpressionAnswers {
  readonly #ask: (question: Question, place: ExecutionPlace) => Promise<unknown>
  readonly #onAnswer: (executionId: string) => void
  /** By execution, then by stage and question. */
  readonly #entries = new Map<string, Map<string, KeptQuestion>>()
  #characters = 0

  /** @param ask Rejects with a message for the author of the pipeline. */
  constructor(
    ask: (question: Question, place: ExecutionPlace) => Promise<unknown>,
    onAnswer: (executionId: string) => void = () => undefined,
  ) {
    this.#ask = ask
    this.#onAnswer = onAnswer
  }

  /** @param mayAsk Without it, only what was asked before can be read. */
  at(place: ExecutionPlace, mayAsk: boolean): AnswerSource {
    const pending: Promise<void>[] = []
    const read = (question: Question): unknown => {
      const entry = this.#find(place, question, mayAsk)
      if (entry.answer === undefined) {
        pending.push(entry.asked)
        throw new ExpressionError('The answer is not there yet.')
      }
      if (entry.answer.fault !== undefined) throw new ExpressionError(entry.answer.fault)
      return entry.answer.value
    }
    return { read, pending }
  }

  /** For a restart: its expressions ask again. */
  forget(executionId: string): void {
    for (const { answer } of this.#entries.get(executionId)?.values() ?? [])
      this.#characters -= answer?.characters ?? 0
    this.#entries.delete(executionId)
  }

  #find(place: ExecutionPlace, question: Question, mayAsk: boolean): KeptQuestion {
    const { id } = place.execution
    const known = this.#entries.get(id) ?? new Map<string, KeptQuestion>()
    const prefix = `${place.stage?.id ?? ''} `
    const key = prefix + JSON.stringify(question)
    const found = known.get(key)
    if (found !== undefined) return found
    if ([...known.keys()].filter((each) => each.startsWith(prefix)).length >= mostPerStage)
      throw new ExpressionError(
        `The expressions of a stage read at most ${mostPerStage} addresses and applications.`,
      )
    if (!mayAsk)
      throw new ExpressionError('It was not asked for when the stage began; restart the stage.')
    this.#makeRoom(id)
    const entry: KeptQuestion = { asked: Promise.resolve() }
    entry.asked = this.#answer(question, place, entry)
    this.#entries.set(id, known.set(key, entry))
    return entry
  }

  async #answer(question: Question, place: ExecutionPlace, entry: KeptQuestion): Promise<void> {
    let answer: GivenAnswer
    try {
      const value = await this.#ask(question, place)
      answer = {
        value,
        characters: typeof value === 'string' ? value.length : JSON.stringify(value).length,
      }
    } catch (error) {
      answer = { fault: (error as Error).message, characters: 0 }
    }
    entry.answer = answer
    if ([...(this.#entries.get(place.execution.id)?.values() ?? [])].includes(entry))
      this.#characters += answer.characters
    this.#onAnswer(place.execution.id)
  }

  #makeRoom(asking: string): void {
    for (const id of this.#entries.keys()) {
      if (this.#entries.size < mostExecutions && this.#characters < mostCharacters) return
      if (id !== asking) this.forget(id)
    }
  }
}
