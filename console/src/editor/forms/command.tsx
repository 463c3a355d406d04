/** Forms of stages that run something: a command on this machine, a job, a build. */
import { textOf, textsOf } from '../../model/read.ts'
import type { Form } from '../fields.tsx'
import { type InputProps, TextInput } from '../inputs.tsx'
import { field, oneOf, only, row } from './form.tsx'

const isProgram = ({ holder }: Form) => Array.isArray(holder['command'])

function ArgumentsInput({ value, onChange, ...input }: InputProps) {
  const change = (text: unknown) => onChange((textOf(text) ?? '').split('\n'))
  return <TextInput {...input} value={textsOf(value).join('\n')} onChange={change} isCode isLong />
}

function quote(word: string): string {
  return /^[\w./:=@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}

const shell = { kind: 'text', required: true, isCode: true, placeholder: 'npm test && npm run report' }
const program = { kind: 'text', required: true, placeholder: 'node\nserver.mjs', Input: ArgumentsInput }

/** A text is for the shell; a list is a program with its arguments. */
export const commandForm = [
  oneOf<'shell' | 'program'>('Run', {
    ways: [
      { id: 'shell', label: 'A command line', help: 'With pipes, && and variables, as in a terminal.' },
      { id: 'program', label: 'A program', help: 'Each argument on its own line, unchanged.' },
    ],
    chosen: (form) => (isProgram(form) ? 'program' : 'shell'),
    set: (id, { holder: { command } }) => ({
      command: id === 'program' ? (textOf(command)?.split(/\s+/) ?? []) : textsOf(command).map(quote).join(' ') || undefined,
    }),
  }),
  only(isProgram, field('command', 'Program and arguments', 'One per line.', program)),
  only((form) => !isProgram(form), field('command', 'Command', 'Run by sh -c. The stage fails unless it ends with 0.', shell)),
  field('env', 'Environment', 'Variables of the command. Secrets belong in the configuration.'),
]

export const jobForm = [
  row(field('credentials', 'Account', 'Its user runs it.'), field('regions', 'Region')),
  field('imageId', 'Image', 'Without one, the command runs on the machine itself.'),
  ...commandForm,
]

export const buildForm = [
  field('master', 'Build server', '“local” builds on the machine of Fairlead.'),
  field('job', 'Job', 'One of the build server.'),
  field('parameters', 'Parameters', 'Values for the job.'),
  field('waitForCompletion', 'Wait for its end', 'Otherwise the stage ends once the build is queued.'),
]
