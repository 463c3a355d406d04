/** Where the output of a stage is, and what it has deployed. */
import type { Stage } from './execution.ts'
import { type Json, numberOf, objectOf, objectsOf, textOf, textsOf } from './read.ts'

type Place = { readonly account: string; readonly region: string }
export type GroupPlace = Place & { readonly name: string }
/** An instance or a job whose output can be read. */
export type Program = Place & { readonly id: string; readonly provider: string | undefined }
export type StageBuild = NonNullable<ReturnType<typeof buildOf>>

export type StageOutput =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'build'; readonly build: StageBuild }
  | { readonly kind: 'program'; readonly program: Program }

/** The first output of its own that one of the stages has: of a build, a command, a job, a webhook. */
export function outputOf(stages: readonly Stage[]): StageOutput | undefined {
  for (const { context } of stages) {
    const build = buildOf(context)
    if (build !== undefined) return { kind: 'build', build }
    const text = textOf(context['buildOutput']) ?? textOf(context['logs']) ?? textOf(context['stdout']) ?? answerOf(context)
    if (text !== undefined) return { kind: 'text', text }
    const program = programOf(context)
    if (program !== undefined) return { kind: 'program', program }
  }
  return undefined
}

/** The same, else what the operations of the first stage report. */
export function logOf(stages: readonly Stage[]): StageOutput | undefined {
  const history = objectsOf(stages[0]?.context['kato.tasks']).flatMap((task) => objectsOf(task['history']))
  const lines = history.map(({ phase, status }) => `${textOf(phase) ?? ''}  ${textOf(status) ?? ''}`)
  return outputOf(stages) ?? (lines.length === 0 ? undefined : { kind: 'text', text: lines.join('\n') })
}

/** Undefined until the build has a number. */
export function buildOf(context: Json) {
  const [host, job, number] = [textOf(context['master']), textOf(context['job']), numberOf(context['buildNumber'])]
  return host === undefined || job === undefined || number === undefined ? undefined : { host, job, number }
}

function answerOf({ webhook }: Json): string | undefined {
  const { body } = objectOf(webhook)
  return typeof body === 'object' && body !== null ? JSON.stringify(body, null, 2) : textOf(body)
}

/** The job that the stage runs, or its last pod where pods do the work. */
function programOf(context: Json): Program | undefined {
  const status = objectOf(context['jobStatus'])
  const provider = textOf(context['cloudProvider'])
  const account = textOf(status['account']) ?? accountOf(context) ?? ''
  const pod = textOf(objectsOf(status['pods']).at(-1)?.['name'])
  if (pod !== undefined) return { account, region: textOf(status['location']) ?? '', id: `pod ${pod}`, provider }
  const [[region = '', names] = []] = Object.entries(objectOf(context['deploy.jobs']))
  const [id] = textsOf(names)
  return id === undefined ? undefined : { account, region, id, provider }
}

export function accountOf(context: Json): string | undefined {
  return textOf(context['account']) ?? textOf(context['credentials'])
}

/** Where a stage or a job works, as far as it says so. */
export function placeOf(context: Json): Place | undefined {
  const [account, region] = [accountOf(context), textOf(context['region']) ?? textsOf(context['regions'])[0]]
  return account === undefined || region === undefined ? undefined : { account, region }
}

/** Server groups that stages have created. */
export function deployedBy(stages: readonly Stage[]): readonly GroupPlace[] {
  const found = stages.flatMap(({ context }) => {
    const account = accountOf(context)
    const groups = account === undefined ? [] : Object.entries(objectOf(context['deploy.server.groups']))
    return groups.flatMap(([region, names]) => textsOf(names).map((name) => ({ account: account ?? '', region, name })))
  })
  return [...new Map(found.map((group) => [`${group.region} ${group.name}`, group])).values()]
}
