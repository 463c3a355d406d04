/** Bakes of a Rosco. */
import { fieldOf, isObject, textOf, textsOf } from '@fairlead/base/json/values.ts'
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
    const [message] = textsOf(fieldOf(answer.body, 'messages'))
    throw message === undefined
      ? toPortError('rosco', answer)
      : new PortError(answer.status, message)
  }
  const ask = (what: string, { region, id }: BakePlace, as: Caller, expected?: readonly number[]) =>
    send({ method: 'GET', path: pathTo`/api/v1/${region}/${what}/${id}` }, as, expected)
  return {
    name: 'rosco',
    takesReferences: false,
    async baseImage({ provider, id }, as) {
      const image = await send(
        { method: 'GET', path: pathTo`/bakeOptions/${provider}/baseImages/${id}` },
        as,
      )
      return isObject(image) ? image : {}
    },
    async start(body, { region, isRebake }, as) {
      const path = pathTo`/api/v1/${region}/bake` + (isRebake ? '?rebake=1' : '')
      const status = toStatus(await send({ method: 'POST', path, body }, as))
      if (status === undefined)
        throw new PortError(500, 'The bakery accepted the bake and named no status id.')
      return status
    },
    status: async (bake, as) => toStatus(await ask('status', bake, as, [404]), bake.id),
    details: async (bake, as) => toBakeDetails(await ask('bake', bake, as)),
    log: async (bake, as) => textOf(fieldOf(await ask('logs', bake, as), 'logsContent')) ?? '',
    cancel: async (bake, as) => void (await ask('cancel', bake, as, [400, 404])),
    async bakeManifest(body, renderer, as) {
      const artifact = await send(
        { method: 'POST', path: pathTo`/api/v2/manifest/bake/${renderer}`, body },
        as,
      )
      if (isObject(artifact)) return artifact
      throw new PortError(500, 'The bakery returned no artifact.')
    },
  }
}

function toStatus(body: unknown, known?: string): BakeStatus | undefined {
  const id = textOf(fieldOf(body, 'id')) ?? known
  return isObject(body) && id !== undefined ? { ...body, id } : undefined
}
