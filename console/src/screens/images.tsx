/** Images: what was made from what, and where it runs. */

import { or, shape } from '@fairlead/base/json/shape.ts'
import { numberOf, objectOf, scalarOf } from '@fairlead/base/json/values.ts'
import { type ScreenProps, to, useNavigate } from '../address.ts'
import { objectKey } from '../api/actions.ts'
import type { Schemas } from '../api/client.ts'
import { providersOf, useAccounts, useCloudProvider } from '../api/cloud-providers.ts'
import { useLive } from '../api/live.ts'
import { type Action, useActions } from '../components/actions.tsx'
import { Beside } from '../components/beside.tsx'
import { CopyButton } from '../components/button.tsx'
import { Filters } from '../components/filter-field.tsx'
import { LogView } from '../components/log-view.tsx'
import { Menu } from '../components/menu.tsx'
import { RecordPanel } from '../components/record-panel.tsx'
import { EmptyState, Loaded } from '../components/screen.tsx'
import { Name, NameLink, Time } from '../components/text.tsx'
import { pipelinesThatDeploy, toBakeLog } from '../model/infrastructure.ts'
import { groupPlace, isEnabled, type ServerGroup, versionOf } from '../model/server-groups.ts'
import { InfrastructureHead, List } from './place-list.tsx'

type Image = Schemas['Image']

/** Some providers list all images, others search and answer the same; a search of fewer characters finds too much. */
const minCharacters = 3
/** Applications whose server groups are searched for an image. */
const maxApplications = 50

const empty = 'No image matches. Bake one in a pipeline, or run fairlead image push.'

export function Images({ query: { image: chosen, ...query } }: ScreenProps) {
  const accounts = useAccounts()
  const providers = providersOf(accounts.body ?? [])
  const { provider = providers[0], q = '' } = query
  const path = useCloudProvider(provider)?.imagesPath ?? undefined
  const isShort = provider === undefined || (path === undefined && q.length < minCharacters)
  const search = isShort
    ? undefined
    : path === undefined
      ? { query: { provider, q, count: 100 } }
      : {}
  const live = useLive(
    (path ?? '/images/find') as '/images/find',
    search,
    path === undefined ? 'open' : 'steady',
  )
  const { body } = live
  const image = body?.find((one) => idOf(one) === chosen)
  const ofProvider = {
    name: 'provider',
    label: 'Provider',
    any: providers[0] ?? '',
    least: 1,
    clears: ['image'],
    value: provider === providers[0] ? undefined : provider,
    choices: providers.slice(1),
  }
  const gone = body && (
    <EmptyState text={`There is no image ${chosen}. It may have been deleted.`} />
  )
  return (
    <>
      <InfrastructureHead tab="Images" />
      <Filters filters={[ofProvider, { name: 'q', label: 'Name of the image' }]} />
      {provider === undefined ? (
        <Loaded live={accounts} rows={6} icon="search" empty={empty}>
          {() => null}
        </Loaded>
      ) : isShort ? (
        <EmptyState icon="search" text="Search for at least 3 characters of the name." />
      ) : (
        <Beside
          label={chosen ?? ''}
          back={{ href: to.infrastructure('images', query), label: 'Images' }}
          side={
            chosen && (image ? <ImagePanel key={chosen} provider={provider} image={image} /> : gone)
          }
        >
          <List
            live={live}
            label="Images"
            icon="search"
            empty={empty}
            screen={{ params: {}, query: { q } }}
            isBare
            rowsOf={(images) => images}
            placeOf={(one) => ({ name: idOf(one) })}
            columns={[
              {
                head: 'Image',
                grow: true,
                cell: (one) => (
                  <NameLink
                    href={to.infrastructure('images', { ...query, image: idOf(one) })}
                    text={idOf(one)}
                  />
                ),
              },
              { head: 'Made from', hideBelow: 'phone', cell: (one) => originOf(one) ?? '–' },
              { head: 'Created', cell: (one) => <Time at={createdAt(one)} /> },
            ]}
          />
        </Beside>
      )}
    </>
  )
}

function ImagePanel({ provider, image }: { provider: string; image: Image }) {
  const { origin, size, files, digest, labels } = readAttributes(image.attributes)
  const { bake: bakeId, execution: run } = origin
  const id = idOf(image)
  const using = useUsing(id)
  const labelTexts = Object.entries(labels).map((label) => label.join('='))
  return (
    <RecordPanel
      name={id}
      record={image}
      actions={
        <>
          <CopyButton text={id} label={`Copy ${id}`} />
          <Menu label={`Actions of ${id}`} items={useImageActions(provider, image, using)} />
        </>
      }
      facts={[
        ['Created', <Time key="created" at={createdAt(image)} />],
        ['Made from', originOf(image)],
        ['Baked by', run !== undefined && <NameLink href={to.execution(run)} text="Open" />],
        ['Size', size && `${size.toLocaleString()} B`],
        ['Files', files?.toLocaleString()],
        ['Digest', digest],
        ['Labels', labelTexts.join(', ')],
        ['Runs in', <Uses key="uses" using={using} />],
      ]}
    >
      {bakeId !== undefined && <BakeLog id={bakeId} />}
    </RecordPanel>
  )
}

