/** Entries of containers that a server-side apply refuses, because it tells them apart by a key. */
import { fieldAt, type JsonObject, objectsOf, textOf } from '@fairlead/base/json/values.ts'
import { podSpecOf } from './references.ts'

/** A sentence for each key that several entries of a container share. */
export function describeDuplicates(manifest: JsonObject): string[] {
  const spec = podSpecOf(manifest)
  return ['initContainers', 'containers'].flatMap((list) =>
    objectsOf(fieldAt(spec, list)).flatMap((container) => {
      const name = textOf(container['name']) ?? ''
      const variables = objectsOf(container['env']).map((each) => String(each['name']))
      const ports = objectsOf(container['ports']).map(
        ({ containerPort, protocol = 'TCP' }) => `${String(containerPort)}/${String(protocol)}`,
      )
      return [
        ...repeated(variables).map(
          (variable) =>
            `the container ${name} sets the variable ${variable} more than once; the last value counts`,
        ),
        ...repeated(ports).map(
          (port) => `the container ${name} lists the port ${port} more than once`,
        ),
      ]
    }),
  )
}

function repeated(values: readonly string[]): string[] {
  return [...new Set(values.filter((value, index) => values.indexOf(value) !== index))]
}
