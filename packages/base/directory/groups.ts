/** Roles of a user from LDAP groups, direct and nested. */
import { type Filter, OrFilter } from 'ldapts'
import { leadingValue } from '../names/distinguished-name.ts'
import type { Entry, SearchRequest } from './connection.ts'
import { askInChain, fillFilter, parseFilterTemplate } from './filter-template.ts'
import type { DirectorySettings } from './settings.ts'

/** Levels of groups within groups, and groups altogether; beyond that something is wrong with the directory. */
const maxLevels = 10
const maxGroups = 5000
/** Groups whose parents are asked for at once. */
const batchSize = 50

export type DirectorySearch = (request: SearchRequest) => Promise<Entry[]>

export interface Groups {
  /** Names of roles, and whether there were more than could be read. */
  load(user: DirectoryUser, search: DirectorySearch): Promise<{ roles: string[]; cut: boolean }>
}

interface DirectoryUser {
  readonly dn: string
  readonly username: string
  readonly memberOf: readonly string[]
}

/**
 * @param toRole From the name of a group to that of the role
 * @throws {Error} when the filter of the settings is no filter
 */
export function createGroups(
  { groupSearch }: Pick<DirectorySettings, 'groupSearch'>,
  toRole: (name: string) => string = withoutPrefix,
): Groups {
  const toRoles = (names: readonly (string | undefined)[]) =>
    eachOnce(names.map((name) => toRole((name ?? '').trim())))
  if (groupSearch === undefined)
    return {
      load: async ({ memberOf }) => ({ roles: toRoles(memberOf.map(leadingValue)), cut: false }),
    }
  const { base, roleAttribute, nested } = groupSearch
  const parsed = parseFilterTemplate(groupSearch.filter)
  const template = nested === 'active-directory' ? askInChain(parsed) : parsed
  const request = (filter: Filter, maxEntries: number): SearchRequest => ({
    base,
    scope: 'sub',
    filter,
    attributes: [roleAttribute],
    maxEntries,
  })
  return {
    async load({ dn, username, memberOf }, search) {
      const found = new Map<string, Entry>()
      let members = [dn]
      for (let level = 0; members.length > 0 && level < maxLevels; level++) {
        const before = new Set(found.keys())
        for (let start = 0; start < members.length && found.size < maxGroups; start += batchSize) {
          const filters = members
            .slice(start, start + batchSize)
            .map((member) => fillFilter(template, [member, username]))
          const [only] = filters
          const filter =
            filters.length === 1 && only !== undefined ? only : new OrFilter({ filters })
          for (const entry of await search(request(filter, maxGroups)))
            found.set(entry.dn.toLowerCase(), entry)
        }
        if (nested !== 'recursive') members = []
        else members = [...found].filter(([key]) => !before.has(key)).map(([, entry]) => entry.dn)
      }
      const names = [...found.values()].flatMap((entry) => attributeValuesOf(entry, roleAttribute))
      return {
        roles: toRoles([...names, ...memberOf.map(leadingValue)]),
        cut: members.length > 0 || found.size >= maxGroups,
      }
    },
  }
}

/** The values of an attribute; directories write its name as they like. */
export function attributeValuesOf(entry: Entry, attribute: string): string[] {
  const wanted = attribute.toLowerCase()
  return Object.entries(entry)
    .filter(([name]) => name.toLowerCase() === wanted)
    .flatMap(([, value]) => value as string | Buffer | readonly (string | Buffer)[])
    .map((value) => value.toString())
}

/** Gate's name of a role at a login: without `ROLE_` in front. */
function withoutPrefix(name: string): string {
  return name.replace(/^role_/i, '')
}

function eachOnce(names: readonly string[]): string[] {
  return [...new Set(names.map((name) => name.toLowerCase()).filter((role) => role !== ''))].sort()
}
