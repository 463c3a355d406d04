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

/** @param source What the console is written in: operations that it does not call and schemas that it does not name are left out. */
export function printConsoleTypes({ paths, components }: ApiDescription, source: string): string {
  const calls = source.replace(/\(\s+/g, '(')
  const printed = Object.entries(paths).flatMap(([path, item]) => printPath(path, item, calls))
  const schemas = new Map(
    Object.entries(components.schemas).map(([name, schema]) => [
      name,
      `    ${key(name)}: ${toType(schema)}`,
    ]),
  )
  const used = namesIn([source, ...printed].join('\n'), schemas, new Set())
  return `/** What the console uses of the API of Fairlead. Printed by \`npm run docs\` from the OpenAPI document; change the operations instead. */

export interface paths {
${printed.join('\n')}
}

export interface components {
  schemas: {
${[...schemas].flatMap(([name, text]) => (used.has(name) ? text : [])).join('\n')}
  }
}
`
}

/** Schemas that a text names, and those that they name. */
function namesIn(
  text: string,
  schemas: ReadonlyMap<string, string>,
  found: Set<string>,
): ReadonlySet<string> {
  for (const [, name = ''] of text.matchAll(/[Ss]chemas(?:'\])?\['(\w+)'\]/g)) {
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
  const places = ['query', 'path', 'header'].flatMap((place) => {
    const there = parameters.filter((parameter) => parameter.in === place)
    if (there.length === 0) return []
    const fields = there.map(
      ({ name, required, schema }) => `${key(name)}${required ? '' : '?'}: ${toType(schema)}`,
    )
    return [
      `${place}${there.some(({ required }) => required) ? '' : '?'}: { ${fields.join('; ')} }`,
    ]
  })
  const body =
    requestBody === undefined
      ? []
      : [`requestBody${requestBody.required ? '' : '?'}: ${printContent(requestBody)}`]
  const successes = Object.entries(responses).filter(
    ([status, { $ref }]) => /^2/.test(status) && $ref === undefined,
  )
  const answers = successes.map(([status, response]) => `${status}: ${printContent(response)}`)
  const failure = "default: { content: { 'application/json': components['schemas']['Error'] } }"
  return `{ parameters: { ${places.join('; ')} }; ${[...body, `responses: { ${[...answers, failure].join('; ')} }`].join('; ')} }`
}

function printContent({ content = {} }: Content): string {
  const types = Object.entries(content).map(
    ([mediaType, { schema }]) => `${quote(mediaType)}: ${toType(schema)}`,
  )
  return types.length === 0 ? '{ content?: never }' : `{ content: { ${types.join('; ')} } }`
}

/** TypeScript for a schema; unknown for one that says nothing. */
export function toType(schema: Schema | undefined): string {
  if (schema === undefined) return 'unknown'
  if (schema.$ref !== undefined)
    return `components['schemas'][${quote(schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1))}]`
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
  return `(${toType(items === false ? undefined : items)})[]`
}

function objectType({ properties = {}, required = [], additionalProperties }: Schema): string {
  const fields = Object.entries(properties).map(
    ([name, schema]) => `${key(name)}${required.includes(name) ? '' : '?'}: ${toType(schema)}`,
  )
  if (additionalProperties !== undefined && additionalProperties !== false) {
    // A type for every key would have to admit those of the named fields.
    const others =
      additionalProperties === true || fields.length > 0 ? 'unknown' : toType(additionalProperties)
    fields.push(`[key: string]: ${others}`)
  }
  return fields.length === 0 ? 'Record<string, unknown>' : `{ ${fields.join('; ')} }`
}

function key(name: string): string {
  return plainName.test(name) ? name : quote(name)
}

function quote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