/** Starts a pipeline that deploys it, or removes it where nothing runs it. */
function useImageActions(
  provider: string,
  image: Image,
  using: readonly ServerGroup[] | undefined,
) {
  const navigate = useNavigate()
  const id = idOf(image)
  const [account] = image.accounts ?? []
  const pipelines = useLive('/pipelineConfigs', {}, 'open').body
  const starts = pipelinesThatDeploy(id, pipelines ?? []).map(
    ({ id: pipeline, name, application, fills }, at): Action => {
      const letter = at === 0 ? { letter: 'd' } : {}
      return {
        label: `Start ${name}`,
        icon: 'play',
        href: to.startPipeline(application, pipeline, fills),
        ...letter,
      }
    },
  )
  const names = using?.map(({ name }) => name).join(', ')
  const target = {
    application: scalarOf(image['name']) ?? id,
    account,
    name: id,
    object: objectKey('image', id),
    place: { cloudProvider: provider, credentials: account, account, imageId: id },
  }
  // The images that Fairlead keeps itself say where they come from.
  const isKeptHere =
    scalarOf(image['imageName']) !== undefined &&
    account !== undefined &&
    originOf(image) !== undefined
  const remove: Action = {
    type: 'deleteImage',
    label: 'Delete',
    icon: 'trash',
    destructive: true,
    list: '/images',
    denied: names === undefined ? 'Loading' : names === '' ? undefined : `Runs in ${names}.`,
    effect:
      'Its files are removed. Server groups that run it could not start further instances. This cannot be undone.',
    onDone: () => navigate(to.infrastructure('images')),
  }
  const none: Action = {
    label: 'Deploy …',
    icon: 'play',
    denied: 'No pipeline deploys this image.',
  }
  return useActions(target, [
    ...(starts.length > 0 ? starts : [none]),
    ...(isKeptHere ? [remove] : []),
  ])
}

/** Server groups that run it, among those that the reader may see; undefined while they are not known. */
function useUsing(image: string) {
  const applications = useLive('/applications', {}, 'slow').body
  const names = (applications ?? []).map(({ name }) => name).slice(0, maxApplications)
  const live = useLive(
    '/serverGroups',
    names.length === 0 ? undefined : { query: { applications: names } },
    'open',
  )
  return live.body?.filter((group) => versionOf(group) === image)
}

function Uses({ using }: { using: readonly ServerGroup[] | undefined }) {
  if (using === undefined) return <span class="muted">Loading</span>
  if (using.length === 0) return <>nowhere</>
  return (
    <span class="chips">
      {using.map((group) => {
        const href = to.serverGroup(
          group.moniker?.app ?? scalarOf(group['application']) ?? '',
          groupPlace(group),
        )
        return (
          <a key={href} class="chip" href={href}>
            <Name text={group.name} max={50} />
            {!isEnabled(group) && <span class="muted">disabled</span>}
          </a>
        )
      })}
    </span>
  )
}

function BakeLog({ id }: { id: string }) {
  const live = useLive(
    '/bakery/logs/{region}/{statusId}',
    { path: { region: 'global', statusId: id } },
    'open',
  )
  const { body, error } = live
  if (error?.status === 404) return <p class="muted">The log of this bake is no longer kept.</p>
  return (
    <details open>
      <summary>Bake log</summary>
      <Loaded live={live} rows={2}>
        {() => <LogView text={toBakeLog(body)} name={id} isEnded />}
      </Loaded>
    </details>
  )
}

const readAttributes = shape({
  creationDate: or(scalarOf, ''),
  size: numberOf,
  files: numberOf,
  digest: scalarOf,
  labels: objectOf,
  origin: shape({
    kind: scalarOf,
    user: or(scalarOf, 'unknown'),
    baseOs: scalarOf,
    bake: scalarOf,
    execution: scalarOf,
  }),
})

function idOf(image: Image) {
  return scalarOf(image['imageId']) ?? scalarOf(image['imageName']) ?? ''
}

function createdAt(image: Image) {
  return Date.parse(readAttributes(image.attributes).creationDate) || undefined
}

function originOf(image: Image) {
  const { kind, user, baseOs } = readAttributes(image.attributes).origin
  if (kind === 'upload') return `upload by ${user}`
  return baseOs === undefined ? kind : `bake from ${baseOs}`
}
