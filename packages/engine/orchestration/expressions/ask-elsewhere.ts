import { textOf } from '@fairlead/base/json/values.ts'
import { describeMissing } from '@fairlead/ports/access.ts'
import { toCaller } from '@fairlead/ports/caller.ts'
import type { EngineOptions } from '../engine-parts.ts'
import { identityHeaders } from '../identity.ts'
import type { ExecutionPlace } from '../model.ts'
import type { Question } from './answers.ts'

/** @param headersOf Identity of the user who asks. @returns what rejects with a message for the author of the pipeline */
export function askElsewhere(
  options: Pick<EngineOptions, 'ports' | 'callOutside' | 'accessOf' | 'judges'>,
  headersOf: (place: ExecutionPlace) => Record<string, string> = identityHeaders,
): (question: Question, place: ExecutionPlace) => Promise<unknown> {
  return (question, place) =>
    question.kind === 'address'
      ? textAt(question.url, options)
      : idsOf(question.application, headersOf(place), options)
}

/** Within the restrictions that hold for webhooks, too. */
async function textAt(
  url: string,
  { callOutside }: Pick<EngineOptions, 'callOutside'>,
): Promise<string> {
  const { status, text } = await callOutside({ method: 'GET', url, headers: {}, body: undefined })
  if (status >= 200 && status < 300) return text
  const hint = status >= 300 && status < 400 ? '; redirects are not followed' : ''
  throw new Error(`${new URL(url).host} answered with status ${status}${hint}.`)
}

async function idsOf(
  application: string,
  headers: Record<string, string>,
  { ports, accessOf, judges }: Pick<EngineOptions, 'ports' | 'accessOf' | 'judges'>,
): Promise<ReadonlyMap<string, string>> {
  if (judges) {
    const access = await accessOf(headers['x-spinnaker-user'])
    if (!access.mayOnApplication(application, 'READ'))
      throw new Error(describeMissing(access, 'READ', application))
  }
  const pipelines = await ports.definitions.pipelinesOf(application, toCaller(headers))
  return new Map(pipelines.map(({ id, name }) => [textOf(name) ?? '', textOf(id) ?? '']))
}
