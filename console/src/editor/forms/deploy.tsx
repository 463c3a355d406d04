/** The form of deployments: each server group to create is a card. */

import { type JsonObject, objectsOf, scalarOf } from '@fairlead/base/json/values.ts'
import {
  imageKeysOfGroups,
  imageStages,
  imageTriggers,
} from '@fairlead/model/stage-types/image-sources.ts'
import { Banner } from '../../components/button.tsx'
import { type Form, FormView, type Part, useForm } from '../fields.tsx'
import { ItemList } from '../item-list.tsx'
import { isSamePath } from '../json-path.ts'
import { stagesBefore, titleOfStage, toNodes } from '../stages.ts'
import { field, group, oneOf, only, row, type Way } from './form.tsx'
import { freshGroup, usePlace } from './fresh.ts'

function Groups() {
  const { draft, base, fields } = useForm()
  const own = fields.find(({ name }) => name === 'clusters')?.fields ?? []
  const path = [...base, 'clusters']
  const error = draft.problems.value.find((problem) => isSamePath(problem.path, path))?.message
  const place = usePlace(draft.application)
  const kind = {
    itemName: 'server group',
    title: (cluster: JsonObject) => clusterName(cluster, draft.application),
    detail: (cluster: JsonObject) => scalarOf(cluster['account'] ?? cluster['credentials']),
    // Another one is mostly the same elsewhere.
    fresh: (items: readonly JsonObject[]) => ({
      ...(items.at(-1) ?? freshGroup(place)),
      ...(items.length > 0 && { stack: 'other' }),
    }),
    form: (_cluster: JsonObject, at: Form['base']) => (
      <FormView draft={draft} base={at} fields={own} parts={serverGroupForm} known={[]} />
    ),
  }
  return (
    <>
      {error !== undefined && <Banner tone="warning">{error}</Banner>}
      <ItemList draft={draft} path={path} kind={kind} />
    </>
  )
}

function clusterName({ application, stack, freeFormDetails }: JsonObject, own: string) {
  return [application ?? own, stack, freeFormDetails]
    .flatMap((part) => scalarOf(part) ?? [])
    .join('-')
}

function NextName() {
  const { draft, holder } = useForm()
  return (
    <p class="verdict muted">
      Creates <code>{clusterName(holder, draft.application)}-v000</code>, then v001, and so on.
    </p>
  )
}

export const deployForm: readonly Part[] = [{ View: Groups, shows: ['clusters'] }]

/** What gives the stage an image unless it names one: stages before it, triggers, expected artifacts. */
function imageSourcesOf(definition: JsonObject, index: number) {
  const nodes = toNodes(definition)
  const before = stagesBefore(nodes, nodes[index]?.key ?? '')
  const has = (list: string, isOne: (item: JsonObject) => boolean) =>
    objectsOf(definition[list]).some(isOne)
  return [
    ...nodes
      .filter(({ key, stage }) => before.has(key) && imageStages.has(String(stage['type'])))
      .map(({ stage }) => `“${titleOfStage(stage)}”`),
    ...(has('triggers', ({ type }) => imageTriggers.has(String(type))) ? ['the trigger'] : []),
    ...(has('expectedArtifacts', () => true) ? ['an expected artifact'] : []),
  ]
}

const sourcesOf = ({ draft, base }: Form) => imageSourcesOf(draft.definition.value, Number(base[1]))
const isNamed = (form: Form) =>
  imageKeysOfGroups.some((key) => form.holder[key] !== undefined) || sourcesOf(form).length === 0

const imageSource = oneOf<'found' | 'named'>('Image', {
  ways: (form) => [
    { id: 'found', label: 'The one at hand', help: `From ${sourcesOf(form).join(' or ')}.` },
    { id: 'named', label: 'One by name', help: 'The same in every run, or an expression.' },
  ],
  chosen: (form) => (isNamed(form) ? 'named' : 'found'),
  set: (id) => ({
    ...Object.fromEntries(imageKeysOfGroups.map((key) => [key, undefined])),
    ...(id === 'named' && { imageId: '' }),
  }),
})

const sizes = [
  field('capacity.min', 'At least'),
  field('capacity.desired', 'Now'),
  field('capacity.max', 'At most'),
]
const capacity = group(sizes, (content) => (
  <fieldset class="form-group is-row">
    <legend>Instances</legend>
    {content}
  </fieldset>
))

const imageHelp = 'Search by name or version. ${parameters.image} lets each start choose.'

