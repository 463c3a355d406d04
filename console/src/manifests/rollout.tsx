/** How far a rollout is: updated, ready and available of what is wanted. */
import type { Rollout } from './object.ts'
import { manifestWords } from './words.ts'

export function RolloutBars({ rollout: { desired, parts } }: { rollout: Rollout }) {
  return (
    <dl class="rollout" aria-label="Rollout">
      {parts.map(({ word, done }) => (
        <div key={word} class={done >= desired ? 'is-succeeded' : 'is-running'}>
          <dt>{word}</dt>
          <dd>
            <span class="rollout-bar" aria-hidden="true">
              <span style={{ width: `${share(done, desired)}%` }} />
            </span>
            <span class="number">{manifestWords.rolloutText(done, desired)}</span>
          </dd>
        </div>
      ))}
    </dl>
  )
}

function share(done: number, desired: number): number {
  return desired === 0 ? 100 : Math.min(100, (done / desired) * 100)
}
