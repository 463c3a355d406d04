/** Where the output of a stage is, and what it has deployed. */

import { asGiven, objectList, or, shape } from '@fairlead/base/json/shape.ts'
import {
  type JsonObject,
  numberOf,
  objectOf,
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

const text = or(scalarOf, '')
const toPhase = shape({ phase: text, status: text })

const toWritten = shape({
  text: [scalarOf, 'buildOutput', 'logs', 'stdout'],
  webhook: shape({ body: asGiven }),
})

/** The first output of its own that one of the stages has: of a build, a command, a job, a webhook. */
export function outputOf(stages: readonly Stage[]): StageOutput | undefined {
  for (const { context } of stages) {
    const build = buildOf(context)
    if (build !== undefined) return { kind: 'build', build }
    const { webhook, text = answerOf(webhook.body) } = toWritten(context)
    if (text !== undefined) return { kind: 'text', text }
    const program = programOf(context)
    if (program !== undefined) return { kind: 'program', program }
  }
  return undefined
}

const toOperations = objectList(
  shape({
    history: objectList((entry) => {
      const { phase, status } = toPhase(entry)
      return `${phase}  ${status}`
    }),
  }),
)

/** The same, else what the operations of the first stage report. */
export function logOf(stages: readonly Stage[]): StageOutput | undefined {
  const tasks = toOperations(stages[0]?.context['kato.tasks'])
  const lines = tasks.flatMap(({ history }) => history)
  return (
    outputOf(stages) ?? (lines.length === 0 ? undefined : { kind: 'text', text: lines.join('\n') })
  )
}

const toBuild = shape({ master: scalarOf, job: scalarOf, buildNumber: numberOf })

/** Undefined until the build has a number. */
export function buildOf(context: JsonObject) {
  const { master: host, job, buildNumber: number } = toBuild(context)
  return host === undefined || job === undefined || number === undefined
    ? undefined
    : { host, job, number }
}

function answerOf(body: unknown) {
  return typeof body === 'object' && body !== null ? JSON.stringify(body, null, 2) : scalarOf(body)
}

/** Names by region. */
function byRegion(value: unknown): readonly (readonly [region: string, names: string[]])[] {
  return Object.entries(objectOf(value)).map(([region, names]) => [region, textsOf(names)])
}

const toJob = shape({
  cloudProvider: scalarOf,
  jobStatus: shape({
    account: scalarOf,
    location: text,
    pods: objectList(shape({ name: scalarOf })),
  }),
  jobs: [byRegion, 'deploy.jobs'],
})

/** The job that the stage runs, or its last pod where pods do the work. */
function programOf(context: JsonObject): Program | undefined {
  const { cloudProvider: provider, jobStatus, jobs } = toJob(context)
  const account = jobStatus.account ?? accountIn(context) ?? ''
  const pod = jobStatus.pods.at(-1)?.name
  if (pod !== undefined) return { account, region: jobStatus.location, id: `pod ${pod}`, provider }
  const [[region, [id]] = ['', []]] = jobs
  return id === undefined ? undefined : { account, region, id, provider }
}

export function accountIn(context: JsonObject): string | undefined {
  return toPlace(context).account
}

const toPlace = shape({
  account: [scalarOf, 'account', 'credentials'],
  region: scalarOf,
  regions: textsOf,
})

/** Where a stage or a job works, as far as it says so. */
export function placeOf(context: JsonObject): Place | undefined {
  const { account, regions, region = regions[0] } = toPlace(context)
  return account === undefined || region === undefined ? undefined : { account, region }
}

/** Server groups that stages have created. */
export function deployedBy(stages: readonly Stage[]): readonly GroupPlace[] {
  const found = stages.flatMap(({ context }) => {
    const account = accountIn(context)
    if (account === undefined) return []
    return byRegion(context['deploy.server.groups']).flatMap(([region, names]) =>
      names.map((name) => ({ account, region, name })),
    )
  })
  return [...new Map(found.map((group) => [`${group.region} ${group.name}`, group])).values()]
}
