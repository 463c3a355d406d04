/** Attributes of an application, read once for all that shows them. */
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
