/** The dialog that creates or changes a project. */
import { useEffect, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { to } from '../address.ts'
import { completeTask, objectKey } from '../api/actions.ts'
import { ApiError } from '../api/api-error.ts'
import { client, unwrap } from '../api/client.ts'
import { refreshMatching, useLive } from '../api/live.ts'
import { IconButton } from '../components/button.tsx'
import { Field } from '../components/field.tsx'
import { FormDialog } from '../components/form-dialog.tsx'
import { CheckList, ChoiceField, TextField } from '../components/form-fields.tsx'
import { Name } from '../components/name.tsx'
import { RecordRows } from '../components/record-rows.tsx'
import { type ClusterRule, type Project, type ProjectDraft, toProject, toProjectDraft } from '../model/project.ts'
import { splitList } from '../model/read.ts'
import { useAccounts } from './infrastructure-head.tsx'

/** Projects belong to no application; clients submit their tasks for this one. */
export const projectTasks = 'spinnaker'

export function EditProject({ project }: { project: Project | undefined }) {
  const { route: navigate } = useLocation()
  const [draft, setDraft] = useState<ProjectDraft>(() => toProjectDraft(project))
  const [isTried, setTried] = useState(false)
  const accounts = (useAccounts().reading.value.body ?? []).map(({ name }) => name)
  const isNamed = draft.name.trim() !== ''
  const set = (change: Partial<ProjectDraft>) => setDraft({ ...draft, ...change })
  const save = async (isOpen: () => boolean) => {
    const saved = await saveProject(draft, project)
    if (isOpen() && saved.name !== project?.name) navigate(to.project(saved))
    return undefined
  }
  return (
    <FormDialog
      title={project === undefined ? 'Create project' : `Edit ${project.name}`}
      action={project === undefined ? 'Create project' : `Save ${project.name}`}
      isValid={isNamed}
      onTried={() => setTried(true)}
      run={save}
      wide
    >
      <p class="muted">A project shows several applications on one page.</p>
      <div class="question">
        <TextField
          label="Name"
          value={draft.name}
          error={isTried && !isNamed ? 'Enter a name.' : undefined}
          onChange={(name) => set({ name })}
          required
        />
        <TextField
          label="Owner’s email address"
          value={draft.email}
          input={{ autoComplete: 'on' }}
          onChange={(email) => set({ email })}
        />
      </div>
      <Applications chosen={draft.applications} onChange={(applications) => set({ applications })} />
      <Clusters clusters={draft.clusters} accounts={accounts} onChange={(clusters) => set({ clusters })} />
      <h3 class="sub">Pipelines</h3>
      <p class="muted">{draft.applications.length === 0 ? 'Choose applications first.' : 'Their last run is shown.'}</p>
      {draft.applications.map((application) => (
        <PipelinesOf
          key={application}
          application={application}
          chosen={draft.pipelines}
          onChange={(pipelines) => set({ pipelines })}
        />
      ))}
    </FormDialog>
  )
}

/** @throws {ApiError} */
async function saveProject(draft: ProjectDraft, project: Project | undefined) {
  if (draft.clusters.some(({ account }) => account === '')) {
    throw new ApiError({ status: 400, message: 'Every row of clusters needs an account.' })
  }
  if (project !== undefined) await checkUnchanged(project)
  const saved = toProject(draft, project)
  await completeTask({
    application: projectTasks,
    description: `Save ${saved.name}`,
    job: [{ type: 'upsertProject', project: saved }],
    object: objectKey('project', project?.id ?? saved.name),
  })
  refreshMatching('/projects')
  return saved
}

/** A project is stored as a whole: what another user has changed meanwhile would be lost. @throws {ApiError} */
async function checkUnchanged({ id, name, updateTs }: Project): Promise<void> {
  const stored = await unwrap(client.GET('/projects/{id}', { params: { path: { id: id ?? name } } }))
  if (String(stored.updateTs) === String(updateTs)) return
  refreshMatching('/projects')
  throw new ApiError({
    status: 409,
    message: `${stored.lastModifiedBy ?? 'Another user'} changed ${name} while you were editing. Close this dialog and open it again; copy your changes first.`,
  })
}

function Applications({ chosen, onChange }: { chosen: readonly string[]; onChange: (names: readonly string[]) => void }) {
  const all = useLive('/applications', {}, { refresh: 'slow' }).reading.value.body ?? []
  const [text, setText] = useState('')
  const names = all.map(({ name }) => name)
  const choose = (value: string) => {
    const name = names.find((one) => one.toLowerCase() === value.trim().toLowerCase())
    if (name === undefined) return setText(value)
    setText('')
    if (!chosen.includes(name)) onChange([...chosen, name])
  }
  // What was typed before the names were there counts as well.
  useEffect(() => choose(text), [names.length])
  return (
    <>
      <TextField
        label="Applications"
        help="The clusters and pipelines of these applications can be shown."
        value={text}
        suggestions={names.filter((name) => !chosen.includes(name))}
        input={{ placeholder: 'Add an application' }}
        onChange={choose}
      />
      <p class="chips">
        {chosen.map((name) => (
          <span key={name} class="chip">
            <Name text={name} max={40} />
            <IconButton
              icon="close"
              label={`Remove ${name}`}
              small
              onClick={() => onChange(chosen.filter((one) => one !== name))}
            />
          </span>
        ))}
      </p>
    </>
  )
}

interface ClustersProps {
  readonly clusters: readonly ClusterRule[]
  readonly accounts: readonly string[]
  readonly onChange: (clusters: readonly ClusterRule[]) => void
}

function Clusters({ clusters, accounts, onChange }: ClustersProps) {
  return (
    <>
      <h3 class="sub">Clusters</h3>
      <p class="muted">Each row is a line of the page: the clusters of an account.</p>
      <RecordRows
        records={clusters}
        onChange={onChange}
        label={(number) => `Clusters ${number}`}
        removeLabel="Remove clusters"
        addLabel="Add clusters"
        added={{ account: accounts[0] ?? '', stack: '*', detail: '*', applications: [] }}
      >
        {(cluster, set) => <ClusterFields cluster={cluster} accounts={accounts} set={set} />}
      </RecordRows>
    </>
  )
}

interface ClusterFieldsProps {
  readonly cluster: ClusterRule
  readonly accounts: readonly string[]
  readonly set: (change: Partial<ClusterRule>) => void
}

function ClusterFields({ cluster, accounts, set }: ClusterFieldsProps) {
  return (
    <>
      <ChoiceField label="Account" value={cluster.account} choices={accounts} onChange={(account) => set({ account })} required />
      {(['stack', 'detail'] as const).map((key) => (
        <TextField
          key={key}
          label={{ stack: 'Stack', detail: 'Detail' }[key]}
          help="* for all, empty for none."
          value={cluster[key]}
          onChange={(text) => set({ [key]: text })}
        />
      ))}
      <Field label="Only these applications" help="Separated by commas. Empty: all of the project.">
        {(tied) => (
          <input
            {...tied}
            defaultValue={cluster.applications.join(', ')}
            onChange={(event) => set({ applications: splitList(event.currentTarget.value) })}
            spellcheck={false}
          />
        )}
      </Field>
    </>
  )
}

interface PipelinesProps {
  readonly application: string
  readonly chosen: ProjectDraft['pipelines']
  readonly onChange: (pipelines: ProjectDraft['pipelines']) => void
}

function PipelinesOf({ application, chosen, onChange }: PipelinesProps) {
  const definitions =
    useLive('/applications/{application}/pipelineConfigs', { path: { application } }, { refresh: 'slow' }).reading.value.body ??
    []
  return (
    <CheckList
      label={`Pipelines: ${application}`}
      head={<Name text={application} max={40} />}
      choices={definitions.map(({ id = '', name }) => ({ id, label: <Name text={name} max={60} /> }))}
      chosen={chosen.flatMap((one) => (one.application === application ? one.id : []))}
      onChange={(ids) =>
        onChange([...chosen.filter((one) => one.application !== application), ...ids.map((id) => ({ application, id }))])
      }
    />
  )
}
