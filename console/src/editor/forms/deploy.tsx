/** The form of deployments: each server group to create is a card. */
import { Banner } from '../../components/banner.tsx'
import { type Json, textOf } from '../../model/read.ts'
import { ItemList } from '../item-list.tsx'
import { isSamePath } from '../json-path.ts'
import { imageKeys, imageSourcesOf } from './checks.ts'
import { type Form, FormView, field, group, oneOf, only, type Part, Parts, row, useForm } from './form.tsx'
import { freshGroup, usePlace } from './fresh.ts'
import { strategy } from './strategy.tsx'

function Groups() {
  const { draft, base, fields } = useForm()
  const own = fields.find(({ name }) => name === 'clusters')?.fields ?? []
  const path = [...base, 'clusters']
  const error = draft.problems.value.find((problem) => isSamePath(problem.path, path))?.message
  const place = usePlace(draft.application)
  return (
    <>
      {error !== undefined && <Banner tone="warning">{error}</Banner>}
      <ItemList
        draft={draft}
        path={path}
        kind={{
          itemName: 'server group',
          title: (cluster) => titleOf(cluster, draft.application),
          detail: (cluster) => textOf(cluster['account'] ?? cluster['credentials']),
          // Another one is mostly the same elsewhere.
          fresh: (items) => ({ ...(items.at(-1) ?? freshGroup(place)), ...(items.length > 0 && { stack: 'other' }) }),
          form: (_cluster, at) => <FormView draft={draft} base={at} fields={own} parts={serverGroupForm} known={[]} />,
        }}
      />
    </>
  )
}

export const deployForm: readonly Part[] = [{ View: Groups, shows: ['clusters'] }]

function titleOf(cluster: Json, application: string): string {
  const parts = [cluster['application'] ?? application, cluster['stack'], cluster['freeFormDetails']]
  return parts.flatMap((part) => textOf(part) ?? []).join('-')
}

function NextName() {
  const { draft, holder } = useForm()
  return (
    <p class="verdict muted">
      Creates <code>{titleOf(holder, draft.application)}-v000</code>, then v001, and so on.
    </p>
  )
}

const sizes = [field('capacity.min', 'At least'), field('capacity.desired', 'Now'), field('capacity.max', 'At most')]

const capacity = group(sizes, () => (
  <fieldset class="form-group is-row">
    <legend>Instances</legend>
    <Parts parts={sizes} />
  </fieldset>
))

const sourcesOf = ({ draft, base }: Form) => imageSourcesOf(draft.definition.value, Number(base[1]))
const isNamed = (form: Form) => imageKeys.some((key) => form.holder[key] !== undefined) || sourcesOf(form).length === 0

const image = [
  only(
    (form) => sourcesOf(form).length > 0,
    oneOf<'found' | 'named'>('Image', {
      ways: (form) => [
        { id: 'found', label: 'The one at hand', help: `From ${sourcesOf(form).join(' or ')}.` },
        { id: 'named', label: 'One by name', help: 'The same in every run, or an expression.' },
      ],
      chosen: (form) => (isNamed(form) ? 'named' : 'found'),
      set: (id) => ({ ...Object.fromEntries(imageKeys.map((key) => [key, undefined])), ...(id === 'named' && { imageId: '' }) }),
    }),
  ),
  only(
    isNamed,
    field('imageId', 'Name of the image', 'Search by name or version. ${parameters.image} lets each start choose.', {
      isKept: true,
    }),
  ),
]

/** One server group, of a `deploy` stage or of a stage that creates one. */
export const serverGroupForm: readonly Part[] = [
  row(field('credentials', 'Account'), field('regions', 'Region')),
  row(
    field('stack', 'Stack', 'Tells environments apart.', { placeholder: 'test' }),
    field('freeFormDetails', 'Detail', 'Tells parts of a stack apart.'),
  ),
  { View: NextName, shows: ['application'] },
  ...image,
  capacity,
  field(
    'preferSourceCapacity',
    'Take the size of the running group',
    'Keeps what was resized by hand. The numbers above count for the first deployment.',
  ),
  field('loadBalancers', 'Load balancers', 'They send traffic to the instances that are healthy.'),
  field('securityGroups', 'Security groups', 'Who may reach the instances.'),
  ...strategy,
]
