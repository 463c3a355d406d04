/** Where the output of a stage is, and what it has deployed. */
import type { Stage } from './execution.ts'
import { numberOf, objectOf, objectsOf, textOf, textsOf } from './read.ts'

export interface StageBuild {
  readonly host: string
  readonly job: string
  readonly number: number
}

/** An instance or a job whose output can be read. */
export interface Program {
  readonly account: string
  readonly region: string
  readonly id: string
  readonly provider: string | undefined
}

export interface GroupPlace {
  readonly account: string
  readonly region: string
  readonly name: string
}

export type StageOutput =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'build'; readonly build: StageBuild }
  | { readonly kind: 'program'; readonly program: Program }

/** The first output of its own that one of the stages has: of a build, a command, a job. */
export function outputOf(stages: readonly Stage[]): StageOutput | undefined {
  for (const stage of stages) {
    const build = buildOf(stage)
    if (build !== undefined) return { kind: 'build', build }
    const { buildOutput, logs, stdout } = stage.context
    const text = textOf(buildOutput) ?? textOf(logs) ?? textOf(stdout)
    if (text !== undefined) return { kind: 'text', text }
    const program = programOf(stage)
    if (program !== undefined) return { kind: 'program', program }
  }
  return undefined
}

/** Undefined until the build has a number. */
export function buildOf({ context }: Stage): StageBuild | undefined {
  const [host, job, number] = [textOf(context['master']), textOf(context['job']), numberOf(context['buildNumber'])]
  return host === undefined || job === undefined || number === undefined ? undefined : { host, job, number }
}

/** The job that the stage runs, or its last pod where pods do the work. */
function programOf({ context }: Stage): Program | undefined {
  const status = objectOf(context['jobStatus'])
  const provider = textOf(context['cloudProvider'])
  const account = textOf(status['account']) ?? accountOf(context)
  const pod = objectsOf(status['pods']).at(-1)?.['name']
  if (textOf(pod) !== undefined) return { account, region: textOf(status['location']) ?? '', id: `pod ${pod}`, provider }
  const [[region = '', names] = []] = Object.entries(objectOf(context['deploy.jobs']))
  const [id] = textsOf(names)
  return id === undefined ? undefined : { account, region, id, provider }
}

function accountOf(context: Stage['context']): string {
  return textOf(context['account']) ?? textOf(context['credentials']) ?? ''
}

/** What the operations of a stage report, where nothing else has an output. */
export function operationsLogOf({ context }: Stage): string | undefined {
  const lines = objectsOf(context['kato.tasks']).flatMap((task) =>
    objectsOf(task['history']).map((entry) => `${textOf(entry['phase']) ?? ''}  ${textOf(entry['status']) ?? ''}`),
  )
  return lines.length === 0 ? undefined : lines.join('\n')
}

/** Server groups that stages have created. */
export function deployedBy(stages: readonly Stage[]): readonly GroupPlace[] {
  const found = stages.flatMap(({ context }) =>
    Object.entries(objectOf(context['deploy.server.groups'])).flatMap(([region, names]) =>
      textsOf(names).map((name) => ({ account: accountOf(context), region, name })),
    ),
  )
  return [...new Map(found.map((group) => [`${group.region} ${group.name}`, group])).values()].filter(
    ({ account }) => account !== '',
  )
}
