/** The dialog that creates or changes a project, and the parts of one. */

import { type JsonObject, textsOf } from '@fairlead/base/json/values.ts'
import { useState } from 'preact/hooks'
import { to, useNavigate } from '../address.ts'
import { completeTask, objectKey } from '../api/actions.ts'
import { ApiError, client, type Schemas } from '../api/client.ts'
import { useAccounts } from '../api/cloud-providers.ts'
import { refreshMatching, useLive } from '../api/live.ts'
import { FormDialog } from '../components/form-dialog.tsx'
import { CheckList, Field, Fields, RecordRows } from '../components/form-fields.tsx'
import { Name } from '../components/text.tsx'
import { TextsInput } from '../editor/inputs.tsx'
import { splitList } from '../model/names.ts'

export type Project = Schemas['Project']

/** Projects belong to no application; clients submit their tasks for this one. */
export const projectTasks = 'spinnaker'

/** Its applications, the clusters that it shows of them, and pipelines. Lists may be absent. */
export function partsOf({ config }: Pick<Project, 'config'>) {
  const { applications, clusters, pipelineConfigs } = config ?? {}
  return {
    applications: applications ?? [],
    clusters: clusters ?? [],
    pipelines: pipelineConfigs ?? [],
  }
}

type Parts = ReturnType<typeof partsOf>

/** Rule in the form: its applications are a text. */
interface RuleDraft extends JsonObject {
  readonly account: string
  readonly applications: string
}

export function EditProject({ project }: { project?: Project }) {
  const navigate = useNavigate()
  const stored = partsOf(project ?? {})
  const [{ name, email }, setHead] = useState({
    name: project?.name ?? '',
    email: project?.email ?? '',
  })
  const [applications, setApplications] = useState(stored.applications)
  const [pipelines, setPipelines] = useState(stored.pipelines)
  const [rules, setRules] = useState<readonly RuleDraft[]>(
    stored.clusters.map((rule) => ({ ...rule, applications: rule.applications?.join(', ') ?? '' })),
  )
  const [isTried, setTried] = useState(false)
  const known = useLive('/applications', {}, 'slow').body ?? []
  const saved = { ...project, name: name.trim(), email }
  const save = () => {
    const clusters = rules.map((rule) => ({ ...rule, applications: splitList(rule.applications) }))
    return saveProject(saved, { applications, clusters, pipelines }, project)
  }
  const open = () => {
    if (saved.name !== project?.name) navigate(to.project(saved))
  }
  return (
    <FormDialog
      title={project === undefined ? 'Create project' : `Edit ${project.name}`}
      action={project === undefined ? 'Create project' : `Save ${project.name}`}
      isValid={saved.name !== ''}
      onTried={() => setTried(true)}
      run={save}
      onDone={open}
      wide
    >
      <p class="muted">A project shows several applications on one page.</p>
      <div class="question">
        <Fields
          fields={{
            name: {
              label: 'Name',
              error: isTried && saved.name === '' ? 'Enter a name.' : undefined,
              required: true,
            },
            email: { label: 'Owner’s email address', input: { autoComplete: 'on' } },
          }}
          values={{ name, email }}
          onChange={(field, value) => setHead({ name, email, [field]: String(value) })}
        />
      </div>
      <Applications
        chosen={applications}
        known={known.map((one) => one.name)}
        onChange={setApplications}
      />
      <Clusters rules={rules} onChange={setRules} />
      <Pipelines applications={applications} chosen={pipelines} onChange={setPipelines} />
    </FormDialog>
  )
}

/** Pipelines of applications that it has no more are left out. @throws {ApiError} */
async function saveProject(
  project: Project,
  { applications, clusters, pipelines }: Parts,
  before?: Project,
) {
  const others = clusters
    .flatMap((rule) => rule.applications ?? [])
    .filter((name) => !applications.includes(name))
  const isIncomplete = clusters.some(({ account }) => account === '')
  const message = isIncomplete
    ? 'Every row of clusters needs an account.'
    : `${others[0]} is no application of the project.`
  if (isIncomplete || others.length > 0) throw new ApiError({ status: 400, message })
  if (before !== undefined) await checkUnchanged(before)
  const config = {
    ...project.config,
    applications,
    clusters,
    pipelineConfigs: pipelines.filter(({ application }) => applications.includes(application)),
  }
  await completeTask({
    application: projectTasks,
    description: `Save ${project.name}`,
    job: [{ type: 'upsertProject', project: { ...project, config } }],
    object: objectKey('project', project.id ?? project.name),
  })
  refreshMatching('/projects')
}

