/** YAML in and out, for bodies and answers; loaded only when a client asks for it. */
import { parseDocument, stringify } from 'yaml'
import { formatJson, isRawNumber } from './json.ts'

/** @throws {Error} for anything but one well-formed document without runaway aliases or prototype keys. */
export function parseYaml(text: string): unknown {
  const document = parseDocument(text, { version: '1.2', intAsBigInt: true, prettyErrors: true })
  const problem = document.errors[0]
  if (problem !== undefined) throw new Error(problem.message.split('\n')[0] ?? 'malformed')
  return toPlain(document.toJS({ maxAliasCount: 100 }))
}

/** Whole numbers beyond the safe range stay exact: they are written into JSON as they stood. */
function toPlain(value: unknown): unknown {
  if (typeof value === 'bigint') {
    return Number.isSafeInteger(Number(value))
      ? Number(value)
      : (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(String(value))
  }
  if (Array.isArray(value)) return value.map(toPlain)
  if (typeof value !== 'object' || value === null) return value
  const plain: Record<string, unknown> = {}
  for (const [name, member] of Object.entries(value)) {
    if (name === '__proto__') throw new Error('the key __proto__ is not allowed')
    plain[name] = toPlain(member)
  }
  return plain
}

export function formatYaml(value: unknown): string {
  return stringify(value, (_key, member: unknown) => (isRawNumber(member) ? toExactNumber(member) : member), {
    aliasDuplicateObjects: false,
    lineWidth: 0,
  })
}

/** YAML writes a bigint digit by digit; a number that is no integer is rounded to what YAML readers hold anyway. */
function toExactNumber(rawNumber: unknown): bigint | number {
  const digits = formatJson(rawNumber)
  return /^-?\d+$/.test(digits) ? BigInt(digits) : Number(digits)
}
