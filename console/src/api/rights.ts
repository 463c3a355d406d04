/** What the user may do, asked of the API; unknown counts as allowed, because the API decides again when it is done. */
import { signal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import { type ApiError, client, type Schemas } from './client.ts'
import { useLive } from './live.ts'
import { useAttributes } from './pipelines.ts'
import { user } from './session.ts'

interface RightQuestion {
  /** Method and path, such as `POST /pipelines`. */
  readonly operation: string
  readonly application?: string
  readonly account?: string
}

export const readOperation = 'GET /applications/{application}'
export const startOperation = 'POST /pipelines/{application}/{pipelineName}'
export const saveOperation = 'POST /pipelines'
export const changeOperation = 'POST /applications/{application}/tasks'
/** What is filed under it needs what its jobs need. */
export const taskOperation = 'POST /tasks'
export const judgeOperation = 'PATCH /pipelines/{id}/stages/{stageId}'

/** The reason of what was denied and pressed nevertheless, which the page shows. */
export const pressedDenied = signal<string | undefined>(undefined)

/** Questions by the sentence that answers them, so that whatever shows the sentence can lead to the rules behind it. */
const questions = new Map<string, RightQuestion>()

export function questionBehind(reason: string): RightQuestion | undefined {
  return questions.get(reason)
}

/** Why the user may not do it: what it needs, and whom to ask. @param application Undefined asks nothing. */
export function useDenial(
  operation: string,
  application: string | undefined,
  account?: string,
): string | undefined {
  const question = application === undefined ? undefined : { operation, application, account }
  const { body } = useLive('/auth/explain', question && { query: question }, 'rare')
  const isDenied = body?.decision === 'denied'
  const owner = useOwner(isDenied ? application : undefined)
  return isDenied
    ? denialOf(question, body.reasons.find(({ allowed }) => !allowed)?.need ?? body.demands, owner)
    : undefined
}

export function useStartDenial({ application, disabled }: Schemas['Pipeline']): string | undefined {
  const reason = useDenial(startOperation, application)
  return disabled === true ? 'The pipeline is disabled.' : reason
}

/** Most that a request takes. */
export const mostQuestions = 50

/** Whether the user may do it in each of these applications; those of which it is not known yet are missing. */
export function useAllowed(
  operation: string,
  applications: readonly string[],
): ReadonlyMap<string, boolean> {
  const names = [...new Set(applications)].sort()
  const [allowed, setAllowed] = useState<ReadonlyMap<string, boolean>>(new Map())
  const keyOf = (name: string) => [user.value?.username, operation, name].join('\n')
  const unknown = names.filter((name) => !allowed.has(keyOf(name))).slice(0, mostQuestions)
  const key = unknown.join('\n')
  useEffect(() => {
    if (key === '') return
    const questions = unknown.map((application) => ({ operation, application }))
    let isCurrent = true
    const ask = async () => {
      const answer = await client
        .POST('/auth/explain', { body: { questions } })
        .catch(() => undefined)
      const found = unknown.map(
        (name, at) => [keyOf(name), answer?.explanations[at]?.decision !== 'denied'] as const,
      )
      if (isCurrent) setAllowed((before) => new Map([...before, ...found]))
    }
    void ask()
    return () => {
      isCurrent = false
    }
  }, [operation, key, user.value?.username])
  return new Map(
    names.flatMap((name) =>
      allowed.has(keyOf(name)) ? [[name, allowed.get(keyOf(name)) === true]] : [],
    ),
  )
}

const operationsBehind = new Map([
  ['READ', readOperation],
  ['EXECUTE', startOperation],
  ['WRITE', changeOperation],
])

/** Why a call was refused, if for a missing right. Undefined where the server says it in other words. */
export function useRefusal({ status, message }: ApiError): string | undefined {
  const pattern = /it needs (an [a-z ]+|(READ|EXECUTE|WRITE) on the application (\S+?)|.+?)\. /
  const [, need, authorization = '', application] =
    (status === 403 ? pattern.exec(message) : null) ?? []
  const operation = operationsBehind.get(authorization)
  const owner = useOwner(authorization === 'READ' ? undefined : application)
  return need === undefined
    ? undefined
    : denialOf(operation === undefined ? undefined : { operation, application }, need, owner)
}

function useOwner(application: string | undefined) {
  const email = useAttributes(application).body?.attributes.email
  return email ? `${email}, the owner` : 'an owner'
}

const verbs: Readonly<Record<string, string>> = {
  [readOperation]: 'read',
  [startOperation]: 'start pipelines of',
  [saveOperation]: 'save pipelines of',
  [changeOperation]: 'change',
}

/** @param need Such as "EXECUTE on the application web". */
function denialOf(question: RightQuestion | undefined, need: string, owner: string) {
  const { operation = '', application } = question ?? {}
  const verb = application === undefined ? undefined : verbs[operation]
  const what = verb === undefined ? 'do this' : `${verb} ${application}`
  const [authorization = need, other] = need.split(` on the application ${application}`)
  const whom = other === '' ? `${owner} of ${application}` : 'an administrator'
  const reason =
    need === 'an administrator'
      ? 'Only administrators may do this.'
      : `You may not ${what}: this needs ${other === '' ? authorization : need}. Ask ${whom}.`
  if (question !== undefined) questions.set(reason, question)
  return reason
}
