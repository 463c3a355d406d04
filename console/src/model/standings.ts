/** How applications stand, by their server groups. */
import { applicationOf, toDeployed } from './deployments.ts'
import { type ServerGroup, toRollBack } from './server-groups.ts'

export interface Standing {
  readonly up: number
  readonly total: number
  /** A server group can go back to another one. */
  readonly canRollBack: boolean
}

export function standingsOf(
  groups: readonly ServerGroup[],
  applications: readonly string[],
): ReadonlyMap<string, Standing> {
  const deployed = toDeployed(groups, ({ account }) => account ?? '')
  return new Map(
    applications.map((name) => {
      const key = name.toLowerCase()
      const cells = [...(deployed.get(key)?.values() ?? [])]
      const sum = (of: 'up' | 'total') => cells.reduce((all, cell) => all + cell[of], 0)
      const own = groups.filter((group) => applicationOf(group) === key)
      return [name, { up: sum('up'), total: sum('total'), canRollBack: toRollBack(own).length > 0 }]
    }),
  )
}
