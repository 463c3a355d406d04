/** Reads of an application, of its pipelines and of their runs, each made once for all that show it. */
import { hasActive } from '../model/execution.ts'
import { useLive } from './live.ts'
import { applicationEvents } from './streams.ts'

/** @param application Undefined reads nothing. */
export function useAttributes(application: string | undefined) {
  return useLive(
    '/applications/{application}',
    application === undefined ? undefined : { path: { application }, query: { expand: false } },
    { refresh: 'slow', ...(application !== undefined && { events: applicationEvents(application, 'definitions') }) },
  )
}

export function usePipelines(application: string | undefined) {
  return useLive(
    '/applications/{application}/pipelineConfigs',
    application === undefined ? undefined : { path: { application } },
    { refresh: 'steady', ...(application !== undefined && { events: applicationEvents(application, 'definitions') }) },
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
      ? { refresh: 'open' }
      : { refresh: 'live', isBusy: hasActive, events: applicationEvents(application, 'executions') },
  )
}
