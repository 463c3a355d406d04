/** What pages say first about objects in clusters: clusters that do not answer, and objects that were changed since their deployment. */

import { objectsOf, scalarOf, textsOf } from '@fairlead/base/json/values.ts'
import { to } from '../address.ts'
import { useLive } from '../api/live.ts'
import { Banner } from '../components/button.tsx'
import { Name, NameLink, Time } from '../components/text.tsx'
import { plural } from '../words.ts'
import { isSameObject, type ObjectPlace, placeIn, timeOf } from './object.ts'
import { placeText, useManifestAccounts } from './use-object.ts'

const maxShown = 20

interface NoticesProps {
  readonly application: string
  /** Where something of the page runs. */
  readonly accounts: readonly string[]
  /** On the page of one object. */
  readonly place?: ObjectPlace
}

export function Notices({ application, accounts, place }: NoticesProps) {
  // What is shown of these is old.
  const away = useManifestAccounts().flatMap((account) =>
    accounts.includes(account.name) && account.away ? account.away : [],
  )
  const found = useDrift(application).filter(
    (drift) => place === undefined || isSameObject(drift, place),
  )
  return (
    <>
      {away.map(({ name, sinceMs, reason }) => (
        <Banner key={name} tone="warning">
          The cluster of the account {name} does not answer, since <Time at={sinceMs} />. The page
          shows its last known state. <Name text={reason} max={300} />
        </Banner>
      ))}
      {found.length > 0 && (
        <Banner tone="warning">
          <strong>
            {place === undefined
              ? driftTitle(found)
              : 'This object was changed since its deployment.'}
          </strong>
          <details open={place !== undefined}>
            <summary>Show what was changed</summary>
            <DriftList application={application} found={found} />
          </details>
        </Banner>
      )}
    </>
  )
}

type Drift = ReturnType<typeof toDrift>[number]

/** Other services than the embedded one do not list any. */
export function useDrift(application: string): readonly Drift[] {
  const parameters =
    useManifestAccounts().length > 0 ? { path: { application }, query: {} } : undefined
  return toDrift(useLive('/applications/{application}/drift', parameters, 'slow').body)
}

/** @param drift As the API or the output of a stage has it */
export function toDrift(drift: unknown) {
  return objectsOf(drift).map(({ manager, since, fields, note, ...object }) => {
    return {
      ...placeIn(object),
      manager: scalarOf(manager),
      sinceMs: timeOf(since),
      fields: textsOf(fields),
      note: scalarOf(note),
    }
  })
}

export function driftTitle(found: readonly Drift[]): string {
  return `${plural(found.length, 'deployed object')} changed since the deployment.`
}

export function DriftList({
  application,
  found,
}: {
  application: string
  found: readonly Drift[]
}) {
  return (
    <>
      <ul class="bullets">
        {found.slice(0, maxShown).map((drift) => (
          <li key={`${placeText(drift)}\n${drift.name}\n${drift.manager}`}>
            <NameLink href={to.manifest(application, drift)} text={drift.name} max={60} />{' '}
            <Name class="muted" text={placeText(drift)} max={60} />{' '}
            {drift.manager !== undefined && <Name text={`by ${drift.manager}`} max={60} />}{' '}
            <Time at={drift.sinceMs} />:{' '}
            <code class="field-path">
              <Name text={drift.fields.join(', ') || 'deleted'} max={600} />
            </code>
            {drift.note !== undefined && <Name class="muted" text={` ${drift.note}`} max={300} />}
          </li>
        ))}
      </ul>
      {found.length > maxShown && <p>and {found.length - maxShown} more</p>}
    </>
  )
}
