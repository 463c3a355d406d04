/** The form of a stage that runs another pipeline: its parameters are fields. */
import { useLive } from '../../api/live.ts'
import { objectOf, objectsOf, textOf } from '../../model/read.ts'
import { describeText } from '../descriptions.ts'
import { FieldView } from '../fields.tsx'
import { field, row, useForm } from './form.tsx'

/** Those that the chosen pipeline declares; others that are set stay in sight. */
function Parameters() {
  const { draft, base, holder } = useForm()
  const application = textOf(holder['application'])
  const path = '/applications/{application}/pipelineConfigs'
  const at = { path: { application: application === undefined || application.includes('$') ? draft.application : application } }
  const pipelines = useLive(path, at, { refresh: 'open' }).reading.value.body ?? []
  const chosen = pipelines.find(({ id }) => id === holder['pipeline'])
  const declared = objectsOf(objectOf(chosen)['parameterConfig'])
  const others = Object.keys(objectOf(holder['pipelineParameters'])).filter((key) => declared.every(({ name }) => name !== key))
  if (chosen === undefined) return <allParameters.View />
  return (
    <fieldset class="form-group">
      <legend>Parameters</legend>
      {declared.length + others.length === 0 && <p class="quiet">It has none.</p>}
      {[...declared, ...others.map((name) => ({ name, description: 'The pipeline has no such parameter.' }))].map((parameter) => {
        const { name, label, description, default: usual, required, options } = objectOf(parameter)
        const described = {
          label: textOf(label) ?? String(name),
          help: textOf(description) ?? '',
          required: required === true && usual === undefined,
          choices: objectsOf(options).flatMap(({ value }) => textOf(value) ?? []),
          placeholder: textOf(usual) ?? '',
        }
        const parameters = [...base, 'pipelineParameters']
        return <FieldView key={name} draft={draft} base={parameters} field={describeText(String(name), described)} />
      })}
    </fieldset>
  )
}

const allParameters = field('pipelineParameters', 'Parameters')

export const pipelineForm = [
  row(field('application', 'Application'), field('pipeline', 'Pipeline', '', { required: true })),
  { View: Parameters, shows: ['pipelineParameters'] },
  field('waitForCompletion', 'Wait for its end', 'The stage then ends as the other run does. Otherwise it only starts that.'),
]
