/** Full names of objects, `deployment web`: what they are called in answers, paths and operations. */
import { type Kind, type ParsedKind, parseKind } from './kinds.ts'

export interface FullName extends ParsedKind {
  readonly name: string
}

/** Undefined unless it has exactly two parts. */
export function parseFullName(text: string): FullName | undefined {
  const [kind, name, ...more] = text.split(' ')
  if (!kind || !name || more.length > 0 || !isPathName(name)) return undefined
  return { ...parseKind(kind), name }
}

export function formatFullName(kind: Pick<Kind, 'name'>, name: string): string {
  return `${kind.name} ${name}`
}

/** Whether an object can have the name: the API server decodes paths, so that a slash would lead to another resource. */
export function isPathName(name: string): boolean {
  return !/[/%]/.test(name)
}
