/** A sentence that concerns the whole panel or screen. */
import type { ComponentChildren } from 'preact'
import { Icon } from './icon.tsx'

type Tone = 'info' | 'warning' | 'failed'

export function Banner({ tone, children, actions }: { tone: Tone; children: ComponentChildren; actions?: ComponentChildren }) {
  return (
    <div class={`banner is-${tone}`} role={tone === 'failed' ? 'alert' : 'status'}>
      <Icon name={tone === 'info' ? 'info' : 'warn'} />
      <div class="grow">{children}</div>
      {actions}
    </div>
  )
}
