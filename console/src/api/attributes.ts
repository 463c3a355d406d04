/** Attributes of an application, read once for all that shows them. */
import { useLive } from './live.ts'
import { applicationEvents } from './streams.ts'

export function useAttributes(application: string) {
  return useLive(
    '/applications/{application}',
    { path: { application }, query: { expand: false } },
    { refresh: 'slow', events: applicationEvents(application, 'definitions') },
  )
}
