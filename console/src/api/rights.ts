/** What the user may do, asked of the API; unknown counts as allowed, because the API decides again when it is done. */
import { signal } from '@preact/signals'
import type { ApiError } from './api-error.ts'
import { useAttributes } from './attributes.ts'
import { useLive } from './live.ts'

export interface Right {
  readonly allowed: boolean
  /** Why not: what it needs, and whom to ask. */
  readonly reason: string | undefined
}

export interface RightQuestion {
  /** Method and path, such as `POST /pipelines`. */
  readonly operation: string
  readonly application?: string | undefined
  readonly account?: string | undefined
}

export const readOperation = 'GET /applications/{application}'
export const startOperation = 'POST /pipelines/{application}/{pipelineName}'
export const saveOperation = 'POST /pipelines'
export const changeOperation = 'POST /applications/{application}/tasks'

/** The reason of what was denied and pressed nevertheless, which the page shows. */
export const pressedDenied = signal<string | undefined>(undefined)

/** Questions by the sentence that answers them, so that whatever shows the sentence can lead to the rules behind it. */
const questions = new Map<string, RightQuestion>()

export function questionBehind(reason: string): RightQuestion | undefined {
  return questions.get(reason)
}

export function useRight(question: RightQuestion | undefined): Right {
  const query = question && { operation: question.operation, application: question.application, account: question.account }
  const { body } = useLive('/auth/explain', query && { query }, { refresh: 'rare' }).reading.value
  const isDenied = body?.decision === 'denied'
  const owner = useOwner(isDenied ? question?.application : undefined)
  if (!isDenied || question === undefined) return { allowed: true, reason: undefined }
  const need = body.reasons.find(({ allowed }) => !allowed)?.need ?? body.demands
  return { allowed: false, reason: denialOf(question, need, owner) }
}

/** Of a call that was refused for a missing right. Undefined where the server says it in other words. */
export function useRefusal({ status, message }: ApiError): string | undefined {
  const found =
    status === 403 ? /it needs (an [a-z ]+|(READ|EXECUTE|WRITE) on the application (\S+?)|.+?)\. /.exec(message) : null
  const [, need, authorization, application] = found ?? []
  const operations = { READ: readOperation, EXECUTE: startOperation, WRITE: changeOperation }
  const operation = operations[authorization as keyof typeof operations] as string | undefined
  const owner = useOwner(authorization === 'READ' ? undefined : application)
  return need === undefined ? undefined : denialOf(operation === undefined ? undefined : { operation, application }, need, owner)
}

function useOwner(application: string | undefined): string | undefined {
  return useAttributes(application).reading.value.body?.attributes.email || undefined
}

const verbs: Readonly<Record<string, (application: string) => string>> = {
  [readOperation]: (application) => `read ${application}`,
  [startOperation]: (application) => `start pipelines of ${application}`,
  [saveOperation]: (application) => `save pipelines of ${application}`,
  [changeOperation]: (application) => `change ${application}`,
}

/** @param need Such as "EXECUTE on the application web". */
function denialOf(question: RightQuestion | undefined, need: string, owner: string | undefined): string {
  const { operation = '', application } = question ?? {}
  const what = (application !== undefined && verbs[operation]?.(application)) || 'do this'
  const ofApplication = ` on the application ${application}`
  const isOfApplication = application !== undefined && need.endsWith(ofApplication)
  const whom = !isOfApplication
    ? 'Ask an administrator.'
    : `Ask ${owner === undefined ? 'an owner' : `${owner}, the owner`} of ${application}.`
  const reason =
    need === 'an administrator'
      ? 'Only administrators may do this.'
      : `You may not ${what}: this needs ${isOfApplication ? need.slice(0, -ofApplication.length) : need}. ${whom}`
  if (question !== undefined) questions.set(reason, question)
  return reason
}
