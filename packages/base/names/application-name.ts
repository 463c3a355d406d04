/** Names of applications: which of them Fairlead lets be created. */
import { foldName } from './fold-name.ts'
import { findCharacterObjection } from './user-name.ts'

/** The application in whose name plugins are managed; who may write to it may change them. */
export const pluginApplication = 'spinnakerplugins'

/** Bound of Front50, where a provider has none of its own. */
const maxLength = 250
/** The part of a rejected name that an error repeats. */
const maxQuoted = 100

/** Rules for permissions end in a star, lists are separated by commas, and expressions are replaced. */
const signs = /[*,/\\{}]/

/**
 * Why an application cannot have the name, to follow the words "the application name"; undefined when it can. Refused is what a
 * permission system takes for a wildcard or for another application, what no address can hold, and invisible characters.
 */
export function findApplicationNameObjection(given: string): string | undefined {
  const name = given.trim()
  if (name.length > maxLength) return `has ${name.length} characters; ${maxLength} are the most`
  const sign = signs.exec(name)?.[0]
  if (sign !== undefined)
    return `holds the sign ${sign}, which rules, lists or addresses read as their own`
  const character = findCharacterObjection(name)
  if (character !== undefined) return character
  if (foldName(name) !== name.toLowerCase())
    return `is compared as ${foldName(name)}, which is another name`
  if (name === '.' || name === '..') return 'consists of dots'
  return name in {} || foldName(name) in {} ? 'is one that programs keep for themselves' : undefined
}

/** The name in quotes, as an error repeats it. */
export function quoteName(name: string): string {
  return JSON.stringify(name.length > maxQuoted ? `${name.slice(0, maxQuoted)}…` : name)
}
