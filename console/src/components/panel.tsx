/** A part of a screen with its own title, actions, and boundary for faults. */
import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import { ErrorBoundary } from './error-boundary.tsx'

interface PanelProps {
  readonly title: ComponentChildren
  readonly count?: number | string | undefined
  /** At the right of the title. */
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
  readonly class?: string
  /** Without room at the sides, for tables. */
  readonly flush?: boolean
}

export function Panel({ title, count, actions, children, class: more = '', flush = false }: PanelProps) {
  const id = useId()
  return (
    <section class={`panel ${flush ? 'is-flush' : ''} ${more}`} aria-labelledby={id}>
      <header class="panel-head">
        <h2 id={id}>
          {title}
          {count !== undefined && <span class="count">{count.toLocaleString()}</span>}
        </h2>
        {actions !== undefined && <div class="row">{actions}</div>}
      </header>
      <div class="panel-body">
        <ErrorBoundary>{children}</ErrorBoundary>
      </div>
    </section>
  )
}
