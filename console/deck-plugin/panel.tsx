/** Parts of the panels that Deck shows at the right: header, facts, and a link to Fairlead's console. */
import type { ComponentChildren } from 'preact'
import {
  type Application,
  core,
  type DataSource,
  provider,
  UISref,
  useEffect,
  useState,
} from './deck.ts'

interface PanelProps {
  readonly title: string
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
}

export function Panel({ title, actions, children }: PanelProps) {
  return (
    <div className="details-panel">
      <div className="header">
        <div className="close-button">
          <UISref to="^">
            <button type="button" className="btn btn-link" aria-label="Close">
              <span className="glyphicon glyphicon-remove" />
            </button>
          </UISref>
        </div>
        <div className="header-text horizontal middle">
          <core.CloudProviderLogo provider={provider} height="36px" width="36px" />
          <h3 className="horizontal middle space-between flex-1">{title}</h3>
        </div>
        <div className="actions">{actions}</div>
      </div>
      <div className="content">{children}</div>
    </div>
  )
}

interface FactsProps {
  /** Facts without a value are left out. */
  readonly facts: Readonly<Record<string, ComponentChildren>>
}

export function Facts({ facts }: FactsProps) {
  const given = Object.entries(facts).filter(
    ([, value]) => value !== undefined && value !== null && value !== '',
  )
  return (
    <dl className="dl-horizontal dl-narrow">
      {given.map(([label, value]) => [
        <dt key={label}>{label}</dt>,
        <dd key={`${label}:`}>{value}</dd>,
      ])}
    </dl>
  )
}

/** What a panel of Deck is opened with. */
export interface Named {
  readonly name: string
  readonly accountId: string
  readonly region: string
}

interface SectionProps {
  readonly heading: string
  readonly facts?: FactsProps['facts']
  /** Below the facts. */
  readonly children?: ComponentChildren
}

export function Section({ heading, facts, children }: SectionProps) {
  return (
    <core.CollapsibleSection heading={heading} defaultExpanded>
      {facts && <Facts facts={facts} />}
      {children}
    </core.CollapsibleSection>
  )
}

interface ConsoleLinkProps {
  readonly href: string
  readonly children: ComponentChildren
}

export function ConsoleLink({ href, children }: ConsoleLinkProps) {
  return (
    <Section heading="Console">
      <a href={href} target="_blank" rel="noreferrer">
        {children}
      </a>
    </Section>
  )
}

type DataSourceName = keyof Application & ('serverGroups' | 'loadBalancers' | 'securityGroups')

/** Items of an application, again after each refresh; undefined before the first. */
export function useItems(app: Application, name: DataSourceName): DataSource['data'] | undefined {
  const [items, setItems] = useState<DataSource['data']>()
  useEffect(() => {
    // A firewall's page of its own has no application.
    const source: DataSource | undefined = app[name]
    if (source === undefined) return setItems([])
    let isOpen = true
    const update = () => isOpen && setItems([...source.data])
    source.ready().then(update, update)
    const stop = source.onRefresh(null, update)
    return () => {
      isOpen = false
      stop()
    }
  }, [app])
  return items
}

interface Action {
  readonly label: string
  readonly run: () => unknown
}

/** A menu, as Deck's own panels have it. */
export function Actions({
  label,
  actions,
}: {
  readonly label: string
  readonly actions: readonly Action[]
}) {
  const [isOpen, setOpen] = useState(false)
  useEffect(() => {
    if (!isOpen) return undefined
    const close = () => setOpen(false)
    document.addEventListener('click', close)
    return () => document.removeEventListener('click', close)
  }, [isOpen])
  return (
    <div className={`dropdown ${isOpen ? 'open' : ''}`}>
      <button
        type="button"
        className="btn btn-sm btn-primary dropdown-toggle"
        onClick={() => setOpen(!isOpen)}
      >
        {label} <span className="caret" />
      </button>
      {isOpen && (
        <ul className="dropdown-menu">
          {actions.map((action) => (
            <li key={action.label}>
              <button
                type="button"
                className="btn btn-link"
                style={{ width: '100%', textAlign: 'left' }}
                onClick={() => {
                  setOpen(false)
                  action.run()
                }}
              >
                {action.label}
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}
