/** What a search finds in the infrastructure. */
import { useEffect, useState } from 'preact/hooks'
import { to } from '../address.ts'
import { client, unwrap } from '../api/client.ts'
import { type Json, textOf } from '../model/read.ts'
import type { Status } from '../model/status.ts'
import type { IconName } from './icon.tsx'

export interface Hit {
  readonly label: string
  readonly detail?: string | undefined
  readonly icon: IconName
  readonly href?: string
  readonly run?: (navigate: (href: string) => void) => void
  /** What else it leads to. */
  readonly actions?: readonly { readonly label: string; readonly href: string }[]
  /** Whose state stands beside it. */
  readonly pipeline?: string | undefined
  readonly application?: string
  readonly state?: Status | undefined
}

export interface HitGroup {
  readonly title: string
  readonly hits: readonly Hit[]
  readonly failed?: boolean
}

/** From so many characters on the infrastructure is searched. */
export const minRemote = 3
export const searchShort = 'Infrastructure is searched from 3 characters on.'
export const searchPlaceholder = 'Application, pipeline, cluster, instance, execution id …'
const maxRemote = 200
const pauseMs = 150

interface Kind {
  readonly type: string
  readonly title: string
  readonly icon: IconName
  /** Where its name stands. */
  readonly name: string
  readonly href: (application: string, place: Record<'account' | 'region' | 'name' | 'provider', string>) => string
}

const kinds: readonly Kind[] = [
  {
    type: 'clusters',
    title: 'Clusters',
    icon: 'box',
    name: 'cluster',
    href: (application, { account, name }) => to.cluster(application, { account, cluster: name }),
  },
  { type: 'serverGroups', title: 'Server groups', icon: 'box', name: 'serverGroup', href: to.serverGroup },
  {
    type: 'instances',
    title: 'Instances',
    icon: 'terminal',
    name: 'instanceId',
    href: (application, { name, ...place }) => to.instance(application, { ...place, id: name }),
  },
  {
    type: 'loadBalancers',
    title: 'Load balancers',
    icon: 'balance',
    name: 'loadBalancer',
    href: (application, place) => to.place('load-balancers', application, place),
  },
  {
    type: 'securityGroups',
    title: 'Security groups',
    icon: 'lock',
    name: 'name',
    href: (_application, place) => to.infrastructure('security-groups', place),
  },
]

/** Asked after a pause in typing; the call before is given up. */
export function useRemote(text: string): readonly HitGroup[] {
  const [groups, setGroups] = useState<readonly HitGroup[]>([])
  useEffect(() => {
    setGroups([])
    if (text.length < minRemote) return
    const call = new AbortController()
    const timer = setTimeout(() => {
      const query = { q: text, type: kinds.map(({ type }) => type).join(','), pageSize: maxRemote }
      void unwrap(client.GET('/search', { params: { query: query as never }, signal: call.signal })).then(
        (sets) => setGroups(toGroups(sets.flatMap(({ results }) => results))),
        () => call.signal.aborted || setGroups([{ title: 'Server groups', hits: [], failed: true }]),
      )
    }, pauseMs)
    return () => {
      clearTimeout(timer)
      call.abort()
    }
  }, [text])
  return groups
}

function toGroups(results: readonly Json[]): readonly HitGroup[] {
  return kinds.map((kind) => ({
    title: kind.title,
    hits: results.filter(({ type }) => type === kind.type).flatMap((result) => toHit(kind, result)),
  }))
}

function toHit({ icon, name: nameKey, href }: Kind, result: Json): Hit[] {
  const value = (name: string) => textOf(result[name]) ?? ''
  const place = { account: value('account'), region: value('region'), name: value(nameKey), provider: value('provider') }
  const detail = [place.account, place.region].filter((part) => part !== '').join(' / ')
  const application = value('application')
  return application === '' ? [] : [{ label: place.name, detail, icon, href: href(application, place) }]
}
