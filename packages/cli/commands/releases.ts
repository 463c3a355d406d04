/** `fairlead rollback`, `promote`, `scale` and `leave`: changes of what an app runs, without a new build. */

import { type CommandContext, defineCommand } from '../command.ts'
import { exitCodes, misuse } from '../failure.ts'
import { pathOf } from '../path-of.ts'
import { followRun, reportEnd } from '../runs.ts'
import { loadStatus } from './status.ts'

interface StartedRun {
  readonly id: string
  readonly environment: string
  readonly version: string
}

const following = {
  detach: { type: 'switch', summary: 'print the id of the run, and do not follow it' },
  timeout: {
    type: 'span',
    value: 'SPAN',
    summary: 'stop following after it, with exit code 6; the run goes on',
  },
} as const

export const rollback = defineCommand({
  name: 'rollback',
  summary: 'serve a former version again; the release command does not run',
  group: 'app',
  words: '[environment]',
  options: {
    to: { type: 'text', value: 'VERSION', summary: 'the version; the one before unless given' },
    ...following,
  },
  run: async (context, { to, detach, timeout }) => {
    const { session, questions, output, words } = context
    const client = await context.connect()
    const path = pathOf`/apps/${session.app()}/rollback`
    const order = { environment: words[0] ?? session.environment(), to }
    const plan = await client.post<{ environment: string; from: string | null; to: string }>(
      path,
      order,
      { query: { dryRun: true } },
    )
    output.note(`${plan.environment}: ${plan.from ?? 'nothing'} → ${plan.to}`)
    if (!(await questions.confirm(`Roll ${plan.environment} back to ${plan.to}?`)))
      return exitCodes.failed
    const started = await client.post<StartedRun>(path, {
      environment: plan.environment,
      to: plan.to,
    })
    return follow(started, context, { detach, timeout })
  },
})

export const promote = defineCommand({
  name: 'promote',
  summary: 'deploy what an environment serves to the next one',
  group: 'app',
  options: {
    to: {
      type: 'text',
      value: 'ENVIRONMENT',
      summary: 'the environment; the second one unless given',
    },
    message: { type: 'text', short: 'm', value: 'REASON', summary: 'shown with the run' },
    ...following,
  },
  run: async (context, { to, message, detach, timeout }) => {
    const { session, questions } = context
    const client = await context.connect()
    const application = session.app()
    const { environments } = await loadStatus(client, application)
    const target = to ?? session.environment() ?? environments[1]?.name
    const index = environments.findIndex(({ name }) => name === target)
    const source = environments[index - 1]
    if (target === undefined || source === undefined)
      throw misuse(
        `Nothing can be promoted to ${target ?? 'a second environment'} of ${application}.`,
        `Environments in their order: ${environments.map(({ name }) => name).join(', ')}.`,
      )
    const versions = [...new Set(source.services.flatMap(({ version }) => version ?? []))].join(
      ', ',
    )
    if (!(await questions.confirm(`Promote ${versions} from ${source.name} to ${target}?`)))
      return exitCodes.failed
    const started = await client.post<StartedRun>(pathOf`/apps/${application}/promotions`, {
      to: target,
      message,
    })
    return follow(started, context, { detach, timeout })
  },
})

async function follow(
  { id, environment, version }: StartedRun,
  context: CommandContext,
  { detach, timeout }: { detach: boolean; timeout: number | undefined },
): Promise<number> {
  const { output } = context
  if (detach) {
    output.result({ id, environment, version }, id)
    return exitCodes.done
  }
  output.event({ type: 'started', id, environment, version }, id)
  const run = await followRun(await context.connect(), id, context, { timeoutMs: timeout })
  return reportEnd(run, output)
}

interface Scaled {
  readonly environment: string
  readonly services: readonly {
    readonly name: string
    readonly before: number
    readonly after: number
  }[]
}

export const scale = defineCommand({
  name: 'scale',
  summary: 'run another number of instances until the file changes it: scale web=3',
  group: 'app',
  words: '<service=number...>',
  run: async ({ session, questions, output, words, connect }) => {
    const client = await connect()
    const services = Object.fromEntries(words.map(parseScale))
    const stopped = Object.keys(services).filter((name) => services[name] === 0)
    if (
      stopped.length > 0 &&
      !(await questions.confirm(`Stop all instances of ${stopped.join(', ')}?`))
    )
      return exitCodes.failed
    const scaled = await client.put<Scaled>(pathOf`/apps/${session.app()}/scale`, {
      environment: session.environment(),
      services,
    })
    output.result(
      scaled,
      scaled.services.map(({ name, before, after }) => `${name}: ${before} → ${after}`),
    )
    return exitCodes.done
  },
})

export const leave = defineCommand({
  name: 'leave',
  summary: 'stop what still runs in an account that the app file no longer names',
  group: 'app',
  words: '<account>',
  run: async ({ session, questions, output, words: [account = ''], connect }) => {
    const client = await connect()
    const application = session.app()
    if (!(await questions.confirm(`Stop what ${application} still runs in ${account}?`)))
      return exitCodes.failed
    const { task } = await client.delete<{ task: string | null }>(pathOf`/apps/${application}`, {
      query: { account },
    })
    const found = task === null ? `Nothing of ${application} is left in ${account}.` : task
    output.result({ application, account, task }, found)
    return exitCodes.done
  },
})

function parseScale(text: string): [service: string, instances: number] {
  const [, service, instances] = /^([a-z][a-z0-9-]*)=(\d{1,3})$/.exec(text) ?? []
  if (service !== undefined && Number(instances) <= 100) return [service, Number(instances)]
  throw misuse(
    `"${text}" is no service with a number of instances.`,
    'Write it as web=3, up to 100.',
  )
}
