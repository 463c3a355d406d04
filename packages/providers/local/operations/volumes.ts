/** deleteVolumes. */
import { parseMoniker } from '@fairlead/base/names/moniker.ts'
import { defineOperation, type LocalOperations, optionalTextPart, placeOf } from './parts.ts'

const deleteVolumes = defineOperation({
  fields: { cluster: optionalTextPart, region: optionalTextPart },
  resources: ({ fields: { cluster } }) => [cluster],
  check: ({ fields: { cluster } }) => [cluster === undefined && 'cluster: it is missing.'],
  run: async (running) => {
    const { fields, desired, volumes, run } = running
    const { account, region } = placeOf(running)
    const cluster = fields.cluster ?? ''
    const isHere = (one: { readonly account: string; readonly region: string }, name: string) =>
      one.account === account.name &&
      one.region === region.name &&
      parseMoniker(name).cluster === cluster
    const users = [...desired.all('instances')].filter((one) => isHere(one, one.program.startedFor))
    if (users.length > 0)
      throw new Error(`Instances of ${cluster} run, which may use its volumes. Stop them first.`)
    run.note(`Deleting the volumes of ${cluster}, and their backups.`)
    await volumes.remove({ account: account.name, region: region.name, name: cluster })
  },
})

export const localVolumeOperations: LocalOperations = { deleteVolumes }
