/** Which stage types have a form made by hand, and the shorter of these forms; other types get one of their description. */
import { useLive } from '../../api/live.ts'
import { objectOf, objectsOf, textOf, textsOf } from '../../model/read.ts'
import { describeText } from '../descriptions.ts'
import { FieldView, type Form, type Part, useForm } from '../fields.tsx'
import { type InputProps, TextsInput } from '../inputs.tsx'
import { bakeForm } from './bake.tsx'
import { buildForm, commandForm, jobForm } from './command.tsx'
import { deployForm, serverGroupForm } from './deploy.tsx'
import { field, oneOf, only, row } from './form.tsx'

function AnswersInput({ value, onChange, ...input }: InputProps) {
  const answers = objectsOf(value).flatMap((answer) => textOf(answer['value']) ?? [])
  const change = (texts: unknown) => onChange(texts && textsOf(texts).map((text) => ({ value: text })))
  return <TextsInput {...input} value={answers} onChange={change} />
}

const judgmentForm = [
  field('instructions', 'What to judge', 'What to look at, and what decides. Addresses become links.', {
    placeholder: 'Open https://test.example.com and check that a purchase works.',
  }),
  field('judgmentInputs', 'Answers', 'Expressions read the chosen one: ${ #judgment("name of this stage") }.', {
    ...{ kind: 'texts', Input: AnswersInput },
  }),
  field('requiredJudgmentRoles', 'Who may judge', 'One of these roles. Empty: all who may start the pipeline.'),
  field('propagateAuthenticationContext', 'Go on as the judge', 'Later stages have the rights of who judged.'),
]

type Waiting = 'response' | 'getMethod' | 'locationHeader' | 'webhookResponse'

function waitingOf({ get }: Form): Waiting {
  if (String(get('waitForCompletion')) !== 'true') return 'response'
  return (textOf(get('statusUrlResolution')) ?? 'getMethod') as Waiting
}

const sendsBody = ({ get }: Form) => !/^(GET|HEAD)$/i.test(textOf(get('method')) ?? '') || get('payload') !== undefined

const waiting = oneOf<Waiting>('Wait for', {
  ways: [
    { id: 'response', label: 'The response', help: 'Any success ends the stage.' },
    { id: 'getMethod', label: 'The same address', help: 'GET until it reports the end.' },
    { id: 'locationHeader', label: 'The Location header', help: 'Where the response leads.' },
    { id: 'webhookResponse', label: 'An address in the response', help: 'Found by a path in its JSON.' },
  ],
  chosen: waitingOf,
  set: (id) => ({ waitForCompletion: id !== 'response', ...(id !== 'response' && { statusUrlResolution: id }) }),
  shows: ['waitForCompletion', 'statusUrlResolution'],
})

const code = (placeholder: string) => ({ isCode: true, placeholder })

const webhookForm = [
  row(field('method', 'Method'), field('url', 'Address', '', code('https://ci.example.com/api/jobs'))),
  only(sendsBody, field('payload', 'Body', 'JSON, such as {"version": "${parameters.version}"}.')),
  field('customHeaders', 'Headers', 'Secrets belong in the configuration, not here.'),
  waiting,
  only(
    (form) => waitingOf(form) === 'webhookResponse',
    field('statusUrlJsonPath', 'Path of the address', 'In the response.', code('$.links.status')),
  ),
  only(
    (form) => waitingOf(form) !== 'response',
    field('statusJsonPath', 'Path of the status', 'Unless given, any success ends the stage.', code('$.status')),
    field('successStatuses', 'Success', 'Separated by commas.', { placeholder: 'SUCCESS, DONE' }),
    field('terminalStatuses', 'Failure', 'The stage fails at once.', { placeholder: 'FAILED, ERROR' }),
  ),
]

/** Those that the chosen pipeline declares; others that are set stay in sight. */
function Parameters() {
  const { draft, holder } = useForm()
  const application = textOf(holder['application'])
  const at = { path: { application: application?.includes('$') === false ? application : draft.application } }
  const pipelines = useLive('/applications/{application}/pipelineConfigs', at, { refresh: 'open' }).reading.value.body ?? []
  const chosen = pipelines.find(({ id }) => id === holder['pipeline'])
  if (chosen === undefined) return <allParameters.View />
  const declared = objectsOf(objectOf(chosen)['parameterConfig'])
  const others = Object.keys(objectOf(holder['pipelineParameters'])).filter((key) => declared.every(({ name }) => name !== key))
  return (
    <fieldset class="form-group">
      <legend>Parameters</legend>
      {declared.length + others.length === 0 && <p class="quiet">It has none.</p>}
      {[...declared, ...others.map((name) => ({ name, description: 'The pipeline has no such parameter.' }))].map((parameter) => {
        const { name, label, description, default: usual, required, options } = objectOf(parameter)
        const described = describeText(String(name), {
          help: textOf(description) ?? '',
          required: required === true && usual === undefined,
          choices: objectsOf(options).flatMap(({ value }) => textOf(value) ?? []),
        })
        const field = { ...described, label: textOf(label) ?? String(name), placeholder: textOf(usual) ?? '' }
        return <FieldView key={name} within={['pipelineParameters']} field={field} />
      })}
    </fieldset>
  )
}

const allParameters = field('pipelineParameters', 'Parameters')

const pipelineForm = [
  row(field('application', 'Application'), field('pipeline', 'Pipeline', '', { required: true })),
  { View: Parameters, shows: ['pipelineParameters'] },
  field('waitForCompletion', 'Wait for its end', 'The stage then ends as the other run does.'),
]

const isArtifact = ({ get }: Form) => get('source') === 'artifact'

const manifestSource = oneOf<'text' | 'artifact'>('Manifests from', {
  ways: [
    { id: 'text', label: 'This stage', help: 'Written here. Images of earlier stages are put in.' },
    { id: 'artifact', label: 'An artifact', help: 'A file of a repository, or what a bake has rendered.' },
  ],
  chosen: (form) => (isArtifact(form) ? 'artifact' : 'text'),
  set: (id) => ({ source: id }),
  shows: ['source', 'rollback'],
})

const required = { required: true }

const manifestForm = [
  field('account', 'Account', '', { choicesFrom: 'manifest-accounts' }),
  manifestSource,
  only(isArtifact, field('manifestArtifactId', 'Artifact', 'Of the pipeline, or of a stage before.', required)),
  only(
    (form) => !isArtifact(form),
    field('manifests', 'Manifests', 'YAML, with --- between objects. Expressions are evaluated.', required),
  ),
  field('namespaceOverride', 'Namespace', 'Replaces that of all manifests.', { placeholder: 'of each manifest' }),
  field('rollback.onFailure', 'Roll back when it does not become stable', 'Brings the former revision back.'),
]

export const forms: Readonly<Record<string, readonly Part[]>> = {
  deploy: deployForm,
  createServerGroup: serverGroupForm,
  cloneServerGroup: serverGroupForm,
  bake: bakeForm,
  deployManifest: manifestForm,
  manualJudgment: judgmentForm,
  runCommand: commandForm,
  runJob: jobForm,
  webhook: webhookForm,
  pipeline: pipelineForm,
  jenkins: buildForm,
  travis: buildForm,
  'gitlab-ci': buildForm,
}
