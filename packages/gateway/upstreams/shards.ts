/** Chooses among several instances of one service by who asks for what (docs/contracts/http.md#choosing-an-instance). */
import { fromHeaderText } from '@fairlead/base/net/header-text.ts'
import { parseJavaPattern } from '@fairlead/base/settings/setting.ts'
import type { IdentityHeaders } from './identity.ts'

/** One instance, as configured: `config.selectorClass` says which rule reads the rest of `config`. */
export interface Shard {
  readonly baseUrl: string
  readonly priority: number
  readonly config: Readonly<Record<string, unknown>>
}

/** @param location Region of a bake. */
export function criteriaOf(identity: IdentityHeaders, location?: string) {
  return {
    application: fromHeaderText(identity['X-SPINNAKER-APPLICATION'])?.toLowerCase(),
    user: fromHeaderText(identity['X-SPINNAKER-USER']),
    origin: identity['X-SPINNAKER-USER-ORIGIN'],
    executionType: identity['X-SPINNAKER-EXECUTION-TYPE']?.toLowerCase(),
    location,
  }
}

export type Criteria = Readonly<ReturnType<typeof criteriaOf>>

type Selector = (criteria: Criteria) => boolean

export function createChooser(
  shards: readonly Shard[],
): (criteria: Criteria) => string | undefined {
  const choices = shards.map(({ baseUrl, priority, config }) => ({
    baseUrl,
    priority,
    matches: toSelector(config),
  }))
  return (criteria) => {
    let best: (typeof choices)[number] | undefined
    for (const choice of choices) {
      if ((best === undefined || choice.priority > best.priority) && choice.matches(criteria))
        best = choice
    }
    return (best ?? choices[0])?.baseUrl
  }
}

function toSelector(config: Readonly<Record<string, unknown>>): Selector {
  const name = String(config['selectorClass'] ?? '').replace(/^.*\./, '')
  switch (name) {
    case '':
      return () => true
    case 'ByApplicationServiceSelector': {
      const pattern = parseJavaPattern(String(config['applicationPattern'] ?? ''))
      return ({ application }) => application !== undefined && pattern.test(application)
    }
    case 'ByUserServiceSelector': {
      const patterns = Object.values(
        (config['users'] as Record<string, unknown> | undefined) ?? {},
      ).map((text) => parseJavaPattern(String(text)))
      return ({ user }) => user !== undefined && patterns.some((pattern) => pattern.test(user))
    }
    case 'ByOriginServiceSelector': {
      const types = toList(config['executionTypes'], ['pipeline', 'orchestration'])
      return ({ origin, executionType }) =>
        origin === config['origin'] && executionType !== undefined && types.includes(executionType)
    }
    case 'ByExecutionTypeServiceSelector': {
      const types = toList(config['executionTypes'], ['pipeline', 'orchestration'])
      return ({ executionType }) => executionType !== undefined && types.includes(executionType)
    }
    case 'ByUserOriginSelector':
      return ({ origin }) => origin === config['origin']
    case 'ByLocationServiceSelector': {
      const locations = toList(config['locations'], [])
      return ({ location }) => location !== undefined && locations.includes(location.toLowerCase())
    }
    case 'ByAccountServiceSelector':
    case 'ByCloudProviderServiceSelector':
      // The gateway never knows these, so such an instance is only ever the first of the list.
      return () => false
    default:
      throw new Error(`the selector "${name}" is not known`)
  }
}

/** A list, a comma-separated text, or a map with numeric keys, as properties files make it; lower case. */
function toList(value: unknown, missing: readonly string[]): readonly string[] {
  if (value === undefined || value === null) return missing
  const entries = typeof value === 'object' ? Object.values(value) : String(value).split(',')
  return entries.map((entry) => String(entry).trim().toLowerCase())
}
