/** Values that fields of forms offer, read from Fairlead. */

import { asGiven, objectList, shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, objectOf, scalarOf, textsOf } from '@fairlead/base/json/values.ts'
import type { ChoicesSource } from '@fairlead/model/stage-types/description.ts'
import { core, provider, useEffect, useState } from './deck.ts'

/** Where a field is: its siblings narrow its choices. */
export interface Place {
  readonly application: string
  /** The object that the field belongs to. */
  readonly holder: JsonObject
}

interface Source {
  readonly path: (place: Place) => string
  readonly query?: JsonObject
  readonly values: (body: unknown, place: Place) => readonly unknown[]
}

const ofApplication = (list: string) => (place: Place) =>
  `/applications/${encodeURIComponent(applicationOf(place))}/${list}`
const toNames = objectList((one) => toNamed(one).name)
const toNamed = shape({ name: asGiven })
const toIds = objectList((one) => toIdentified(one).id)
const toIdentified = shape({ id: [asGiven, 'id', 'imageId'] })

const readItems = objectList(
  shape({
    name: asGiven,
    account: asGiven,
    cloudProvider: asGiven,
    regions: toNames,
    instanceTypes: textsOf,
    instances: toIds,
    baseImages: toIds,
  }),
)
type Item = ReturnType<typeof readItems>[number]

const ours = (list: unknown) =>
  readItems(list).filter(({ cloudProvider }) => cloudProvider === provider)
const namesOf = (items: readonly Item[]) => items.map(({ name }) => name)

const ofAccounts = { path: () => '/credentials', query: { expand: true } }

const sources: Partial<Record<ChoicesSource, Source>> = {
  accounts: { ...ofAccounts, values: (body) => namesOf(ours(body)) },
  regions: {
    ...ofAccounts,
    values: (body, place) => narrow(ours(body), place, 'name').flatMap(({ regions }) => regions),
  },
  'instance-types': {
    ...ofAccounts,
    values: (body, place) =>
      narrow(ours(body), place, 'name').flatMap(({ instanceTypes }) => instanceTypes),
  },
  applications: { path: () => '/applications', values: toNames },
  clusters: {
    path: ofApplication('clusters'),
    values: (body) => Object.values(objectOf(body)).flatMap(textsOf),
  },
  'server-groups': {
    path: ofApplication('serverGroups'),
    values: (body, place) => namesOf(narrow(ours(body), place, 'account')),
  },
  instances: {
    path: ofApplication('serverGroups'),
    values: (body) => ours(body).flatMap(({ instances }) => instances),
  },
  'load-balancers': {
    path: ofApplication('loadBalancers'),
    values: (body, place) => namesOf(narrow(ours(body), place, 'account')),
  },
  'security-groups': {
    path: () => '/securityGroups',
    values: (body, place) =>
      Object.entries(objectOf(body)).flatMap(([account, byProvider]) =>
        isNarrow(account, place)
          ? Object.values(objectOf(objectOf(byProvider)[provider])).flatMap(toNames)
          : [],
      ),
  },
  images: { path: () => '/local/images', values: toIds },
  'base-images': {
    path: () => '/bakery/options',
    values: (body) => ours(body).flatMap(({ baseImages }) => baseImages),
  },
}

function applicationOf({ holder, application }: Place) {
  return scalarOf(holder['application']) ?? application
}

function isNarrow(account: unknown, { holder }: Place) {
  const wanted = scalarOf(holder['credentials']) ?? scalarOf(holder['account'])
  return wanted === undefined || wanted === '' || wanted.includes('$') || wanted === account
}

function narrow(list: readonly Item[], place: Place, key: 'name' | 'account') {
  return list.filter((item) => isNarrow(item[key], place))
}

/** Sorted. Empty while they are not known, and where they cannot be read; a field takes what is typed as well. */
export function useChoices(name: ChoicesSource | undefined, place: Place): readonly string[] {
  const source = name && sources[name]
  const path = source?.path(place)
  const [read, setRead] = useState<{ readonly path: string; readonly body: unknown }>()
  useEffect(() => {
    if (source === undefined || path === undefined) return undefined
    let isOpen = true
    core
      .REST(path)
      .query(source.query ?? {})
      .get()
      .then(
        (body) => isOpen && setRead({ path, body }),
        () => undefined,
      )
    return () => {
      isOpen = false
    }
  }, [path])
  if (source === undefined || read?.path !== path) return []
  return [
    ...new Set(source.values(read?.body, place).flatMap((value) => scalarOf(value) ?? [])),
  ].sort()
}
