/** Forms of stages that run something: a command on this machine, a job, a build. */
import { textOf, textsOf } from '../../model/read.ts'
import type { Form } from '../fields.tsx'
import { type InputProps, TextInput } from '../inputs.tsx'
import { field, fold, oneOf, only, row } from './form.tsx'

const isProgram = ({ holder }: Form) => Array.isArray(holder['command'])

/** A text is for the shell; a list is a program with its arguments. */
const command = [
  oneOf<'shell' | 'program'>('Run', {
    ways: [
      { id: 'shell', label: 'A command line', help: 'With pipes, && and variables, as in a terminal.' },
      { id: 'program', label: 'A program', help: 'Each argument on its own line, unchanged.' },
    ],
    chosen: (form) => (isProgram(form) ? 'program' : 'shell'),
    set: (id, { holder }) => ({
      command:
        id === 'program'
          ? (textOf(holder['command'])?.split(/\s+/) ?? [])
          : textsOf(holder['command']).map(quote).join(' ') || undefined,
    }),
  }),
  only(isProgram, field('command', 'Program and arguments', 'One per line.', { kind: 'text', required: true, Input: Arguments })),
  only(
    (form) => !isProgram(form),
    field('command', 'Command', 'Run by sh -c. The stage fails unless it ends with 0.', {
      ...{ kind: 'text', required: true, isCode: true, placeholder: 'npm test && npm run report' },
    }),
  ),
  field('env', 'Environment', 'Variables of the command. Secrets belong in the configuration.'),
]

function Arguments({ value, onChange, ...input }: InputProps) {
  const change = (text: unknown) => onChange((textOf(text) ?? '').split('\n'))
  const text = textsOf(value).join('\n')
  return <TextInput {...input} value={text} onChange={change} isCode isLong placeholder={'node\nserver.mjs'} />
}

function quote(word: string): string {
  return /^[\w./:=@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}

const place = row(field('credentials', 'Account', 'Its user runs it.'), field('regions', 'Region'))
const results = fold(
  'Wait for its end, and outputs',
  field('waitForCompletion', 'Wait for its end', 'Otherwise the stage ends at once, and a failure is not seen.'),
  field('propertyFile', 'File with outputs', 'Its lines name=value become outputs.', { placeholder: 'result.properties' }),
)

export const commandForm = [...command, results, fold('Where it runs', place)]

export const jobForm = [
  place,
  field('imageId', 'Image', 'Without one, the command runs on the machine itself.'),
  ...command,
  results,
]

/** Of commands that a build server runs. */
export const scriptForm = [
  field('command', 'Command', 'The job gets it as COMMAND.', { isCode: true, placeholder: 'make release' }),
  field('repoUrl', 'Repository', 'Where the command runs.', { placeholder: 'https://git.example.com/shop/web.git' }),
  row(field('repoBranch', 'Branch'), field('scriptPath', 'Folder in it')),
  field('job', 'Job', 'Unless given, the one that the configuration names.'),
  results,
]

export const buildForm = [
  field('master', 'Build server', '“local” builds on the machine of Fairlead.'),
  field('job', 'Job', 'One of the build server.'),
  field('parameters', 'Parameters', 'Values for the job.'),
  fold(
    'Wait for its end, and outputs',
    field('waitForCompletion', 'Wait for its end', 'Otherwise the stage ends once the build is queued.'),
    field('propertyFile', 'File with outputs', 'A file that the build archives. Expressions read its values.', {
      placeholder: 'build.properties',
    }),
    field('markUnstableAsSuccessful', 'Accept failed tests', 'An unstable build counts as a success.'),
  ),
]
