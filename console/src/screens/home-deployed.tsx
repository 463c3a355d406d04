/** The side of the home page: what was deployed lately, favourites, what was opened last. */
import { to } from '../address.ts'
import type { Schemas } from '../api/client.ts'
import type { Live } from '../api/live.ts'
import { Icon } from '../components/icon.tsx'
import { Name } from '../components/name.tsx'
import { Panel } from '../components/panel.tsx'
import { StatusMark } from '../components/status-mark.tsx'
import { Time } from '../components/time.tsx'
import { deploymentsOf, inOrder, toEnvironments, versionLabel } from '../model/deployments.ts'
import { type Execution, startedBy } from '../model/execution.ts'
import { favourites, recents } from '../model/recent.ts'
import { Block } from './home-runs.tsx'

const maxDeployed = 8

interface AsideProps {
  readonly succeeded: Live<readonly Execution[]>
  readonly accounts: readonly Schemas['Account'][] | undefined
}

export function Aside({ succeeded, accounts = [] }: AsideProps) {
  const environments = toEnvironments(accounts)
  const placesOf = (names: readonly string[]) =>
    inOrder([...new Set(names.map((name) => environments.get(name) ?? name))], [], environments).join(', ')
  const runs = (succeeded.reading.value.body ?? []).filter((run) => deploymentsOf(run).length > 0).slice(0, maxDeployed)
  const row = (run: Execution) => (
    <div class="run-row two-lines">
      <StatusMark kind="succeeded" label="succeeded" />
      <div class="grow">
        {deploymentsOf(run).map(({ image, accounts: names }) => (
          <a key={image} class="row-link" href={to.execution(run.id)}>
            <span class="row-title">
              <Name text={run.application} max={30} /> <Name text={versionLabel(image)} max={24} />
            </span>
            <span class="muted"> to {placesOf(names)}</span>
          </a>
        ))}
        <div class="cut muted">
          <Name text={[run.name, startedBy(run)].filter(Boolean).join(', by ')} max={60} />
        </div>
      </div>
      <span class="muted aside">
        <Time at={run.endTime ?? run.startTime} />
      </span>
    </div>
  )
  return (
    <div class="stack">
      <Block
        title="Deployed lately"
        actions={<a href={to.environments()}>Environments</a>}
        live={succeeded}
        items={runs}
        keyOf={({ id }) => id}
        none="Nothing was deployed lately."
        row={row}
      />
      <Shortcuts />
    </div>
  )
}

/** Favourites, and what was opened last. */
function Shortcuts() {
  const starred = favourites.value.map((label) => ({ label, href: to.application(label) }))
  const shown = [...starred, ...recents.value.filter(({ href }) => !starred.some((one) => one.href === href))]
  if (shown.length === 0) return null
  return (
    <Panel title={starred.length > 0 ? 'Favourites and recently opened' : 'Recently opened'}>
      <p class="chips">
        {shown.map(({ label, href }) => (
          <a key={href} href={href} class="chip">
            <Icon name="apps" />
            <Name text={label} max={30} />
          </a>
        ))}
      </p>
    </Panel>
  )
}
