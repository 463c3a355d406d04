/** Readers of free-form values: a missing or malformed field costs one value, never the page. */

export type Json = Readonly<Record<string, unknown>>

export function objectOf(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {}
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

export function objectsOf(value: unknown): readonly Json[] {
  return listOf(value).filter((item): item is Json => typeof item === 'object' && item !== null && !Array.isArray(item))
}

/** The value at a path of names, such as `status.loadBalancer`. */
export function valueIn(value: unknown, path: string): unknown {
  return path.split('.').reduce((inner, name) => objectOf(inner)[name], value)
}

export function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value === '' ? undefined : value
  return typeof value === 'number' || typeof value === 'bigint' ? String(value) : undefined
}

export function textsOf(value: unknown): readonly string[] {
  return listOf(value).filter((item): item is string => typeof item === 'string' && item !== '')
}

export function numberOf(value: unknown): number | undefined {
  const number = (typeof value === 'string' && value.trim() !== '') || typeof value === 'bigint' ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined
}

/** Splits the text of a field whose values are separated by commas. */
export function splitList(text: string): string[] {
  return [...new Set(text.split(',').map((part) => part.trim()))].filter(Boolean)
}
