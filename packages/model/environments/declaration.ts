/** What an application declares about its environments. */

import { model } from '@fairlead/base/json/schemas.ts'
import { entriesOf, type JsonObject } from '@fairlead/base/json/values.ts'
import { describeChoice, nearestFirst } from '@fairlead/base/names/edit-distance.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { describeIssue } from '@fairlead/base/settings/describe-issue.ts'
import { z } from 'zod'
import { stageDescriptions } from '../stage-types/all.ts'
import { findFieldProblems, findMisspeltFields } from '../stage-types/check-stage.ts'
import { stageFields } from '../stage-types/common.ts'
import { namesOf } from '../stage-types/description.ts'
import { checkTypes } from '../stage-types/verification.ts'

const name = z.string().min(1)
const names = z.array(name).min(1)

/** The fields of each kind of constraint, beside those of the stage that it becomes, and the one that it cannot be without. */
const kinds = {
  judgment: { fields: ['roles', 'instructions'] },
  soakTime: { fields: ['minutes'], needs: 'minutes' },
  window: { fields: ['days', 'whitelist'] },
  verification: { fields: [], needs: 'checks', stage: 'verify' },
  canary: { fields: ['trafficPercent', 'capacity'], needs: 'canaryConfig', stage: 'kayentaCanary' },
} as const satisfies Record<string, { fields: readonly string[]; needs?: string; stage?: string }>

const hour = z.int().min(0).max(24)
const minute = z.int().min(0).max(59).optional()

const Constraint = model(
  'EnvironmentConstraint',
  'What must hold before a version is promoted into the environment.',
  {
    type: z.enum(['judgment', 'soakTime', 'window', 'canary', 'verification']),
    roles: names
      .optional()
      .describe(
        'judgment: one of which the user needs who judges; any who may run it unless given.',
      ),
    instructions: z.string().optional().describe('judgment: what is to be judged.'),
    minutes: z
      .number()
      .positive()
      .optional()
      .describe('soakTime: how long the version must have run in the environment before.'),
    days: z
      .array(z.int().min(1).max(7))
      .optional()
      .describe('window: 1 for Sunday to 7; all unless given.'),
    whitelist: z
      .array(z.looseObject({ startHour: hour, startMin: minute, endHour: hour, endMin: minute }))
      .optional()
      .describe(
        'window: times of day with startHour, startMin, endHour and endMin; all unless given.',
      ),
    checks: z
      .array(z.looseObject({ type: z.enum(checkTypes) }))
      .min(1)
      .optional()
      .describe('verification: those of the stage `verify`.'),
    rollback: z
      .boolean()
      .optional()
      .describe('verification: after a failure, what ran before takes the traffic again.'),
    canaryConfig: z
      .looseObject({})
      .optional()
      .describe('canary: that of the stage `kayentaCanary`, whose other fields go beside it.'),
    trafficPercent: z
      .number()
      .min(1)
      .max(50)
      .optional()
      .describe('canary: share of the requests that it and its baseline get each.'),
  },
).superRefine((constraint, { addIssue }) => {
  for (const { path, message } of faultsOf(constraint)) addIssue({ code: 'custom', path, message })
})
export type Constraint = z.infer<typeof Constraint>

interface Fault {
  readonly path: string[]
  readonly message: string
}

function faultsOf({ type, ...fields }: JsonObject & { type: keyof typeof kinds }): Fault[] {
  const {
    fields: own,
    needs,
    stage,
  }: { fields: readonly string[]; needs?: string; stage?: string } = kinds[type]
  if (needs !== undefined && fields[needs] === undefined) {
    return [{ path: [needs], message: `a constraint of the type ${type} needs it` }]
  }
  const description = stageDescriptions.get(stage ?? '')
  const known = [
    ...own,
    ...(description === undefined ? [] : [...stageFields, ...description.fields].flatMap(namesOf)),
  ]
  const unknown = Object.keys(fields).find((key) => !known.includes(key))
  if (unknown !== undefined) {
    const message = describeChoice(
      unknown,
      `a field of the constraint ${type}`,
      nearestFirst(known, unknown).slice(0, 5),
    )
    return [{ path: [], message: message.replace(/\.$/, '') }]
  }
  if (description === undefined) return []
  const problems = [
    ...findFieldProblems(fields, description, 'plan'),
    ...findMisspeltFields(fields, description),
  ]
  return problems.map(({ message }) => ({ path: [], message: message.replace(/\.$/, '') }))
}

