/** Prints the reference of all settings, `docs/reference/settings.md`, from their schemas. */
import { z } from 'zod'
import { settingGroups } from '../../packages/app/config/capabilities.ts'
import { toVariable } from '../../packages/app/config/environment.ts'
import { coreOf, defaultOf, notesOf, typeOf } from '../../packages/app/config/schema-shape.ts'

interface Row {
  key: string
  type: string
  default: string
  variable: string
  description: string
}

const opening = `Every key of a configuration file or the environment: the keys of Gate, and some of Fairlead.

## Where settings come from

Each source overrides those before it:

1. \`config/\` in the working directory
2. \`fairlead.yml\` in the working directory
3. \`~/.spinnaker/\`
4. \`/opt/spinnaker/config/\`
5. locations in \`SPRING_CONFIG_ADDITIONAL_LOCATION\`
6. files named with \`--config\`
7. credentials of systemd, each a file of \`$CREDENTIALS_DIRECTORY\` that is named like a key, such as \`backends.key\`
8. environment variables
9. \`SPRING_APPLICATION_JSON\`

\`SPRING_CONFIG_LOCATION\` replaces 1 to 4. From a directory, Fairlead reads \`spinnaker.yml\`, \`gate.yml\` and
\`fairlead.yml\`, in this order, then the same three with \`-<profile>\` for each active profile. \`SPRING_PROFILES_ACTIVE\` sets
the profiles; \`local\` is always active. In a file, later documents override earlier ones, and a document with
\`spring.config.activate.on-profile\` applies to these profiles only. Maps are merged; lists and values are replaced.

camelCase, kebab-case and snake_case are equivalent, so are a dot in a key and a map, and an empty value unsets the key. A
list may be a text separated by commas; its elements are \`FIAT_ADMIN_ROLES_0\`, \`FIAT_ADMIN_ROLES_1\` in the environment. A
value may refer to keys and variables, \`\${services.orca.host:localhost}\`; \`\\\${\` escapes these characters. Fairlead ignores
keys that begin with \`x-\`.

\`fairlead check\` reports the files and all errors without starting anything: it opens every file of the settings, and
checks the data directory and the ports. It notes what a running gateway occupies.`

/** Everything below the title of the page. */
export function formatSettingsReference(): string {
  const parts = [opening]
  const ignored: string[] = []
  for (const [title, keys] of Object.entries(settingGroups)) {
    const shape = keys.shape as Record<string, z.ZodType>
    const rows = joinServices(Object.entries(shape).flatMap(([key, schema]) => rowsOf(key, schema)))
    parts.push(`## ${title}\n\n${formatTable(rows)}`)
    for (const [key, schema] of Object.entries(shape))
      if (notesOf(schema).effect === 'none') ignored.push(key)
  }
  const names = new Set(
    ignored.map((key) => `\`${key.replace(servicePrefix, 'services.<name>.')}\``),
  )
  parts.push(
    `## Known and without effect\n\nAccepted, so that the files of an installation load as they are: ${[...names].join(', ')}.`,
  )
  return parts.join('\n\n')
}

/** A row for the key itself, or, for maps and lists of maps, for what is in them as well. */
function rowsOf(key: string, schema: z.core.$ZodType): Row[] {
  const notes = notesOf(schema)
  if (notes.effect === 'none') return []
  const row: Row = {
    key,
    type: typeOf(schema),
    default: formatDefault(defaultOf(schema)),
    variable: variableOf(key, schema),
    description: notes.description ?? '',
  }
  const [inner, path] = notes.sameAs === undefined ? partsOf(coreOf(schema), key) : []
  if (!(inner instanceof z.ZodObject)) return [row]
  const shape = inner.shape as Record<string, z.core.$ZodType>
  return [
    row,
    ...Object.entries(shape).flatMap(([name, child]) => rowsOf(`${path}.${name}`, child)),
  ]
}

/** What an element of a list or map consists of, and how its place is written. */
function partsOf(core: z.core.$ZodType, key: string): [z.core.$ZodType, string] {
  if (core instanceof z.ZodArray) return [coreOf(core.element), `${key}[]`]
  return core instanceof z.ZodRecord ? [coreOf(core.valueType), `${key}.<name>`] : [core, key]
}

/** Empty for what a single text cannot hold. */
function variableOf(key: string, schema: z.core.$ZodType): string {
  const core = coreOf(schema)
  const isMap = core instanceof z.ZodObject || core instanceof z.ZodRecord
  if (isMap || (core instanceof z.ZodArray && coreOf(core.element) instanceof z.ZodObject))
    return ''
  return `\`${notesOf(schema).env ?? toVariable(key.replaceAll('[]', '[0]'))}\``
}

const servicePrefix = /^services\.(?!deck\.|default\.|redis\.)[a-z0-9]+\./

/** Keys of all services are listed once. */
function joinServices(rows: readonly Row[]): Row[] {
  const seen = new Map<string, Row[]>()
  for (const row of rows) {
    const joined = row.key.replace(servicePrefix, 'services.<name>.')
    const same = seen.get(joined) ?? []
    seen.set(joined, [...same, row])
  }
  return [...seen].flatMap(([joined, same]) => {
    const first = same[0] as Row
    return same.length === 1
      ? [first]
      : [
          {
            ...first,
            key: joined,
            variable: first.variable.replace(/SERVICES_[A-Z0-9]+_/, 'SERVICES_<NAME>_'),
          },
        ]
  })
}

function formatDefault(value: unknown): string {
  if (value === undefined || value === '') return ''
  const text =
    Array.isArray(value) && value.every((item) => typeof item !== 'object')
      ? value.join(', ')
      : JSON.stringify(value)
  if (text === '' || text === '{}' || text === '[]') return ''
  const plain = text.replaceAll(/^"|"$/g, '')
  return plain.length > 60 ? 'see description' : `\`${plain.replaceAll('|', '\\|')}\``
}

function formatTable(rows: readonly Row[]): string {
  const lines = rows.map(
    (row) =>
      `| \`${row.key}\` | ${row.type} | ${row.default} | ${row.variable} | ${row.description.replaceAll('|', '\\|')} |`,
  )
  return [
    '| Key | Type | Default | Environment | Meaning |',
    '|---|---|---|---|---|',
    ...lines,
  ].join('\n')
}
