/** Starts of workflows, and the runs that they bring about. */

import { formatJson, parseIfJson } from '@fairlead/base/json/json.ts'
import { shape } from '@fairlead/base/json/shape.ts'
import { listOf, numberOf, textOf } from '@fairlead/base/json/values.ts'
import { pathTo } from '@fairlead/base/net/encode-path.ts'
import type { OutsideAnswer } from '@fairlead/base/outside/call-outside.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { LRUCache } from 'lru-cache'
import { formatReason } from '../remote/refusal.ts'
import type { ServerCalls } from '../server-calls.ts'
import { type ActionsApi, fullNameOf } from './actions-api.ts'
import type { ActionsKind, Workflow } from './actions-kind.ts'
import type { WorkflowRun } from './runs.ts'

interface Dispatch {
  /** Branch or tag. */
  readonly ref: string
  readonly inputs: Readonly<Record<string, string>>
}

/** A start whose run is not known yet, as the text of its queue item. */
interface PendingRun {
  readonly job: string
  readonly ref: string
  /** The newest run before it. */
  readonly after: number
}

interface DispatcherParts {
  readonly kind: ActionsKind
  readonly calls: ServerCalls
  readonly api: ActionsApi
  /** Name of the build server, for messages. */
  readonly server: string
  /** Undefined: it is not of the repositories of the settings. */
  workflowOf(job: string): Workflow | undefined
}

const dispatched = 'workflow_dispatch'
const refusals = [301, 307, 308, 400, 403, 404, 409, 422]
const mostClaims = 1000

/** GitHub and Gitea name the run `workflow_run_id`, Forgejo `id`. */
const toDispatched = shape({ run: [numberOf, 'workflow_run_id', 'id'] })
/** Clients bring it back. */
/** A list; items of earlier versions have to be understood after an upgrade. */
const toItem = shape({ job: [textOf, '0'], ref: [textOf, '1'], after: [numberOf, '2'] })

export class Dispatcher {
  readonly #parts: DispatcherParts
  /** Whether the server names the run of a dispatch; undefined: it has not been seen yet. */
  #namesRuns: boolean | undefined
  /** Runs by queue item: a run belongs to one start. */
  readonly #claims = new LRUCache<string, number>({ max: mostClaims })

  constructor(parts: DispatcherParts) {
    this.#parts = parts
  }

  /** @returns the number of the run, or the queue item that leads to it @throws {PortError} 400 */
  async start(workflow: Workflow, dispatch: Dispatch): Promise<string> {
    const after = this.#namesRuns === true ? 0 : await this.#newestRun(workflow)
    const answer = await this.#sendToRef(workflow, dispatch)
    if (answer.status >= 300) throw this.#toRefusal(answer, workflow, dispatch.ref)
    const { run } = toDispatched(parseIfJson(answer.text))
    this.#namesRuns = run !== undefined
    return run === undefined
      ? formatItem({ job: `${fullNameOf(workflow)}/${workflow.file}`, ref: dispatch.ref, after })
      : String(run)
  }

  /** The run of a queue item: 0 while there is none yet; undefined: the text is no queue item. */
  async runOf(
    item: string,
  ): Promise<{ readonly workflow?: Workflow; readonly number: number } | undefined> {
    if (/^\d{1,15}$/.test(item)) return { number: Number(item) }
    const pending = parseItem(item)
    const workflow = pending && this.#parts.workflowOf(pending.job)
    if (pending === undefined || workflow === undefined) return undefined
    const { ref, after } = pending
    const claimed = this.#claims.get(item)
    if (claimed !== undefined) return { workflow, number: claimed }
    const runs = (await this.#parts.api.runs(workflow, dispatched)) ?? []
    const taken = new Set(this.#claims.values())
    const candidates = runs
      .filter((run) => isOfRef(run, ref))
      .map(({ id }) => id)
      .filter((number) => number > after && !taken.has(number))
    if (candidates.length === 0) return { workflow, number: 0 }
    const number = Math.min(...candidates)
    this.#claims.set(item, number)
    return { workflow, number }
  }

  async #newestRun(workflow: Workflow): Promise<number> {
    const runs = await this.#parts.api.runs(workflow, dispatched)
    return Math.max(0, ...(runs ?? []).map(({ id }) => id))
  }

  /** Gitea takes a short ref for a branch. */
  async #sendToRef(workflow: Workflow, dispatch: Dispatch): Promise<OutsideAnswer> {
    const answer = await this.#send(workflow, dispatch)
    const mayBeTag =
      answer.status === 404 && this.#parts.kind.refsAreBranches && !dispatch.ref.startsWith('refs/')
    if (!mayBeTag) return answer
    const second = await this.#send(workflow, { ...dispatch, ref: `refs/tags/${dispatch.ref}` })
    return second.status === 404 ? answer : second
  }

  /** Older servers of GitHub reject the field that asks for the run. */
  async #send(workflow: Workflow, dispatch: Dispatch): Promise<OutsideAnswer> {
    if (this.#namesRuns === false) return this.#post(workflow, dispatch, {})
    const answer = await this.#post(workflow, dispatch, this.#parts.kind.runDetails.body)
    const isRejected =
      answer.status === 422 &&
      Object.keys(this.#parts.kind.runDetails.body).some((key) => answer.text.includes(key))
    return isRejected ? this.#post(workflow, dispatch, {}) : answer
  }

  #post(
    { owner, repository, file }: Workflow,
    { ref, inputs }: Dispatch,
    details: object,
  ): Promise<OutsideAnswer> {
    const path =
      pathTo`/repos/${owner}/${repository}/actions/workflows/${file}/dispatches` +
      this.#parts.kind.runDetails.query
    return this.#parts.calls.send(path, {
      method: 'POST',
      json: { ref, inputs, ...details },
      expects: refusals,
    })
  }

  #toRefusal(answer: OutsideAnswer, workflow: Workflow, ref: string): PortError {
    const { status } = answer
    const what = `The build server "${this.#parts.server}" does not start ${workflow.file} of ${fullNameOf(workflow)} on "${ref}"`
    if (status < 400)
      return new PortError(400, `${what}: the repository has been renamed. Use its new name.`)
    const advice = {
      403: ` ${this.#parts.kind.advice}`,
      404: ` Check that the workflow file and the branch or tag exist. ${this.#parts.kind.advice}`,
    }[status]
    return new PortError(400, `${what} (${status})${formatReason(answer)}.${advice ?? ''}`)
  }
}

function isOfRef({ event, branch }: WorkflowRun, ref: string): boolean {
  return (
    event === dispatched &&
    (branch === undefined || branch === ref.replace(/^refs\/(?:heads|tags)\//, ''))
  )
}

function formatItem({ job, ref, after }: PendingRun): string {
  // Two equal starts are two items.
  return Buffer.from(formatJson([job, ref, after, Math.floor(Math.random() * 1e9)])).toString(
    'base64url',
  )
}

function parseItem(item: string): PendingRun | undefined {
  const { job, ref, after } = toItem({
    ...listOf(parseIfJson(Buffer.from(item, 'base64url').toString('utf8'))),
  })
  return job === undefined || ref === undefined || after === undefined
    ? undefined
    : { job, ref, after }
}
