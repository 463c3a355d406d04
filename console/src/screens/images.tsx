/** Images: what was made from what, and where it runs. */
import { useLocation } from 'preact-iso/router'
import { to } from '../address.ts'
import { objectKey } from '../api/actions.ts'
import type { Schemas } from '../api/client.ts'
import { useCloudProvider } from '../api/cloud-providers.ts'
import { type Live, useLive } from '../api/live.ts'
import { changeOperation, useRight } from '../api/rights.ts'
import { Beside } from '../components/beside.tsx'
import { CopyButton } from '../components/copy-button.tsx'
import { DataTable } from '../components/data-table.tsx'
import { Filters } from '../components/filter-field.tsx'
import { JsonTree } from '../components/json-tree.tsx'
import { KeyValue } from '../components/key-value.tsx'
import { LogView } from '../components/log-view.tsx'
import { Menu } from '../components/menu.tsx'
import { Name, NameLink } from '../components/name.tsx'
import { Panel } from '../components/panel.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import { Time } from '../components/time.tsx'
import { pipelinesThatDeploy, toBakeLog } from '../model/infrastructure.ts'
import { numberOf, objectOf, textOf, textsOf } from '../model/read.ts'
import { accountOf, isEnabled, type ServerGroup, versionOf } from '../model/server-groups.ts'
import type { ScreenProps } from '../screen.ts'
import { askToDelete } from './deletion.tsx'
import { InfrastructureHead, providersOf, useAccounts } from './infrastructure-head.tsx'

type Image = Schemas['Image']

const noImage = 'No image matches. Bake one in a pipeline, or run fairlead image push.'
const minCharacters = 3
/** Applications whose server groups are searched for an image. */
const maxApplications = 50

export function Images({ query }: ScreenProps) {
  const accounts = useAccounts()
  const providers = providersOf(accounts.reading.value.body ?? [])
  const provider = query['provider'] ?? providers[0]
  const imagesPath = useCloudProvider(provider)?.imagesPath
  const filter = query['q'] ?? ''
  return (
    <>
      <InfrastructureHead tab="Images" />
      <Filters
        filters={[
          {
            name: 'provider',
            label: 'Provider',
            value: provider === providers[0] ? undefined : provider,
            any: providers[0] ?? '',
            choices: providers.slice(1),
            least: 1,
            clears: ['image'],
          },
          { name: 'q', label: 'Name of the image' },
        ]}
      />
      {provider === undefined ? (
        <Loaded live={accounts} rows={6} empty={<EmptyState text={noImage} />}>
          {() => null}
        </Loaded>
      ) : imagesPath !== undefined ? (
        <ListedImages provider={provider} path={imagesPath} filter={filter} query={query} />
      ) : (
        <FoundImages provider={provider} filter={filter} query={query} />
      )}
    </>
  )
}

interface FoundImagesProps {
  readonly provider: string
  readonly filter: string
  readonly query: ScreenProps['query']
}

function ListedImages({ provider, path, filter, query }: FoundImagesProps & { readonly path: string }) {
  // The list answers images as the search does.
  const live = useLive(path as '/images/find', {}, { refresh: 'steady' })
  return <Found provider={provider} live={live} filter={filter} query={query} />
}

function FoundImages({ provider, filter, query }: FoundImagesProps) {
  const isShort = filter.length < minCharacters
  const live = useLive('/images/find', isShort ? undefined : { query: { provider, q: filter, count: 100 } }, { refresh: 'open' })
  if (isShort) return <EmptyState icon="search" text="Search for at least 3 characters of the name." />
  return <Found provider={provider} live={live} filter="" query={query} />
}

type FoundProps = FoundImagesProps & { readonly live: Live<readonly Image[]> }

