/** Rights and roles of a Fiat. */
import { pathTo } from '@fairlead/base/net/encode-path.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { parsePermissionView } from '@fairlead/model/rights/permission-view.ts'
import type { Rights } from '@fairlead/ports/rights.ts'
import type { CallService, ServiceCall } from '@fairlead/ports/service-call.ts'
import { successOf } from './success.ts'

export function openFiat(call: CallService): Rights {
  const ask = async (request: ServiceCall) => {
    const answer = await call('fiat', request).catch((error: unknown) => {
      throw unavailable((error as Error).message)
    })
    if (answer.status >= 500) throw unavailable(`it answered ${answer.status}`)
    return answer
  }
  return {
    async viewOf(user) {
      const { status, body } = await ask({ method: 'GET', path: pathTo`/authorize/${user}` })
      if (status === 404) return undefined
      if (status !== 200) throw unavailable(`it answered ${status}`)
      try {
        return parsePermissionView(body, user)
      } catch {
        throw unavailable('its answer is no permission view')
      }
    },
    async mayCreateApplication(user, name) {
      const path = pathTo`/authorize/${user}/applications/create`
      return (await ask({ method: 'POST', path, body: { name } })).status < 300
    },
    async refreshRoles(roles) {
      successOf('fiat', await call('fiat', { method: 'POST', path: '/roles/sync', body: roles }))
    },
  }
}

function unavailable(reason: string): PortError {
  return new PortError(
    503,
    `The permission service cannot be asked: ${reason}. Nothing is allowed meanwhile; try again.`,
  )
}
