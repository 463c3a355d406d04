/** Entries of pods that a server-side apply refuses, because it tells them apart by a key. */
import { fieldAt, type JsonObject, objectsOf, textOf } from '@fairlead/base/json/values.ts'
import { podSpecOf } from './references.ts'

type Row = readonly [list: string, keyOf: (entry: JsonObject) => string, says: string]

const byName = ({ name }: JsonObject) => String(name)

const ofContainers: readonly Row[] = [
  ['env', byName, 'sets the variable % more than once; the last value counts'],
  [
    'ports',
    ({ containerPort, protocol = 'TCP' }) => `${String(containerPort)}/${String(protocol)}`,
    'lists the port % more than once',
  ],
]
const ofPods: readonly Row[] = [
  ['imagePullSecrets', byName, 'names the pull secret % more than once'],
  ['hostAliases', ({ ip }) => String(ip), 'has aliases of the host % more than once'],
  [
    'topologySpreadConstraints',
    ({ topologyKey, whenUnsatisfiable }) => `${String(topologyKey)} ${String(whenUnsatisfiable)}`,
    'spreads by % more than once',
  ],
]

/** A sentence for each key that several entries of a container or pod share. */
export function describeDuplicates(manifest: JsonObject): string[] {
  const spec = podSpecOf(manifest)
  if (spec === undefined) return []
  const containers = ['initContainers', 'containers'].flatMap((list) =>
    objectsOf(fieldAt(spec, list)),
  )
  return [
    ...containers.flatMap((each) =>
      repeatedIn(each, ofContainers, `the container ${textOf(each['name']) ?? ''}`),
    ),
    ...repeatedIn(spec, ofPods, 'the pod'),
  ]
}

function repeatedIn(part: JsonObject, rows: readonly Row[], subject: string): string[] {
  return rows.flatMap(([list, keyOf, says]) => {
    const keys = objectsOf(part[list]).map(keyOf)
    const repeated = new Set(keys.filter((key, index) => keys.indexOf(key) !== index))
    return [...repeated].map((key) => `${subject} ${says.replace('%', () => key)}`)
  })
}
