/** Forms of stages made by hand; other types get one of their description, as does what these leave out. */

import { objectOf, objectsOf, scalarOf, textsOf } from '@fairlead/base/json/values.ts'
import { standalone } from '@fairlead/base/settings/standalone.ts'
import { usePipelines } from '../../api/pipelines.ts'
import { PlainText } from '../../components/text.tsx'
import { FieldView, type Form, type Part, useForm } from '../fields.tsx'
import { type InputProps, TextInput, TextsInput } from '../inputs.tsx'
import { describeText, titleOfStage } from '../stages.ts'
import { deployForm, serverGroupForm } from './deploy.tsx'
import { field, oneOf, only, row } from './form.tsx'

const git = 'extendedAttributes.git'
const directory = 'extendedAttributes.directory'

function sourceOf({ get }: Form): 'git' | 'directory' | 'package' {
  if (get(git) !== undefined) return 'git'
  return get(directory) === undefined ? 'package' : 'directory'
}

/** Otherwise another bakery makes the images. */
function isHere({ holder: { cloudProviderType, cloudProvider } }: Form) {
  const provider = cloudProviderType ?? cloudProvider
  return provider === undefined || provider === standalone.provider
}

const source = oneOf('Files from', {
  ways: [
    { id: 'git', label: 'A Git repository', help: 'The commit of the trigger, or a branch.' },
    { id: 'directory', label: 'A folder', help: 'On the machine of Fairlead.' },
    {
      id: 'package',
      label: 'A package',
      help: 'A file of the folder for packages, by the name below.',
    },
  ],
  chosen: sourceOf,
  set: (id) => ({
    [git]: id === 'git' ? '' : undefined,
    [directory]: id === 'directory' ? '' : undefined,
    'extendedAttributes.revision': undefined,
    'extendedAttributes.path': undefined,
  }),
})

const repository = {
  required: true,
  isKept: true,
  placeholder: 'https://git.example.com/shop/web.git',
}
const folder = { required: true, isKept: true, placeholder: '/srv/shop' }

const bakeForm = [
  only(
    isHere,
    source,
    only(
      (form) => sourceOf(form) === 'git',
      field(git, 'Repository', 'An address with https://, ssh:// or git@, or a path.', repository),
      row(
        field('extendedAttributes.revision', 'Revision', 'Branch, tag or commit.', {
          placeholder: 'of the trigger',
        }),
        field('extendedAttributes.path', 'Folder in it', 'For several programs.', {
          placeholder: 'the whole repository',
        }),
      ),
    ),
    only(
      (form) => sourceOf(form) === 'directory',
      field(directory, 'Folder', 'The whole path.', folder),
    ),
    field('baseOs', 'Template', 'How the files become an image.', { required: true }),
    row(
      field('package', 'Name of the image', 'Mostly that of the application.', {
        placeholder: 'shop',
        required: true,
      }),
      field('amiSuffix', 'Version', 'Leave it empty for a new one in each run.', {
        placeholder: 'time and commit',
      }),
    ),
  ),
  only(
    (form) => !isHere(form),
    field('regions', 'Regions', 'An image is baked in each of them.'),
    field('package', 'Packages', 'Names, separated by blanks.', { required: true }),
    field('baseOs', 'Base image'),
  ),
]

const isProgram = ({ holder }: Form) => Array.isArray(holder['command'])

function ArgumentsInput({ value, onChange, ...input }: InputProps) {
  const change = (text: unknown) => onChange((scalarOf(text) ?? '').split('\n'))
  return <TextInput {...input} value={textsOf(value).join('\n')} onChange={change} isCode isLong />
}

