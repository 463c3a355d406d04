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
  const { isBounded = false } = asked
  const account = pathValue(asked, 'account')
  const made = answerWhenLoaded(() => answer(asked, infrastructure), {
    method,
    isBounded,
    infrastructure,
  }).catch((error: unknown) => {
    throw isMissing(error) ? (awayOf(account, infrastructure) ?? error) : error
  })
  if (!isBounded || method !== 'GET' || account === '') return made
  return infrastructure.providers.reduce(
    (asked, provider) => provider.bounded?.(account, asked) ?? asked,
    made,
  )
}

/** What is missing in the last state of an account may be there. */
function awayOf(account: string, { providers }: EmbeddedInfrastructure): PortError | undefined {
  for (const provider of providers) {
    const absence = provider.absences?.().get(account)
    if (absence === undefined) continue
    const since = new Date(absence.sinceMs).toISOString()
    const text = `The account ${account} has not answered since ${since}: ${absence.reason}. Its last state has nothing of that name.`
    return new PortError(503, text)
  }
  return undefined
}

/** Lists that depend on others are found missing one after the other. */
const maxRounds = 4

/** Makes an answer again once lists are loaded that it has found missing, with effects only if nothing was found. */
async function answerWhenLoaded(
  answer: () => unknown,
  {
    method,
    isBounded,
    infrastructure: { providers },
  }: Pick<InfrastructureRoute, 'method'> & {
    readonly isBounded: boolean
    readonly infrastructure: EmbeddedInfrastructure
  },
): Promise<unknown> {
  for (let round = 1; ; round++) {
    const reads = providers.flatMap((provider) => provider.trackReads?.() ?? [])
    const outcome = await attempt(answer)
    const isRepeatable = method === 'GET' || (outcome.kind === 'failed' && isMissing(outcome.error))
    const loading =
      isRepeatable && round < maxRounds ? reads.flatMap((missing) => missing(isBounded) ?? []) : []
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
