/** A project as the console shows and edits it: malformed parts are left out, and unknown ones survive. */
import type { Schemas } from '../api/client.ts'
import { objectOf, objectsOf, textOf, textsOf } from './read.ts'
import { accountOf, type ServerGroup } from './server-groups.ts'

export type Project = Schemas['Project']

/** A line of the page: the clusters of an account, of some or all applications. */
export interface ClusterRule {
  readonly account: string
  /** `*` for all, empty for none. */
  readonly stack: string
  readonly detail: string
  /** Empty: all of the project. */
  readonly applications: readonly string[]
}

export interface ProjectDraft {
  readonly name: string
  readonly email: string
  readonly applications: readonly string[]
  readonly clusters: readonly ClusterRule[]
  /** Ids of pipelines, with the application of each. */
  readonly pipelines: readonly { readonly application: string; readonly id: string }[]
}

export function toProjectDraft(project: Project | undefined): ProjectDraft {
  const config = objectOf(project?.config)
  return {
    name: project?.name ?? '',
    email: project?.email ?? '',
    applications: textsOf(config['applications']),
    clusters: objectsOf(config['clusters']).map((cluster) => ({
      account: textOf(cluster['account']) ?? '',
      stack: textOf(cluster['stack']) ?? '',
      detail: textOf(cluster['detail']) ?? '',
      applications: textsOf(cluster['applications']),
    })),
    pipelines: objectsOf(config['pipelineConfigs']).flatMap((pipeline) => {
      const id = textOf(pipeline['pipelineConfigId'])
      return id === undefined ? [] : [{ application: textOf(pipeline['application']) ?? '', id }]
    }),
  }
}

/** What is stored: pipelines and clusters of applications that the project has no more are left out. */
export function toProject(draft: ProjectDraft, before: Project | undefined): Project {
  const { applications } = draft
  const isMember = (application: string) => applications.includes(application)
  return {
    ...before,
    name: draft.name.trim(),
    email: draft.email.trim(),
    config: {
      ...before?.config,
      applications: [...applications],
      clusters: draft.clusters.map(({ account, stack, detail, applications: own }) => ({
        account,
        stack,
        detail,
        applications: own.filter(isMember),
      })),
      pipelineConfigs: draft.pipelines.flatMap(({ application, id }) =>
        isMember(application) ? [{ application, pipelineConfigId: id }] : [],
      ),
    },
  }
}

/** Without rules, all of its applications belong to it. */
export function isOfProject(group: ServerGroup, rules: readonly ClusterRule[]): boolean {
  const { stack, detail } = group.moniker ?? {}
  const fits = (wanted: string, value: string | null | undefined) => wanted === '*' || wanted === (value ?? '')
  const isOf = (rule: ClusterRule) =>
    rule.account === accountOf(group) &&
    fits(rule.stack, stack) &&
    fits(rule.detail, detail) &&
    (rule.applications.length === 0 || rule.applications.includes(group.application ?? group.moniker?.app ?? ''))
  return rules.length === 0 || rules.some(isOf)
}