/** Instances of the old and of the new server group when the deployment has ended. */
function Picture({ old, fresh = 3 }: { old: readonly ('on' | 'off' | 'gone')[]; fresh?: number }) {
  const box = { width: 8, height: 11, rx: 1.5 }
  return (
    <svg class="strategy" viewBox="0 0 68 30" aria-hidden="true" focusable="false">
      {old.map((state, index) => (
        <rect key={index} class={`old is-${state}`} x={2 + index * 10} y="2" {...box} />
      ))}
      {[0, 1, 2].map((index) => (
        <rect
          key={index}
          class={index < fresh ? 'new' : 'old is-gone'}
          x={2 + index * 10}
          y="17"
          {...box}
        />
      ))}
      <path d="M38 15h8" />
      <path
        class="traffic"
        d={old.includes('on') ? 'M46 15l6-7h12M46 15l6 7h12' : 'M46 15l6 7h12'}
      />
    </svg>
  )
}

const strategies: readonly Way<string>[] = [
  {
    id: 'redblack',
    label: 'Red/black',
    help: 'The new group takes the traffic at once; the old one stays without it, so that you can roll back.',
    picture: <Picture old={['off', 'off', 'off']} />,
  },
  {
    id: 'rollingredblack',
    label: 'Rolling red/black',
    help: 'Traffic moves in steps. For changes that should meet few users first.',
    picture: <Picture old={['on', 'off', 'off']} fresh={2} />,
  },
  {
    id: 'recreate',
    label: 'Recreate',
    help: 'The old group ends before the new one starts: nothing serves meanwhile. For programs with files that only one may write.',
    picture: <Picture old={['gone', 'gone', 'gone']} />,
  },
  {
    id: 'highlander',
    label: 'Highlander',
    help: 'The old groups are destroyed once the new one is up. For test environments: there is no rollback.',
    picture: <Picture old={['gone', 'gone', 'gone']} />,
  },
  {
    id: 'none',
    label: 'None',
    help: 'Old and new share the traffic, unless a volume has one writer: then as Recreate. For a first deployment, or when later stages decide.',
    picture: <Picture old={['on', 'on', 'on']} />,
  },
]

function strategyOf({ holder }: Form) {
  return (scalarOf(holder['strategy']) ?? 'none').toLowerCase()
}

const is = (...wanted: readonly string[]) => {
  return (form: Form) => wanted.includes(strategyOf(form))
}

const strategy = oneOf('Strategy', {
  // A strategy that is computed, or is a pipeline, has no card until it is chosen.
  ways: (form) => {
    const id = strategyOf(form)
    const isDrawn = strategies.some((each) => each.id === id)
    return isDrawn
      ? strategies
      : [...strategies, { id, label: 'Another one', help: scalarOf(form.holder['strategy']) }]
  },
  chosen: strategyOf,
  set: (id) => ({ strategy: id === 'none' ? undefined : id }),
  shows: ['strategy', 'rollback'],
})

/** One server group, of a `deploy` stage or of a stage that creates one. */
export const serverGroupForm: readonly Part[] = [
  row(field('credentials', 'Account'), field('regions', 'Region')),
  row(
    field('stack', 'Stack', 'Tells environments apart.', { placeholder: 'test' }),
    field('freeFormDetails', 'Detail', 'Tells parts of a stack apart.'),
  ),
  { View: NextName, shows: [] },
  only((form) => sourcesOf(form).length > 0, imageSource),
  only(isNamed, field('imageId', 'Name of the image', imageHelp, { isKept: true })),
  { ...capacity, shows: ['capacity'] },
  field(
    'preferSourceCapacity',
    'Take the size of the running group',
    'The numbers above count for the first deployment.',
  ),
  field('loadBalancers', 'Load balancers', 'They send traffic to the instances that are healthy.'),
  field('securityGroups', 'Security groups', 'Who may reach the instances.'),
  strategy,
  only(
    is('rollingredblack'),
    field(
      'targetPercentages',
      'Steps in percent',
      'Shares of the new group, such as [25, 50, 100].',
    ),
  ),
  only(
    is('redblack', 'recreate'),
    field('maxRemainingAsgs', 'Server groups to keep', 'With the new one. 0 keeps all.'),
  ),
  only(
    is('redblack', 'rollingredblack'),
    field(
      'scaleDown',
      'Stop the instances of the old group',
      'Saves memory. Off, a rollback takes seconds; on, it starts them again first.',
    ),
  ),
  field(
    'rollback.onFailure',
    'Roll back when the deployment fails',
    'The old group gets its traffic back. A first version that fails stays disabled until you enable it on its page.',
  ),
]
