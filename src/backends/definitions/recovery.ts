/** Recovery of a deleted definition from its history, for administrators. */
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { describeChoice } from '../../names/edit-distance.ts'
import { foldName } from '../stores/document-store.ts'
import { checkAdministrator } from './authorization.ts'
import { collectionOfKind, type Definitions, kinds } from './collections.ts'
import { checkBody, missingDefinition, refusal } from './requests.ts'

const RecoverFields = z.looseObject({ objectType: z.string(), objectId: z.string() })

export function recoveryRoutes(app: FastifyInstance, definitions: Definitions): void {
  app.post('/admin/recover', async (request) => {
    checkAdministrator(request)
    const { objectType, objectId } = checkBody(RecoverFields, request.body)
    const collection = collectionOfKind(objectType)
    if (collection === undefined) throw refusal(describeChoice(objectType, 'a type of objects', kinds))
    const store = definitions[collection]
    const key = foldName(objectId)
    definitions.write(() => {
      if (store.has(key)) return
      store.revive(key)
      const revived = store.get(key)
      if (revived === undefined) throw missingDefinition(`version of ${objectType} "${objectId}" to recover`)
      // The name may have been given to another one since.
      const { name, application } = revived as { name?: string; application?: string }
      const namesakes = store.named(name ?? '', application)
      if (namesakes.length > 1) throw refusal(`The name "${name}" is taken: rename the other ${objectType} first.`)
    })
  })
}
