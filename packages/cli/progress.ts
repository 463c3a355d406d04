/** A tree of steps: it moves in a terminal, and is a line for each change elsewhere. */
import { stripVTControlCharacters } from 'node:util'
import type { Interrupts } from './interrupts.ts'
import { type Output, toSafeText } from './output.ts'

export type StepState =
  | 'waiting'
  | 'running'
  | 'done'
  | 'failed'
  | 'canceled'
  | 'skipped'
  | 'paused'

interface ProgressStep {
  /** Stays the same for a step. */
  readonly id: string
  readonly label: string
  readonly state: StepState
  /** Id of the step that contains this one. */
  readonly parent?: string | undefined
  /** Behind the label, such as what it waits for. */
  readonly note?: string | undefined
}

const marks: Readonly<
  Record<StepState, [mark: string, style: 'dim' | 'cyan' | 'green' | 'red' | 'yellow']>
> = {
  waiting: ['·', 'dim'],
  running: ['▸', 'cyan'],
  done: ['✓', 'green'],
  failed: ['✗', 'red'],
  canceled: ['✗', 'yellow'],
  skipped: ['-', 'dim'],
  paused: ['‖', 'yellow'],
}

const redrawMs = 100

/** Steps appear in the order in which they are first updated, below their parent. */
export class ProgressTree {
  readonly #output: Output
  readonly #steps = new Map<string, ProgressStep>()
  readonly #moves: boolean
  readonly #forgetCleanup: () => void
  #drawn = 0
  #redraw: NodeJS.Timeout | undefined

  constructor(output: Output, interrupts: Interrupts) {
    this.#output = output
    this.#moves =
      output.stderr.isTTY && !output.json && process.env['TERM'] !== 'dumb' && !process.env['CI']
    this.#forgetCleanup = interrupts.beforeEnd(() => this.close())
  }

  /** Shows the step; a change of its state or note is one event of a follower. */
  update(step: ProgressStep): void {
    const before = this.#steps.get(step.id)
    this.#steps.set(step.id, step)
    if (before?.state === step.state && before.note === step.note && before.label === step.label)
      return
    const { id, label, state, parent, note } = step
    if (this.#output.json) {
      this.#output.event({ type: 'step', id, label, state, parent, note })
    } else if (this.#moves) this.#schedule()
    else this.#output.note(this.#describe(step, 0))
  }

  /** A line of output above the tree; with JSON an event of type `output`. */
  log(text: string, step?: string): void {
    if (this.#output.json) this.#output.event({ type: 'output', step, text })
    else {
      this.#erase()
      this.#output.note(toSafeText(text))
      if (this.#moves) this.#draw()
    }
  }

  /** Removes the tree while something else uses the terminal, such as a question. */
  pause(): void {
    this.#erase()
  }

  resume(): void {
    if (this.#moves) this.#draw()
  }

  /** Leaves the last state of the tree in the terminal. */
  close(): void {
    this.#forgetCleanup()
    if (this.#redraw !== undefined) this.resume()
    this.#drawn = 0
  }

  #schedule(): void {
    this.#redraw ??= setTimeout(() => this.#draw(), redrawMs)
  }

  #draw(): void {
    this.#erase()
    // A terminal without a size says that it has none.
    const rows = this.#output.stderr.rows || 24
    const columns = this.#output.stderr.columns || 80
    const lines = this.#lines(undefined, 0)
    const shown = lines.length < rows ? lines : lines.slice(lines.length - rows + 1)
    for (const line of shown) this.#output.stderr.write(`${cut(line, columns - 1)}\n`)
    this.#drawn = shown.length
  }

  #erase(): void {
    clearTimeout(this.#redraw)
    this.#redraw = undefined
    if (this.#drawn > 0) this.#output.stderr.write(`\u001b[${this.#drawn}A\u001b[J`)
    this.#drawn = 0
  }

  #lines(parent: string | undefined, depth: number): string[] {
    return [...this.#steps.values()]
      .filter((step) => step.parent === parent)
      .flatMap((step) => [this.#describe(step, depth), ...this.#lines(step.id, depth + 1)])
  }

  #describe({ label, state, note }: ProgressStep, depth: number): string {
    const [mark, style] = marks[state]
    const { stderr } = this.#output
    const text = `${this.#output.paint(style, mark, stderr)} ${toSafeText(label)}`
    const more = this.#moves ? note : [state, note].filter((each) => each).join(', ')
    const behind = more ? ` ${this.#output.paint('dim', `(${toSafeText(more)})`, stderr)}` : ''
    return '  '.repeat(depth) + text + behind
  }
}

/** Counts visible characters; colours of what is cut are left out. */
function cut(line: string, width: number): string {
  const visible = stripVTControlCharacters(line)
  return visible.length > width ? visible.slice(0, width) : line
}
