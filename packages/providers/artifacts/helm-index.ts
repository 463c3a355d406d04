/** The index of a Helm repository, of which only what is asked for is parsed: it may be large. */

import { parseJson } from '@fairlead/base/json/json.ts'
import { fieldAt, fieldOf, isObject, type JsonObject, objectsOf } from '@fairlead/base/json/values.ts'
import { parse } from 'yaml'

export interface HelmIndex {
  names(): string[]
  /** Entries of a chart's versions; empty for an unknown chart. */
  entriesOf(name: string): JsonObject[]
}

export class HelmIndexError extends Error {
  override readonly name = 'HelmIndexError'
}

/** Larger texts without the usual layout are not parsed: that would take too long. */
const maxFreeFormLength = 2 * 1024 * 1024

/** @throws {HelmIndexError} */
export function parseHelmIndex(text: string): HelmIndex {
  const sections = findSections(text)
  if (sections === undefined) return indexOf(parseWhole(text))
  return {
    names: () => [...sections.keys()],
    entriesOf: (name) => objectsOf(fieldOf(parseYaml(sections.get(name) ?? ''), name)),
  }
}

/** The lines of each chart: the index is a block of YAML, as Helm writes it. @returns undefined for any other layout */
function findSections(text: string): ReadonlyMap<string, string> | undefined {
  const lines = text.split(/\r?\n/)
  const first = lines.findIndex((line) => /^entries:\s*(?:#.*)?$/.test(line)) + 1
  if (first === 0) return undefined
  const after = lines.findIndex((line, index) => index >= first && /^[^\s#-]/.test(line))
  const block = lines.slice(first, after === -1 ? undefined : after)
  const indentation = /^ +/.exec(block.find((line) => /^ *[^\s#]/.test(line)) ?? '')?.[0].length ?? 0
  if (indentation === 0) return undefined
  const isKey = (line: string) => /^[^\s#-].*?:(?:\s|$)/.test(line.slice(indentation)) && line.slice(0, indentation).trim() === ''
  const starts = block.flatMap((line, index) => (isKey(line) ? [index] : []))
  const sections = starts.map((start, place) => block.slice(start, starts[place + 1]).join('\n'))
  return new Map(sections.map((section) => [nameOf(section), section]))
}

/** The name may be quoted. */
function nameOf(section: string): string {
  const key = section.slice(0, Math.max(0, section.search(/:(?:\s|$)/)))
  return String(parseYaml(key.trim()))
}

function parseWhole(text: string): JsonObject {
  const isJson = text.trimStart().startsWith('{')
  if (!isJson && text.length > maxFreeFormLength) throw new HelmIndexError('it is too large for its layout')
  const entries = fieldAt(isJson ? readJson(text) : parseYaml(text), 'entries')
  if (!isObject(entries)) throw new HelmIndexError('it has no entries')
  return entries
}

function indexOf(entries: JsonObject): HelmIndex {
  return { names: () => Object.keys(entries), entriesOf: (name) => objectsOf(fieldOf(entries, name)) }
}

function readJson(text: string): unknown {
  try {
    return parseJson(text)
  } catch (error) {
    throw new HelmIndexError((error as Error).message)
  }
}

function parseYaml(text: string): unknown {
  try {
    return parse(text, { maxAliasCount: 0 })
  } catch (error) {
    throw new HelmIndexError((error as Error).message)
  }
}
