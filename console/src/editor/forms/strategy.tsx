/** The strategy of a deployment as drawn cards, and the settings of the chosen one. */
import { textOf } from '../../model/read.ts'
import { F, Fold, useForm, type Way, Ways } from './form.tsx'

type Strategy = 'none' | 'redblack' | 'rollingredblack' | 'highlander' | 'custom'

/** Instances of the old and of the new server group when the deployment has ended. */
function Picture({ old, fresh }: { old: readonly ('on' | 'off' | 'gone')[]; fresh: number }) {
  return (
    <svg class="strategy" viewBox="0 0 68 30" aria-hidden="true" focusable="false">
      {old.map((state, index) => (
        <rect key={index} class={`old is-${state}`} x={2 + index * 10} y="2" width="8" height="11" rx="1.5" />
      ))}
      {Array.from({ length: 3 }, (_, index) => (
        <rect
          key={index}
          class={index < fresh ? 'new' : 'old is-gone'}
          x={2 + index * 10}
          y="17"
          width="8"
          height="11"
          rx="1.5"
        />
      ))}
      <path d="M38 15h8" />
      <path class="traffic" d={old.includes('on') ? 'M46 15l6-7h12M46 15l6 7h12' : 'M46 15l6 7h12'} />
    </svg>
  )
}

const ways: readonly Way<Strategy>[] = [
  {
    id: 'redblack',
    label: 'Red/black',
    help: 'The new group takes the traffic at once; the old one stays, so that a rollback takes seconds.',
    picture: <Picture old={['off', 'off', 'off']} fresh={3} />,
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
    picture: <Picture old={['gone', 'gone', 'gone']} fresh={3} />,
  },
  {
    id: 'none',
    label: 'None',
    help: 'Old and new share the traffic. For a first deployment, or when later stages decide.',
    picture: <Picture old={['on', 'on', 'on']} fresh={3} />,
  },
]

const custom: Way<Strategy> = { id: 'custom', label: 'A strategy pipeline', help: 'A pipeline of yours hands the traffic over.' }

export const strategyFields = [
  'strategy',
  'maxRemainingAsgs',
  'scaleDown',
  'targetPercentages',
  'delayBeforeCleanup',
  'strategyApplication',
  'strategyPipeline',
  'pipelineParameters',
  'rollback',
]

export function StrategyFields() {
  const { get, set } = useForm()
  const given = (textOf(get('strategy')) ?? '').toLowerCase()
  const chosen = given === '' ? 'none' : (given as Strategy)
  const isHandedOver = chosen === 'redblack' || chosen === 'rollingredblack'
  return (
    <>
      <Ways
        label="Strategy"
        ways={chosen === 'custom' ? [...ways, custom] : ways}
        chosen={chosen}
        onChoose={(strategy) => set('strategy', strategy === 'none' ? undefined : strategy)}
        help={given.includes('${') ? `Computed when the stage runs: ${given}` : undefined}
      />
      {chosen === 'rollingredblack' && (
        <F
          name="targetPercentages"
          label="Steps in percent"
          help="Shares of the new group in order, such as [25, 50, 100]. Each step waits until its instances are up."
        />
      )}
      {chosen === 'redblack' && (
        <F
          name="maxRemainingAsgs"
          label="Server groups to keep"
          help="With the new one. Older ones are destroyed; 0 keeps all."
        />
      )}
      {isHandedOver && (
        <F
          name="scaleDown"
          label="Stop the instances of the old group"
          help="Saves memory; a rollback has to start them again."
        />
      )}
      {chosen === 'custom' && (
        <>
          <F name="strategyApplication" label="Application of the strategy" help="" />
          <F name="strategyPipeline" label="Strategy" help="" />
          <F name="pipelineParameters" label="Parameters" help="" />
        </>
      )}
      <F
        name="rollback.onFailure"
        label="Roll back when the deployment fails"
        help="The old group gets its traffic back, and the new one is taken out."
      />
      {isHandedOver && (
        <Fold title="Wait before the old group is disabled">
          <F name="delayBeforeCleanup" label="Seconds" help="Time to compare both while they share the traffic." />
        </Fold>
      )}
    </>
  )
}
