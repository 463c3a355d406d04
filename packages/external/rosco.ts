/** Bakes of a Rosco. */
import { maybeObject, or, shape } from '@fairlead/base/json/shape.ts'
import { objectOf, textOf, textsOf } from '@fairlead/base/json/values.ts'
import { pathTo } from '@fairlead/base/net/encode-path.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import {
  type BakePlace,
  type Bakery,
  type BakeStatus,
  toBakeDetails,
} from '@fairlead/ports/bakery.ts'
import type { Caller } from '@fairlead/ports/caller.ts'
import type { CallService, ServiceCall } from '@fairlead/ports/service-call.ts'
import { toPortError } from './success.ts'

const toRefusal = shape({ messages: textsOf })
const toLog = shape({ logsContent: or(textOf, '') })
const toId = shape({ id: textOf })

export function openRosco(call: CallService): Bakery {
  /** @param expected Error statuses for which there is no body */
  const send = async (
    request: ServiceCall,
    { identity: headers }: Caller,
    expected: readonly number[] = [],
  ): Promise<unknown> => {
    const answer = await call('rosco', { ...request, headers })
    if (answer.status < 400) return answer.body
    if (expected.includes(answer.status)) return undefined
    const [message] = toRefusal(answer.body).messages
    throw message === undefined
      ? toPortError('rosco', answer)
      : new PortError(answer.status, message)
  }
  const ask = (what: string, { region, id }: BakePlace, as: Caller, expected?: readonly number[]) =>
    send({ method: 'GET', path: pathTo`/api/v1/${region}/${what}/${id}` }, as, expected)
  return {
    name: 'rosco',
    takesReferences: false,
    baseImage: async ({ provider, id }, as) =>
      objectOf(
        await send({ method: 'GET', path: pathTo`/bakeOptions/${provider}/baseImages/${id}` }, as),
      ),
    async start(body, { region, isRebake }, as) {
      const path = pathTo`/api/v1/${region}/bake` + (isRebake ? '?rebake=1' : '')
      const status = toStatus(await send({ method: 'POST', path, body }, as))
      if (status === undefined)
        throw new PortError(500, 'The bakery accepted the bake and named no status id.')
      return status
    },
    status: async (bake, as) => toStatus(await ask('status', bake, as, [404]), bake.id),
    details: async (bake, as) => toBakeDetails(await ask('bake', bake, as)),
    log: async (bake, as) => toLog(await ask('logs', bake, as)).logsContent,
    cancel: async (bake, as) => void (await ask('cancel', bake, as, [400, 404])),
    async bakeManifest(body, renderer, as) {
      const path = pathTo`/api/v2/manifest/bake/${renderer}`
      const artifact = maybeObject(await send({ method: 'POST', path, body }, as))
      if (artifact !== undefined) return artifact
      throw new PortError(500, 'The bakery returned no artifact.')
    },
  }
}

function toStatus(body: unknown, known?: string): BakeStatus | undefined {
  const status = maybeObject(body)
  const id = toId(status).id ?? known
  return status !== undefined && id !== undefined ? { ...status, id } : undefined
}
