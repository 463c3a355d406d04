/** Values that fields of forms offer, read from Fairlead. */

import {
  type JsonObject,
  objectOf,
  objectsOf,
  scalarOf,
  textsOf,
} from '@fairlead/base/json/values.ts'
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
const ours = (list: unknown) =>
  objectsOf(list).filter(({ cloudProvider }) => cloudProvider === provider)
const names = (list: unknown) => ours(list).map(({ name }) => name)

const sources: Partial<Record<ChoicesSource, Source>> = {
  accounts: { path: () => '/credentials', query: { expand: true }, values: names },
  regions: {
    path: () => '/credentials',
    query: { expand: true },
    values: (body, place) =>
      narrow(ours(body), place, 'name').flatMap(({ regions }) =>
        objectsOf(regions).map(({ name }) => name),
      ),
  },
  'instance-types': {
    path: () => '/credentials',
    query: { expand: true },
    values: (body, place) =>
      narrow(ours(body), place, 'name').flatMap(({ instanceTypes }) => textsOf(instanceTypes)),
  },
  applications: {
    path: () => '/applications',
    values: (body) => objectsOf(body).map(({ name }) => name),
  },
  clusters: {
    path: ofApplication('clusters'),
    values: (body) => Object.values(objectOf(body)).flatMap(textsOf),
  },
  'server-groups': {
    path: ofApplication('serverGroups'),
    values: (body, place) => names(narrow(ours(body), place, 'account')),
  },
  instances: {
    path: ofApplication('serverGroups'),
    values: (body) =>
      ours(body).flatMap(({ instances }) => objectsOf(instances).map(({ id }) => id)),
  },
  'load-balancers': {
    path: ofApplication('loadBalancers'),
    values: (body, place) => names(narrow(ours(body), place, 'account')),
  },
  'security-groups': {
    path: () => '/securityGroups',
    values: (body, place) =>
      Object.entries(objectOf(body)).flatMap(([account, byProvider]) =>
        isNarrow(account, place)
          ? Object.values(objectOf(objectOf(byProvider)[provider])).flatMap((groups) =>
              objectsOf(groups).map(({ name }) => name),
            )
          : [],
      ),
  },
  images: {
    path: () => '/local/images',
    values: (body) => objectsOf(body).map(({ imageId }) => imageId),
  },
  'base-images': {
    path: () => '/bakery/options',
    values: (body) =>
      ours(body).flatMap(({ baseImages }) => objectsOf(baseImages).map(({ id }) => id)),
  },
}

function applicationOf({ holder, application }: Place): string {
  return scalarOf(holder['application']) ?? application
}

function isNarrow(account: unknown, { holder }: Place): boolean {
  const wanted = scalarOf(holder['credentials']) ?? scalarOf(holder['account'])
  return wanted === undefined || wanted === '' || wanted.includes('$') || wanted === account
}

function narrow(list: readonly JsonObject[], place: Place, key: string): readonly JsonObject[] {
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
