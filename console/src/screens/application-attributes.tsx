/** Attributes of an application, with its permissions and traffic guards: one record, saved together. */
import { useEffect } from 'preact/hooks'
import { completeTask, objectKey } from '../api/actions.ts'
import { useAttributes } from '../api/attributes.ts'
import type { Schemas } from '../api/client.ts'
import { refreshMatching, useLive } from '../api/live.ts'
import type { Right } from '../api/rights.ts'
import { DataTable } from '../components/data-table.tsx'
import { openDialog } from '../components/dialog.tsx'
import { CheckField, ChoiceField, TextField } from '../components/form-fields.tsx'
import { Name } from '../components/name.tsx'
import { Panel } from '../components/panel.tsx'
import { PermissionsField } from '../components/permissions-field.tsx'
import { Loaded } from '../components/states.tsx'
import { Time } from '../components/time.tsx'
import { isSame, valuesOf } from '../model/edits.ts'
import { type Json, numberOf, objectsOf, textOf } from '../model/read.ts'
import { settingsWords } from '../settings-words.ts'
import { words } from '../words.ts'
import { ReviewDialog, type ReviewProps, SaveBar, settingLabels, useEdits } from './settings-form.tsx'
import { TrafficGuards } from './traffic-guards.tsx'

type Attributes = Schemas['ApplicationAttributes']

interface AttributesTabProps {
  readonly application: string
  readonly stored: Attributes
  readonly tab: 'general' | 'permissions' | 'guards'
  readonly right: Right
}

/** One set of edits for three tabs: they are saved together. */
export function AttributesTab({ application, stored, tab, right }: AttributesTabProps) {
  const form = useEdits(application, 'attributes', stored)
  const { values, set, edits, generation, reset } = form
  const review = () => openDialog(<ReviewAttributes application={application} edits={edits} onSaved={reset} />)
  return (
    <div class="stack">
      <Panel title={settingsWords[tab]}>
        {tab === 'general' && <General values={values} set={set} />}
        {tab === 'permissions' && (
          <PermissionsField
            key={generation}
            application={application}
            permissions={values.permissions}
            onChange={(permissions) => set('permissions', permissions)}
          />
        )}
        {tab === 'guards' && (
          <TrafficGuards guards={objectsOf(values.trafficGuards)} onChange={(guards) => set('trafficGuards', guards)} />
        )}
        <SaveBar edits={edits} right={right} onReview={review} onDiscard={reset} />
      </Panel>
      {tab === 'general' && <History application={application} />}
    </div>
  )
}

interface GeneralProps {
  readonly values: Attributes
  readonly set: (key: string, value: unknown) => void
}

const repositories = ['', 'github', 'gitlab', 'bitbucket', 'stash'] as const

function General({ values, set }: GeneralProps) {
  const text = (key: string, label: string, more: { help?: string; required?: boolean } = {}) => (
    <TextField key={key} label={label} value={textOf(values[key]) ?? ''} onChange={(value) => set(key, value)} {...more} />
  )
  return (
    <div class="settings-grid">
      {text('email', words.email, { required: true })}
      {text('description', words.description)}
      {text('aliases', settingsWords.aliases, { help: settingsWords.aliasesHelp })}
      {text('cloudProviders', settingsWords.providers, { help: settingsWords.providersHelp })}
      <TextField
        label={settingsWords.instancePort}
        help={settingsWords.instancePortHelp}
        value={textOf(values.instancePort) ?? ''}
        input={{ type: 'number', min: 1, max: 65_535 }}
        onChange={(port) => set('instancePort', numberOf(port) ?? null)}
      />
      <CheckField
        label={settingsWords.platformHealthOnly}
        checked={values.platformHealthOnly === true}
        onChange={(checked) => set('platformHealthOnly', checked)}
      />
      <fieldset class="settings-group">
        <legend>{settingsWords.repository}</legend>
        <ChoiceField
          label={settingsWords.repoType}
          value={textOf(values['repoType']) ?? ''}
          choices={repositories}
          onChange={(kind) => set('repoType', kind)}
        />
        {text('repoProjectKey', settingsWords.repoProject, { help: settingsWords.repoProjectHelp })}
        {text('repoSlug', settingsWords.repoName)}
      </fieldset>
    </div>
  )
}

function ReviewAttributes({ application, edits, onSaved }: ReviewProps) {
  const live = useAttributes(application)
  useEffect(() => live.refresh(), [])
  const stored = live.reading.value.body?.attributes ?? { name: application }
  const save = async () => {
    await completeTask({
      application,
      description: settingsWords.savedTask(application),
      job: [{ type: 'updateApplication', application: { ...emailOf(stored), ...valuesOf(edits), name: application } }],
      object: objectKey('application', application),
    })
    refreshMatching('/applications')
    refreshMatching('/auth/explain')
    onSaved()
    return undefined
  }
  return <ReviewDialog application={application} edits={edits} stored={stored} save={save} />
}

/** Every change of an application repeats its address, as engines ask for it. */
function emailOf({ email }: Attributes): { email?: string } {
  return email ? { email } : {}
}

/** Who changed what, the newest first. */
function History({ application }: { application: string }) {
  const live = useLive(
    '/applications/{application}/history',
    { path: { application }, query: { limit: 20 } },
    { refresh: 'open' },
  )
  return (
    <Panel title={settingsWords.history} flush>
      <Loaded live={live} rows={2} empty={<p class="panel-note">{settingsWords.noHistory}</p>}>
        {(revisions) => (
          <DataTable
            label={settingsWords.history}
            rows={revisions.map((revision, at) => ({ revision, older: revisions[at + 1] }))}
            keyOf={({ revision }) => String(revision.updateTs)}
            columns={[
              { key: 'when', head: settingsWords.when, cell: ({ revision }) => <Time at={numberOf(revision.updateTs)} /> },
              {
                key: 'by',
                head: settingsWords.changedBy,
                cell: ({ revision }) => <Name text={revision.lastModifiedBy ?? words.unknown} max={40} />,
              },
              {
                key: 'what',
                head: settingsWords.field,
                grow: true,
                cell: ({ revision, older }) => (older === undefined ? settingsWords.firstRevision : changedKeys(revision, older)),
              },
            ]}
          />
        )}
      </Loaded>
    </Panel>
  )
}

const stamps = new Set(['updateTs', 'createTs', 'lastModified', 'lastModifiedBy', 'user'])

function changedKeys(newer: Json, older: Json): string {
  const keys = [...new Set([...Object.keys(newer), ...Object.keys(older)])]
  return keys
    .filter((key) => !stamps.has(key) && !isSame(newer[key], older[key]))
    .map((key) => settingLabels[key] ?? key)
    .join(', ')
}
