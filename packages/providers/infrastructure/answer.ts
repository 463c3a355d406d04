/** Answers of routes: rights of the path first, and again once lists are loaded that were found missing. */
import { PortError } from '@fairlead/base/port-error.ts'
import { pathValue } from '@fairlead/ports/requests/request-values.ts'
import {
  type Asked,
  accessOf,
  checkReadable,
  type EmbeddedInfrastructure,
  type InfrastructureRoute,
} from './route.ts'

/** @returns what the route answers with @throws {PortError} */
export async function answer(
  { method, reads = [], answer }: Pick<InfrastructureRoute, 'method' | 'reads' | 'answer'>,
  asked: Asked,
  infrastructure: EmbeddedInfrastructure,
): Promise<unknown> {
  if (reads.length > 0) {
    const access = await accessOf(asked, infrastructure)
    for (const kind of reads) checkReadable(access, pathValue(asked, kind), kind)
  }
  return answerWhenLoaded(() => answer(asked, infrastructure), { method, infrastructure })
}

/** Lists that depend on others are found missing one after the other. */
const maxRounds = 4

/** Makes an answer again once lists are loaded that it has found missing, with effects only if nothing was found. */
async function answerWhenLoaded(
  answer: () => unknown,
  {
    method,
    infrastructure: { providers },
  }: Pick<InfrastructureRoute, 'method'> & { readonly infrastructure: EmbeddedInfrastructure },
): Promise<unknown> {
  for (let round = 1; ; round++) {
    const reads = providers.flatMap((provider) => provider.trackReads?.() ?? [])
    const outcome = await attempt(answer)
    const isRepeatable = method === 'GET' || (outcome.kind === 'failed' && isMissing(outcome.error))
    const loading =
      isRepeatable && round < maxRounds ? reads.flatMap((missing) => missing() ?? []) : []
    if (loading.length > 0) await Promise.all(loading)
    else if (outcome.kind === 'failed') throw outcome.error
    else return outcome.body
  }
}

type AnswerOutcome =
  | { readonly kind: 'answered'; readonly body: unknown }
  | { readonly kind: 'failed'; readonly error: unknown }

async function attempt(answer: () => unknown): Promise<AnswerOutcome> {
  try {
    return { kind: 'answered', body: await answer() }
  } catch (error) {
    return { kind: 'failed', error }
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof PortError && error.status === 404
}
