/** Reads of pipelines and of their runs. */
import { hasActive } from '../model/execution.ts'
import { useLive } from './live.ts'
import { applicationEvents } from './streams.ts'

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
