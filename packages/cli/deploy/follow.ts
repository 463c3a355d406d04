/** Follows a deployment: its steps, the output of its build, and Ctrl C. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '../client.ts'
import type { CommandContext } from '../command.ts'
import { exitCodes, Failure } from '../failure.ts'
import { pathOf } from '../path-of.ts'
import { ProgressTree } from '../progress.ts'
import { pollRun, type Run, type RunStage, showStage } from '../runs.ts'

interface FollowedDeployment {
  readonly id: string
  readonly timeoutMs: number
  /** Run that has to end first. */
  readonly waitsFor: string | undefined
}

type FollowContext = Pick<CommandContext, 'output' | 'interrupts' | 'questions'>
type Choice = 'cancel' | 'leave' | 'go on'

const pollMs = 400

/**
 * Resolves when the run has ended; one that the user leaves runs on.
 *
 * @throws {Failure} 6 after the timeout, 130 when it is left
 */
export async function followDeployment(
  client: Client,
  { id, timeoutMs, waitsFor }: FollowedDeployment,
  context: FollowContext,
): Promise<Run> {
  const { output, interrupts } = context
  const tree = new ProgressTree(output, interrupts)
  const asking = new Asking(context, tree)
  const forget = interrupts.handle(() => asking.interrupted())
  const builds = new BuildOutputs(client, tree)
  try {
    return await pollRun(client, id, {
      ...{ output, timeoutMs, pollMs, noun: 'deployment' },
      begin: async () => {
        const choice = await asking.choice()
        if (choice === 'leave') throw left(id)
        if (choice === 'cancel') await cancel(client, id)
      },
      show: async (run) => {
        showWaiting(tree, run, waitsFor)
        for (const stage of run.stages ?? []) {
          const waiting = stage.context?.['waitingFor']
          const isWaiting = stage.status === 'RUNNING' && typeof waiting === 'string'
          showStage(tree, stage, id, isWaiting ? waiting : undefined)
          await builds.show(stage)
        }
      },
      pause: (ms) => asking.pause(ms),
    })
  } finally {
    forget()
    tree.close()
  }
}

function showWaiting(tree: ProgressTree, { status }: Run, waitsFor: string | undefined): void {
  if (waitsFor === undefined) return
  const isWaiting = status === 'NOT_STARTED' || status === 'BUFFERED'
  tree.update({
    id: 'waiting',
    label: 'Wait for the deployment before',
    state: isWaiting ? 'waiting' : 'done',
    note: waitsFor,
  })
}

/** New lines of builds, as they come. */
class BuildOutputs {
  readonly #client: Client
  readonly #tree: ProgressTree
  readonly #shown = new Map<string, string>()
  readonly #ended = new Set<string>()

  constructor(client: Client, tree: ProgressTree) {
    this.#client = client
    this.#tree = tree
  }

  async show({ id, type, status, context = {} }: RunStage): Promise<void> {
    const { master, job, buildNumber } = context
    if (type !== 'jenkins' || typeof buildNumber !== 'number' || this.#ended.has(id)) return
    if (status !== 'RUNNING') this.#ended.add(id)
    const path = pathOf`/v3/builds/${String(master)}/build/${String(buildNumber)}/output`
    // The log is not there before the first line.
    const answer = await this.#client
      .get<{ readonly log?: string }>(path, { query: { job: String(job) } })
      .catch(() => undefined)
    const text = answer?.log ?? ''
    const before = this.#shown.get(id) ?? ''
    // Lines come as a whole.
    const end = status === 'RUNNING' ? text.lastIndexOf('\n') + 1 : text.length
    const fresh = text.startsWith(before) ? text.slice(before.length, end) : ''
    this.#shown.set(id, text.slice(0, Math.max(end, before.length)))
    for (const line of fresh.split('\n')) if (line !== '') this.#tree.log(line, id)
  }
}

/** Ctrl C asks; a second one leaves the run. */
class Asking {
  readonly #context: FollowContext
  readonly #tree: ProgressTree
  #isWanted = false
  #woken = Promise.withResolvers<void>()

  constructor(context: FollowContext, tree: ProgressTree) {
    this.#context = context
    this.#tree = tree
  }

  interrupted(): void {
    this.#isWanted = true
    this.#woken.resolve()
  }

  pause(ms: number): Promise<void> {
    return Promise.race([this.#woken.promise, sleep(ms)])
  }

  async choice(): Promise<Choice | undefined> {
    if (!this.#isWanted) return undefined
    this.#isWanted = false
    this.#woken = Promise.withResolvers()
    const { questions } = this.#context
    if (!questions.canAsk) return 'leave'
    this.#tree.pause()
    try {
      return await questions.choose<Choice>({
        message: 'The deployment runs at the instance.',
        flag: '--detach',
        choices: [
          { name: 'cancel it', value: 'cancel' },
          { name: 'leave it running', value: 'leave' },
          { name: 'go on', value: 'go on' },
        ],
      })
    } catch (error) {
      if (error instanceof Failure && error.exit === exitCodes.interrupted) return 'leave'
      throw error
    } finally {
      this.#tree.resume()
    }
  }
}

async function cancel(client: Client, id: string): Promise<void> {
  await client.put(pathOf`/pipelines/${id}/cancel`, undefined, {
    query: { reason: 'Canceled with Ctrl C' },
  })
}

function left(id: string): Failure {
  return new Failure(exitCodes.interrupted, 'LEFT', 'The deployment goes on.', {
    remedy: `Follow it with: fairlead watch ${id}`,
  })
}
