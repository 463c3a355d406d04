/** The form of a stage that runs another pipeline: its parameters are fields. */
import { useLive } from '../../api/live.ts'
import { objectOf, objectsOf, textOf } from '../../model/read.ts'
import { describeText } from '../descriptions.ts'
import { FieldView } from '../fields.tsx'
import { F, useForm } from './form.tsx'

export const pipelineFields = ['application', 'pipeline', 'pipelineParameters', 'waitForCompletion']

export function PipelineForm() {
  const { draft, holder } = useForm()
  const own = textOf(holder['application'])
  const application = own === undefined || own.includes('$') ? draft.application : own
  const path = '/applications/{application}/pipelineConfigs'
  const pipelines = useLive(path, { path: { application } }, { refresh: 'open' }).reading.value.body ?? []
  const chosen = pipelines.find(({ id }) => id === holder['pipeline'])
  const choices = pipelines
    .filter(({ id }) => id !== draft.stored.value?.definition['id'])
    .map(({ id = '', name }) => ({ value: id, label: name }))
  return (
    <>
      <div class="form-row">
        <F name="application" label="Application" placeholder={draft.application} help="" />
        <F name="pipeline" label="Pipeline" choices={choices} required help="" />
      </div>
      <Parameters definition={chosen} />
      <F
        name="waitForCompletion"
        label="Wait for its end"
        help="The stage then ends as the other run does. Otherwise it only starts that."
      />
    </>
  )
}

/** Those that the chosen pipeline declares; others that are set stay in sight. */
function Parameters({ definition }: { definition: unknown }) {
  const { draft, base, holder } = useForm()
  const declared = objectsOf(objectOf(definition)['parameterConfig'])
  const given = objectOf(holder['pipelineParameters'])
  const names = declared.flatMap(({ name }) => textOf(name) ?? [])
  const others = Object.keys(given).filter((name) => !names.includes(name))
  if (definition === undefined) return <F name="pipelineParameters" label="Parameters" help="" />
  return (
    <fieldset class="form-group">
      <legend>Parameters</legend>
      {names.length + others.length === 0 && <p class="quiet">It has none.</p>}
      {[...declared, ...others.map((name) => ({ name }))].map((parameter) => {
        const { name, label, description, default: usual, required, options } = objectOf(parameter)
        const key = String(name)
        const isUnknown = others.includes(key)
        return (
          <FieldView
            key={key}
            draft={draft}
            base={[...base, 'pipelineParameters']}
            field={describeText(key, { required: required === true && usual === undefined })}
            label={textOf(label) ?? key}
            help={isUnknown ? 'The pipeline has no such parameter.' : textOf(description)}
            choices={objectsOf(options).flatMap(({ value }) => (textOf(value) === undefined ? [] : [{ value: String(value) }]))}
            placeholder={textOf(usual) ?? ''}
          />
        )
      })}
    </fieldset>
  )
}