const fields = {
  name,
  accounts: names.describe('Where it is.'),
  regions: names.optional().describe('Regions or namespaces of these accounts; all unless given.'),
  clusters: names
    .optional()
    .describe('Clusters of the application that belong to it; all unless given.'),
  mayPromote: names
    .optional()
    .describe('Roles, one of which a user needs to promote into it; none is needed unless given.'),
  constraints: z
    .array(Constraint)
    .optional()
    .describe('In the order of their check; verifications follow the deployment.'),
}

const DeclaredEnvironment = z
  .looseObject(fields)
  .superRefine((environment, { addIssue }) => {
    const unknown = Object.keys(environment).find((key) => !Object.hasOwn(fields, key))
    if (unknown === undefined) return
    const message = `an environment has no such field, only ${Object.keys(fields).join(', ')}`
    addIssue({ code: 'custom', path: [unknown], message })
  })
  .meta({
    id: 'DeclaredEnvironment',
    description: 'One of the places through which versions of an application are promoted.',
  })

/** The attribute `environments` of an application, in the order of promotion. */
export const DeclaredEnvironments = z
  .array(DeclaredEnvironment)
  .superRefine((declared, { addIssue }) => {
    const known = new Set<string>()
    declared.forEach((environment, index) => {
      const key = foldName(environment.name)
      if (known.has(key)) {
        addIssue({
          code: 'custom',
          path: [index, 'name'],
          message: `another environment is named "${environment.name}" too`,
        })
      }
      known.add(key)
    })
  })

/** A place that runs versions of an application. */
export interface Environment {
  readonly name: string
  readonly accounts: readonly string[]
  /** Undefined, here and below: all. */
  readonly regions?: readonly string[]
  readonly clusters?: readonly string[]
  readonly mayPromote?: readonly string[]
  readonly constraints: readonly Constraint[]
}

/** Undefined: the application declares none; a text: why the declaration cannot be used, which a store without its rules has accepted. */
export function declaredEnvironments(given: unknown): Environment[] | string | undefined {
  const attribute = Array.isArray(given) ? entriesOf(given) : given
  if (
    attribute === undefined ||
    attribute === null ||
    (Array.isArray(attribute) && attribute.length === 0)
  )
    return undefined
  const checked = DeclaredEnvironments.safeParse(attribute)
  if (checked.success)
    return checked.data.map((each) => ({ ...each, constraints: each.constraints ?? [] }))
  const faults = checked.error.issues.map(
    (issue) => `${['environments', ...issue.path].join('.')}: ${describeIssue(issue)}`,
  )
  return `The application declares environments that cannot be used. ${faults.join('; ')}.`
}

/** Where something is deployed. Empty lists: it is not known. */
export interface DeployedPlace {
  readonly account?: string
  readonly regions: readonly string[]
  readonly clusters: readonly string[]
}

/** Whether an environment has this place, as far as it is known. */
export function isPlacedIn(
  { accounts, regions, clusters }: Pick<Environment, 'accounts' | 'regions' | 'clusters'>,
  place: DeployedPlace,
): boolean {
  const fits = (own: readonly string[], wanted: readonly string[] | undefined) =>
    wanted === undefined || own.length === 0 || own.some((each) => wanted.includes(each))
  return (
    accounts.includes(place.account ?? '') &&
    fits(place.regions, regions) &&
    fits(place.clusters, clusters)
  )
}