function Found({ provider, live, filter, query: { image: chosen, ...rest } }: FoundProps) {
  return (
    <Loaded live={live} rows={6} empty={<EmptyState text={noImage} />}>
      {(images) => {
        const shown = images.filter((image) => idOf(image).toLowerCase().includes(filter.toLowerCase()))
        const image = images.find((one) => idOf(one) === chosen)
        return (
          <Beside
            label={chosen ?? ''}
            back={{ href: to.infrastructure('images', rest), label: 'Images' }}
            side={
              chosen !== undefined &&
              (image === undefined ? (
                <EmptyState text={`There is no image ${chosen}. It may have been deleted.`} />
              ) : (
                <ImagePanel key={chosen} provider={provider} image={image} />
              ))
            }
          >
            {shown.length === 0 ? <EmptyState icon="search" text={noImage} /> : <List images={shown} query={rest} />}
          </Beside>
        )
      }}
    </Loaded>
  )
}

function List({ images, query }: { images: readonly Image[]; query: ScreenProps['query'] }) {
  return (
    <div class="panel is-flush">
      <div class="panel-body">
        <DataTable
          label="Images"
          rows={images}
          keyOf={idOf}
          columns={[
            {
              key: 'name',
              head: 'Image',
              grow: true,
              cell: (image) => (
                <NameLink href={to.infrastructure('images', { ...query, image: idOf(image) })} text={idOf(image)} max={80} />
              ),
            },
            {
              key: 'from',
              head: 'Made from',
              hideBelow: 'phone',
              cell: (image) => <Name text={originOf(image) ?? '–'} max={80} />,
            },
            { key: 'created', head: 'Created', cell: (image) => <Time at={createdAt(image)} /> },
          ]}
        />
      </div>
    </div>
  )
}

function ImagePanel({ provider, image }: { provider: string; image: Image }) {
  const attributes = objectOf(image['attributes'])
  const origin = objectOf(attributes['origin'])
  const [bytes, bake, run] = [numberOf(attributes['size']), textOf(origin['bake']), textOf(origin['execution'])]
  const digest = textOf(attributes['digest'])
  const using = useUsing(idOf(image))
  const labels = Object.entries(objectOf(attributes['labels'])).map(([key, value]) => `${key}=${String(value)}`)
  return (
    <Panel
      title={<Name text={idOf(image)} max={80} />}
      actions={
        <>
          <CopyButton text={idOf(image)} label={`Copy ${idOf(image)}`} />
          <ImageActions provider={provider} image={image} using={using} />
        </>
      }
    >
      <div class="answer">
        <KeyValue
          facts={[
            ['Created', <Time key="created" at={createdAt(image)} />],
            ['Made from', originOf(image)],
            [
              'Baked by',
              run !== undefined && (
                <a key="run" href={to.execution(run)}>
                  Open
                </a>
              ),
            ],
            ['Size', bytes === undefined ? undefined : `${bytes.toLocaleString()} B`],
            ['Files', numberOf(attributes['files'])?.toLocaleString()],
            ['Digest', digest !== undefined && <Name text={digest} max={40} />],
            ['Labels', labels.length > 0 && <Name text={labels.join(', ')} max={300} />],
            ['Runs in', <Uses key="uses" using={using} />],
          ]}
        />
        {bake !== undefined && <BakeLog id={bake} />}
        <details>
          <summary>Raw record</summary>
          <JsonTree value={image} name={idOf(image)} />
        </details>
      </div>
    </Panel>
  )
}

interface ImageActionsProps {
  readonly provider: string
  readonly image: Image
  readonly using: readonly ServerGroup[] | undefined
}