function quote(word: string) {
  return /^[\w./:=@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}

const shell = {
  kind: 'text',
  required: true,
  isCode: true,
  placeholder: 'npm test && npm run report',
}
const program = {
  kind: 'text',
  required: true,
  placeholder: 'node\nserver.mjs',
  Input: ArgumentsInput,
}

/** A text is for the shell; a list is a program with its arguments. */
const commandForm = [
  oneOf<'shell' | 'program'>('Run', {
    ways: [
      {
        id: 'shell',
        label: 'A command line',
        help: 'With pipes, && and variables, as in a terminal.',
      },
      { id: 'program', label: 'A program', help: 'Each argument on its own line, unchanged.' },
    ],
    chosen: (form) => (isProgram(form) ? 'program' : 'shell'),
    set: (id, { holder: { command } }) => ({
      command:
        id === 'program'
          ? (scalarOf(command)?.split(/\s+/) ?? [])
          : textsOf(command).map(quote).join(' ') || undefined,
    }),
  }),
  only(isProgram, field('command', 'Program and arguments', 'One per line.', program)),
  only(
    (form) => !isProgram(form),
    field('command', 'Command', 'Run by sh -c. The stage fails unless it ends with 0.', shell),
  ),
  field('env', 'Environment', 'Variables of the command. Secrets belong in the configuration.'),
]

const jobForm = [
  row(field('credentials', 'Account', 'Its user runs it.'), field('regions', 'Region')),
  field('imageId', 'Image', 'Without one, the command runs on the machine itself.'),
  ...commandForm,
]

const buildForm = [
  field('master', 'Build server', '“local” builds on the machine of Fairlead.'),
  field('job', 'Job', 'One of the build server.'),
  field('parameters', 'Parameters', 'Values for the job.'),
  field(
    'waitForCompletion',
    'Wait for its end',
    'Otherwise the stage ends once the build is queued.',
  ),
]

function AnswersInput({ value, onChange, ...input }: InputProps) {
  const answers = objectsOf(value).flatMap((answer) => scalarOf(answer['value']) ?? [])
  const change = (texts: unknown) =>
    onChange(texts && textsOf(texts).map((text) => ({ value: text })))
  return <TextsInput {...input} value={answers} onChange={change} />
}

/** Live, and without effect. */
function JudgmentPreview() {
  const { holder } = useForm()
  const answers = objectsOf(holder['judgmentInputs']).flatMap(({ value }) => scalarOf(value) ?? [])
  return (
    <section class="judgment-preview" aria-label="What the judge sees">
      <p class="muted">What the judge sees</p>
      <strong>{titleOfStage(holder)}</strong>
      <PlainText text={scalarOf(holder['instructions']) ?? 'No instructions.'} />
      {answers.length > 0 && <span class="muted">{`Answers: ${answers.join(' · ')}`}</span>}
    </section>
  )
}

const judgmentForm = [
  field(
    'instructions',
    'What to judge',
    'What to look at, and what decides. Addresses become links.',
  ),
  field('judgmentInputs', 'Answers', 'Read by ${ #judgment("name of this stage") }.', {
    kind: 'texts',
    Input: AnswersInput,
  }),
  { View: JudgmentPreview, shows: [] },
  field(
    'requiredJudgmentRoles',
    'Who may judge',
    'One of these roles. Empty: all who may start the pipeline.',
  ),
  field(
    'propagateAuthenticationContext',
    'Go on for the judge, too',
    'Later stages need the rights of who started the run and of who judged.',
  ),
]

type Waiting = 'response' | 'getMethod' | 'locationHeader' | 'webhookResponse'

function waitingOf({ get }: Form): Waiting {
  if (String(get('waitForCompletion')) !== 'true') return 'response'
  return (scalarOf(get('statusUrlResolution')) ?? 'getMethod') as Waiting
}

const sendsBody = ({ get }: Form) =>
  !/^(GET|HEAD)$/i.test(scalarOf(get('method')) ?? '') || get('payload') !== undefined

const waiting = oneOf<Waiting>('Wait for', {
  ways: [
    { id: 'response', label: 'The response', help: 'Any success ends the stage.' },
    { id: 'getMethod', label: 'The same address', help: 'GET until it reports the end.' },
    { id: 'locationHeader', label: 'The Location header', help: 'Where the response leads.' },
    {
      id: 'webhookResponse',
      label: 'An address in the response',
      help: 'Found by a path in its JSON.',
    },
  ],
  chosen: waitingOf,
  set: (id) => ({
    waitForCompletion: id !== 'response',
    ...(id !== 'response' && { statusUrlResolution: id }),
  }),
  shows: ['waitForCompletion', 'statusUrlResolution'],
})

const code = (placeholder: string) => ({ isCode: true, placeholder })

const webhookForm = [
  row(
    field('method', 'Method'),
    field('url', 'Address', '', code('https://ci.example.com/api/jobs')),
  ),
  only(sendsBody, field('payload', 'Body', 'JSON, such as {"version": "${parameters.version}"}.')),
  field('customHeaders', 'Headers', 'Secrets belong in the configuration, not here.'),
  waiting,
  only(
    (form) => waitingOf(form) === 'webhookResponse',
    field('statusUrlJsonPath', 'Path of the address', 'In the response.', code('$.links.status')),
  ),
  only(
    (form) => waitingOf(form) !== 'response',
    field(
      'statusJsonPath',
      'Path of the status',
      'Unless given, any success ends the stage.',
      code('$.status'),
    ),
    field('successStatuses', 'Success', 'Separated by commas.', { placeholder: 'SUCCESS, DONE' }),
    field('terminalStatuses', 'Failure', 'The stage fails at once.', {
      placeholder: 'FAILED, ERROR',
    }),
  ),
]

/** Parameters of the chosen pipeline; others that are set stay in sight. */
function Parameters() {
  const { draft, holder } = useForm()
  const application = scalarOf(holder['application'])
  const of = application?.includes('$') === false ? application : draft.application
  const pipelines = usePipelines(of).body ?? []
  const chosen = pipelines.find(({ id }) => id === holder['pipeline'])
  if (chosen === undefined) return <allParameters.View />
  const declared = objectsOf(objectOf(chosen)['parameterConfig'])
  const names = new Set([
    ...declared.map((each) => String(each['name'])),
    ...Object.keys(objectOf(holder['pipelineParameters'])),
  ])
  return (
    <fieldset class="form-group">
      <legend>Parameters</legend>
      {names.size === 0 && <p class="quiet">It has none.</p>}
      {[...names].map((name) => {
        const parameter = declared.find((each) => each['name'] === name)
        const { label, description, default: usual, required, options } = parameter ?? {}
        const described = describeText(name, {
          help: parameter ? (scalarOf(description) ?? '') : 'The pipeline has no such parameter.',
          required: required === true && usual === undefined,
          choices: objectsOf(options).flatMap(({ value }) => scalarOf(value) ?? []),
        })
        const field = {
          ...described,
          label: scalarOf(label) ?? name,
          placeholder: scalarOf(usual) ?? '',
        }
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
    {
      id: 'artifact',
      label: 'An artifact',
      help: 'A file of a repository, or what a bake has rendered.',
    },
  ],
  chosen: (form) => (isArtifact(form) ? 'artifact' : 'text'),
  set: (id) => ({ source: id }),
  shows: ['source', 'rollback'],
})

const required = { required: true }
const isManaged = ({ get }: Form) => get('trafficManagement.enabled') === true

/** Only replica sets behind services move their traffic here. */
const traffic = oneOf('Traffic between versions', {
  ways: [
    {
      id: 'none',
      label: 'The cluster decides',
      help: 'Deployments roll by themselves. Mostly right.',
    },
    {
      id: 'bluegreen',
      label: 'Blue/green',
      help: 'Services switch to the new replica set; the old one stays without traffic.',
    },
    {
      id: 'highlander',
      label: 'Highlander',
      help: 'Old replica sets are deleted once the new one is up.',
    },
  ],
  chosen: (form) =>
    (isManaged(form) && scalarOf(form.get('trafficManagement.options.strategy'))) || 'none',
  set: (id) => ({
    'trafficManagement.enabled': id !== 'none',
    'trafficManagement.options.strategy': id,
  }),
  shows: ['trafficManagement'],
})

const manifestForm = [
  field('account', 'Account', '', { choicesFrom: 'manifest-accounts' }),
  manifestSource,
  only(
    isArtifact,
    field('manifestArtifactId', 'Artifact', 'Of the pipeline, or of a stage before.', required),
  ),
  only(
    (form) => !isArtifact(form),
    field(
      'manifests',
      'Manifests',
      'YAML, with --- between objects. Expressions are evaluated.',
      required,
    ),
  ),
  field('namespaceOverride', 'Namespace', 'Replaces that of all manifests.', {
    placeholder: 'of each manifest',
  }),
  traffic,
  only(
    isManaged,
    field(
      'trafficManagement.options.services',
      'Services',
      'Such as “service web”: they send the traffic.',
      required,
    ),
  ),
  only(
    ({ get }) => get('trafficManagement.options.strategy') === 'bluegreen',
    field(
      'trafficManagement.options.maxRemainingAsgs',
      'Replica sets to keep',
      'With the new one. 0 keeps all.',
    ),
  ),
  field(
    'rollback.onFailure',
    'Roll back when it does not become stable',
    'Brings the former revision back.',
  ),
]

const isOver = ({ get }: Form) => get('analysisType') === 'retrospective'
const canary = (name: string, label: string, help = '', more = {}) =>
  field(`canaryConfig.${name}`, label, help, more)

const canaryForm = [
  oneOf('Compare', {
    ways: [
      {
        id: 'realTime',
        label: 'What runs now',
        help: 'Baseline and canary that stages before have deployed.',
      },
      {
        id: 'retrospective',
        label: 'A time that is over',
        help: 'To try a configuration, or to look into an incident.',
      },
    ],
    chosen: (form) => (isOver(form) ? 'retrospective' : 'realTime'),
    set: (id) => ({ analysisType: id }),
    shows: ['analysisType', 'canaryConfig'],
  }),
  canary('canaryConfigId', 'Configuration', 'Which metrics count, and how much.', {
    required: true,
  }),
  canary('scopes', 'Baseline and canary', 'Server groups, or what the configuration filters by.', {
    required: true,
  }),
  only(
    (form) => !isOver(form),
    row(
      canary('lifetimeDuration', 'Watch for', 'PT1H30M is an hour and a half.', {
        placeholder: 'PT1H',
      }),
      canary('beginCanaryAnalysisAfterMins', 'First judgment after', 'Minutes, to warm up.', {
        placeholder: '0',
      }),
      canary('canaryAnalysisIntervalMins', 'Judge every', 'Minutes.', { placeholder: '30' }),
    ),
  ),
  row(
    canary('scoreThresholds.pass', 'Good from', 'Score of the last judgment, up to 100.', {
      placeholder: '95',
    }),
    canary('scoreThresholds.marginal', 'Fail at once below', 'Score of any judgment.', {
      placeholder: '75',
    }),
  ),
  row(
    canary('metricsAccountName', 'Metrics from', 'Account.'),
    canary('storageAccountName', 'Results to', 'Account.'),
  ),
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
  kayentaCanary: canaryForm,
  pipeline: pipelineForm,
  jenkins: buildForm,
  travis: buildForm,
  'gitlab-ci': buildForm,
}
