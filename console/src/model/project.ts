/** Parts of a project: its applications, the clusters that it shows of them, and pipelines. */
import type { Schemas } from '../api/client.ts'
import { accountOf, type ServerGroup } from './server-groups.ts'

export type Project = Schemas['Project']
/** A line of the page: the clusters of an account, of some or all applications. */
export type ClusterRule = Schemas['ProjectClusterRule']

/** Lists may be absent. */
export function partsOf({ config }: Pick<Project, 'config'>) {
  const { applications, clusters, pipelineConfigs } = config ?? {}
  return { applications: applications ?? [], clusters: clusters ?? [], pipelines: pipelineConfigs ?? [] }
}

/** Without rules, all of its applications belong to it. */
export function isOfProject(group: ServerGroup, rules: readonly ClusterRule[]): boolean {
  const { stack, detail, app } = group.moniker ?? {}
  const fits = (wanted: string | null | undefined, value: string | null | undefined) =>
    wanted === '*' || (wanted ?? '') === (value ?? '')
  const isOf = (rule: ClusterRule) =>
    rule.account === accountOf(group) &&
    fits(rule.stack, stack) &&
    fits(rule.detail, detail) &&
    (!rule.applications?.length || rule.applications.includes(group.application ?? app ?? ''))
  return rules.length === 0 || rules.some(isOf)
}
