/** Reads of an application, of its server groups, pipelines and their runs, each made once for all that show it. */
import { hasActive, isComplete } from '../model/execution.ts'
import type { Schemas } from './client.ts'
import { type Answer, type LiveOptions, useLive } from './live.ts'
import { applicationEvents } from './streams.ts'

/** @param application Undefined reads nothing. */
export function useAttributes(application: string | undefined) {
  return useLive(
    '/applications/{application}',
    application === undefined ? undefined : { path: { application }, query: { expand: false } },
    { refresh: 'slow', events: 'definitions' },
  )
}

export function usePipelines(application: string | undefined) {
  return useLive(
    '/applications/{application}/pipelineConfigs',
    application === undefined ? undefined : { path: { application } },
    { events: 'definitions' },
  )
}

/** What the server doubts of all that an application has. */
export function useFindings(application: string) {
  return useLive(
    '/applications/{application}/findings',
    { path: { application } },
    { refresh: 'slow', events: 'definitions' },
  )
}

/** Findings of a pipeline among those of its application. */
export function findingsIn(
  found: readonly Schemas['FindingsOfDefinition'][] | undefined,
  id: string | undefined,
): readonly Schemas['Finding'][] {
  return found?.find((each) => each.kind === 'pipeline' && each.id === id)?.findings ?? []
}

const groupsPath = '/applications/{applicationName}/serverGroups'

/** @param clusters `account:cluster`, comma-separated; undefined reads all of the application */
export function useServerGroups(
  applicationName: string | undefined,
  clusters?: string,
  options: LiveOptions<Answer<typeof groupsPath>> = {},
) {
  const query = clusters === undefined ? {} : { clusters }
  return useLive(
    groupsPath,
    applicationName === undefined ? undefined : { path: { applicationName }, query },
    { ...options, events: 'infrastructure' },
  )
}

/**
 * The newest runs of pipelines.
 *
 * @param ids Separated by commas; none reads nothing
 * @param application Whose changes are followed; without it they are read once
 */
export function useRunsOf(ids: string | null | undefined, limit: number, application?: string) {
  return useLive(
    '/executions',
    ids ? { query: { pipelineConfigIds: ids, limit, expand: false } } : undefined,
    application === undefined
      ? 'open'
      : {
          refresh: 'live',
          isBusy: hasActive,
          events: applicationEvents(application, 'executions'),
        },
  )
}

/** A run, also while it goes on. @param id Undefined reads nothing. */
export function useRun(id: string | undefined) {
  return useLive('/pipelines/{id}', id === undefined ? undefined : { path: { id } }, {
    refresh: 'live',
    isBusy: ({ status }) => !isComplete(status),
  })
}

/** The newest revisions of a pipeline. @param id Undefined reads nothing. */
export function useRevisions(id: string | undefined, limit: number) {
  return useLive(
    '/pipelineConfigs/{pipelineConfigId}/history',
    id === undefined ? undefined : { path: { pipelineConfigId: id }, query: { limit } },
    'open',
  )
}
