/** Deployed objects that were changed since: by which manager, and which fields. */
import { to } from '../address.ts'
import { useLive } from '../api/live.ts'
import { Banner } from '../components/banner.tsx'
import { Name, NameLink } from '../components/name.tsx'
import { Time } from '../components/time.tsx'
import { numberOf, objectsOf, textOf, textsOf } from '../model/read.ts'
import { type ObjectPlace, timeOf } from './object.ts'
import { useManifestAccounts } from './use-object.ts'
import { manifestWords } from './words.ts'

const maxShown = 20
const maxFields = 12

interface Drift extends ObjectPlace {
  readonly manager: string
  readonly sinceMs: number | undefined
  readonly fields: readonly string[]
}

/** Other services than the embedded one do not list any. */
export function useDrift(application: string): readonly Drift[] {
  const hasAccounts = (useManifestAccounts() ?? []).length > 0
  const parameters = hasAccounts ? { path: { application }, query: {} } : undefined
  const { body } = useLive('/applications/{application}/drift', parameters, { refresh: 'slow' }).reading.value
  return toDrift(body)
}

/** @param drift As the API or the output of a stage has it */
export function toDrift(drift: unknown): readonly Drift[] {
  return objectsOf(drift).map((object) => ({
    account: textOf(object['account']) ?? '',
    location: textOf(object['namespace']) ?? '',
    name: textOf(object['name']) ?? '',
    manager: textOf(object['manager']) ?? '',
    sinceMs: numberOf(object['since']) ?? timeOf(object['since']),
    fields: textsOf(object['fields']),
  }))
}

/** On the page of the application. */
export function DriftNotice({ application }: { application: string }) {
  const found = useDrift(application)
  if (found.length === 0) return null
  return (
    <Banner tone="warning">
      <strong>{manifestWords.driftTitle(found.length)}</strong>
      <details>
        <summary>Show what was changed</summary>
        <DriftList application={application} found={found} />
      </details>
    </Banner>
  )
}

export function DriftList({ application, found }: { application: string; found: readonly Drift[] }) {
  return (
    <>
      <ul class="bullets">
        {found.slice(0, maxShown).map((drift) => (
          <li key={[drift.account, drift.location, drift.name, drift.manager].join('\n')}>
            <NameLink href={to.manifest(application, drift)} text={drift.name} max={60} />{' '}
            <span class="muted">
              <Name text={[drift.account, drift.location].filter(Boolean).join(' / ')} max={60} />
            </span>{' '}
            <Cause drift={drift} />
          </li>
        ))}
      </ul>
      {found.length > maxShown && <p>{manifestWords.driftMore(found.length - maxShown)}</p>}
    </>
  )
}

/** On the page of the object. */
export function DriftOf({ application, place }: { application: string; place: ObjectPlace }) {
  const found = useDrift(application).filter(
    ({ account, location, name }) =>
      account === place.account && location === place.location && name.toLowerCase() === place.name.toLowerCase(),
  )
  if (found.length === 0) return null
  return (
    <Banner tone="warning">
      <strong>This object was changed since its deployment.</strong>
      {found.map((drift) => (
        <p key={drift.manager}>
          <Cause drift={drift} />
        </p>
      ))}
    </Banner>
  )
}

function Cause({ drift: { manager, sinceMs, fields } }: { drift: Drift }) {
  return (
    <>
      {manager !== '' && <Name text={`by ${manager}`} max={60} />} <Time at={sinceMs} />:{' '}
      {fields.slice(0, maxFields).map((field, at) => (
        <span key={field}>
          {at > 0 && ', '}
          <code class="field-path">
            <Name text={field} max={120} />
          </code>
        </span>
      ))}
      {fields.length > maxFields && ` ${manifestWords.driftMore(fields.length - maxFields)}`}
    </>
  )
}
