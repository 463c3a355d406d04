/**
 * Descriptions of stage types: what the engine checks, the API answers, the reference page prints and forms are made of.
 *
 * To describe a type, add it to its group in the file of its subject. A field, such as `text` or `flag`, is a key of the stage's
 * context that an author sets, not one in which the engine keeps notes.
 */

export interface StageDescription {
  readonly type: string
  /** Two or three words for lists and headings. */
  readonly label: string
  readonly group: string
  /** One sentence. */
  readonly description: string
  /** `pipeline`: a stage to put into pipelines; `task`: a job of ad-hoc tasks, such as those that clients submit; or both. */
  readonly use: 'pipeline' | 'task' | 'both'
  readonly fields: readonly Field[]
  /** How users let a running stage end early. */
  readonly skip?: Skip
}

/** `skipRemainingWait`: that key, set in the running stage, ends its wait. `skippable`: the field of that name allows a skip. */
type Skip = 'skipRemainingWait' | 'skippable'

export interface Field {
  /** Key of the context, or of the object that it belongs to. */
  readonly name: string
  readonly kind: FieldKind
  /** Without the field the engine fails the stage. */
  readonly required?: boolean
  /** What the engine takes without the field. */
  readonly default?: unknown
  /** Values to offer. */
  readonly choices?: readonly string[]
  /** The engine rejects any other value. */
  readonly onlyChoices?: boolean
  /** The engine rejects misspelt ones; other values may be those of another platform. */
  readonly rejectsNear?: true
  /** Upper-case values that the engine rejects in any case. */
  readonly rejected?: readonly string[]
  /** A text that is a number of seconds, or a duration of ISO 8601. */
  readonly form?: 'duration'
  /** Numbers, or seconds of a duration, that the engine takes; `above` excludes its bound. */
  readonly range?: { readonly from?: number; readonly to?: number; readonly above?: number }
  /** Members of an object whose values must not fall in this order. */
  readonly rising?: readonly string[]
  /** Where the values to choose from come from. */
  readonly choicesFrom?: ChoicesSource
  /** One sentence or two. */
  readonly help: string
  /** False: an expression is stored as it is, or is evaluated at its own time. */
  readonly expression?: boolean
  /** Older and longer keys with the same meaning; the first that is set counts. */
  readonly otherNames?: readonly string[]
  /** Fields of an object, or of each object of a list. */
  readonly fields?: readonly Field[]
  /** Fields of an object that forms and pages show as a whole. */
  readonly hiddenFields?: readonly Field[]
}

/**
 * `texts` is a list of texts, `objects` one of objects with `fields`; `map` has names of the author's choice; `moment` is in
 * milliseconds since the epoch; `json` may be anything; `webhook-source` is the last part of the address of a webhook.
 */
export type FieldKind =
  | 'text'
  | 'long-text'
  | 'number'
  | 'moment'
  | 'flag'
  | 'choice'
  | 'texts'
  | 'objects'
  | 'object'
  | 'map'
  | 'json'
  | 'cron'
  | 'webhook-source'

/** Keys under which it may be set. */
export function namesOf({
  name,
  otherNames = [],
}: Pick<Field, 'name' | 'otherNames'>): readonly string[] {
  return [name, ...otherNames]
}

/** Operations that list the values: see docs/reference/stage-types.md. */
export type ChoicesSource =
  | 'accounts'
  | 'applications'
  | 'pipelines'
  | 'providers'
  | 'regions'
  | 'clusters'
  | 'server-groups'
  | 'instances'
  | 'load-balancers'
  | 'security-groups'
  | 'images'
  | 'base-images'
  | 'instance-types'
  | 'roles'
  | 'stages'
  | 'artifacts'
  | 'executions'
  | 'build-hosts'
  | 'build-jobs'
  | 'canary-configs'
  | 'canary-accounts'
  | 'service-accounts'
  | 'artifact-accounts'
  | 'image-accounts'
  | 'subscriptions'

/** Stage types of one group by their use: `control.both('waitUntil', 'Wait until', 'Waits for a moment.', [ … ])`. */
export function stagesOf(group: string) {
  const describe =
    (use: StageDescription['use']) =>
    <const F extends readonly Field[]>(
      type: string,
      label: string,
      description: string,
      fields: F,
    ) => {
      return { type, label, group, use, description, fields } satisfies StageDescription
    }
  return { pipeline: describe('pipeline'), task: describe('task'), both: describe('both') }
}

type FieldOptions = Omit<Field, 'name' | 'kind' | 'help' | 'fields'>

/** Fields by their kind: `text('stack', 'Second part of the name of the cluster.')`. Its type holds name, kind and default. */
function ofKind<const K extends FieldKind>(kind: K) {
  return <const N extends string, const O extends FieldOptions = object>(
    name: N,
    help: string,
    options?: O,
  ) =>
    ({ name, kind, help, ...options }) as {
      readonly name: N
      readonly kind: K
      readonly help: string
    } & O
}

function withMembers<const K extends 'object' | 'objects'>(kind: K) {
  const create = ofKind(kind)
  return <
    const N extends string,
    const F extends readonly Field[] = readonly [],
    const O extends FieldOptions = object,
  >(
    name: N,
    help: string,
    fields?: F,
    options?: O,
  ) =>
    ({ ...create(name, help, options), ...(fields && { fields }) }) as ReturnType<
      typeof create<N, O>
    > & { readonly fields: F }
}

export const text = ofKind('text')
export const longText = ofKind('long-text')
export const number = ofKind('number')
export const moment = ofKind('moment')
export const choice = ofKind('choice')
export const textListField = ofKind('texts')
export const map = ofKind('map')
export const json = ofKind('json')
export const cron = ofKind('cron')
export const object = withMembers('object')
export const objects = withMembers('objects')

/** Texts that the configuration of a stage type asks authors for, in the order that it gives. */
export function parameterFields(
  parameters: readonly {
    readonly name: string
    readonly label?: string
    readonly description?: string
    readonly defaultValue?: unknown
    readonly order?: number
  }[],
): Field[] {
  return parameters
    .toSorted((one, other) => (one.order ?? 0) - (other.order ?? 0))
    .map(({ name, label, description, defaultValue }) =>
      text(name, description ?? `${label ?? name}.`, { default: defaultValue }),
    )
}

/** False unless another default is given. */
export function flag<
  const N extends string,
  const O extends FieldOptions = { readonly default: false },
>(name: N, help: string, options?: O) {
  return { name, kind: 'flag', help, default: false, ...options } as unknown as {
    readonly name: N
    readonly kind: 'flag'
    readonly help: string
    readonly default: boolean
  } & Omit<O, 'default'>
}
