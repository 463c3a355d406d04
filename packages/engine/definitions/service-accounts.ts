/** Service accounts: names with roles under which triggers run pipelines. */

import type { JsonObject } from '@fairlead/base/json/values.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { anonymous } from '@fairlead/ports/caller.ts'
import { checkBody } from '@fairlead/ports/requests/check-body.ts'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { checkAdministrator, writerOf } from './authorization.ts'
import type { Definitions } from './collections.ts'
import { keyIn, nameText, refusal, sendAll, storedAt } from './requests.ts'
import { refreshRoles } from './role-refresh.ts'

const ServiceAccountFields = z.looseObject({
  name: nameText,
  memberOf: z.array(nameText).nullish(),
})

export function serviceAccountRoutes(app: FastifyInstance, definitions: Definitions): void {
  const { serviceAccounts, context } = definitions

  app.get('/serviceAccounts', (_request, reply) => sendAll(reply, serviceAccounts))

  app.get('/serviceAccounts/tokenEligible', () =>
    context.settings.serviceAccounts
      .filter(({ name }) => name.trim() !== '')
      .map(({ name, memberOf }) => ({ name, memberOf: [...memberOf] })),
  )

  app.post('/serviceAccounts', async (request) => {
    const writer = await writerOf(definitions, request)
    checkAdministrator(writer)
    const body = checkBody(ServiceAccountFields, request.body)
    const key = foldName(body.name)
    if (key === '') throw refusal('A service account needs a name.')
    const before = serviceAccounts.get(key)
    const account = { ...body, memberOf: body.memberOf ?? [] }
    const stored = definitions.write(() => serviceAccounts.put(key, account, writer.user))
    await refreshRoles(definitions, [...rolesOf(before), ...account.memberOf])
    return stored
  })

  app.delete('/serviceAccounts/:name', async (request) => {
    checkAdministrator(await writerOf(definitions, request))
    const key = keyIn(request, 'name')
    const before = storedAt(request, 'name', serviceAccounts, 'service account')
    definitions.write(() => serviceAccounts.remove(key))
    await refreshRoles(definitions, rolesOf(before))
  })
}

/** Writes the configured accounts into the store; the configuration wins over what is stored. */
export function saveConfiguredAccounts(definitions: Definitions): void {
  const { serviceAccounts, context } = definitions
  definitions.write(() => {
    for (const { name, memberOf } of context.settings.serviceAccounts) {
      const key = foldName(name)
      if (key === '') continue
      const stored = serviceAccounts.get(key)
      const isCurrent = stored !== undefined && rolesOf(stored).join('\n') === memberOf.join('\n')
      if (!isCurrent)
        serviceAccounts.put(key, { ...stored, name, memberOf: [...memberOf] }, anonymous)
    }
  })
}

function rolesOf(account: JsonObject | undefined): string[] {
  return account === undefined ? [] : (account['memberOf'] as string[])
}
