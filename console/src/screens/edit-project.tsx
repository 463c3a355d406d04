/** The dialog that creates or changes a project. */

import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { to } from '../address.ts'
import { completeTask, objectKey } from '../api/actions.ts'
import { ApiError } from '../api/api-error.ts'
import { client, unwrap } from '../api/client.ts'
import { useAccounts } from '../api/cloud-providers.ts'
import { refreshMatching, useLive } from '../api/live.ts'
import { FormDialog } from '../components/form-dialog.tsx'
import { CheckList, Field, Fields, TextField } from '../components/form-fields.tsx'
import { Name } from '../components/name.tsx'
import { RecordRows } from '../components/record-rows.tsx'
import { TextsInput } from '../editor/inputs.tsx'
import { type ClusterRule, type Project, partsOf } from '../model/project.ts'
import { textsOf } from '../model/read.ts'

/** Projects belong to no application; clients submit their tasks for this one. */
export const projectTasks = 'spinnaker'

export function EditProject({ project }: { project?: Project }) {
  const { route: navigate } = useLocation()
  const [draft, setDraft] = useState<Project>(project ?? { name: '', email: '' })
  const [isTried, setTried] = useState(false)
  const all = useLive('/applications', {}, { refresh: 'slow' }).reading.value.body ?? []
  const { applications, clusters, pipelines } = partsOf(draft)
  const name = draft.name.trim()
  const setPart = (part: Project['config']) => setDraft({ ...draft, config: { ...draft.config, ...part } })
  const open = () => {
    if (name !== project?.name) navigate(to.project({ ...draft, name }))
  }
  return (
    <FormDialog
      title={project === undefined ? 'Create project' : `Edit ${project.name}`}
      action={project === undefined ? 'Create project' : `Save ${project.name}`}
      isValid={name !== ''}
      onTried={() => setTried(true)}
      run={() => saveProject({ ...draft, name }, project)}
      onDone={open}
      wide
    >
      <p class="muted">A project shows several applications on one page.</p>
      <div class="question">
        <TextField
          label="Name"
          value={draft.name}
          error={isTried && name === '' ? 'Enter a name.' : undefined}
          onChange={(text) => setDraft({ ...draft, name: text })}
          required
        />
        <Fields
          fields={{ email: { label: 'Owner’s email address', input: { autoComplete: 'on' } } }}
          values={draft}
          onChange={(_, email) => setDraft({ ...draft, email: String(email) })}
        />
      </div>
      <Names
        label="Applications"
        help="The clusters and pipelines of these applications can be shown."
        value={applications}
        offered={all.map((one) => one.name)}
        onChange={(names) => setPart({ applications: names })}
      />
      <Clusters clusters={clusters} applications={applications} onChange={(rules) => setPart({ clusters: rules })} />
      <h3 class="sub">Pipelines</h3>
      <p class="muted">{applications.length === 0 ? 'Choose applications first.' : 'Their last run is shown.'}</p>
      {applications.map((application) => (
        <PipelinesOf
          key={application}
          application={application}
          chosen={pipelines.filter((one) => one.application === application).map((one) => one.pipelineConfigId)}
          onChange={(ids) => {
            const others = pipelines.filter((one) => one.application !== application)
            setPart({ pipelineConfigs: [...others, ...ids.map((pipelineConfigId) => ({ application, pipelineConfigId }))] })
          }}
        />
      ))}
    </FormDialog>
  )
}

/** Pipelines and clusters of applications that it has no more are left out. @throws {ApiError} */
async function saveProject(draft: Project, before: Project | undefined): Promise<void> {
  const { applications, clusters, pipelines } = partsOf(draft)
  if (clusters.some(({ account }) => account === '')) {
    throw new ApiError({ status: 400, message: 'Every row of clusters needs an account.' })
  }
  if (before !== undefined) await checkUnchanged(before)
  const config = {
    ...draft.config,
    applications,
    clusters: clusters.map((rule) => ({ ...rule, applications: rule.applications?.filter((one) => applications.includes(one)) })),
    pipelineConfigs: pipelines.filter(({ application }) => applications.includes(application)),
  }
  await completeTask({
    application: projectTasks,
    description: `Save ${draft.name}`,
    job: [{ type: 'upsertProject', project: { ...draft, config } }],
    object: objectKey('project', before?.id ?? draft.name),
  })
  refreshMatching('/projects')
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

interface NamesProps {
  readonly label: string
  readonly help: string
  readonly value: readonly string[]
  readonly offered: readonly string[]
  readonly onChange: (names: string[]) => void
}

/** What is none of the offered names is not taken, once they are there. */
function Names({ label, help, value, offered, onChange }: NamesProps) {
  const known = [...value, ...offered]
  const find = (typed: string) =>
    known.find((name) => name.toLowerCase() === typed.toLowerCase()) ?? (offered.length === 0 ? typed : [])
  return (
    <Field label={label} help={help}>
      {(tied) => (
        <TextsInput
          tied={tied}
          value={value}
          choices={offered.map((name) => ({ value: name }))}
          onChange={(names) => onChange([...new Set(textsOf(names).flatMap(find))])}
        />
      )}
    </Field>
  )
}

interface ClustersProps {
  readonly clusters: readonly ClusterRule[]
  readonly applications: readonly string[]
  readonly onChange: (clusters: ClusterRule[]) => void
}

function Clusters({ clusters, applications, onChange }: ClustersProps) {
  const accounts = (useAccounts().reading.value.body ?? []).map(({ name }) => name)
  const help = '* for all, empty for none.'
  return (
    <>
      <h3 class="sub">Clusters</h3>
      <p class="muted">Each row is a line of the page: the clusters of an account.</p>
      <RecordRows
        records={clusters}
        onChange={(rules) => onChange([...rules])}
        noun="clusters"
        added={{ account: accounts[0] ?? '', stack: '*', detail: '*', applications: [] }}
      >
        {(rule, set) => (
          <>
            <Fields
              fields={{
                account: { label: 'Account', choices: accounts, required: true },
                stack: { label: 'Stack', help },
                detail: { label: 'Detail', help },
              }}
              values={rule}
              onChange={(key, value) => set({ [key]: value })}
            />
            <Names
              label="Only these applications"
              help="None: all of the project."
              value={rule.applications ?? []}
              offered={applications}
              onChange={(names) => set({ applications: names })}
            />
          </>
        )}
      </RecordRows>
    </>
  )
}

interface PipelinesProps {
  readonly application: string
  readonly chosen: readonly string[]
  readonly onChange: (ids: readonly string[]) => void
}

function PipelinesOf({ application, ...choice }: PipelinesProps) {
  const all = useLive('/applications/{application}/pipelineConfigs', { path: { application } }, { refresh: 'slow' })
  return (
    <CheckList
      label={`Pipelines: ${application}`}
      head={<Name text={application} max={40} />}
      choices={all.reading.value.body?.map(({ id = '', name }) => ({ id, label: <Name text={name} max={60} /> })) ?? []}
      {...choice}
    />
  )
}
