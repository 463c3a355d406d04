/** Questions to people at a terminal; elsewhere a question is a failure that names the flag which answers it. */
import { exitCodes, Failure } from './failure.ts'

interface QuestionBase {
  readonly message: string
  /** What answers the question without a terminal, such as `--name`. */
  readonly flag: string
}

interface TextQuestion extends QuestionBase {
  readonly default?: string | undefined
  /** @returns true, or what is wrong with the answer */
  readonly check?: (answer: string) => true | string
}

interface Choice<T> extends QuestionBase {
  readonly choices: readonly { readonly name: string; readonly value: T }[]
  readonly default?: T
}

export class Questions {
  readonly #yes: boolean
  readonly #canAsk: boolean

  /** @param yes Whether `--yes` was given, which agrees to every `confirm`. */
  constructor({ yes, env }: { yes: boolean; env: NodeJS.ProcessEnv }) {
    this.#yes = yes
    this.#canAsk = process.stdin.isTTY && process.stderr.isTTY && !env['CI']
  }

  /** Whether someone is there to answer. */
  get canAsk(): boolean {
    return this.#canAsk
  }

  /** @throws {Failure} with 7 without a terminal and `--yes` */
  async confirm(message: string): Promise<boolean> {
    if (this.#yes) return true
    return this.#ask({ message, flag: '--yes' }, async ({ confirm }, context) =>
      confirm({ message, default: false }, context),
    )
  }

  text(question: TextQuestion): Promise<string> {
    const { message, default: fallback, check } = question
    return this.#ask(question, ({ input }, context) =>
      input({ message, default: fallback, validate: check ?? (() => true) }, context),
    )
  }

  /** The answer is not shown. */
  secret(question: QuestionBase): Promise<string> {
    const { message } = question
    return this.#ask(question, ({ password }, context) => password({ message }, context))
  }

  choose<T>(question: Choice<T>): Promise<T> {
    const { message, choices, default: fallback } = question
    return this.#ask(question, ({ select }, context) =>
      select<T>({ message, choices: [...choices], default: fallback }, context),
    )
  }

  async #ask<T>(
    { message, flag }: QuestionBase,
    ask: (
      prompts: typeof import('@inquirer/prompts'),
      context: { output: NodeJS.WriteStream },
    ) => Promise<T>,
  ): Promise<T> {
    if (!this.#canAsk) {
      throw new Failure(exitCodes.unasked, 'NOT_ASKED', `There is no terminal to ask: ${message}`, {
        remedy: `Answer it with ${flag}.`,
      })
    }
    const prompts = await import('@inquirer/prompts')
    try {
      return await ask(prompts, { output: process.stderr })
    } catch (error) {
      if ((error as Error).name !== 'ExitPromptError') throw error
      throw new Failure(exitCodes.interrupted, 'INTERRUPTED', 'Interrupted.', { cause: error })
    }
  }
}
