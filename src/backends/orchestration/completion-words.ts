/** Words of pipeline triggers for the end of the pipeline that they follow. */
import type { Status } from './statuses.ts'

export const completionWords = ['successful', 'failed', 'canceled'] as const

export function completionWord(status: Status): (typeof completionWords)[number] {
  if (status === 'SUCCEEDED') return 'successful'
  return status === 'CANCELED' ? 'canceled' : 'failed'
}
