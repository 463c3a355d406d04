/** `fairlead runs`, `watch` and `start`: runs of pipelines, at an instance or at Gate. */
import { readFileSync } from 'node:fs'
import { defineCommand } from '../command.ts'
import { misuse } from '../failure.ts'
import { pathOf } from '../path-of.ts'
import { followRun, listRuns, loadRun, reportEnd, waitingJudgments } from '../runs.ts'
import { formatSpan } from '../span.ts'

const defaultLimit = 20

export const runs = defineCommand({
  name: 'runs',
  summary: 'list the runs of an application, the newest first',
  group: 'runs',
  options: {
    limit: { type: 'number', value: 'N', summary: `at most so many; ${defaultLimit} by default` },
    status: { type: 'text', value: 'STATUS', summary: 'only these, such as RUNNING,TERMINAL' },
  },
  run: async ({ session, output, connect }, { limit = defaultLimit, status }) => {
    const found = await listRuns(await connect(), session.app(), {
      limit,
      statuses: status?.toUpperCase(),
    })
    const shown = found.map((run) => ({
      id: run.id,
      pipeline: run.name,
      status: run.status,
      waitsForJudgment: waitingJudgments(run).length > 0,
      startedAt: toMoment(run.startTime ?? run.buildTime),
      endedAt: toMoment(run.endTime),
      user: run.trigger?.user,
    }))
    const rows = shown.map((each) => [
      each.id,
      each.pipeline ?? '',
      each.waitsForJudgment ? `${each.status} (waits for judgment)` : each.status,
      each.startedAt ?? '',
      toTime(each.startedAt, each.endedAt),
      each.user ?? '',
    ])
    const heading = ['ID', 'PIPELINE', 'STATUS', 'STARTED', 'TOOK', 'BY']
    output.result(
      shown,
      rows.length === 0 ? 'There are no runs.' : output.table([heading, ...rows]),
    )
  },
})

function toMoment(ms: number | null | undefined): string | undefined {
  return ms ? new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z') : undefined
}

function toTime(startedAt: string | undefined, endedAt: string | undefined): string {
  return startedAt && endedAt ? formatSpan(Date.parse(endedAt) - Date.parse(startedAt)) : ''
}

const timeout = {
  type: 'span',
  value: 'SPAN',
  summary: 'stop following after it, with exit code 6; the run goes on',
} as const

export const watch = defineCommand({
  name: 'watch',
  summary: 'follow a run to its end, also over a restart of the instance',
  group: 'runs',
  words: '<run>',
  options: { timeout },
  help: 'The exit code is 0 if the run succeeds, else 1.',
  run: async (context, { timeout: timeoutMs }) => {
    const client = await context.connect()
    const [id = ''] = context.words
    await loadRun(client, id)
    return reportEnd(await followRun(client, id, context, { timeoutMs }), context.output)
  },
})

export const start = defineCommand({
  name: 'start',
  summary: 'start a pipeline; prints the id of the run',
  group: 'runs',
  words: '<pipeline>',
  options: {
    parameter: {
      type: 'list',
      short: 'p',
      value: 'K=V',
      summary: 'value of a parameter; may be repeated',
    },
    file: {
      type: 'text',
      short: 'f',
      value: 'FILE',
      summary: 'parameters as YAML or JSON; - is standard input',
    },
    follow: {
      type: 'switch',
      summary: 'follow the run; the exit code is 0 if it succeeds, else 1',
    },
    timeout,
  },
  help: 'To start the server, type: fairlead serve',
  run: async (context, { parameter, file, follow, timeout: timeoutMs }) => {
    const { session, output, words } = context
    const [pipeline = ''] = words
    const parameters = {
      ...(file === undefined ? {} : await readParameters(file)),
      ...Object.fromEntries(parameter.map(parseParameter)),
    }
    const client = await context.connect()
    const { ref } = await client.post<{ readonly ref: string }>(
      pathOf`/pipelines/${session.app()}/${pipeline}`,
      { type: 'manual', parameters },
    )
    const id = ref.slice(ref.lastIndexOf('/') + 1)
    if (!follow) {
      output.result({ id }, id)
      return 0
    }
    output.event({ type: 'started', id }, id)
    return reportEnd(await followRun(client, id, context, { timeoutMs }), output)
  },
})

function parseParameter(text: string): [name: string, value: string] {
  const mark = text.indexOf('=')
  if (mark > 0) return [text.slice(0, mark), text.slice(mark + 1)]
  throw misuse(`The parameter "${text}" has no value.`, 'Write it as -p name=value')
}

async function readParameters(file: string): Promise<Record<string, unknown>> {
  const text = readFileSync(file === '-' ? 0 : file, 'utf8')
  const { parseYaml } = await import('@fairlead/base/json/yaml.ts')
  const place = file === '-' ? 'Standard input' : file
  let value: unknown
  try {
    value = parseYaml(text)
  } catch (cause) {
    throw misuse(`${place} is neither YAML nor JSON: ${(cause as Error).message}`)
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>
  throw misuse(`${place} is no map of parameters.`, 'Write a line for each: name: value')
}
