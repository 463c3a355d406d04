/** Parameters of builds: their checks and defaults, the revision that they choose, and names that they fill in. */

import { isRevision } from '@fairlead/base/outside/git-repository.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { looksSecret, mask } from '@fairlead/model/secrets/secret-names.ts'
import type { JobDefinition } from './job-definition.ts'

export type Parameters = Readonly<Record<string, string>>

/** They choose what is checked out, unless the job declares parameters of these names. The first that is given counts. */
const revisionParameters = ['revision', 'branch'] as const

/**
 * Checks the names that a caller has sent; `checkOrder` has checked choices.
 *
 * @param hasSource Whether the job has a checkout
 * @throws {PortError} 400 for parameters that the job does not have
 */
export function checkParameters(
  job: string,
  { parameters }: JobDefinition,
  given: Parameters,
  hasSource: boolean,
): void {
  for (const [name, value] of Object.entries(given)) {
    if (Object.hasOwn(parameters, name)) continue
    if (!(revisionParameters as readonly string[]).includes(name))
      throw unknownParameter(job, name, Object.keys(parameters))
    if (!hasSource)
      throw new PortError(
        400,
        `The job "${job}" has no repository, so there is no ${name} to choose. Leave "${name}" out, or give the job a repository.`,
      )
    if (value !== '' && !isRevision(value))
      throw new PortError(400, `"${value}" is no ${name}: name a branch, a tag or a commit.`)
  }
}

function unknownParameter(job: string, name: string, known: readonly string[]): PortError {
  const advice = known.length === 0 ? 'It has none.' : `It has ${known.join(', ')}.`
  return new PortError(400, `The job "${job}" has no parameter "${name}". ${advice}`)
}

/** Parameters of the job, with its defaults. */
export function withDefaults(
  { parameters }: JobDefinition,
  given: Parameters,
): Record<string, string> {
  const entries = Object.entries(parameters).map(([name, declared]) => {
    const usual = declared.default ?? declared.choices?.[0] ?? ''
    return [name, Object.hasOwn(given, name) ? (given[name] as string) : usual] as const
  })
  return Object.fromEntries(entries)
}

/** @param declared Names of the parameters that the job declares */
export function revisionOf(declared: ReadonlySet<string>, given: Parameters): string | undefined {
  const name = revisionParameters.find((each) => !declared.has(each) && (given[each] ?? '') !== '')
  return name === undefined ? undefined : given[name]
}

/** Parameters that may be shown and stored. */
export function maskParameters(given: Parameters): Parameters {
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => [name, looksSecret(name) ? mask : value]),
  )
}

/** `{number}-{commit}` with its names filled in; characters that no version of an image has become hyphens. */
export function fillIn(text: string, values: Parameters): string {
  const filled = text.replaceAll(/\{([A-Za-z_][A-Za-z0-9_]*)\}/g, (whole, name: string) =>
    Object.hasOwn(values, name) ? (values[name] as string) : whole,
  )
  return filled.replaceAll(/[^A-Za-z0-9._+-]/g, '-').slice(0, 128)
}
