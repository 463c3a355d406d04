/** How jobs write what they are and what they carry; whatever judges jobs has to read them alike. */
import type { Fields } from './upstream-shape.ts'

/** In lower case. A job may bear one type and be carried out as another. */
export function typesOf({ type, alias }: Fields): string[] {
  return [type, alias].filter((name) => typeof name === 'string').map((name) => name.trim().toLowerCase())
}

/** A document is carried as JSON in base64; anything else is the value itself. */
export function decodeDocument(value: unknown): unknown {
  if (typeof value !== 'string') return value
  try {
    return JSON.parse(Buffer.from(value, 'base64').toString())
  } catch {
    return value
  }
}
