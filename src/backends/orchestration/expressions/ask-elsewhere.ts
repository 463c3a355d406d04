/** Questions of expressions to outside addresses and to the definition store. */
import { pathTo } from '../../../http/encode-path.ts'
import { objectsOf, textOf } from '../../../json/values.ts'
import { describeMissing } from '../../rights/access.ts'
import type { EngineOptions } from '../engine-parts.ts'
import { identityHeaders } from '../identity.ts'
import type { ExecutionPlace } from '../model.ts'
import type { Question } from './answers.ts'

/** @param headersOf Identity of the user who asks. @returns what rejects with a message for the author of the pipeline */
export function askElsewhere(
  options: Pick<EngineOptions, 'call' | 'callOutside' | 'accessOf' | 'judges'>,
  headersOf: (place: ExecutionPlace) => Record<string, string> = identityHeaders,
): (question: Question, place: ExecutionPlace) => Promise<unknown> {
  return (question, place) =>
    question.kind === 'address' ? textAt(question.url, options) : idsOf(question.application, headersOf(place), options)
}

/** Within the restrictions that hold for webhooks, too. */
async function textAt(url: string, { callOutside }: Pick<EngineOptions, 'callOutside'>): Promise<string> {
  const { status, text } = await callOutside({ method: 'GET', url, headers: {}, body: undefined })
  if (status >= 200 && status < 300) return text
  const hint = status >= 300 && status < 400 ? '; redirects are not followed' : ''
  throw new Error(`${new URL(url).host} answered with status ${status}${hint}.`)
}

async function idsOf(
  application: string,
  headers: Record<string, string>,
  { call, accessOf, judges }: Pick<EngineOptions, 'call' | 'accessOf' | 'judges'>,
): Promise<ReadonlyMap<string, string>> {
  if (judges) {
    const access = await accessOf(headers['x-spinnaker-user'])
    if (!access.mayOnApplication(application, 'READ')) throw new Error(describeMissing(access, 'READ', application))
  }
  const { status, body } = await call('front50', { method: 'GET', path: pathTo`/pipelines/${application}`, headers })
  if (status !== 200 && status !== 404) throw new Error(`The definition store answered with status ${status}.`)
  return new Map(objectsOf(body).map(({ id, name }) => [textOf(name) ?? '', textOf(id) ?? '']))
}
