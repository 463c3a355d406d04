/** The context of a stage, read once as its description says: `const { waitTime } = readFields(waitFields, stage.context)`. */
import {
  isTrue,
  type JsonObject,
  listOf,
  numberOf,
  objectOf,
  objectsOf,
  scalarOf,
} from '@fairlead/base/json/values.ts'
import { type Field, type FieldKind, namesOf } from './description.ts'

interface KindValues {
  number: number
  moment: number
  flag: boolean
  texts: string[]
  map: JsonObject
  json: unknown
}

type ValueOf<F extends Field> = F['kind'] extends 'object'
  ? MembersOf<F>
  : F['kind'] extends 'objects'
    ? MembersOf<F>[]
    : F['kind'] extends keyof KindValues
      ? KindValues[F['kind']]
      : string

type MembersOf<F extends Field> = F extends { readonly fields: infer M extends readonly Field[] }
  ? M extends readonly []
    ? JsonObject
    : ValuesOf<M>
  : JsonObject

/** Fields that exist without anybody having set them. */
type IsThere<F extends Field> = F extends {
  readonly kind: 'flag' | 'texts' | 'objects' | 'object' | 'map'
}
  ? true
  : F extends { readonly default: NonNullable<unknown> }
    ? true
    : false

/** Text, numbers and moments without a default are undefined where the context has none; lists and objects are empty. */
export type ValuesOf<Fields extends readonly Field[]> = {
  readonly [F in Fields[number] as string extends F['name']
    ? never
    : F['name']]: IsThere<F> extends true ? ValueOf<F> : ValueOf<F> | undefined
}

/** Numbers and flags may be texts and the other way round; what cannot be what the field takes counts as missing. */
export function readFields<const Fields extends readonly Field[]>(
  fields: Fields,
  given: unknown,
): ValuesOf<Fields> {
  const object = objectOf(given)
  return Object.fromEntries(
    fields.map((field) => [field.name, readField(field, object)]),
  ) as ValuesOf<Fields>
}

function readField(field: Field, object: JsonObject): unknown {
  const value = namesOf(field)
    .map((name) => (Object.hasOwn(object, name) ? object[name] : undefined))
    .find((each) => each !== undefined && each !== null && (each !== '' || field.kind === 'json'))
  const { [field.kind]: read = readText } = readers
  return read(value, field)
}

const readers: { readonly [K in FieldKind]?: (value: unknown, field: Field) => unknown } = {
  number: readNumber,
  moment: readNumber,
  flag: (value, field) =>
    field.default === true ? String(value).toLowerCase() !== 'false' : isTrue(value),
  texts: (value) => listOf(value).flatMap((each) => scalarOf(each) ?? []),
  object: readObject,
  objects: (value, field) => objectsOf(value).map((each) => readObject(each, field)),
  map: (value, field) => objectOf(value ?? field.default),
  json: (value, field) => value ?? field.default,
}

/** A list is the text with commas, as its author meant it. */
function readText(value: unknown, field: Field): unknown {
  return scalarOf(Array.isArray(value) ? value.join(',') : value) ?? field.default
}

function readNumber(value: unknown, field: Field): unknown {
  return numberOf(value) ?? field.default
}

function readObject(value: unknown, { fields = [] }: Field): unknown {
  return fields.length === 0 ? objectOf(value) : readFields(fields, value)
}
