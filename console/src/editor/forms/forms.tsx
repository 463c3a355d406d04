/** Which stage types have a form made by hand; others get one of their description. */
import type { FunctionComponent } from 'preact'
import type { FieldDescription } from '../descriptions.ts'
import type { Draft } from '../draft.ts'
import { MoreFields } from '../fields.tsx'
import type { Path } from '../json-path.ts'
import { BakeForm, bakeFields } from './bake.tsx'
import { BuildForm, buildFields } from './build.tsx'
import { CommandForm, commandFields, JobForm, jobFields, ScriptForm, scriptFields } from './command.tsx'
import { DeployForm, ServerGroupForm } from './deploy.tsx'
import { FormContext } from './form.tsx'
import { JudgmentForm, judgmentFields } from './judgment.tsx'
import { ManifestForm, manifestFields } from './manifest.tsx'
import { PipelineForm, pipelineFields } from './pipeline.tsx'
import { WebhookForm, webhookFields } from './webhook.tsx'

interface HandMade {
  readonly Form: FunctionComponent
  /** Fields of the description that it shows; undefined where it shows all itself. */
  readonly shows?: readonly string[]
}

const build: HandMade = { Form: BuildForm, shows: buildFields }

const forms: Readonly<Record<string, HandMade>> = {
  deploy: { Form: DeployForm, shows: ['clusters'] },
  createServerGroup: { Form: ServerGroupForm },
  cloneServerGroup: { Form: ServerGroupForm },
  bake: { Form: BakeForm, shows: bakeFields },
  deployManifest: { Form: ManifestForm, shows: manifestFields },
  manualJudgment: { Form: JudgmentForm, shows: judgmentFields },
  runCommand: { Form: CommandForm, shows: commandFields },
  runJob: { Form: JobForm, shows: jobFields },
  script: { Form: ScriptForm, shows: scriptFields },
  webhook: { Form: WebhookForm, shows: webhookFields },
  pipeline: { Form: PipelineForm, shows: pipelineFields },
  jenkins: build,
  travis: build,
  'gitlab-ci': build,
}

interface HandMadeFormProps {
  readonly draft: Draft
  readonly base: Path
  readonly type: string
  readonly fields: readonly FieldDescription[]
  /** Keys of the stage that other parts show. */
  readonly known: readonly string[]
}

export function hasForm(type: string): boolean {
  return Object.hasOwn(forms, type)
}

export function HandMadeForm({ draft, base, type, fields, known }: HandMadeFormProps) {
  const { Form, shows } = forms[type] as HandMade
  const names = fields.flatMap(({ name, otherNames = [] }) => [name, ...otherNames])
  return (
    <FormContext.Provider value={{ draft, base, fields }}>
      <Form />
      {shows !== undefined && (
        <MoreFields
          draft={draft}
          base={base}
          fields={fields.filter(({ name }) => !shows.includes(name))}
          known={[...names, ...known]}
        />
      )}
    </FormContext.Provider>
  )
}
