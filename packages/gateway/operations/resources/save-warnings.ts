/** Warnings of a service about a saved document: a header, which clients of Gate ignore. */
import { type JsonObject, listOf } from '@fairlead/base/json/values.ts'
import { toHeaderText } from '@fairlead/base/net/header-text.ts'
import type { ServiceName } from '@fairlead/base/services/services.ts'
import { DirectAnswer, type OperationRequest } from '../operation.ts'
import type { Platform } from '../platform.ts'

/** @param document `path` judges it @param answer To the request that saved it */
export async function withWarnings(
  request: OperationRequest,
  { upstreams }: Platform,
  { service, path, document }: { service: ServiceName; path: string; document: unknown },
  answer?: JsonObject,
): Promise<unknown> {
  if (!upstreams.traitsOf(service).warns) return answer
  const warnings = await request
    .json(service, { method: 'POST', path, body: document })
    .catch(() => [])
  const texts = listOf(warnings).map((each) => toHeaderText(String(each)))
  return texts.length === 0
    ? answer
    : new DirectAnswer(200, answer, { 'x-fairlead-warnings': texts.join(' ') })
}
