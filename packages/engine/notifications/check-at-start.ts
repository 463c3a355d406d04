/** Search for stored notifications that nothing delivers, for the log at the start. */
import { textOf } from '@fairlead/base/json/values.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import { itself } from '@fairlead/ports/caller.ts'
import { describeUndeliveredTypes, typesOfDefinition, typesOfRecord } from './warnings.ts'

const mostNamed = 5

/** Logs a line for each kind, with some of the places that name it. */
export async function logUndelivered(context: BackendContext): Promise<void> {
  const { types } = context.settings.notifications
  const found = Map.groupBy(await readPlaces(context), ({ type }) => type.toLowerCase())
  for (const [type, places] of found) {
    const [problem] = describeUndeliveredTypes([type], types)
    if (problem === undefined) continue
    const names = [...new Set(places.map(({ place }) => place))]
    context.log.warn({ problem, count: names.length, examples: names.slice(0, mostNamed) }, 'notifications are not delivered')
  }
}

interface Place {
  readonly type: string
  readonly place: string
}

async function readPlaces({ ports: { definitions } }: BackendContext): Promise<Place[]> {
  const records = await definitions.notifications(itself)
  const pipelines = await definitions.pipelines(itself)
  return [
    ...records.flatMap((record) =>
      typesOfRecord(record).map((type) => ({ type, place: `application ${textOf(record['application']) ?? 'global'}` })),
    ),
    ...pipelines.flatMap((pipeline) =>
      typesOfDefinition(pipeline).map((type) => ({
        type,
        place: `pipeline ${textOf(pipeline['name']) ?? ''} of ${textOf(pipeline['application']) ?? ''}`,
      })),
    ),
  ]
}
