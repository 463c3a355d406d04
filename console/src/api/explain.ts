/** Several questions to the API about what a user may do, answered in one request. */
import { signal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import { asApiError } from './api-error.ts'
import { client, type Schemas, unwrap } from './client.ts'
import type { Live, Reading } from './live.ts'

export type Explanation = Schemas['AccessExplanation']
export type Question = Schemas['AccessQuestions']['questions'][number]

/** How many questions one request may hold. */
export const questionsPerRequest = 50
const retryMs = 10_000

/** In the order of the questions; undefined asks nothing. Answered once, after a failure, and again on `refresh`. */
export function useExplanations(questions: readonly Question[] | undefined): Live<readonly Explanation[]> {
  const key = JSON.stringify(questions)
  const answers = useMemo(() => new Answers(questions), [key])
  useEffect(() => {
    answers.refresh()
    const timer = setInterval(() => answers.reading.peek().error !== undefined && answers.refresh(), retryMs)
    return () => clearInterval(timer)
  }, [answers])
  return answers
}

class Answers implements Live<readonly Explanation[]> {
  readonly reading = signal<Reading<readonly Explanation[]>>({
    body: undefined,
    error: undefined,
    readAtMs: undefined,
    nextTryAtMs: undefined,
    failures: 0,
  })
  readonly #questions: readonly Question[] | undefined
  #asked = 0

  constructor(questions: readonly Question[] | undefined) {
    this.#questions = questions
  }

  refresh(): void {
    if (this.#questions !== undefined) void this.#ask(this.#questions)
  }

  async #ask(questions: readonly Question[]): Promise<void> {
    const number = ++this.#asked
    try {
      const { explanations } = await unwrap(client.POST('/auth/explain', { body: { questions: [...questions] } }))
      // An answer to an earlier question may come later.
      if (number !== this.#asked) return
      this.reading.value = {
        body: explanations,
        error: undefined,
        readAtMs: Date.now(),
        nextTryAtMs: undefined,
        failures: 0,
      }
    } catch (cause) {
      const error = asApiError(cause)
      if (number !== this.#asked) return
      this.reading.value = { ...this.reading.peek(), error, failures: this.reading.peek().failures + 1 }
    }
  }
}