/** A project is stored as a whole: what another user has changed meanwhile would be lost. @throws {ApiError} */
async function checkUnchanged({ id, name, updateTs }: Project) {
  const stored = await client.GET('/projects/{id}', { params: { path: { id: id ?? name } } })
  if (String(stored.updateTs) === String(updateTs)) return
  refreshMatching('/projects')
  throw new ApiError({
    status: 409,
    message: `${stored.lastModifiedBy ?? 'Another user'} changed ${name} while you were editing. Close this dialog and open it again; copy your changes first.`,
  })
}

interface ApplicationsProps {
  readonly chosen: readonly string[]
  readonly known: readonly string[]
  readonly onChange: (names: string[]) => void
}

/** What is no application is not taken, once they are read. */
function Applications({ chosen, known, onChange }: ApplicationsProps) {
  const find = (typed: string) =>
    [...chosen, ...known].find((name) => name.toLowerCase() === typed.toLowerCase()) ??
    (known.length === 0 ? typed : [])
  return (
    <Field
      label="Applications"
      help="The clusters and pipelines of these applications can be shown."
    >
      {(tied) => (
        <TextsInput
          tied={tied}
          value={chosen}
          choices={known.map((name) => ({ value: name }))}
          onChange={(names) => onChange([...new Set(textsOf(names).flatMap(find))])}
        />
      )}
    </Field>
  )
}

const help = '* for all, empty for none.'

function Clusters({
  rules,
  onChange,
}: {
  rules: readonly RuleDraft[]
  onChange: (rules: readonly RuleDraft[]) => void
}) {
  const accounts = (useAccounts().body ?? []).map(({ name }) => name)
  const fields = {
    account: { label: 'Account', choices: accounts, required: true },
    stack: { label: 'Stack', help },
    detail: { label: 'Detail', help },
    applications: {
      label: 'Only these applications',
      help: 'Separated by commas. Empty: all of the project.',
    },
  }
  return (
    <>
      <h3 class="sub">Clusters</h3>
      <p class="muted">The page shows what is in these accounts; without any, everything.</p>
      <RecordRows
        noun="clusters"
        records={rules}
        onChange={onChange}
        added={{ account: accounts[0] ?? '', stack: '*', detail: '*', applications: '' }}
      >
        {(rule, set) => (
          <Fields fields={fields} values={rule} onChange={(key, value) => set({ [key]: value })} />
        )}
      </RecordRows>
    </>
  )
}

interface PipelinesProps {
  readonly applications: readonly string[]
  readonly chosen: Parts['pipelines']
  readonly onChange: (chosen: Parts['pipelines']) => void
}

function Pipelines({ applications, chosen, onChange }: PipelinesProps) {
  const all = useLive('/pipelineConfigs', {}, 'open').body ?? []
  return (
    <>
      <h3 class="sub">Pipelines</h3>
      <p class="muted">
        {applications.length === 0 ? 'Choose applications first.' : 'Their last run is shown.'}
      </p>
      {applications.map((application) => (
        <CheckList
          key={application}
          label={`Pipelines: ${application}`}
          head={<Name text={application} max={40} />}
          choices={all
            .filter((one) => one.application === application)
            .map(({ id = '', name }) => ({ id, label: <Name text={name} max={60} /> }))}
          chosen={chosen
            .filter((one) => one.application === application)
            .map((one) => one.pipelineConfigId)}
          onChange={(ids) => {
            const others = chosen.filter((one) => one.application !== application)
            onChange([
              ...others,
              ...ids.map((pipelineConfigId) => ({ application, pipelineConfigId })),
            ])
          }}
        />
      ))}
    </>
  )
}
