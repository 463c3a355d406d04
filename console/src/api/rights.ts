/** What the user may do, asked of the API; unknown counts as allowed, because the API decides again when it is done. */
import { useLive } from './live.ts'

export interface Right {
  readonly allowed: boolean
  /** Why not, in the words of the API. */
  readonly reason: string | undefined
}

interface Question {
  /** Method and path, such as `POST /pipelines`. */
  readonly operation: string
  readonly application?: string
  readonly account?: string
}

export function useRight(question: Question | undefined): Right {
  const query = question && { operation: question.operation, application: question.application, account: question.account }
  const { body } = useLive('/auth/explain', query && { query }, { refresh: 'rare' }).reading.value
  if (body?.decision !== 'denied') return { allowed: true, reason: undefined }
  const missing = body.reasons.find(({ allowed }) => !allowed)
  return { allowed: false, reason: missing === undefined ? body.demands : `${missing.need}: ${missing.rule}` }
}

export const startOperation = 'POST /pipelines/{application}/{pipelineName}'
export const saveOperation = 'POST /pipelines'
export const changeOperation = 'POST /applications/{application}/tasks'
