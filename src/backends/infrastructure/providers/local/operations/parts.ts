/** Common parts of the operations of this machine, and the parser of their descriptions. */
import { z } from 'zod'
import { isObject, type JsonObject, textsOf } from '../../../../../json/values.ts'
import { parseMoniker } from '../../../../../names/moniker.ts'
import { describeIssue } from '../../../../../settings/describe-issue.ts'
import type { BackendContext } from '../../../../backend.ts'
import { ImageEnvironment } from '../../../../images/image-file.ts'
import type { ImageStore } from '../../../../images/image-store.ts'
import type { OperationRun, OperationType } from '../../../operation-type.ts'
import type { Desired } from '../desired.ts'
import type { InstancePorts } from '../ports.ts'
import type { Reconciler } from '../reconciler.ts'
import type { LocalAccountSettings, LocalSettings } from '../settings.ts'
import type { AccountUsers } from '../users.ts'

export interface OperationParts {
  readonly context: BackendContext
  readonly settings: LocalSettings
  readonly desired: Desired
  readonly images: ImageStore
  readonly ports: InstancePorts
  readonly users: AccountUsers
  readonly reconciler: Reconciler
  readonly newId: () => string
}

/** Older clients leave fields out or send null; expressions of pipelines make texts of numbers. */
export const textField = z.string().trim().min(1)
export const optionalTextPart = z
  .string()
  .trim()
  .nullish()
  .transform((value) => value || undefined)
/** An empty text is no number, as an expression without a value leaves one: 0 would stop all instances. */
export function numeric<S extends z.ZodNumber>(schema: S) {
  return z.preprocess((value) => (typeof value === 'string' && value.trim() !== '' ? Number(value) : value), schema)
}
export const countField = numeric(
  z.number('it must be a whole number').int('it must be a whole number').min(0, 'it must not be negative'),
)
export const portField = numeric(
  z.number('it must be a port').int('it must be a port').min(1, 'it must be a port').max(65_535, 'it must be a port'),
)
export const seconds = numeric(z.number().min(0).max(3600))
export const flagField = z
  .union([z.boolean(), z.stringbool()])
  .nullish()
  .transform((value) => value === true)
export const textsField = z
  .array(textField)
  .nullish()
  .transform((value) => value ?? undefined)
export const textMap = z
  .record(z.string(), z.union([z.string(), z.number(), z.boolean()]).transform(String))
  .nullish()
  .transform((value) => value ?? undefined)
export const environment = ImageEnvironment.nullish().transform((value) => value ?? undefined)

/** Fields that name the account and the region, whichever synonym was used. */
const placeFields = {
  credentials: optionalTextPart,
  account: optionalTextPart,
  accountName: optionalTextPart,
  region: optionalTextPart,
  regions: textsField,
  zone: optionalTextPart,
  availabilityZones: z.record(z.string(), z.array(z.string()).nullish()).nullish(),
}
const PlaceFields = z.looseObject(placeFields)

export interface TargetPlace {
  readonly account: LocalAccountSettings
  readonly region: LocalAccountSettings['regions'][number]
  /** Zones that were chosen; all of the region unless some were. */
  readonly zones: readonly string[]
}

/** @throws {Error} for people */
export function placeOf(description: JsonObject, settings: LocalSettings): TargetPlace {
  const { credentials, account, accountName, region, regions, zone, availabilityZones } = PlaceFields.parse(description)
  const name = credentials ?? account ?? accountName
  const found = settings.accounts.find((one) => one.name === name)
  if (found === undefined) throw new Error(`The account "${name ?? ''}" does not exist.`)
  const chosen = Object.entries(availabilityZones ?? {})
  const ofZone = found.regions.find(({ zones }) => zone !== undefined && zones.includes(zone))?.name
  const wanted = region ?? chosen[0]?.[0] ?? regions?.[0] ?? ofZone
  const place = found.regions.find((one) => one.name === wanted)
  if (place === undefined) {
    const known = found.regions.map((one) => one.name).join(', ')
    throw new Error(
      wanted === undefined
        ? `region: it is missing. The account ${found.name} has ${known}.`
        : `region: the account ${found.name} has no region "${wanted}"; it has ${known}.`,
    )
  }
  const zones = chosen.find(([one]) => one === place.name)?.[1] ?? (zone === undefined ? [] : [zone])
  const unknown = zones.find((one) => !place.zones.includes(one))
  if (unknown !== undefined) {
    throw new Error(`availabilityZones: the region ${place.name} has no zone "${unknown}"; it has ${place.zones.join(', ')}.`)
  }
  return { account: found, region: place, zones: zones.length === 0 ? place.zones : zones }
}

type OperationSource<S extends z.ZodObject> = OperationBody<S> & Concerned

/** What it is about beyond the account in its description; every operation says it. */
type Concerned =
  /** Names of server groups, load balancers and the like. */
  { readonly resources: Concern; readonly accounts?: Concern } | { readonly resources?: Concern; readonly accounts: Concern }
type Concern = (fields: JsonObject) => readonly unknown[]

interface OperationBody<S extends z.ZodObject> {
  readonly fields: S
  /** What is wrong beyond the fields, a sentence each. */
  readonly check?: (fields: z.output<S>, description: JsonObject) => readonly string[]
  readonly run: (fields: z.output<S>, run: OperationRun, description: JsonObject) => Promise<void> | void
}

/** An operation from a schema of its fields; unknown ones are ignored, since clients send all that they have. */
export function defineOperation<S extends z.ZodObject>(source: OperationSource<S>): OperationType {
  return {
    check(description) {
      const parsed = source.fields.safeParse(description)
      if (!parsed.success) return parsed.error.issues.map(describeField)
      try {
        return source.check?.(parsed.data, description) ?? []
      } catch (error) {
        return [(error as Error).message]
      }
    },
    // The fields are trimmed when it runs, and permissions are about what it will find then.
    applications: (description) =>
      textsOf(source.resources?.(trimmed(description) as JsonObject)).flatMap((name) => parseMoniker(name).app ?? []),
    accounts: (description) => textsOf(source.accounts?.(trimmed(description) as JsonObject)),
    async run(description, run) {
      await source.run(source.fields.parse(description), run, description)
    },
  }
}

function trimmed(value: unknown): unknown {
  if (typeof value === 'string') return value.trim()
  if (Array.isArray(value)) return value.map(trimmed)
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, trimmed(member)]))
}

function describeField(issue: z.core.$ZodIssue): string {
  return `${issue.path.join('.')}: ${describeIssue(issue)}.`
}

/** The last thing that an operation does: changes the desired state together with the task's progress, and acts on it. */
export function commitChange({ desired, reconciler }: OperationParts, run: OperationRun, work: () => void): void {
  desired.within((change) => run.commit(change), work)
  reconciler.step()
}
