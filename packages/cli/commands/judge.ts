/** `fairlead approve`, `reject` and `cancel`: decisions of people about runs. */
import type { Client } from '../client.ts'
import { type CommandContext, type CommandEntry, defineCommand } from '../command.ts'
import { exitCodes, Failure, misuse } from '../failure.ts'
import { pathOf } from '../path-of.ts'
import { isOver, listRuns, loadRun, type Run, type RunStage, waitingJudgments } from '../runs.ts'

const runsSearched = 50

const reason = {
  type: 'text',
  short: 'm',
  value: 'REASON',
  summary: 'reason, which the audit log keeps',
} as const

export const approve = defineJudgment(
  'approve',
  'continue',
  'let a run go on that waits for a judgment',
)
export const reject = defineJudgment('reject', 'stop', 'stop a run that waits for a judgment')

function defineJudgment(
  name: 'approve' | 'reject',
  judgmentStatus: 'continue' | 'stop',
  summary: string,
): CommandEntry {
  return defineCommand({
    name,
    summary,
    group: 'runs',
    words: '[run]',
    options: {
      message: reason,
      stage: { type: 'text', value: 'NAME', summary: 'the stage, where several wait' },
    },
    help: 'Without the id, it is the run of the application that waits.',
    run: async (context, { message, stage: wanted }) => {
      const { output, questions, words } = context
      const client = await context.connect()
      const run =
        words[0] === undefined
          ? await findOne(
              client,
              context,
              'waits for a judgment',
              (each) => waitingJudgments(each).length > 0,
            )
          : await loadRun(client, words[0])
      const stage = chooseStage(run, wanted)
      const title = `${run.name ?? run.id}: ${stage.name ?? stage.type}`
      const instructions = stage.context?.['instructions']
      if (typeof instructions === 'string' && instructions !== '') output.note(instructions)
      if (!(await questions.confirm(`${name === 'approve' ? 'Approve' : 'Reject'} ${title}?`)))
        return exitCodes.failed
      await client.call('PATCH', pathOf`/pipelines/${run.id}/stages/${stage.id}`, {
        body: { judgmentStatus, ...(message !== undefined && { reason: message }) },
      })
      const done = name === 'approve' ? 'approved' : 'rejected'
      output.result(
        { id: run.id, stage: stage.id, judgment: judgmentStatus },
        `${title} is ${done}.`,
      )
      return exitCodes.done
    },
  })
}

function chooseStage(run: Run, wanted: string | undefined): RunStage {
  const waiting = waitingJudgments(run)
  const found = wanted === undefined ? waiting : waiting.filter(({ name }) => name === wanted)
  const [stage] = found
  if (stage === undefined)
    throw misuse(
      `The run ${run.id} is ${run.status} and waits for no judgment${wanted === undefined ? '' : ` of the name "${wanted}"`}.`,
      `Look at it with: fairlead watch ${run.id}`,
    )
  if (found.length === 1) return stage
  throw misuse(
    `Several stages wait: ${found.map(({ name, id }) => name ?? id).join(', ')}.`,
    'Name one with --stage.',
  )
}

export const cancel = defineCommand({
  name: 'cancel',
  summary: 'cancel a run',
  group: 'runs',
  words: '[run]',
  options: { message: reason },
  help: 'Without the id, it is the one run of the application that has not ended.',
  run: async (context, { message }) => {
    const { output, questions, words } = context
    const client = await context.connect()
    const run =
      words[0] === undefined
        ? await findOne(client, context, 'is running', (each) => !isOver(each))
        : await loadRun(client, words[0])
    if (isOver(run)) throw misuse(`The run ${run.id} has ended already: ${run.status}.`)
    if (!(await questions.confirm(`Cancel ${run.name ?? run.id}?`))) return exitCodes.failed
    await client.call('PUT', pathOf`/pipelines/${run.id}/cancel`, { query: { reason: message } })
    output.result({ id: run.id, canceled: true }, `${run.id} is being canceled.`)
    return exitCodes.done
  },
})

/** @throws {Failure} when none or several fit */
async function findOne(
  client: Client,
  { session }: CommandContext,
  what: string,
  fits: (run: Run) => boolean,
): Promise<Run> {
  const application = session.app()
  const statuses = 'RUNNING,PAUSED,NOT_STARTED,BUFFERED,SUSPENDED'
  const found = (await listRuns(client, application, { limit: runsSearched, statuses })).filter(
    fits,
  )
  const [run] = found
  if (run !== undefined && found.length === 1) return run
  if (run === undefined)
    throw new Failure(exitCodes.failed, 'NO_SUCH_RUN', `No run of ${application} ${what}.`, {
      remedy: 'List them with: fairlead runs',
    })
  throw misuse(
    `Several runs of ${application} fit: ${found.map(({ id, name }) => `${id} (${name})`).join(', ')}.`,
    'Name one by its id.',
  )
}
