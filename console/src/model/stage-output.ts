/** Where the output of a stage is, and what it has deployed. */

import {
  type JsonObject,
  numberOf,
  objectOf,
  objectsOf,
  scalarOf,
  textsOf,
} from '@fairlead/base/json/values.ts'
import type { Stage } from './execution.ts'

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
    const text =
      scalarOf(context['buildOutput']) ??
      scalarOf(context['logs']) ??
      scalarOf(context['stdout']) ??
      answerOf(context)
    if (text !== undefined) return { kind: 'text', text }
    const program = programOf(context)
    if (program !== undefined) return { kind: 'program', program }
  }
  return undefined
}

/** The same, else what the operations of the first stage report. */
export function logOf(stages: readonly Stage[]): StageOutput | undefined {
  const history = objectsOf(stages[0]?.context['kato.tasks']).flatMap((task) =>
    objectsOf(task['history']),
  )
  const lines = history.map(
    ({ phase, status }) => `${scalarOf(phase) ?? ''}  ${scalarOf(status) ?? ''}`,
  )
  return (
    outputOf(stages) ?? (lines.length === 0 ? undefined : { kind: 'text', text: lines.join('\n') })
  )
}

/** Undefined until the build has a number. */
export function buildOf(context: JsonObject) {
  const [host, job, number] = [
    scalarOf(context['master']),
    scalarOf(context['job']),
    numberOf(context['buildNumber']),
  ]
  return host === undefined || job === undefined || number === undefined
    ? undefined
    : { host, job, number }
}

function answerOf({ webhook }: JsonObject): string | undefined {
  const { body } = objectOf(webhook)
  return typeof body === 'object' && body !== null ? JSON.stringify(body, null, 2) : scalarOf(body)
}

/** The job that the stage runs, or its last pod where pods do the work. */
function programOf(context: JsonObject): Program | undefined {
  const status = objectOf(context['jobStatus'])
  const provider = scalarOf(context['cloudProvider'])
  const account = scalarOf(status['account']) ?? accountIn(context) ?? ''
  const pod = scalarOf(objectsOf(status['pods']).at(-1)?.['name'])
  if (pod !== undefined)
    return { account, region: scalarOf(status['location']) ?? '', id: `pod ${pod}`, provider }
  const [[region = '', names] = []] = Object.entries(objectOf(context['deploy.jobs']))
  const [id] = textsOf(names)
  return id === undefined ? undefined : { account, region, id, provider }
}

export function accountIn(context: JsonObject): string | undefined {
  return scalarOf(context['account']) ?? scalarOf(context['credentials'])
}

/** Where a stage or a job works, as far as it says so. */
export function placeOf(context: JsonObject): Place | undefined {
  const [account, region] = [
    accountIn(context),
    scalarOf(context['region']) ?? textsOf(context['regions'])[0],
  ]
  return account === undefined || region === undefined ? undefined : { account, region }
}

/** Server groups that stages have created. */
export function deployedBy(stages: readonly Stage[]): readonly GroupPlace[] {
  const found = stages.flatMap(({ context }) => {
    const account = accountIn(context)
    const groups =
      account === undefined ? [] : Object.entries(objectOf(context['deploy.server.groups']))
    return groups.flatMap(([region, names]) =>
      textsOf(names).map((name) => ({ account: account ?? '', region, name })),
    )
  })
  return [...new Map(found.map((group) => [`${group.region} ${group.name}`, group])).values()]
}
