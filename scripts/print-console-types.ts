/**
 * Prints the OpenAPI document as the type `paths` that openapi-fetch reads, in the shape of openapi-typescript. That tool needs a
 * compiler interface that TypeScript 7 does not have.
 */

interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly items?: Schema | false
  readonly prefixItems?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: Schema | boolean
}

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema?: Schema }>>
  readonly required?: boolean
}

interface Operation {
  readonly parameters?: readonly { name: string; in: string; required?: boolean; schema?: Schema }[]
  readonly requestBody?: Content
  readonly responses: Readonly<Record<string, Content & { readonly $ref?: string }>>
}

export interface ApiDescription {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

const plainName = /^[A-Za-z_$][\w$]*$/

/** @param source What the console is written in: operations that it does not call, and schemas and fields that it does not name, are left out. */
export function printConsoleTypes(api: ApiDescription, source: string): string {
  const { paths, components } = withFieldsOf(source, api)
  const calls = source.replace(/\(\s+/g, '(')
  const printed = Object.entries(paths).flatMap(([path, item]) => printPath(path, item, calls))
  const schemas = new Map(
    Object.entries(components.schemas).map(([name, schema]) => [
      name,
      `  ${key(name)}: ${toType(schema)}`,
    ]),
  )
  const used = namesIn([source, ...printed].join('\n'), schemas, new Set())
  const whole = [source, ...printed, ...[...used].map((name) => schemas.get(name))].join('\n')
  const isNamed = (name: string) =>
    [...whole.matchAll(reference(name))].length > 1 || source.includes(`Schemas['${name}']`)
  /** What one place alone refers to stands there. */
  const inPlace = (text: string): string =>
    text.replace(reference('\\w+'), (found, name, list = '') => {
      const type = isNamed(name) ? undefined : schemas.get(name)?.slice(`  ${name}: `.length)
      if (type === undefined) return found
      return inPlace(list !== '' && type.includes(' ') ? `(${type})${list}` : type + list)
    })
  return `/** What the console uses of the API of Fairlead. Printed by \`npm run docs\` from the OpenAPI document; change the operations instead. */

${helpers}
interface Calls {
${printed.map(inPlace).join('\n')}
}

export interface Schemas {
${[...schemas].flatMap(([name, text]) => (used.has(name) && isNamed(name) ? inPlace(text) : [])).join('\n')}
}
`
}

/** In the shape that openapi-fetch infers from: an operation with its body, what it answers, its query, and its status. */
const helpers = `type S = Schemas
type Any = Record<string, unknown>
/** A type for every key would have to admit those of the named fields. */
type Open<T, MayBeNull = {}> = T & { [K in keyof MayBeNull]?: MayBeNull[K] | null } & Any
interface Json<T> { content: { 'application/json': T } }
type Answer<T> = [T] extends ['none'] ? { content?: never } : Json<T>
interface Op<T, Query = {}, Status extends number = 200> { parameters: {} extends Query ? { query?: Query } : { query: Query }; responses: { [K in Status | 'default']: K extends 'default' ? Json<S['Error']> : Answer<T> } }
interface Send<Body, T, Query = {}, Status extends number = 200> extends Op<T, Query, Status> { requestBody: Json<Body> }
interface MaySend<Body, T, Query = {}, Status extends number = 200> extends Op<T, Query, Status> { requestBody?: Json<Body> }
type InPath<Path> = Path extends \`\${string}{\${infer Name}}\${infer Rest}\` ? Name | InPath<Rest> : never
type Placed<Name extends string> = [Name] extends [never] ? unknown : { parameters: { path: Record<Name, string> } }
export type paths = { [Path in keyof Calls]: { [Method in keyof Calls[Path]]: Calls[Path][Method] & Placed<InPath<Path>> } }
`

/** Without parameters and fields whose names the source never says. An object of which it names no field is read as a whole. */
function withFieldsOf(source: string, api: ApiDescription): ApiDescription {
  const words = new Set(source.replace(/\/\*.*?\*\//gs, '').match(/[\w$-]+/g))
  const named = ({ name }: { readonly name: string }) => words.has(name)
  return JSON.parse(JSON.stringify(api), (place, value) => {
    if (place === 'parameters' && Array.isArray(value)) return value.filter(named)
    if (place !== 'properties') return value
    const fields = Object.entries(value).filter(([name]) => named({ name }))
    return fields.length === 0 ? value : Object.fromEntries(fields)
  })
}

/** Where a schema is referred to, perhaps as the items of a list. */
const reference = (name: string) => new RegExp(`\\bS\\['(${name})'\\](\\[\\])?`, 'g')

/** Schemas that a text names, and those that they name. */
function namesIn(
  text: string,
  schemas: ReadonlyMap<string, string>,
  found: Set<string>,
): ReadonlySet<string> {
  for (const [, name = ''] of text.matchAll(/\bS(?:chemas)?\['(\w+)'\]/g)) {
    const schema = schemas.get(name)
    if (schema === undefined || found.has(name)) continue
    found.add(name)
    namesIn(schema, schemas, found)
  }
  return found
}

/** A path that is named is read; other methods are called by their names. */
function printPath(
  path: string,
  item: Readonly<Record<string, Operation>>,
  calls: string,
): readonly string[] {
  const called = Object.entries(item).filter(([method]) =>
    calls.includes(method === 'get' ? quote(path) : `${method.toUpperCase()}(${quote(path)}`),
  )
  const operations = called.map(([method, operation]) => `${method}: ${printOperation(operation)}`)
  return called.length === 0 ? [] : [`  ${quote(path)}: { ${operations.join('; ')} }`]
}

function printOperation({ parameters = [], requestBody, responses }: Operation): string {
  const query = parameters.flatMap(({ in: place, name, required, schema }) =>
    place === 'query' ? `${key(name)}${required ? '' : '?'}: ${toType(schema)}` : [],
  )
  const successes = Object.entries(responses).filter(
    ([status, { $ref }]) => /^2/.test(status) && $ref === undefined,
  )
  const [[status, response] = ['200', {}]] = successes
  const more = [
    query.length === 0 ? '{}' : `{ ${query.join('; ')} }`,
    ...(status === '200' ? [] : [status]),
  ]
  const types = [
    ...(requestBody ? [bodyOf(requestBody)] : []),
    answerOf(response),
    ...(more.join() === '{}' ? [] : more),
  ]
  const kind = requestBody === undefined ? 'Op' : requestBody.required ? 'Send' : 'MaySend'
  return `${kind}<${types.join(', ')}>`
}

function bodyOf({ content = {} }: Content): string {
  return toType(Object.values(content)[0]?.schema)
}

function answerOf(response: Content): string {
  return Object.keys(response.content ?? {}).length === 0 ? "'none'" : bodyOf(response)
}

/** TypeScript for a schema; unknown for one that says nothing. */
export function toType(schema: Schema | undefined): string {
  if (schema === undefined) return 'unknown'
  if (schema.$ref !== undefined)
    return `S[${quote(schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1))}]`
  if ('const' in schema) return JSON.stringify(schema.const)
  if (schema.enum !== undefined)
    return schema.enum.map((value) => JSON.stringify(value)).join(' | ')
  const choices = schema.anyOf ?? schema.oneOf
  if (choices !== undefined) return [...new Set(choices.map(toType))].join(' | ')
  if (schema.allOf !== undefined) return schema.allOf.map((part) => `(${toType(part)})`).join(' & ')
  const types = typeof schema.type === 'string' ? [schema.type] : (schema.type ?? [])
  return types.length === 0 ? 'unknown' : types.map((type) => ofType(type, schema)).join(' | ')
}

function ofType(type: string, schema: Schema): string {
  if (type === 'object') return objectType(schema)
  if (type === 'array') return arrayType(schema)
  return (
    { integer: 'number', number: 'number', string: 'string', boolean: 'boolean', null: 'null' }[
      type
    ] ?? 'unknown'
  )
}

function arrayType({ items, prefixItems }: Schema): string {
  if (prefixItems !== undefined) return `[${prefixItems.map(toType).join(', ')}]`
  const type = toType(items === false ? undefined : items)
  return type.includes(' ') ? `(${type})[]` : `${type}[]`
}

function objectType({ properties = {}, required = [], additionalProperties }: Schema): string {
  const fields = Object.entries(properties).map(([name, schema]) => ({
    name: key(name),
    type: toType(schema),
    isRequired: required.includes(name),
  }))
  const isOpen = additionalProperties !== undefined && additionalProperties !== false
  if (fields.length > 0) {
    const { true: mayBeNull = [], false: others = [] } = Object.groupBy(fields, (field) =>
      String(isOpen && !field.isRequired && field.type.endsWith(' | null')),
    )
    const own = others.map(
      ({ name, type, isRequired }) => `${name}${isRequired ? '' : '?'}: ${type}`,
    )
    const types = [own, mayBeNull.map(({ name, type }) => `${name}: ${type.slice(0, -7)}`)]
      .slice(0, mayBeNull.length > 0 ? 2 : 1)
      .map((list) => `{ ${list.join('; ')} }`)
    return isOpen ? `Open<${types.join(', ')}>` : String(types)
  }
  const others = isOpen && additionalProperties !== true ? toType(additionalProperties) : 'unknown'
  return others === 'unknown' ? 'Any' : `{ [key: string]: ${others} }`
}

function key(name: string): string {
  return plainName.test(name) ? name : quote(name)
}

function quote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
