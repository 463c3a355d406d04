/** Prints the reference of all settings, `docs/reference/settings.md`, from their schemas. */
import { z } from 'zod'
import { settingGroups } from './config.ts'
import { toVariable } from './environment.ts'
import { coreOf, defaultOf, notesOf, typeOf } from './schema-shape.ts'

interface Row {
  key: string
  type: string
  default: string
  variable: string
  description: string
}

const opening = `# Settings

Every key that may stand in \`spinnaker.yml\`, \`gate.yml\` and \`fairlead.yml\`, or in the environment. Printed from the code.

camelCase, kebab-case and snake_case are the same; an empty value counts as none. A list may be written as one text with
commas, and its elements in the environment as \`FIAT_ADMIN_ROLES_0_\`, \`FIAT_ADMIN_ROLES_1_\`.`

export function formatSettingsReference(): string {
  const parts = [opening]
  const ignored: string[] = []
  for (const [title, keys] of Object.entries(settingGroups)) {
    const shape = keys.shape as Record<string, z.ZodType>
    const rows = joinServices(Object.entries(shape).flatMap(([key, schema]) => rowsOf(key, schema)))
    parts.push(`## ${title}\n\n${formatTable(rows)}`)
    for (const [key, schema] of Object.entries(shape)) if (notesOf(schema).effect === 'none') ignored.push(key)
  }
  const names = new Set(ignored.map((key) => `\`${key.replace(servicePrefix, 'services.<name>.')}\``))
  parts.push(
    `## Known and without effect\n\nAccepted, so that the files of an installation load as they are: ${[...names].join(', ')}.`,
  )
  return `${parts.join('\n\n')}\n`
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
  const core = coreOf(schema)
  const [inner, path] = core instanceof z.ZodArray ? [coreOf(core.element), `${key}[]`] : [core, key]
  if (!(inner instanceof z.ZodObject)) return [row]
  const shape = inner.shape as Record<string, z.core.$ZodType>
  return [row, ...Object.entries(shape).flatMap(([name, child]) => rowsOf(`${path}.${name}`, child))]
}

/** Empty for what a single text cannot hold. */
function variableOf(key: string, schema: z.core.$ZodType): string {
  const core = coreOf(schema)
  const isMap = core instanceof z.ZodObject || core instanceof z.ZodRecord
  if (isMap || (core instanceof z.ZodArray && core.element instanceof z.ZodObject)) return ''
  return `\`${notesOf(schema).env ?? toVariable(key.replaceAll('[]', '[0]'))}\``
}

const servicePrefix = /^services\.(?!deck\.|default\.|redis\.)[a-z0-9]+\./

/** What all services have is told once. */
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
      : [{ ...first, key: joined, variable: first.variable.replace(/SERVICES_[A-Z0-9]+_/, 'SERVICES_<NAME>_') }]
  })
}

function formatDefault(value: unknown): string {
  if (value === undefined || value === '') return ''
  const text = Array.isArray(value) && value.every((item) => typeof item !== 'object') ? value.join(', ') : JSON.stringify(value)
  if (text === '' || text === '{}' || text === '[]') return ''
  const plain = text.replaceAll(/^"|"$/g, '')
  return plain.length > 60 ? 'see description' : `\`${plain.replaceAll('|', '\\|')}\``
}

function formatTable(rows: readonly Row[]): string {
  const lines = rows.map(
    (row) => `| \`${row.key}\` | ${row.type} | ${row.default} | ${row.variable} | ${row.description.replaceAll('|', '\\|')} |`,
  )
  return ['| Key | Type | Default | Environment | Meaning |', '|---|---|---|---|---|', ...lines].join('\n')
}
