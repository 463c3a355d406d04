/** The side of the home page: what was deployed lately, favourites, what was opened last. */
import { useMemo } from 'preact/hooks'
import { to } from '../address.ts'
import type { Schemas } from '../api/client.ts'
import type { Live } from '../api/live.ts'
import { Icon } from '../components/icon.tsx'
import { Name } from '../components/name.tsx'
import { Panel } from '../components/panel.tsx'
import { Loaded } from '../components/states.tsx'
import { StatusMark } from '../components/status-mark.tsx'
import { Time } from '../components/time.tsx'
import { deploymentsOf, inOrder, toEnvironments, versionLabel } from '../model/deployments.ts'
import { type Execution, startedBy } from '../model/execution.ts'
import { favourites, recents } from '../model/recent.ts'

const maxDeployed = 8

interface AsideProps {
  readonly succeeded: Live<readonly Execution[]>
  readonly accounts: readonly Schemas['Account'][] | undefined
}

export function Aside({ succeeded, accounts }: AsideProps) {
  const placesOf = useMemo(() => {
    const environments = toEnvironments(accounts ?? [])
    return (names: readonly string[]) =>
      inOrder([...new Set(names.map((name) => environments.get(name) ?? name))], [], environments)
  }, [accounts])
  const runs = (succeeded.reading.value.body ?? []).filter((run) => deploymentsOf(run).length > 0).slice(0, maxDeployed)
  const nothing = <p class="quiet">Nothing was deployed lately.</p>
  return (
    <div class="stack">
      <Panel title="Deployed lately" flush={runs.length > 0} actions={<a href={to.environments()}>Environments</a>}>
        <Loaded live={succeeded} rows={3} empty={nothing}>
          {() =>
            runs.length === 0 ? (
              nothing
            ) : (
              <ul class="rows">
                {runs.map((run) => (
                  <DeployedRow key={run.id} run={run} placesOf={placesOf} />
                ))}
              </ul>
            )
          }
        </Loaded>
      </Panel>
      <Shortcuts />
    </div>
  )
}

function DeployedRow({ run, placesOf }: { run: Execution; placesOf: (accounts: readonly string[]) => readonly string[] }) {
  const by = startedBy(run)
  return (
    <li class="run-row two-lines">
      <StatusMark kind="succeeded" label="succeeded" />
      <div class="grow">
        {deploymentsOf(run).map(({ image, accounts }) => (
          <a key={image} class="row-link" href={to.execution(run.id)}>
            <span class="row-title">
              <Name text={run.application} max={30} /> <Name text={versionLabel(image)} max={24} />
            </span>
            <span class="muted"> to {placesOf(accounts).join(', ')}</span>
          </a>
        ))}
        <div class="cut muted">
          <Name text={run.name ?? ''} max={30} />
          {by !== undefined && (
            <>
              , by <Name text={by} max={20} />
            </>
          )}
        </div>
      </div>
      <span class="muted aside">
        <Time at={run.endTime ?? run.startTime} />
      </span>
    </li>
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
