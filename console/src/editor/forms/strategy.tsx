/** The strategy of a deployment as drawn cards, and the settings of the chosen one. */
import { textOf } from '../../model/read.ts'
import { type Form, field, fold, oneOf, only, type Way } from './form.tsx'

/** Instances of the old and of the new server group when the deployment has ended. */
function Picture({ old, fresh = 3 }: { old: readonly ('on' | 'off' | 'gone')[]; fresh?: number }) {
  const box = { width: 8, height: 11, rx: 1.5 }
  return (
    <svg class="strategy" viewBox="0 0 68 30" aria-hidden="true" focusable="false">
      {old.map((state, index) => (
        <rect key={index} class={`old is-${state}`} x={2 + index * 10} y="2" {...box} />
      ))}
      {[0, 1, 2].map((index) => (
        <rect key={index} class={index < fresh ? 'new' : 'old is-gone'} x={2 + index * 10} y="17" {...box} />
      ))}
      <path d="M38 15h8" />
      <path class="traffic" d={old.includes('on') ? 'M46 15l6-7h12M46 15l6 7h12' : 'M46 15l6 7h12'} />
    </svg>
  )
}

const drawn: readonly Way<string>[] = [
  {
    id: 'redblack',
    label: 'Red/black',
    help: 'The new group takes the traffic at once; the old one stays, so that a rollback takes seconds.',
    picture: <Picture old={['off', 'off', 'off']} />,
  },
  {
    id: 'rollingredblack',
    label: 'Rolling red/black',
    help: 'Traffic moves in steps. For changes that should meet few users first.',
    picture: <Picture old={['on', 'off', 'off']} fresh={2} />,
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
    help: 'Old and new share the traffic. For a first deployment, or when later stages decide.',
    picture: <Picture old={['on', 'on', 'on']} />,
  },
]

function strategyOf({ get }: Form): string {
  return (textOf(get('strategy')) ?? 'none').toLowerCase()
}

const is = (...strategies: readonly string[]) => {
  return (form: Form) => strategies.includes(strategyOf(form))
}

export const strategy = [
  oneOf('Strategy', {
    // A strategy that is computed, or is a pipeline, has no card until it is chosen.
    ways: (form) =>
      drawn.some(({ id }) => id === strategyOf(form))
        ? drawn
        : [...drawn, { id: strategyOf(form), label: 'Another one', help: textOf(form.get('strategy')) }],
    chosen: strategyOf,
    set: (id) => ({ strategy: id === 'none' ? undefined : id }),
    shows: ['strategy'],
  }),
  only(
    is('rollingredblack'),
    field(
      'targetPercentages',
      'Steps in percent',
      'Shares of the new group in order, such as [25, 50, 100]. Each step waits until its instances are up.',
    ),
  ),
  only(
    is('redblack'),
    field('maxRemainingAsgs', 'Server groups to keep', 'With the new one. Older ones are destroyed; 0 keeps all.'),
  ),
  only(
    is('redblack', 'rollingredblack'),
    field('scaleDown', 'Stop the instances of the old group', 'Saves memory; a rollback has to start them again.'),
  ),
  only(
    is('custom'),
    field('strategyApplication', 'Application of the strategy'),
    field('strategyPipeline', 'Strategy', 'A pipeline of yours that hands the traffic over.'),
    field('pipelineParameters', 'Parameters'),
  ),
  field(
    'rollback.onFailure',
    'Roll back when the deployment fails',
    'The old group gets its traffic back, and the new one is taken out.',
  ),
  only(
    is('redblack', 'rollingredblack'),
    fold(
      'Wait before the old group is disabled',
      field('delayBeforeCleanup', 'Seconds', 'Time to compare both while they share the traffic.'),
    ),
  ),
]