/** Starts a pipeline that deploys it, or removes it where nothing runs it. */
function ImageActions({ provider, image, using }: ImageActionsProps) {
  const { route: navigate } = useLocation()
  const id = idOf(image)
  const pipelines = useLive('/pipelineConfigs', {}, { refresh: 'open' }).reading.value.body
  const deploying = pipelinesThatDeploy(id, pipelines ?? [])
  const [account] = textsOf(image['accounts'])
  const application = textOf(image['name']) ?? id
  const right = useRight({ operation: changeOperation, application, ...(account !== undefined && { account }) })
  const used =
    using === undefined ? 'Loading' : using.length > 0 ? `Runs in ${using.map(({ name }) => name).join(', ')}.` : undefined
  const remove = () =>
    askToDelete({
      ...{ application, name: id, list: '/images' },
      effect: 'Its files are removed. Server groups that run it could not start further instances.',
      job: { type: 'deleteImage', cloudProvider: provider, credentials: account, account, imageId: id },
      object: objectKey('image', id),
      onDeleted: () => navigate(to.infrastructure('images')),
    })
  return (
    <Menu
      label={`Actions of ${id}`}
      items={[
        ...(deploying.length === 0
          ? [{ label: 'Deploy …', icon: 'play' as const, denied: 'No pipeline deploys this image.' }]
          : deploying.map(({ id: pipeline, name, application: owner, parameters }, at) => ({
              ...(at === 0 && { letter: 'd' }),
              label: `Start ${name}`,
              icon: 'play' as const,
              href: to.startPipeline(
                owner,
                pipeline,
                Object.fromEntries(Object.entries(parameters).map(([key, value]) => [`p.${key}`, value])),
              ),
            }))),
        ...(textOf(image['imageName']) !== undefined && account !== undefined && isKeptHere(image)
          ? [
              {
                label: 'Delete',
                icon: 'trash' as const,
                destructive: true,
                denied: right.reason ?? used,
                onSelect: remove,
              },
            ]
          : []),
      ]}
    />
  )
}

/** The images that Fairlead keeps itself say where they come from. */
function isKeptHere(image: Image): boolean {
  return textOf(objectOf(objectOf(image['attributes'])['origin'])['kind']) !== undefined
}

/** Server groups that run it, among those that the reader may see; undefined while they are not known. */
function useUsing(image: string): readonly ServerGroup[] | undefined {
  const applications = useLive('/applications', {}, { refresh: 'slow' }).reading.value.body
  const names = (applications ?? []).map(({ name }) => name).slice(0, maxApplications)
  const live = useLive('/serverGroups', names.length === 0 ? undefined : { query: { applications: names } }, { refresh: 'open' })
  return live.reading.value.body?.filter((group) => versionOf(group) === image)
}

function Uses({ using }: { using: readonly ServerGroup[] | undefined }) {
  if (using === undefined) return <span class="muted">Loading</span>
  if (using.length === 0) return <>nowhere</>
  return (
    <span class="chips">
      {using.map((group) => {
        const place = { account: accountOf(group), region: group.region, name: group.name }
        const application = group.moniker?.app ?? textOf(group['application']) ?? ''
        return (
          <a key={Object.values(place).join()} class="chip" href={to.serverGroup(application, place)}>
            <Name text={group.name} max={50} />
            {!isEnabled(group) && <span class="muted">disabled</span>}
          </a>
        )
      })}
    </span>
  )
}

function BakeLog({ id }: { id: string }) {
  const live = useLive('/bakery/logs/{region}/{statusId}', { path: { region: 'global', statusId: id } }, { refresh: 'open' })
  const { body, error } = live.reading.value
  if (error?.status === 404) return <p class="quiet">The log of this bake is no longer kept.</p>
  return (
    <details open>
      <summary>Bake log</summary>
      <Loaded live={live} rows={2}>
        {() => <LogView text={toBakeLog(body)} name={id} isEnded />}
      </Loaded>
    </details>
  )
}

function idOf(image: Image): string {
  return textOf(image['imageId']) ?? textOf(image['imageName']) ?? ''
}

function createdAt(image: Image): number | undefined {
  const text = textOf(objectOf(image['attributes'])['creationDate'])
  const moment = Date.parse(text ?? '')
  return Number.isNaN(moment) ? undefined : moment
}

function originOf(image: Image): string | undefined {
  const origin = objectOf(objectOf(image['attributes'])['origin'])
  if (textOf(origin['kind']) === 'upload') return `upload by ${textOf(origin['user']) ?? 'unknown'}`
  const base = textOf(origin['baseOs'])
  return base === undefined ? textOf(origin['kind']) : `bake from ${base}`
}
